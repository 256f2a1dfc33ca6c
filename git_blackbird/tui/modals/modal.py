"""What all screens over the others have in common."""

from typing import ClassVar, Generic, Self, TypeVar

from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.timer import Timer

T = TypeVar("T")
_ANSWERS = "OptionList, Input"


class Modal(ModalScreen[T | None], Generic[T]):
    """Gives a result when it is left; None when it is left by esc."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Back")]

    def __init__(self) -> None:
        super().__init__()
        self._pause_seconds = 0.0
        self._pause: Timer | None = None

    def after_a_pause(self, seconds: float) -> Self:
        """Take no key until none came for so long: this one comes up while others are typed."""
        self._pause_seconds = seconds
        return self

    @property
    def is_waiting(self) -> bool:
        """Whether keys do not count yet."""
        return self._pause is not None

    def on_mount(self) -> None:
        """Wait where that was asked for."""
        if self._pause_seconds:
            self._pause = self.set_timer(self._pause_seconds, self._take_keys)
            self._set_waiting(is_waiting=True)

    def on_key(self) -> None:
        """Wait anew: this key was meant for what was there before."""
        if self._pause is not None:
            self._pause.reset()

    def _take_keys(self) -> None:
        self._pause = None
        self._set_waiting(is_waiting=False)
        self.query(_ANSWERS).first().focus()

    def _set_waiting(self, *, is_waiting: bool) -> None:
        self.set_class(is_waiting, "waiting")
        for answer in self.query(_ANSWERS):
            answer.disabled = is_waiting

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Refuse every key that is not meant for this screen."""
        del action, parameters
        return not self.is_waiting

    def give(self, result: T | None) -> None:
        """Leave with a result."""
        # Nothing of this screen may wait for its own end.
        _ = self.dismiss(result)

    def action_leave(self) -> None:
        """Leave without a result."""
        self.give(None)
