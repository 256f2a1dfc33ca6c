"""The files that decide what a check says: those that it starts, and what runners of tests are told."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from posixpath import basename, dirname, join, normpath

from git_blackbird.model.rules.shell_commands import MAKEFILES, shell_words, started_files

Read = Callable[[str], str | None]
"""Returns the text of the file at a path of a tree; None where there is none."""

_ALWAYS = re.compile(
    r"(?:conftest|sitecustomize)\.py|pytest\.ini|(?:jest|vitest)\.config\.\w+|\.mocharc\.\w+"
)
_OF_PYTEST = re.compile(r"^\[(?:tool[.:])?pytest\b.*?(?=^\[|\Z)", re.MULTILINE | re.DOTALL)
_OF_PACKAGE = ("scripts", "jest", "mocha", "vitest", "ava", "tap")
_SCRIPT = re.compile(r".*\.(?:(?:ba|da|k|z)?sh|mk)")
_SHEBANG = re.compile(r"#!.*sh\b")
_VARIABLE = re.compile(r"\$\{?\w+\}?")
_NO_PATH = re.compile(r"[^\w.+/-]+")
_FAILS = re.compile(r"\b(?:exit|return)\s+[1-9$]|\bset\s+-\w*e|\bfalse\b")
_SUCCEEDS = re.compile(r"\bexit\b(?!\W*[1-9$])|\|\|\s*(?:true|:)")
_MOST_SCRIPTS = 100


def edited_programs(
    paths: Iterable[str], command: str | None, before: Read, after: Read, is_test: re.Pattern[str]
) -> tuple[str, ...]:
    """Return which paths of a change decide what a check says, and do so in another way after it.

    A script that is not started by the command itself, but by another, does so where it has fewer lines,
    or ways to fail, or more to succeed. What a test starts is what it tests.
    """
    started = frozenset(_started(command or ""))
    further = frozenset(_further_scripts(started, before, is_test))

    def is_edited(path: str) -> bool:
        old, new, name = before(path), after(path), basename(path)
        if name == "package.json":
            return path in started and _of_package(old) != _of_package(new)
        if name in {"pyproject.toml", "setup.cfg", "tox.ini"}:
            return _OF_PYTEST.findall(old or "") != _OF_PYTEST.findall(new or "")
        if _ALWAYS.fullmatch(name) or (path in started and (old is not None or name in MAKEFILES)):
            return old != new
        is_less = (now < was for was, now in zip(_says(old or ""), _says(new or ""), strict=True))
        return path in further and any(is_less)

    return tuple(filter(is_edited, paths))


def _started(command: str) -> Iterator[str]:
    """Yield the paths of what a command may start, at the top or in a folder that it names."""
    for name in started_files(command):
        yield from (normpath(join(folder, name)) for folder in ("", *shell_words(command)))


def _further_scripts(started: Iterable[str], read: Read, is_test: re.Pattern[str]) -> Iterator[str]:
    """Yield the scripts that are named in what is started, and in these."""
    pending, seen = list(started), set(started)
    while pending and len(seen) < _MOST_SCRIPTS:
        path = pending.pop()
        text = "" if is_test.fullmatch(path) else read(path) or ""
        for named in _NO_PATH.split(_VARIABLE.sub("", text)):
            for folder in (dirname(path), "") if "." in named or "/" in named else ():
                script = normpath(join(folder, named.lstrip("/")))
                if script not in seen and _is_script(script, read):
                    seen.add(script)
                    pending.append(script)
                    yield script


def _is_script(path: str, read: Read) -> bool:
    text = read(path)
    return text is not None and (_SCRIPT.fullmatch(path) or _SHEBANG.match(text)) is not None


def _says(text: str) -> tuple[int, int, int]:
    """Return the numbers of lines of a script, of ways to fail, and, below zero, of ways to succeed."""
    return len(text.split("\n")), len(_FAILS.findall(text)), -len(_SUCCEEDS.findall(text))


def _of_package(text: str | None) -> Mapping[str, object] | str | None:
    try:
        found = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return text
    return {name: found.get(name) for name in _OF_PACKAGE} if isinstance(found, dict) else text
