"""Configuration for display: values as they are typed, accepted types, the layers of a key."""

import json
from collections.abc import Iterator
from typing import NamedTuple

from git_blackbird.model.base.sanitize import clean_line
from git_blackbird.model.config.keys import Key, Value, ValueType
from git_blackbird.model.config.layers import Layer
from git_blackbird.model.config.settings import KeyLayers, Setting

UNSET = "(unset)"
_LONGEST = 1000


class LayerRow(NamedTuple):
    """The value of one layer, its effect and origin; ``why`` it is rejected."""

    effect: str
    value: str
    origin: str
    why: tuple[str, ...] = ()


def value_text(value: Value | None) -> str:
    """Format a value so that ``config KEY VALUE`` would parse it as the same."""
    return UNSET if value is None else clean_line(plain_text(value), _LONGEST)


def plain_text(value: Value) -> str:
    """Format the same unescaped."""
    if isinstance(value, bool):
        return str(value).lower()
    return json.dumps(value, ensure_ascii=False) if isinstance(value, tuple) else str(value)


def setting_text(setting: Setting) -> str:
    """Format the value of a setting, unparsed if it is invalid."""
    raw = setting.raw
    if setting.value is not None or setting.layer is Layer.DEFAULT:
        return value_text(setting.value)
    return clean_line(raw if isinstance(raw, str) else json.dumps(raw, ensure_ascii=False), _LONGEST)


def saved_text(name: str, value: Value | None, place: str) -> str:
    """Describe what was saved where; None means that the key was removed."""
    if value is None:
        return f"removed {clean_line(name)} from {clean_line(place, _LONGEST)}"
    return f"{name} = {value_text(value)} in {clean_line(place, _LONGEST)}"


def overruled_text(stronger: Setting) -> str:
    """Describe the value that overrides the saved one."""
    return f"{value_text(stronger.value)} from {clean_line(stronger.origin, _LONGEST)} still applies"


def type_text(key: Key) -> str:
    """Describe the accepted values of a key."""
    if key.choices:
        return f"{'some' if key.type is ValueType.WORDS else 'one'} of {', '.join(key.choices)}"
    limits = key.row.limits
    return key.type.value if limits is None else f"{key.type} from {limits[0]} to {limits[1]}"


def key_text(key: Key) -> str:
    """Describe a key, its accepted values, and whether a project may loosen it."""
    care = "" if key.row.stricter is None else "; a project may tighten what you set, not loosen it"
    return f"{key.row.help}; {type_text(key)}{care}"


def layer_lines(layers: KeyLayers) -> Iterator[LayerRow]:
    """Describe the value of a key in each layer, strongest first, and the default last."""
    for setting in layers.values:
        problem = setting.problem
        why = () if problem is None else (problem.what, problem.hint)
        yield LayerRow(
            setting.effect.value,
            setting_text(setting),
            clean_line(setting.origin, _LONGEST),
            tuple(clean_line(text, _LONGEST) for text in why),
        )
    yield LayerRow("default", value_text(layers.key.default), "")
