"""One configuration key in all layers: which value is effective, overridden or rejected."""

from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

from git_blackbird.model.config.keys import ConfigKey
from git_blackbird.model.config.settings import Layer, LayerValue, Setting, Settings

HERE = frozenset({Layer.GIT_LOCAL, Layer.PROJECT})
"""Layers for this clone or this project."""
EVERYWHERE = frozenset({Layer.GIT_GLOBAL, Layer.GLOBAL})
"""Layers for all projects of a user."""


class ValueEffect(StrEnum):
    """Whether a value is effective, overridden by a stronger layer, or rejected.

    ``WEAKER``: it would loosen a protection that the user set for all projects.
    """

    APPLIED = "applied"
    OVERRULED = "overruled"
    WEAKER = "weaker"
    IGNORED = "ignored"


class KeyLayers(NamedTuple):
    """The values of a key or unknown name in all layers, strongest first.

    ``applied`` is None for an unknown name.
    """

    name: str
    key: ConfigKey | None
    told: tuple[LayerValue, ...]
    applied: Setting | None

    def effects(self) -> Iterator[tuple[LayerValue, ValueEffect]]:
        """Return the effect of each layer's value."""
        applied = self._strongest(self.told)
        for value in self.told:
            yield value, ValueEffect.APPLIED if value is applied else _passed_over(value)

    def of(self, layers: frozenset[Layer]) -> LayerValue | None:
        """Return the value of the strongest of these layers, preferring a valid one."""
        values = tuple(value for value in self.told if value.given.layer in layers)
        return self._strongest(values) or next(iter(values), None)

    @property
    def is_faulty(self) -> bool:
        """Whether a layer has an invalid value."""
        return any(value.problem is not None for value in self.told)

    @staticmethod
    def _strongest(values: tuple[LayerValue, ...]) -> LayerValue | None:
        return next((value for value in values if value.is_valid), None)


def _passed_over(value: LayerValue) -> ValueEffect:
    if value.value is None:
        return ValueEffect.IGNORED
    return ValueEffect.WEAKER if value.is_weaker else ValueEffect.OVERRULED


def layers_of(settings: Settings, name: str) -> KeyLayers:
    """Return the values of a name in all layers, in any letter case."""
    values = tuple(value for value in reversed(settings.told) if value.given.key.lower() == name.lower())
    applied = settings.values.get(name)
    return KeyLayers(name, None if applied is None else applied.key, values, applied)


def unknown_names(settings: Settings) -> tuple[str, ...]:
    """List the unknown names that are set, each once, in the strongest layer's spelling."""
    names = {value.given.key.lower(): value.given.key for value in settings.told if value.key is None}
    return tuple(names.values())
