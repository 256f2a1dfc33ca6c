"""What the text of a shell command tells of it: whether it can fail, and which files it starts."""

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence

from git_blackbird.model.run.summary import FileChange, FileStatus

# What ends with 0 whatever it is given.
_HARMLESS = frozenset({"true", ":", "echo", "printf", "pwd", "/bin/true", "/usr/bin/true"})
_STARTS_FILES = re.compile(r"(?:.*/)?(?:\.|source|(?:ba|da|k|z)?sh|python[\d.]*|node|ruby|perl|php)")
# What stands before a command: programs that start it, with their options and numbers, and assignments.
_BEFORE_PROGRAM = re.compile(r"env|nice|timeout|time|nohup|exec|command|-.*|\d[\d.]*[smhd]?|\w+=.*")
_OPERATOR = re.compile(r"[;&|()<>]+")
_BEFORE_COMMAND = re.compile(r"[^<>]*[;&|(]")
_MAKEFILES = ("Makefile", "makefile", "GNUmakefile")
# Code and settings that decide what becomes of tests, wherever they are.
_DECIDES = re.compile(
    r"(?:.*/)?(?:(?:conftest|sitecustomize)\.py|pytest\.ini|(?:jest|vitest)\.config\.\w+|\.mocharc\.\w+)"
)


def can_only_succeed(command: str) -> bool:
    """Whether a shell command ends with 0 whatever happens; of one that is not understood it is not known.

    Its last part decides, and of that what stands behind ``||``.
    """
    parts = _words(command)
    if not parts or "set" in parts or "|" in parts:
        return False
    last = _split(parts, ";")[-1]
    return all(map(_is_harmless, _split(_split(last, "||")[-1], "&&")))


def started_files(command: str) -> Iterator[str]:
    """Yield what a command may start of the files in its folder: programs, scripts, what ``make`` reads."""
    is_first, is_script = True, False
    for word in _words(command):
        if _OPERATOR.fullmatch(word):
            is_first, is_script = _BEFORE_COMMAND.fullmatch(word) is not None, False
        elif is_first and _BEFORE_PROGRAM.fullmatch(word) is None:
            is_first, is_script = False, _STARTS_FILES.fullmatch(word) is not None
            yield from _MAKEFILES if word == "make" else (word.removeprefix("./"),)
        elif is_script and not word.startswith("-"):
            is_script = False
            yield word.removeprefix("./")


def edited_programs(changes: Iterable[FileChange], command: str | None) -> tuple[str, ...]:
    """Return the files which a command starts, and a change edits or removes; with what decides on tests.

    What the change adds counts where it is read in the place of what was there.
    """
    started = set(started_files(command or ""))
    edited = []
    for change in changes:
        before = change.old_path or change.path
        is_new = change.status is FileStatus.ADDED and before not in _MAKEFILES
        if any(map(_DECIDES.fullmatch, (before, change.path))) or (before in started and not is_new):
            edited.append(before)
    return tuple(edited)


def _words(command: str) -> Sequence[str]:
    """Return words and operators, none of what the shell would not understand."""
    words = shlex.shlex(command.replace("\n", ";"), posix=True, punctuation_chars=True)
    words.whitespace_split = True
    try:
        return list(words)
    except ValueError:
        return ()


def _split(words: Sequence[str], operator: str) -> list[list[str]]:
    """Return the parts between operators, without empty ones but the only one."""
    parts: list[list[str]] = [[]]
    for word in words:
        if word == operator:
            parts.append([])
        else:
            parts[-1].append(word)
    return [part for part in parts if part] or [[]]


def _is_harmless(words: Sequence[str]) -> bool:
    return bool(words) and (words[0] in _HARMLESS or list(words) == ["exit", "0"])
