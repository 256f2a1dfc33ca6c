"""What the text of a shell command tells of it: whether it can fail, and which files it starts."""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence

_SHELL = r"(?:.*/)?(?:ba|da|k|z)?sh"
# What ends with 0 whatever it is given; a folder that is missing is no verdict.
_HARMLESS = frozenset({"true", ":", "echo", "printf", "pwd", "cd", "/bin/true", "/usr/bin/true"})
_CONSTANT = re.compile(r"exit 0|test \w+|\[ \w+ \]")
_BRACKETS = frozenset("(){}")
_STARTS_FILES = re.compile(rf"\.|source|{_SHELL}|(?:.*/)?(?:python[\d.]*|node|ruby|perl|php)")
# What stands before a command: programs that start it, with their options and numbers, and assignments.
_BEFORE_PROGRAM = re.compile(r"env|nice|timeout|time|nohup|exec|command|-.*|\d[\d.]*[smhd]?|\w+=.*")
_OPERATOR = re.compile(r"[;&|()<>]+")
_BEFORE_COMMAND = re.compile(r"[^<>]*[;&|(]")
MAKEFILES = ("Makefile", "makefile", "GNUmakefile")
_READ_BY: Mapping[str, Sequence[str]] = {
    "make": MAKEFILES,
    **dict.fromkeys(("npm", "npx", "yarn", "pnpm", "bun", "jest", "mocha", "vitest"), ("package.json",)),
}


def can_only_succeed(command: str) -> bool:
    """Whether a shell command ends with 0 whatever happens; of one that is not understood it is not known.

    Its last part decides, and of that what stands behind ``||``.
    """
    parts = [word for word in shell_words(command) if word not in _BRACKETS]
    if not parts or "set" in parts or "|" in parts:
        return False
    last = _split(parts, ";")[-1]
    return all(map(_is_harmless, _split(_split(last, "||")[-1], "&&")))


def started_files(command: str) -> Iterator[str]:
    """Yield the names of files that a command may start, or a text in it for another shell."""
    is_first, is_script = True, False
    for word in shell_words(command):
        if " " in word:
            yield from started_files(word)
        if _OPERATOR.fullmatch(word):
            is_first, is_script = _BEFORE_COMMAND.fullmatch(word) is not None, False
        elif is_first and _BEFORE_PROGRAM.fullmatch(word) is None:
            is_first, is_script = False, _STARTS_FILES.fullmatch(word) is not None
            yield from _READ_BY.get(word, (word,))
        elif is_script and not word.startswith("-"):
            is_script = False
            yield word


def shell_words(command: str) -> Sequence[str]:
    """Return words and operators, none of what the shell would not understand."""
    found = shlex.shlex(command.replace("\n", ";"), posix=True, punctuation_chars=True)
    found.whitespace_split = True
    try:
        return list(found)
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


def _is_harmless(command: Sequence[str]) -> bool:
    if re.fullmatch(f"{_SHELL} -\\w*c", " ".join(command[:2])):
        return can_only_succeed("".join(command[2:3]))
    is_constant = _CONSTANT.fullmatch(" ".join(command)) is not None
    return is_constant or "".join(command[:1]) in _HARMLESS
