"""How configuration is put for people: values as they are typed, what a key takes, what the layers say."""

import json
from collections.abc import Iterator
from typing import NamedTuple

from git_blackbird.model.keys import Key, Kind, Value
from git_blackbird.model.layers import KeyLayers
from git_blackbird.model.settings import Setting, Told
from git_blackbird.model.text import clean_line

UNSET = "(unset)"
_LONGEST = 1000


class LayerLine(NamedTuple):
    """What one layer says: what becomes of it, the value, its origin; ``why`` it is not as it should be."""

    standing: str
    value: str
    origin: str
    why: tuple[str, ...] = ()


def value_text(value: Value) -> str:
    """Write a value so that ``config KEY VALUE`` would read it as the same."""
    return clean_line(plain_text(value), _LONGEST)


def plain_text(value: Value) -> str:
    """Write the same as it is, whatever is in it."""
    if isinstance(value, bool):
        return str(value).lower()
    return json.dumps(value, ensure_ascii=False) if isinstance(value, tuple) else str(value)


def shown_value(setting: Setting) -> str:
    """Write the value that counts."""
    return UNSET if setting.value is None else value_text(setting.value)


def told_text(told: Told) -> str:
    """Write what a layer says, as the layer has it where it does not count."""
    if told.value is not None:
        return value_text(told.value)
    raw = told.given.value
    return clean_line(raw if isinstance(raw, str) else json.dumps(raw, ensure_ascii=False), _LONGEST)


def saved_text(name: str, value: Value | None, place: str) -> str:
    """Say what was saved where; no value is one that was removed."""
    if value is None:
        return f"removed {clean_line(name)} from {clean_line(place, _LONGEST)}"
    return f"{name} = {value_text(value)} in {clean_line(place, _LONGEST)}"


def overruled_text(stronger: Setting) -> str:
    """Say what counts instead of what was saved."""
    return f"{shown_value(stronger)} from {clean_line(stronger.origin, _LONGEST)} still counts instead"


def type_text(key: Key) -> str:
    """Say what a key takes."""
    if key.choices:
        return f"one of {', '.join(key.choices)}"
    return f"{key.kind} from {key.low} to {key.high}" if key.kind is Kind.INTEGER else key.kind.value


def key_text(key: Key) -> str:
    """Say what a key is, what it takes, and whether a project may loosen it."""
    care = "" if key.stricter is None else "; a project may tighten what you set, not loosen it"
    return f"{key.says}; {type_text(key)}{care}"


def layer_lines(layers: KeyLayers) -> Iterator[LayerLine]:
    """Say what each layer says of a key, the strongest first, and the default last."""
    for one, standing in layers.standings():
        problem = one.problem
        why = () if problem is None else (problem.what, problem.hint)
        origin = clean_line(one.given.origin, _LONGEST)
        yield LayerLine(
            standing.value, told_text(one), origin, tuple(clean_line(text, _LONGEST) for text in why)
        )
    if layers.key is not None:
        default = layers.key.default
        yield LayerLine("default", UNSET if default is None else value_text(default), "")
