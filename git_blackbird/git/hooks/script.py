"""Render the post-commit hook script, and recognise installed ones."""

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
# How scripts in other languages read their own path, its last part, and its folder.
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
_PACKAGE = Path(__file__).parents[2]
# In a wheel, and in an editable installation.
_TEXTS = (_PACKAGE / "hooks" / NAME, _PACKAGE.parent / "hooks" / NAME)


@dataclass(frozen=True)
class HookCommand:
    """The command that the hook starts: a Python and a file for it."""

    python: Path
    entry: Path


@dataclass(frozen=True)
class Location:
    """The paths that an installed hook contains.

    ``folders`` were created for it. ``shell`` is the command that runs the earlier hook under its old name,
    for a hook that depends on that; else empty.
    """

    folders: int = 0
    shell: str = ""


def render_hook(caller: HookCommand, place: Location) -> str:
    """Render the hook with its command, its location, and a checksum that reveals edits."""
    text = next(path for path in _TEXTS if path.is_file()).read_text(encoding="utf-8")
    for name, value in (("python", caller.python), ("entry", caller.entry), ("shell", place.shell)):
        text = text.replace(f"\n{name}=\n", f"\n{name}={shlex.quote(os.fspath(value))}\n", 1)
    text = text.replace(f"{_FOLDERS}0\n", f"{_FOLDERS}{place.folders}\n", 1)
    return f"{text}{_SUM}{_checksum(text)}\n"


def parse_place(text: str) -> Location:
    count = text.partition(_FOLDERS)[2].partition("\n")[0]
    return Location(int(count) if count.isdecimal() else 0, _value(text, "shell"))


def hook_interpreter(hook: str) -> str:
    """Return the command that runs another hook's text under its old name; empty if that is not needed.

    Only a shell script that mentions ``$0`` needs it. One that compares that with BASH_SOURCE would take
    itself for a library.
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


def uses_own_path(hook: str) -> bool:
    """Whether a hook in another language may depend on the last part of the path it is called by.

    A hook that uses only its folder works better where it lies. A binary may always depend on it.
    """
    if hook_interpreter(hook):
        return False
    if "\0" in hook or _LAST_PART.search(hook):
        return True
    return _NAMES_ITSELF.search(hook) is not None and not _FOLDER.search(hook)


def is_ours(text: str) -> bool:
    """Whether any version of this program wrote the hook."""
    return text.startswith(_START)


def is_untouched(text: str) -> bool:
    body, _, checksum = text.rpartition(_SUM)
    return checksum.strip() == _checksum(body)


def missing_programs(text: str) -> tuple[str, ...]:
    """List programs that the hook would start and that are missing or not executable."""
    python, entry = (_value(text, name) for name in ("python", "entry"))
    missing = (python if not os.access(python, os.X_OK) else "", entry if not Path(entry).is_file() else "")
    return tuple(path for path in missing if path)


def _value(text: str, name: str) -> str:
    value = text.partition(f"\n{name}=")[2].partition("\n")[0]
    try:
        return next(iter(shlex.split(value)), "")
    except ValueError:
        return ""


def _checksum(body: str) -> str:
    return hashlib.sha256(body.encode(errors="surrogateescape")).hexdigest()[:16]
