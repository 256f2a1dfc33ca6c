"""The text of the post-commit hook: what an install writes into it, and how it is recognised again."""

import hashlib
import os
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

NAME = "post-commit"
_START = "#!/bin/sh\n# git-blackbird post-commit hook."
_FOLDERS = "# folders made for it: "
_SUM = "# sum: "
_SHELLS = frozenset({"sh", "ash", "bash", "dash", "ksh", "mksh", "zsh"})
_OWN_NAME = re.compile(r"\$0\b|\$\{0\b")
# How other languages name the path that a program is called by, take its last part, and its folder.
_NAMES_ITSELF = re.compile(
    r"\$0\b|\$\{0\b|argv\b|ARGV0|BASH_SOURCE|__file__|__FILE__|PROGRAM_NAME|__filename"
)
_FOLDER = re.compile(
    r"dirname|realpath|abspath|resolve|expand_path|FindBin|\.parent\b|BASH_SOURCE[^ }]*%/|:[ahAP]\b"
)
_LAST_PART = re.compile(
    r"basename\W{1,6}(?:sys\.)?(?:argv\[0\]|__file__|0\b|BASH_SOURCE|PROGRAM_NAME)"
    r"|(?:argv\[0\]|__file__)\)\.name\b|BASH_SOURCE(?:\[0\])?##\*/"
)
_PACKAGE = Path(__file__).parents[1]
# In a wheel, and in a checkout that is installed editable.
_TEXTS = (_PACKAGE / "hooks" / NAME, _PACKAGE.parent / "hooks" / NAME)


@dataclass(frozen=True)
class Caller:
    """What the hook starts when there is something to do: a Python and a file for it."""

    python: Path
    entry: Path


@dataclass(frozen=True)
class Place:
    """What the hook must know of the place it is in.

    ``folders`` were made for it. ``shell`` is the command that reads the hook from before where that one
    looks at the name it is called by, which moving it aside has changed; else empty.
    """

    folders: int = 0
    shell: str = ""


def render_hook(caller: Caller, place: Place) -> str:
    """Write the hook: with what it starts, what it must know, and a sum that tells edits."""
    text = next(path for path in _TEXTS if path.is_file()).read_text(encoding="utf-8")
    for name, value in (("python", caller.python), ("entry", caller.entry), ("shell", place.shell)):
        text = text.replace(f"\n{name}=\n", f"\n{name}={shlex.quote(os.fspath(value))}\n", 1)
    text = text.replace(f"{_FOLDERS}0\n", f"{_FOLDERS}{place.folders}\n", 1)
    return f"{text}{_SUM}{_sum(text)}\n"


def parse_place(text: str) -> Place:
    """Read back what a hook of ours knows of its place."""
    told = text.partition(_FOLDERS)[2].partition("\n")[0]
    return Place(int(told) if told.isdecimal() else 0, _value(text, "shell"))


def shell_of(hook: str) -> str:
    """Give the command that reads another hook's text; empty where it need not be told its name.

    Only a script of a shell that mentions ``$0`` is read, so that it finds its own name there. One that
    compares that with BASH_SOURCE would take itself for a library.
    """
    if not _OWN_NAME.search(hook) or "BASH_SOURCE" in hook or "\0" in hook:
        return ""
    first = hook.partition("\n")[0]
    if not first.startswith("#!"):
        return "/bin/sh"
    words = first[2:].split()
    named = [word for word in words if word != "-S" and not word.endswith("/env")]
    shell = Path(named[0]).name if named else ""
    # Else its $0 is the file that is read.
    options = ["+o", "functionargzero"] if shell == "zsh" else []
    return " ".join([*words, *options]) if shell in _SHELLS else ""


def looks_at_name(hook: str) -> bool:
    """Whether a hook that no shell reads for us may go by the last part of the path it is called by.

    One that looks for its folder alone is better called where it lies. A program may always do so.
    """
    if shell_of(hook):
        return False
    if "\0" in hook or _LAST_PART.search(hook):
        return True
    return _NAMES_ITSELF.search(hook) is not None and not _FOLDER.search(hook)


def is_ours(text: str) -> bool:
    """Whether this program wrote the hook, in whatever version."""
    return text.startswith(_START)


def is_untouched(text: str) -> bool:
    """Whether nobody changed the hook since it was written."""
    body, _, told = text.rpartition(_SUM)
    return told.strip() == _sum(body)


def missing_programs(text: str) -> tuple[str, ...]:
    """Name what the hook would start and is not there, or cannot be run."""
    python, entry = (_value(text, name) for name in ("python", "entry"))
    missing = (python if not os.access(python, os.X_OK) else "", entry if not Path(entry).is_file() else "")
    return tuple(path for path in missing if path)


def _value(text: str, name: str) -> str:
    told = text.partition(f"\n{name}=")[2].partition("\n")[0]
    try:
        return next(iter(shlex.split(told)), "")
    except ValueError:
        return ""


def _sum(body: str) -> str:
    return hashlib.sha256(body.encode(errors="surrogateescape")).hexdigest()[:16]
