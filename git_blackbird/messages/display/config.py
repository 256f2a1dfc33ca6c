"""Configuration for display: values as they are typed, accepted types, the layers of a key."""

import json
from collections.abc import Iterator
from typing import NamedTuple

from git_blackbird.model.base.sanitize import clean_line
from git_blackbird.model.config.keys import ConfigKey, Value, ValueType
from git_blackbird.model.config.layers import KeyLayers
from git_blackbird.model.config.settings import LayerValue, Setting

UNSET = "(unset)"
_LONGEST = 1000


class LayerRow(NamedTuple):
    """The value of one layer, its effect and origin; ``why`` it is rejected."""

    effect: str
    value: str
    origin: str
    why: tuple[str, ...] = ()


def value_text(value: Value) -> str:
    """Format a value so that ``config KEY VALUE`` would parse it as the same."""
    return clean_line(plain_text(value), _LONGEST)


def plain_text(value: Value) -> str:
    """Format the same unescaped."""
    if isinstance(value, bool):
        return str(value).lower()
    return json.dumps(value, ensure_ascii=False) if isinstance(value, tuple) else str(value)


def format_value(setting: Setting) -> str:
    """Format the effective value."""
    return UNSET if setting.value is None else value_text(setting.value)


def layer_value_text(value: LayerValue) -> str:
    """Format the value of a layer, unparsed if it is invalid."""
    if value.value is not None:
        return value_text(value.value)
    raw = value.given.value
    return clean_line(raw if isinstance(raw, str) else json.dumps(raw, ensure_ascii=False), _LONGEST)


def saved_text(name: str, value: Value | None, place: str) -> str:
    """Describe what was saved where; None means that the key was removed."""
    if value is None:
        return f"removed {clean_line(name)} from {clean_line(place, _LONGEST)}"
    return f"{name} = {value_text(value)} in {clean_line(place, _LONGEST)}"


def overruled_text(stronger: Setting) -> str:
    """Describe the value that overrides the saved one."""
    return f"{format_value(stronger)} from {clean_line(stronger.origin, _LONGEST)} still applies"


def type_text(key: ConfigKey) -> str:
    """Describe the accepted values of a key."""
    if key.choices:
        return f"one of {', '.join(key.choices)}"
    return f"{key.kind} from {key.min} to {key.max}" if key.kind is ValueType.INTEGER else key.kind.value


def key_text(key: ConfigKey) -> str:
    """Describe a key, its accepted values, and whether a project may loosen it."""
    care = "" if key.stricter is None else "; a project may tighten what you set, not loosen it"
    return f"{key.help}; {type_text(key)}{care}"


def layer_lines(layers: KeyLayers) -> Iterator[LayerRow]:
    """Describe the value of a key in each layer, strongest first, and the default last."""
    for value, effect in layers.effects():
        problem = value.problem
        why = () if problem is None else (problem.what, problem.hint)
        origin = clean_line(value.given.origin, _LONGEST)
        yield LayerRow(
            effect.value, layer_value_text(value), origin, tuple(clean_line(text, _LONGEST) for text in why)
        )
    if layers.key is not None:
        default = layers.key.default
        yield LayerRow("default", UNSET if default is None else value_text(default), "")
