"""Configuration for display: values as they are typed, accepted types, the layers of a key."""

import json
from collections.abc import Callable, Iterator

from git_blackbird.messages.document import Line, Span, Style, Table, line, table
from git_blackbird.model.config.keys import Key, Value, ValueType
from git_blackbird.model.config.layers import Layer
from git_blackbird.model.config.settings import KeyLayers, Setting, ValueEffect

UNSET = "(unset)"


Shorten = Callable[[str], str]
"""Abbreviates the path of an origin."""


def value_text(value: Value | None) -> str:
    """Format a value so that ``config KEY VALUE`` would parse it as the same."""
    return UNSET if value is None else plain_text(value)


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
    return raw if isinstance(raw, str) else json.dumps(raw, ensure_ascii=False)


def saved_text(name: str, value: Value | None, place: str) -> str:
    """Describe what was saved where; None means that the key was removed."""
    if value is None:
        return f"removed {name} from {place}"
    return f"{name} = {value_text(value)} in {place}"


def overruled_text(stronger: Setting) -> str:
    """Describe the value that overrides the saved one."""
    return f"{value_text(stronger.value)} from {stronger.origin} still applies"


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


def setting_row(setting: Setting, shorten: Shorten = str) -> tuple[Span, Span, Span]:
    """Return a key, the value that counts, and its origin."""
    return Span(setting.key.name), Span(value_text(setting.value)), _origin(setting, shorten)


def key_document(layers: KeyLayers, shorten: Shorten = str) -> Iterator[Line | Table]:
    """Yield what a key is, and its value in each layer, the strongest first, and the default last."""
    key = layers.key
    yield line(f"  {key_text(key)}")
    rows = [(*_layer_row(one.effect, setting_text(one)), _origin(one, shorten)) for one in layers.values]
    yield table([*rows, (*_layer_row("default", value_text(key.default)), "")], None)


def _layer_row(effect: str, value: str) -> tuple[Span, Span]:
    style = Style.PLAIN if effect == ValueEffect.APPLIED else Style.FAINT
    return Span(f"  {effect}", style), Span(value, style)


def _origin(setting: Setting, shorten: Shorten) -> Span:
    return Span(shorten(setting.origin), Style.FAINT)
