"""A program that prints what a test says, in place of an agent's own."""

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict

SESSION = "01a1b2c3-0000-7000-8000-0123456789ab"
"""The thread that ``codex`` names; ``claude`` is told its session."""

# It notes each start in a folder of its own, so that two at the same time are two. A reviewer is known by its
# rights, which kind it is by its prompt.
_PROGRAM = """\
#!/bin/sh
[ "$1" = --version ] && echo {version} && exit
prompt=$(cat)
here={folder} role=implementer kind=parent session={session} before=
for word; do
    case $before in --session-id | --resume) session=$word ;; esac
    case $word in read-only | --no-session-persistence) role=reviewer ;; esac
    before=$word
done
case $prompt in
*"You are the spec reviewer."*) kind=spec ;;
*"You are the code reviewer."*) kind=code ;;
esac
number=1
until mkdir "$here/started.$role.$kind.$number" 2>/dev/null; do number=$((number + 1)); done
answer=$here/$role.$number
[ -d "$answer" ] || answer=$here/$role.last
printf '%s' "$prompt" >"$here/started.$role.$kind.$number/prompt"
. "$answer/play"
"""
_PLAY = """\
{work}
play() {{ sed "s/@SESSION@/$session/g; s/@KIND@/$kind/g" "$answer/$1"; }}
play stderr >&2
play stdout
{then}
{ending}
"""


class Answer(BaseModel):
    """What one start of the program does: it may change a file, prints, and ends, unless it lingers.

    ``then`` is what it prints when the rest has been read.
    ``@SESSION@`` in what it prints is its session, ``@KIND@`` is spec or code for a reviewer of a change.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    stdout: str = ""
    then: str = ""
    stderr: str = ""
    exit: int = 0
    lingers: bool = False
    writes: str = ""

    @property
    def script(self) -> str:
        work = f'echo "$number" >>{shlex.quote(self.writes)}' if self.writes else ":"
        then = "sleep 0.3; play then" if self.then else ":"
        ending = "exec sleep 600" if self.lingers else f"exit {self.exit}"
        return _PLAY.format(work=work, then=then, ending=ending)


def install(folder: Path, program: str, version: str, answers: Mapping[str, Sequence[Answer]]) -> Path:
    """Make a program that gives these answers as ``implementer`` or ``reviewer``, the last one ever again."""
    for role, given in answers.items():
        names = [str(number) for number in range(1, len(given))] + ["last"]
        for name, answer in zip(names, given, strict=True):
            place = folder / f"{role}.{name}"
            place.mkdir(parents=True)
            (place / "stdout").write_text(answer.stdout)
            (place / "then").write_text(answer.then)
            (place / "stderr").write_text(answer.stderr)
            (place / "play").write_text(answer.script)
    path = folder / program
    said = {"claude": f"{version} (Claude Code)", "codex": f"codex-cli {version}"}.get(program, version)
    path.write_text(
        _PROGRAM.format(version=shlex.quote(said), folder=shlex.quote(os.fspath(folder)), session=SESSION)
    )
    path.chmod(0o755)
    return path


def starts(folder: Path, role: str, kind: str = "parent") -> list[str]:
    """Return the prompts that its starts in a role were given, in their order."""
    found = sorted(folder.glob(f"started.{role}.{kind}.*"), key=lambda path: int(path.suffix[1:]))
    return [(path / "prompt").read_text() for path in found]
