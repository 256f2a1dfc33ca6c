"""What all screens over the others have in common."""

from typing import ClassVar, Generic, TypeVar

from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

T = TypeVar("T")


class Modal(ModalScreen[T | None], Generic[T]):
    """Gives a result when it is left, once; None when it is left by esc."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Back")]

    _is_given = False

    def give(self, result: T | None) -> None:
        """Leave with a result; what comes after the first one is for nobody."""
        if not self._is_given:
            self._is_given = True
            # Nothing of this screen may wait for its own end.
            _ = self.dismiss(result)

    def action_leave(self) -> None:
        """Leave without a result."""
        self.give(None)
