"""The layers of the configuration, merged: which value of a key counts, and what is wrong with the others."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from git_blackbird.model.base.next_steps import Sentence, ShellLine
from git_blackbird.model.base.sanitize import shell_word
from git_blackbird.model.config.config import (
    KEYS,
    OF_GO,
    Config,
    find_key,
    keys_with,
    nearest_key,
    with_value,
)
from git_blackbird.model.config.keys import Key, Value, hint_for_this_clone, quoted_for_git, read_value
from git_blackbird.model.config.layers import ConfigProblem, Layer, RawSetting


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


_OF_THE_USER = frozenset({Layer.GIT_GLOBAL, Layer.GLOBAL})
"""Layers for all projects of a user."""


class KeyLayers(NamedTuple):
    """The setting of a key that applies, and its values in all layers but the default, strongest first."""

    applied: Setting
    values: tuple[Setting, ...]

    @property
    def key(self) -> Key:
        return self.applied.key


class Settings(NamedTuple):
    """The configuration, the settings that it is made of by their keys, and the problems found.

    ``values`` are those of all layers but the default, strongest first.
    """

    config: Config
    applied: Mapping[str, Setting]
    values: tuple[Setting, ...]
    problems: tuple[ConfigProblem, ...]

    def layers_of(self, key: Key) -> KeyLayers:
        values = (setting for setting in self.values if setting.key.name == key.name)
        return KeyLayers(self.applied.get(key.name) or _default(key), tuple(values))


def merge_layers(given: Iterable[RawSetting], problems: Sequence[ConfigProblem] = ()) -> Settings:
    """Let the strongest layer win for each key; report unknown, mistyped, clamped and untrusted values.

    Of one layer the last value counts, as in git. ``problems`` are those of whole files.
    """
    known: list[Setting] = []
    unknown: list[ConfigProblem] = []
    for raw in sorted(given, key=lambda setting: setting.layer, reverse=True):
        key = find_key(raw.name)
        if key is not None:
            known.append(_validated(key, raw))
        elif raw.name.lower() not in OF_GO:
            hint = _with_removal(nearest_key(raw.name), raw)
            unknown.append(ConfigProblem(raw.origin, raw.name, "unknown key", hint))
    values = tuple(_with_effects(known[::-1]))
    named = {setting.key.name.rpartition(".")[0] for setting in values if setting.key.name not in KEYS}
    applied = {key.name: _default(key) for key in keys_with(named)}
    config = Config()
    for setting in values:
        if setting.effect is ValueEffect.APPLIED:
            applied[setting.key.name] = setting
            config = with_value(config, setting.key.path, setting.value)
    faults = (setting.problem for setting in reversed(values) if setting.problem is not None)
    return Settings(config, applied, values, (*problems, *unknown, *faults))


def _default(key: Key) -> Setting:
    return Setting(key, None, Layer.DEFAULT, "default", key.default, ValueEffect.APPLIED)


_OWN_FILES = {Layer.PROJECT: " --project", Layer.GLOBAL: " --global", Layer.GIT_LOCAL: ""}


def _with_removal(hint: str, setting: RawSetting) -> str:
    scope = setting.origin.removeprefix("git config (").removesuffix(")")
    if setting.layer is Layer.ENVIRONMENT:
        command = f"unset {setting.origin}"
    elif scope in {"worktree", "global", "system"}:
        command = f"git config --{scope} --unset-all {shell_word(f'blackbird.{setting.name}')}"
    elif setting.layer in _OWN_FILES and scope != "command":
        command = f"git blackbird config --unset {shell_word(setting.name)}{_OWN_FILES[setting.layer]}"
    else:
        return hint
    return Sentence(hint, " " if hint.endswith("?") else "; ", ShellLine(command), " removes it")


def _validated(key: Key, given: RawSetting) -> Setting:
    value, problem = read_value(key, given)
    if problem is not None:
        problem = problem._replace(hint=_with_removal(problem.hint, given._replace(name=key.name)))
    if given.layer is Layer.PROJECT and not key.clone_safe:
        does = "choose what runs on this machine" if key.row.stricter is None else "take protection away"
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
        if setting.value is not None and setting.layer in _OF_THE_USER
    }
    applied = set()
    for setting in strongest_first:
        key = setting.key
        if setting.value is None or key.name in applied:
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
