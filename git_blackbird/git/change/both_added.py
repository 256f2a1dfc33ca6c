"""Conflicts that need nobody, since both sides only added lines: the merge has both, whole.

Git takes such lines for a conflict because it cannot know their order. Of others, the markers that are left.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from git_blackbird.errors import UnusableError
from git_blackbird.git.change.merging import TreeMerge
from git_blackbird.git.core.process import operands
from git_blackbird.git.core.repository import Repository, using_objects
from git_blackbird.git.core.trees import EXECUTABLE, REGULAR, SUBMODULE, TreeEntry, TreeStore
from git_blackbird.git.worktree.base_commits import is_our_commit
from git_blackbird.git.worktree.comparing import UNSPECIFIED, attributes_of, merge_drivers
from git_blackbird.git.worktree.index import private_folder
from git_blackbird.model.run.summary import Trees

_MAX_BYTES = 1024 * 1024
_MERGE_FILE = ("merge-file", "--quiet", "--diff3", "-L", "ours", "-L", "base", "-L", "theirs")
_SMALLEST_MARKER, _LONGEST_MARKER = 7, 1000
# One status stands for all numbers of conflicts from here on.
_MOST_COUNTED = 127
_MARKERS = re.compile(rb"<+|\|+|=+|>+")
_LOCK_FILE = re.compile(
    rb"(?:.*[.-]lock(?:b|file)?(?:\.[^/.]+)?|go\.sum|npm-shrinkwrap\.json|package\.resolved)", re.IGNORECASE
)
# What a line names is before its first "=", "(" or ":", as in ``def total(``, ``"port":``.
_END_OF_NAME = re.compile(r"[=(]|:(?=\s|$)|(?<=[\"'`]):")
_START_OF_NAME = re.compile(r"\W*")
# Annotations, whose next line names something, and an ``end``.
_NAMELESS = re.compile(r"@|#\[|end[,;)]?$")


class _Hunk(NamedTuple):
    """The lines of one conflict, and the first one below it that is not blank."""

    ours: str
    base: str
    theirs: str
    below: str


_Rule = Callable[[_Hunk], str | None]
_Contents = tuple[bytes, bytes, bytes]


def with_additions(repo: Repository, merge: TreeMerge) -> TreeMerge:
    """Return a merge that has our additions followed by theirs; the merge itself if that is not all.

    In every conflict, both sides have to have only added lines to a file that existed before. Raises
    UnusableError.
    """
    kept = _resolve_all(repo, merge, _ours_then_theirs) if merge.conflicts else {}
    if len(kept) < len(merge.conflicts) or not kept:
        return merge
    return TreeMerge(TreeStore(repo).edited(merge.tree, kept), both_added=merge)


def resolve_additions(repo: Repository, merge: TreeMerge) -> dict[bytes, TreeEntry]:
    """Resolve conflicts of a merge that takes a change back, or brings it back.

    Lines that one side removes are removed where the other side has them exactly once and whole; the lines
    that it added above and below them stay. Where both only remove lines, all of these go. Raises
    UnusableError.
    """
    return _resolve_all(repo, merge, _removals_too)


def _ours_then_theirs(hunk: _Hunk) -> str | None:
    """Return our lines followed by theirs; None if they may not stand together.

    They have to begin in the same column and may not name the same thing twice in it. Above a closing
    bracket, ours has to end as an item of a list does.
    """
    if hunk.base:
        return None
    ours, theirs = (_Block.of(lines) for lines in (hunk.ours, hunk.theirs))
    if not ours.is_upright or not theirs.is_upright or ours.column != theirs.column:
        return None
    if not ours.names.isdisjoint(theirs.names):
        return None
    if hunk.below.strip()[:1] in {")", "]", "}"} and hunk.ours.rstrip()[-1:] not in {",", ";", "}"}:
        return None
    return hunk.ours + hunk.theirs


class _Block(NamedTuple):
    """Lines that were added: the column of the outermost, what these name, and whether it begins with one."""

    column: int
    names: frozenset[str]
    is_upright: bool

    @classmethod
    def of(cls, text: str) -> "_Block":
        lines = [line.expandtabs() for line in text.split("\n") if line.strip()]
        columns = [len(line) - len(line.lstrip()) for line in lines]
        column = min(columns, default=0)
        outermost = (line for line, at in zip(lines, columns, strict=True) if at == column)
        names = frozenset(filter(None, map(_name, outermost)))
        return cls(column, names, columns[:1] in ([column], []))


def _name(line: str) -> str:
    """Return the words that say what a line is about; none for brackets and the like."""
    text = line.strip()
    if _NAMELESS.match(text):
        return ""
    start = _START_OF_NAME.match(text)
    named = _END_OF_NAME.split(text[start.end() if start else 0 :], maxsplit=1)[0]
    return " ".join(re.findall(r"\w+", named))


def _removals_too(hunk: _Hunk) -> str | None:
    if not hunk.base:
        return _ours_then_theirs(hunk)
    if not hunk.ours or not hunk.theirs:
        # Where one side removed the lines and they stand once in the other, what was added around them stays.
        there, gone = (f"\n{lines}" for lines in (hunk.ours or hunk.theirs, hunk.base))
        at = there.find(gone)
        if at >= 0 and there.find(gone, at + 1) < 0:
            return there[1 : at + 1] + there[at + len(gone) :]
    # Where both only removed lines, and none stands twice, those stay that neither did.
    base, *sides = (text.splitlines(keepends=True) for text in (hunk.base, hunk.ours, hunk.theirs))
    kept = [set(lines) for lines in sides]
    if len(set(base)) < len(base):
        return None
    if any(lines != [line for line in base if line in has] for lines, has in zip(sides, kept, strict=True)):
        return None
    return "".join(line for line in base if all(line in has for has in kept))


def _resolve_all(repo: Repository, merge: TreeMerge, rule: _Rule) -> dict[bytes, TreeEntry]:
    """Return the resolved files, of those in which every conflict follows the rule."""
    trees, found = TreeStore(repo), dict[bytes, TreeEntry]()
    for path, contents in _texts(repo, trees, merge).items():
        entry, text = trees.entry(merge.tree, path), _merged(repo, contents, rule)
        if entry is not None and text is not None:
            found[path] = TreeEntry(entry.mode, trees.save_file(text))
    return found


def _texts(repo: Repository, trees: TreeStore, merge: TreeMerge) -> dict[bytes, _Contents]:
    """Return the ancestor, ours and theirs of the files in conflict that git merges line by line.

    Lock files are left out: their lines belong together. So is what a filter makes of a file.
    """
    sides = merge.sides()
    candidates = (path for path in merge.in_content if not _LOCK_FILE.fullmatch(path.rpartition(b"/")[2]))
    found = {path: contents for path in candidates if (contents := _contents(trees, sides[path]))}
    filters = attributes_of(repo, found, "filter")
    special = merge_drivers(repo, found).keys() | {
        path for path, value in filters.items() if value != UNSPECIFIED
    }
    return {path: contents for path, contents in found.items() if path not in special}


def _contents(trees: TreeStore, sides: Mapping[int, TreeEntry]) -> _Contents | None:
    """Return three texts of bounded size; None if a side is anything else."""
    if len(sides) != 3 or not {entry.mode for entry in sides.values()} <= {REGULAR, EXECUTABLE}:
        return None
    try:
        base, ours, theirs = (trees.content(sides[stage].oid, _MAX_BYTES) for stage in (1, 2, 3))
    except UnusableError:  # then it is a conflict
        return None
    return None if b"\0" in base + ours + theirs else (base, ours, theirs)


def _merged(repo: Repository, contents: _Contents, rule: _Rule) -> bytes | None:
    """Merge three files by a rule for conflicts; None if one does not follow it, or git finds none."""
    longest = max((len(run) for each in contents for run in _MARKERS.findall(each)), default=0)
    size = max(_SMALLEST_MARKER, longest + 1)
    if size > _LONGEST_MARKER:
        return None
    with private_folder(repo, "merge") as folder:
        base, ours, theirs = (Path(folder, name) for name in ("base", "ours", "theirs"))
        for file, content in zip((base, ours, theirs), contents, strict=True):
            file.write_bytes(content)
        files = operands(*map(str, (ours, base, theirs)))
        # Its status is the number of conflicts.
        code = repo.git(*_MERGE_FILE, f"--marker-size={size}", *files, check=False).code
        merged = ours.read_bytes()
    clean, *rest = _pattern(size).split(merged.decode(errors="surrogateescape"))
    hunks = list(zip(*[iter(rest)] * 4, strict=True))
    if not hunks or code != min(len(hunks), _MOST_COUNTED):
        return None
    pieces = [clean]
    for our, old, their, after in hunks:
        below = next((line for line in after.split("\n") if line.strip()), "")
        piece = rule(_Hunk(our, old, their, below))
        if piece is None:
            return None
        pieces += [piece, after]
    return "".join(pieces).encode(errors="surrogateescape")


def _pattern(size: int) -> re.Pattern[str]:
    """Match a conflict with markers of this size."""
    ours, base, theirs = (
        rf"^{re.escape(sign * size)} {name}\r?\n"
        for sign, name in (("<", "ours"), ("|", "base"), (">", "theirs"))
    )
    return re.compile(rf"{ours}(.*?){base}(.*?)^{'=' * size}\r?\n(.*?){theirs}", re.MULTILINE | re.DOTALL)


# The sides of such a merge are commits on no branch, which its markers name by id.
_MARKER = re.compile(rb"^(?:<{3,}|\|{3,}|>{3,}) ([0-9a-f]{40})\b", re.MULTILINE)


def paths_with_markers(repo: Repository, change: Trees) -> tuple[bytes, ...]:
    """Return the paths to which a change brings markers of a merge that this program made.

    Markers of any other merge are left to whoever wrote them. Raises UnusableError.
    """
    trees, found = TreeStore(repo), list[bytes]()
    with using_objects(repo):
        for path in sorted(trees.changed_paths(*change)):
            before, after = (set(_marked_sides(trees, trees.entry(tree, path))) for tree in change)
            if any(is_our_commit(trees.objects, side) for side in after - before):
                found.append(path)
    return tuple(found)


def _marked_sides(trees: TreeStore, entry: TreeEntry | None) -> Iterator[str]:
    if entry is not None and entry.mode != SUBMODULE:
        yield from (side.decode() for side in _MARKER.findall(trees.objects.read(entry.oid)[1]))
