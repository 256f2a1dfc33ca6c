"""One key of the configuration through all layers: who says what of it, what counts, what does not."""

from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

from git_blackbird.model.keys import Key
from git_blackbird.model.settings import Layer, Setting, Settings, Told

HERE = frozenset({Layer.GIT_LOCAL, Layer.PROJECT})
"""What is set for this clone or this project."""
EVERYWHERE = frozenset({Layer.GIT_GLOBAL, Layer.GLOBAL})
"""What is set for a person's every project."""


class Standing(StrEnum):
    """What becomes of a value: it counts, a stronger one does, or it is not what the key takes from there.

    ``WEAKER``: it would take away a protection that the user set for all projects.
    """

    APPLIED = "applied"
    OVERRULED = "overruled"
    WEAKER = "weaker"
    IGNORED = "ignored"


class KeyLayers(NamedTuple):
    """A key, or a name that is none, and what the layers say of it, the strongest first.

    ``applied`` is None for a name that is no key.
    """

    name: str
    key: Key | None
    told: tuple[Told, ...]
    applied: Setting | None

    def standings(self) -> Iterator[tuple[Told, Standing]]:
        """Say of each layer what becomes of its value."""
        applied = self._strongest(self.told)
        for one in self.told:
            yield one, Standing.APPLIED if one is applied else _passed_over(one)

    def of(self, layers: frozenset[Layer]) -> Told | None:
        """Give what the strongest of these layers says: one that counts, if there is one."""
        told = tuple(one for one in self.told if one.given.layer in layers)
        return self._strongest(told) or next(iter(told), None)

    @property
    def is_faulty(self) -> bool:
        """Whether a layer says of it what is not as it should be."""
        return any(one.problem is not None for one in self.told)

    @staticmethod
    def _strongest(told: tuple[Told, ...]) -> Told | None:
        return next((one for one in told if one.is_valid), None)


def _passed_over(told: Told) -> Standing:
    if told.value is None:
        return Standing.IGNORED
    return Standing.WEAKER if told.is_weaker else Standing.OVERRULED


def layers_of(settings: Settings, name: str) -> KeyLayers:
    """Give what the layers say of a name, in whatever case they spell it."""
    told = tuple(one for one in reversed(settings.told) if one.given.key.lower() == name.lower())
    applied = settings.values.get(name)
    return KeyLayers(name, None if applied is None else applied.key, told, applied)


def unknown_names(settings: Settings) -> tuple[str, ...]:
    """Name what is set and is no key, each once, as the strongest layer spells it."""
    names = {one.given.key.lower(): one.given.key for one in settings.told if one.key is None}
    return tuple(names.values())
