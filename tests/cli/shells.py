"""Real shells in a terminal: what a line becomes when everything that fits is inserted."""

import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pexpect

from git_blackbird.cli import commands
from git_blackbird.cli.commands.package_files import SCRIPTS

ROOT = Path(__file__).parents[2]
FOLDER = Path(str(commands.__file__)).parents[1] / "completions"
PATIENCE_SECONDS = 60.0
_BASH_COMPLETION = Path("/usr/share/bash-completion/bash_completion")
_DUMP = "\x14"
_END = "--end--"
_INSERT_ALL = "\x18*"

_BASH = """
bind 'set enable-bracketed-paste off'
bind 'set bell-style none'
bind '"\\C-x*": insert-completions'
dump () { printf '%s\\n' "$READLINE_LINE" >>"$DUMP"; READLINE_LINE=; }
bind -x '"\\C-t": dump'
"""
_ZSH = """
fpath=("$SHELL_DATA/zsh/site-functions" $fpath)
autoload -Uz compinit && compinit -u -D
zle -C all-matches complete-word _generic
bindkey '^X*' all-matches
zstyle ':completion:all-matches:*' insert yes
zstyle ':completion:all-matches::::' completer _all_matches _complete
dump () { print -r -- "$BUFFER" >>"$DUMP"; BUFFER=; }
zle -N dump
bindkey '^T' dump
"""


def install_program(folder: Path) -> Path:
    """Put the program and its scripts where an installation has them; gives the folder."""
    program = folder / "bin" / "git-blackbird"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m git_blackbird "$@"\n')
    program.chmod(0o755)
    for name, place in (
        (SCRIPTS["bash"], "bash-completion/completions/git-blackbird"),
        (SCRIPTS["zsh"], "zsh/site-functions/_git-blackbird"),
        (SCRIPTS["fish"], "fish/vendor_completions.d/git-blackbird.fish"),
        ("git-blackbird.conf.fish", "fish/vendor_conf.d/git-blackbird.fish"),
    ):
        target = folder / "share" / place
        target.parent.mkdir(parents=True)
        shutil.copy(FOLDER / name, target)
    manual = folder / "share/man/man1"
    manual.mkdir(parents=True)
    shutil.copy(ROOT / "man/git-blackbird.1", manual)
    return folder


def _environ(installed: Path) -> dict[str, str]:
    share = installed / "share"
    return {
        **os.environ,
        "PATH": f"{installed / 'bin'}:{os.environ['PATH']}",
        "XDG_DATA_DIRS": f"{share}:/usr/local/share:/usr/share",
        "SHELL_DATA": str(share),
        "LC_ALL": "C.UTF-8",
    }


class Shell(Protocol):
    """A shell that completes lines."""

    def complete(self, lines: Iterable[str]) -> Iterator[list[str]]:
        """Return for each line the words that fit behind it, sorted."""
        ...


@dataclass(frozen=True)
class Typed:
    """bash or zsh, typed into on a terminal."""

    argv: tuple[str, ...]
    setup: str
    repo: Path
    installed: Path

    def complete(self, lines: Iterable[str]) -> Iterator[list[str]]:
        dump = self.installed / "dump"
        dump.write_text("")
        setup = self.installed / "setup"
        setup.write_text(self.setup)
        with self._spawned(dump) as child:
            child.sendline(f". {shlex.quote(str(setup))}; : > $DUMP; echo rea''dy")
            child.expect("ready")
            for number, line in enumerate(lines, 1):
                child.send(line + _INSERT_ALL)
                child.send(_DUMP)
                yield _added(line, self._await_line(child, dump, number))

    @contextmanager
    def _spawned(self, dump: Path) -> Iterator["pexpect.spawn[str]"]:
        child = pexpect.spawn(
            self.argv[0],
            list(self.argv[1:]),
            cwd=self.repo,
            env={**_environ(self.installed), "DUMP": str(dump), "TERM": "xterm", "PS1": "$ "},
            encoding="utf-8",
            timeout=PATIENCE_SECONDS,
            dimensions=(200, 2000),
        )
        child.delaybeforesend = None
        try:
            yield child
        finally:
            child.close(force=True)

    @staticmethod
    def _await_line(child: "pexpect.spawn[str]", dump: Path, number: int) -> str:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while len(said := dump.read_text().splitlines()) < number:
            assert time.monotonic() < deadline, child.read_nonblocking(100_000, 1)
            child.expect([pexpect.TIMEOUT, ".+"], timeout=0.05)
        return said[number - 1]


def _added(line: str, seen: str) -> list[str]:
    """Return the words that completion put in the place of the last word of a line."""
    before = line[: line.rindex(" ") + 1]
    assert seen.startswith(before), seen
    words = sorted(word.rstrip("/") for word in shlex.split(seen.removeprefix(before)))
    return [] if words == shlex.split(line.removeprefix(before)) else words


@dataclass(frozen=True)
class Fish:
    """fish, which tells what it would offer; it finds the script by itself unless it is ``sourced``."""

    repo: Path
    installed: Path
    sourced: bool = True

    def complete(self, lines: Iterable[str]) -> Iterator[list[str]]:
        script = self.installed / "share/fish/vendor_completions.d/git-blackbird.fish"
        source = f"source {shlex.quote(str(script))}; " if self.sourced else ""
        completed = subprocess.run(
            ["fish", "-c", f"{source}for line in $argv; complete -C $line; echo {_END}; end", *lines],
            cwd=self.repo,
            env=_environ(self.installed),
            capture_output=True,
            text=True,
            check=True,
            timeout=4 * PATIENCE_SECONDS,
        )
        assert completed.stderr == ""
        for offered in completed.stdout.split(f"{_END}\n")[:-1]:
            yield sorted(line.partition("\t")[0].rstrip("/") for line in offered.splitlines())


def bash(repo: Path, installed: Path) -> Shell:
    """Bash with bash-completion, or with git's own completion alone."""
    return Typed(("bash", "--norc", "--noprofile", "-i"), f". {_BASH_COMPLETION}\n{_BASH}", repo, installed)


def zsh(repo: Path, installed: Path) -> Shell:
    """Zsh with its own completion of git."""
    return Typed(("zsh", "-f", "-i"), _ZSH, repo, installed)


def why_missing(shell: str) -> str | None:
    """Say what this machine lacks for a shell's tests."""
    if shutil.which(shell) is None:
        return f"{shell} is not installed"
    if shell == "bash" and not _BASH_COMPLETION.exists():
        return "bash-completion is not installed"
    return None
