"""Values of keys as git reads them, and the layers that have them, merged."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cache
from typing import Annotated, Any, NamedTuple

from pydantic import Field, TypeAdapter, ValidationError

from git_blackbird.model.base.sanitize import shell_word, short_json
from git_blackbird.model.config.config import Config, Keys, is_ignored
from git_blackbird.model.config.keys import Key, Value, ValueType, with_value
from git_blackbird.model.config.layers import (
    ConfigProblem,
    Layer,
    RawSetting,
    parse_boolean,
    parse_integer,
    parse_number,
)

_FROM_JSON = frozenset({Layer.PROJECT, Layer.GLOBAL})


def read_value(key: Key, setting: RawSetting) -> tuple[Value | None, ConfigProblem | None]:
    """Validate a value of a layer; text from git or the environment is parsed as git does.

    A number that is out of range has both a value and a problem.
    """

    def problem(what: str, hint: str, *, fatal: bool = True) -> ConfigProblem:
        return ConfigProblem(setting.origin, key.name, what, hint, fatal)

    limits, takes = key.rules.limits, f"use {_accepted(key, setting.layer)}"
    try:
        value = _validator(key).validate_python(_parse(key, setting), strict=True)
        twice = _repetition(key, value)
        return (None, problem(twice, takes)) if twice else (value, None)
    except ValidationError as error:
        details = error.errors(include_url=False)[0]
        value, kind = details["input"], details["type"]
    except ValueError as error:
        return None, problem(str(error), takes)
    if limits is not None and kind in {"greater_than_equal", "less_than_equal"}:
        low, high = limits
        nearest = min(max(value, low), high)
        what = f"{value} is out of range; {nearest} is used"
        return nearest, problem(what, f"use {low} to {high}", fatal=False)
    if kind == "string_pattern_mismatch":
        return None, problem(f"{short_json(value)} is not the name of a model", "use its agent's name of it")
    what, use = f"{short_json(setting.raw)} is not {_type_text(key)}", takes
    if kind == "unknown_place":
        what, use = details["msg"], details["ctx"]["use"]
    elif kind == "literal_error" and isinstance(value, str):
        what = f"unknown value {value!r}"
    return None, problem(what, use)


def _accepted(key: Key, layer: Layer) -> str:
    """Describe the values that a layer may have for a key."""
    limits, choices = key.rules.limits, ", ".join(key.choices)
    if choices and key.type is ValueType.WORDS:
        form = "a list of names" if layer in _FROM_JSON else "names, separated by spaces,"
        return f"{form} from: {choices}"
    if choices:
        return f"one of: {choices}"
    if key.type is ValueType.BOOLEAN:
        return "true or false"
    return _type_text(key) if limits is None else f"{_type_text(key)} from {limits[0]} to {limits[1]}"


def _type_text(key: Key) -> str:
    return f"{'an' if key.type is ValueType.INTEGER else 'a'} {key.type}"


def _repetition(key: Key, value: Value) -> str:
    """Name a choice that is twice in a list of choices; "" without one."""
    words = value if key.choices and isinstance(value, tuple) else ()
    return next((f"{word} is there twice" for word in words if words.count(word) > 1), "")


@cache
def _validator(key: Key) -> TypeAdapter[Any]:
    low, high = key.rules.limits or (None, None)
    annotation: Any = Annotated[key.annotation, Field(ge=low, le=high)]
    return TypeAdapter(annotation)


def _parse(key: Key, setting: RawSetting) -> object:
    raw = setting.raw
    if isinstance(raw, list):
        return tuple(raw)
    parse = None if setting.layer in _FROM_JSON else _PARSERS.get(key.type)
    return raw if parse is None or not isinstance(raw, str) else parse(raw)


def _parse_words(raw: str) -> tuple[str, ...]:
    """Split words as a shell does, or parse a list as it is shown: a JSON array of texts."""
    import shlex  # only for setting a list

    try:
        if raw.lstrip().startswith("["):
            return TypeAdapter(tuple[str, ...]).validate_json(raw, strict=True)
        return tuple(shlex.split(raw))
    except ValidationError:
        raise ValueError(f"{short_json(raw)} is not a JSON list of strings") from None
    except ValueError as error:
        raise ValueError(f"{raw!r}: {error}") from None


_PARSERS: Mapping[ValueType, Callable[[str], Value]] = {
    ValueType.BOOLEAN: parse_boolean,
    ValueType.INTEGER: parse_integer,
    ValueType.NUMBER: parse_number,
    ValueType.WORDS: _parse_words,
}


def quoted_for_git(value: object) -> str:
    """Return a file's value as one shell word that git config stores as the same value."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return shell_word(" ".join(shell_word(str(word)) for word in value))
    if isinstance(value, bool):
        return str(value).lower()
    return shell_word(str(value))


def hint_for_this_clone(key: Key, value: object) -> str:
    """Return the command that sets a value that does not count from the project's file."""
    return f"to use it in this clone: git config blackbird.{key.name} {quoted_for_git(value)}"


class ValueEffect(StrEnum):
    """Whether a value is effective, overridden by a stronger layer, or rejected.

    ``WEAKER``: it would loosen a protection that the user set for all projects.
    """

    APPLIED = "applied"
    OVERRULED = "overruled"
    WEAKER = "weaker"
    IGNORED = "ignored"


class Setting(NamedTuple):
    """A layer's value of a key, and its effect.

    ``value`` is None where it is ignored, and for the default of a key that is unset. What is ignored or
    clamped has a ``problem``.
    """

    key: Key
    raw: object
    layer: Layer
    origin: str
    value: Value | None
    effect: ValueEffect
    problem: ConfigProblem | None = None

    @property
    def is_valid(self) -> bool:
        """Whether it is effective unless a stronger layer overrides it."""
        return self.effect in {ValueEffect.APPLIED, ValueEffect.OVERRULED}


_OF_THE_USER = frozenset({Layer.GIT_GLOBAL, Layer.GLOBAL})
"""Layers for all projects of a user."""


class KeyLayers(NamedTuple):
    """The setting of a key that applies, and its values in all layers but the default, strongest first."""

    applied: Setting
    values: tuple[Setting, ...]

    @property
    def key(self) -> Key:
        """The key."""
        return self.applied.key


class Settings(NamedTuple):
    """The configuration, the settings that it is made of by their keys, and the problems found.

    ``values`` are those of all layers but the default, strongest first.
    """

    config: Config
    applied: Mapping[str, Setting]
    values: tuple[Setting, ...]
    problems: tuple[ConfigProblem, ...]

    def layers_of(self, name: str) -> KeyLayers:
        """Return what each layer says of a key."""
        values = (setting for setting in self.values if setting.key.name == name)
        return KeyLayers(self.applied[name], tuple(values))


def merge_layers(keys: Keys, given: Iterable[RawSetting], problems: Sequence[ConfigProblem] = ()) -> Settings:
    """Let the strongest layer win for each key; report unknown, mistyped, clamped and untrusted values.

    Of one layer the last value counts, as in git. ``problems`` are those of whole files.
    """
    weakest_first = sorted(given, key=lambda setting: setting.layer, reverse=True)
    known = [(keys.find(setting.name), setting) for setting in weakest_first]
    unknown = [setting for key, setting in known if key is None and not is_ignored(setting.name)]
    values = tuple(
        _with_effects([_validated(key, setting) for key, setting in reversed(known) if key is not None])
    )
    applied = {
        name: Setting(key, None, Layer.DEFAULT, "default", key.default, ValueEffect.APPLIED)
        for name, key in keys.items()
    }
    config = keys.model.model_construct()
    for setting in values:
        if setting.effect is ValueEffect.APPLIED:
            applied[setting.key.name] = setting
            config = with_value(config, setting.key.path, setting.value)
    return Settings(
        config,
        applied,
        values,
        (
            *problems,
            *(_unknown(keys, setting) for setting in unknown),
            *(setting.problem for setting in reversed(values) if setting.problem is not None),
        ),
    )


_OWN_FILES = {Layer.PROJECT: " --project", Layer.GLOBAL: " --global", Layer.GIT_LOCAL: ""}


def _unknown(keys: Keys, setting: RawSetting) -> ConfigProblem:
    hint = _with_removal(keys.nearest(setting.name), setting)
    return ConfigProblem(setting.origin, setting.name, "unknown key", hint)


def _with_removal(hint: str, setting: RawSetting) -> str:
    """Add the command that removes a value to what else helps, for one that is stored."""
    scope = setting.origin.removeprefix("git config (").removesuffix(")")
    if setting.layer is Layer.ENVIRONMENT:
        command = f"unset {setting.origin}"
    elif scope in {"worktree", "global", "system"}:
        command = f"git config --{scope} --unset-all {shell_word(f'blackbird.{setting.name}')}"
    elif setting.layer in _OWN_FILES and scope != "command":
        command = f"git blackbird config --unset {shell_word(setting.name)}{_OWN_FILES[setting.layer]}"
    else:
        return hint
    return f"{hint}{' ' if hint.endswith('?') else '; '}`{command}` removes it"


def _validated(key: Key, given: RawSetting) -> Setting:
    value, problem = read_value(key, given)
    if problem is not None:
        problem = problem._replace(hint=_with_removal(problem.hint, given._replace(name=key.name)))
    if given.layer is Layer.PROJECT and not key.rules.clone_safe:
        does = "choose what runs on this machine" if key.rules.stricter is None else "take protection away"
        what = f"ignored: a repository's own file must not {does}"
        hint = hint_for_this_clone(key, given.raw)
        value, problem = None, ConfigProblem(given.origin, key.name, what, hint, fatal=False)
    effect = ValueEffect.IGNORED if value is None else ValueEffect.OVERRULED
    return Setting(key, given.raw, given.layer, given.origin, value, effect, problem)


def _with_effects(strongest_first: Sequence[Setting]) -> Iterator[Setting]:
    """Find the values that apply.

    A project's is passed over where it protects less than the user's for all projects, unless the user set
    one for this call or this clone.
    """
    own = {
        setting.key.name: setting
        for setting in reversed(strongest_first)
        if setting.is_valid and setting.layer in _OF_THE_USER
    }
    applied = set()
    for setting in strongest_first:
        key = setting.key
        if not setting.is_valid or key.name in applied:
            yield setting
            continue
        stricter = own.get(key.name) if setting.layer is Layer.PROJECT else None
        if stricter is not None and key.is_stricter(stricter.value, setting.value):
            theirs, mine = quoted_for_git(setting.value), quoted_for_git(stricter.value)
            what = f"{theirs} is not used: your own {mine} in {stricter.origin} is stricter"
            hint = hint_for_this_clone(key, setting.value)
            problem = ConfigProblem(setting.origin, key.name, what, hint, fatal=False)
            yield setting._replace(effect=ValueEffect.WEAKER, problem=problem)
        else:
            applied.add(key.name)
            yield setting._replace(effect=ValueEffect.APPLIED)
