"""Commands that were printed: which they are, and what comes of each where it is typed as it stands."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tests import preloaded
from tests.cli.terminal import PATIENCE_SECONDS, PROGRAM, Terminal, program_environ

GOLDEN = Path(__file__).with_name("golden")
_TYPED = re.compile(r"\$ (?P<line>(?:\w+=\S+ )*git blackbird.*)")
_END = re.compile(r"\[exit (?P<code>\d+)\]")
# A command that stands alone, behind the word for it, or between backticks; and options alone, as a hint.
_COMMAND = r"(?P<command>git (?:blackbird|config|add)\b(?: [^`#\n]*[^`#\s])?)"
_PRINTED = re.compile(rf"(?:^(?:2> )? *(?:hint: |next step: |next: )?|`){_COMMAND}(?= *(?:`|#|$))")
_OPTIONS = re.compile(r"^2> hint: (?P<command>-{1,2}[a-z][^#\n]*[^#\s])")
# Words in capitals that are no value: signals, variables, HEAD.
_BLANK = re.compile(r"(?<![\w$])(?:(?<==)|(?<= ))(?!HEAD\b)[A-Z]{2,}(?:=[A-Z]+)?(?![\w)-])")
# Exit codes of calls that did something, or were stopped by something: the others say that nothing was done.
LEADING = {0, 1, 3, 4, 5, 8, 130}
UNUSABLE = {8, 128}
REFUSED = re.compile(r"^(?:error|fatal): ", re.MULTILINE)
# Steps of which some need the one before them.
_STEP = re.compile(r"^next step: (?P<command>git blackbird\b[^#\n]*[^#\s])", re.MULTILINE)
# What differs between two calls that did the same.
UNSTEADY = re.compile(r"\b[0-9a-f]{7,40}\b|\d+")
WRITES = """sh -c 'echo "as a person says it" >>"$1"' -"""
QUIET_SECONDS = 1.0


class Hint(NamedTuple):
    """A command that was printed, in a file after a command line."""

    file: str
    after: str
    command: str

    @property
    def blanks(self) -> list[str]:
        return _BLANK.findall(self.command)


def hints() -> Iterator[Hint]:
    """Yield the commands that golden files show as ways on."""
    for path in sorted(GOLDEN.glob("*.txt")):
        yield from hints_in(path.stem, path.read_text())


def hints_in(file: str, text: str) -> Iterator[Hint]:
    after = ""
    for line in text.splitlines():
        if typed := _TYPED.fullmatch(line):
            after = typed["line"]
        elif not _END.fullmatch(line) and not (after.endswith("-h") or "blackbird help" in after):
            found = [*_PRINTED.finditer(line), *_OPTIONS.finditer(line)]
            yield from (Hint(file, after, each["command"]) for each in found)


class Typed(NamedTuple):
    """How a command ended, None while it asks; what it printed, and whether it changed a file."""

    code: int | None
    text: str
    has_changed: bool

    def leads_on(self, printed: str) -> bool:
        """Whether it did something, asks, or tells something else than what ``printed`` it."""
        if self.code in {0, None}:
            return True
        # What cannot be used, or started, stops all but what names its faults, or the way out.
        if self.code in UNUSABLE:
            return any(word in self.text for word in ("hint: ", "next step", "validation failed: "))
        says_more = {*UNSTEADY.sub("", self.text).splitlines()} - {*UNSTEADY.sub("", printed).splitlines()}
        return self.code in LEADING and not REFUSED.search(self.text) and bool(self.has_changed or says_more)


@dataclass
class HintTrial:
    """What is typed of one story, once for each kind of command; ``dead_ends`` lead nowhere."""

    tried: set[str] = field(default_factory=set)
    dead_ends: list[str] = field(default_factory=list)

    def type_all(self, cwd: Path, environ: Mapping[str, str], line: str, printed: str) -> None:
        said = "".join(f"2> {each}\n" for each in printed.splitlines())
        steps = [step["command"] for step in _STEP.finditer(printed)]
        for hint in hints_in("", f"$ {line}\n{said}"):
            words = shlex.split(hint.command)
            kind = " ".join(word for word in words[:4] if word.isalpha() or word.startswith("-"))
            if words[:2] != ["git", "blackbird"] or kind in self.tried:
                continue
            self.tried.add(kind)
            at = steps.index(hint.command) if hint.command in steps else 0
            lines = [shlex.split(step)[2:] for step in (*steps[:at], hint.command)]
            typed = self._typed(cwd, environ, lines[-1:], on_terminal=False)
            if not typed.leads_on(printed):
                typed = self._typed(cwd, environ, lines[-1:], on_terminal=True)
            if at and not typed.leads_on(printed):
                typed = self._typed(cwd, environ, lines, on_terminal=False)
            if not typed.leads_on(printed):
                self.dead_ends.append(
                    f"{hint.command}\n  [after {line}]\n  [exit {typed.code}]\n{typed.text}"
                )

    def _typed(
        self, cwd: Path, environ: Mapping[str, str], lines: list[list[str]], *, on_terminal: bool
    ) -> Typed:
        """Type commands in a copy that stands where the original is: paths of worktrees stay right."""
        place = cwd.parent
        original = place.with_name(f"{place.name}-original")
        place.rename(original)
        try:
            subprocess.run(["cp", "-a", original, place], check=True)
            *before, args = lines
            for each in before:
                _ = _type(cwd, environ, each)
            if on_terminal:
                code, text = _type_on_terminal(cwd, environ, args)
            else:
                code, text = _type(cwd, environ, args)
            return Typed(code, text, _files(cwd) != _files(original / cwd.name))
        finally:
            shutil.rmtree(place, ignore_errors=True)
            original.rename(place)


def _type(cwd: Path, environ: Mapping[str, str], args: list[str]) -> tuple[int, str]:
    ended = preloaded.run(
        [sys.executable, *PROGRAM, *args],
        cwd=cwd,
        env=program_environ(environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=PATIENCE_SECONDS,
    )
    return ended.returncode, ended.stdout.decode(errors="replace")


def _type_on_terminal(cwd: Path, environ: Mapping[str, str], args: list[str]) -> tuple[int | None, str]:
    """Type a command where it can ask; what then is quiet asks."""
    with Terminal(cwd, *args, environ={**environ, "GIT_EDITOR": WRITES}) as terminal:
        deadline = quiet_since = time.monotonic()
        sent = 0
        while terminal.take():
            now = time.monotonic()
            if len(terminal.sent) > sent:
                sent, quiet_since = len(terminal.sent), now
            if (sent and now > quiet_since + QUIET_SECONDS) or now > deadline + PATIENCE_SECONDS:
                return None, terminal.plain
        return terminal.end(), terminal.plain.replace("\r\n", "\n")


def _files(top: Path) -> dict[str, bytes]:
    """Return the files of the worktree, and those in which records, plan and settings are."""
    kept: dict[str, bytes] = {}
    for folder, _, names in os.walk(top):
        place = Path(folder)
        if "objects" not in place.parts:
            files = (place / name for name in names if not name.endswith("lock"))
            kept |= {str(each.relative_to(top)): each.read_bytes() for each in files if each.is_file()}
    return kept
