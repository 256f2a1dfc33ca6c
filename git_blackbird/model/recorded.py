"""Parts of the files under ``.blackbird/`` as frozen values: read tolerantly, written back without loss.

Plain dataclasses and one reader for them: every command that reads records pays for this module.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from enum import Enum
from types import NoneType
from typing import Annotated, Any, NamedTuple, TypeVar, get_args, get_origin

from git_blackbird.model.ids import Checked, RunId, TaskId, run_id_fault, task_id_fault

P = TypeVar("P", bound="Recorded")
Read = Callable[[Any], Any]

_UNKNOWN = "unknown"
_FILE_NAME = "file name"


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """A part of a file under ``.blackbird/``; ``unknown`` keeps the fields this program does not know."""

    unknown: Mapping[str, Any] = field(default_factory=dict, hash=False, repr=False)


class PartFault(ValueError):  # noqa: N818  # a fault of a file, not of the program
    """A part that is not what it must be: ``place`` is the way to the value, ``what`` is wrong with it."""

    def __init__(self, what: str, place: str = "") -> None:
        super().__init__(f"{place or 'the record'}: {what}")
        self.what = what
        self.place = place

    def inside(self, name: str | int) -> "PartFault":
        """Give the fault as it is seen from around the value."""
        return PartFault(self.what, f"{name}.{self.place}" if self.place else str(name))


class _Field(NamedTuple):
    name: str
    read: Read
    is_required: bool


def named(name: str) -> Mapping[str, str]:
    """Give the metadata of a field that has this name in files."""
    return {_FILE_NAME: name}


def parse_part(kind: type[P], raw: Any) -> P:
    """Read a part from what JSON gave; fields that ``kind`` does not know are kept.

    Raises PartFault for the first thing that is wrong.
    """
    if not isinstance(raw, dict):
        raise PartFault(f"is {_shown(raw)}, not an object")
    known = _fields(kind)
    found: dict[str, Any] = {}
    unknown: dict[str, Any] = {}
    for name, value in raw.items():
        one = known.get(name)
        if one is None:
            unknown[name] = value
            continue
        try:
            found[one.name] = one.read(value)
        except PartFault as fault:
            raise fault.inside(name) from None
    for name, one in known.items():
        if one.is_required and one.name not in found:
            raise PartFault("is missing", name)
    return kind(**found, unknown=unknown)


def plain(part: Recorded) -> dict[str, Any]:
    """Give a part as JSON has it: the names of the file, nothing that is None, what is unknown last."""
    return known_fields(part) | dict(part.unknown)


def known_fields(part: Recorded) -> dict[str, Any]:
    """Give the same without what is unknown at the top."""
    values = ((name, getattr(part, one.name)) for name, one in _fields(type(part)).items())
    return {name: _plain_value(value) for name, value in values if value is not None}


def _plain_value(value: Any) -> Any:
    if isinstance(value, Recorded):
        return plain(value)
    if isinstance(value, tuple):
        return [_plain_value(one) for one in value]
    if isinstance(value, dict):
        return {name: _plain_value(one) for name, one in value.items()}
    return value


_known: dict[type[Recorded], Mapping[str, _Field]] = {}


def _fields(kind: type[Recorded]) -> Mapping[str, _Field]:
    """Give the fields of a kind by their names in files."""
    if kind not in _known:
        _known[kind] = {
            one.metadata.get(_FILE_NAME, one.name): _Field(
                one.name, _reader(one.type), one.default is MISSING and one.default_factory is MISSING
            )
            for one in fields(kind)
            if one.name != _UNKNOWN
        }
    return _known[kind]


def _inside(name: str | int, read: Read, value: Any) -> Any:
    try:
        return read(value)
    except PartFault as fault:
        raise fault.inside(name) from None


def _reader(hint: Any) -> Read:
    """Make the function that reads values of an annotation; ``Any`` is taken as it comes."""
    if hint is Any:
        return _taken
    checked = _checked(hint)
    if checked is not None:
        return lambda value: _read_checked(checked, value)
    if get_origin(hint) is not None:
        return _reader_of_several(get_origin(hint), get_args(hint))
    kind = getattr(hint, "__supertype__", hint)
    if issubclass(kind, Recorded):
        return lambda value: value if isinstance(value, kind) else parse_part(kind, value)
    if issubclass(kind, Enum):
        return lambda value: _read_choice(kind, value)
    return _SIMPLE[kind]


def _checked(hint: Any) -> Checked | None:
    """Find what a text of this annotation must be besides a text."""
    if get_origin(hint) is Annotated:
        return next((note for note in get_args(hint)[1:] if isinstance(note, Checked)), None)
    return _CHECKED_IDS.get(hint)


def _read_checked(checked: Checked, value: Any) -> str:
    text = _read_text(value)
    fault = checked.fault(text)
    if fault is not None:
        raise PartFault(f"is {_shown(text)}, {fault}")
    return text


def _task_id_wrong(text: str) -> str | None:
    fault = task_id_fault(text)
    return None if fault is None else f"not a task id, it {fault}"


def _reader_of_several(origin: Any, args: tuple[Any, ...]) -> Read:
    if NoneType in args:
        read = _reader(next(arg for arg in args if arg is not NoneType))
        return lambda value: None if value is None else read(value)
    read = _reader(args[0] if origin is tuple else args[1])
    return (
        (lambda value: _read_list(read, value)) if origin is tuple else lambda value: _read_map(read, value)
    )


def _taken(value: Any) -> Any:
    return value


def _read_list(read: Read, value: Any) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise PartFault(f"is {_shown(value)}, not a list")
    return tuple(_inside(index, read, one) for index, one in enumerate(value))


def _read_map(read: Read, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise PartFault(f"is {_shown(value)}, not an object")
    return {name: _inside(name, read, one) for name, one in value.items()}


def _read_choice(kind: type[Enum], value: Any) -> Enum:
    try:
        return kind(value)
    except ValueError:
        choices = ", ".join(str(one.value) for one in kind)
        raise PartFault(f"is {_shown(value)}, not one of: {choices}") from None


def _read_text(value: Any) -> str:
    if not isinstance(value, str):
        raise PartFault(f"is {_shown(value)}, not a text")
    return value


def _read_flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise PartFault(f"is {_shown(value)}, not true or false")
    return value


def _read_integer(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise PartFault(f"is {_shown(value)}, not a whole number")
    return value


def _read_number(value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise PartFault(f"is {_shown(value)}, not a number")
    try:
        return float(value)
    except OverflowError:
        raise PartFault("is too large a number") from None


_CHECKED_IDS: Mapping[Any, Checked] = {TaskId: Checked(_task_id_wrong), RunId: Checked(run_id_fault)}
_SIMPLE: Mapping[type, Read] = {str: _read_text, bool: _read_flag, int: _read_integer, float: _read_number}


def _shown(value: Any) -> str:
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 40 else f"{text[:37]}..."
