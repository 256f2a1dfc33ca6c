"""Parts of changes: some files and folders, and some of the changed lines of a file."""

import os
from collections.abc import Collection, Iterable, Sequence
from io import BytesIO
from typing import TYPE_CHECKING

from git_blackbird.errors import RequestError
from git_blackbird.git.change.changes import changed_paths, diff_text, without_paths
from git_blackbird.git.core.repository import Repository
from git_blackbird.git.core.trees import EXECUTABLE, REGULAR, TreeEntry, TreeStore
from git_blackbird.git.worktree.summary import summarize
from git_blackbird.messages.display.quantities import some_of
from git_blackbird.messages.patch.parse import Patch
from git_blackbird.model.base.ids import object_id_fault
from git_blackbird.model.base.sanitize import quoted
from git_blackbird.model.run.summary import ChangedLines, ChangePart, Extent, Trees

if TYPE_CHECKING:
    from git_blackbird.model.run.proof import Hunk

_MOST_NAMED = 10
_MOST_BYTES = 512 * 1024 * 1024
_FILES = frozenset({REGULAR, EXECUTABLE})


def limited_to(repo: Repository, pair: Trees, only: Iterable[ChangePart]) -> Trees:
    """Return a change at some parts alone.

    A file that is left out is in both trees as the change leaves it; one of which some lines are left out
    goes from what it was to what it is without these. Raises RequestError for what the change does not have.
    """
    left, some = set(changed_paths(repo, pair)), dict[bytes, TreeEntry]()
    changed, trees = frozenset(left), TreeStore(repo)
    for part in only:
        path = b"" if part.path == "." else os.fsencode(part.path) + b"/"
        named = {each for each in changed if (each + b"/").startswith(path)}
        if not named:
            # A name that is not UTF-8 is shown with other letters.
            alike = {each for each in changed if each.decode(errors="replace") == part.path}
            named = alike if len(alike) == 1 else named
        if not named:
            has = sorted(each.decode(errors="replace") for each in changed)
            raise RequestError(
                f"the change has no file {quoted(part.path)}", hint=f"it has {some_of(has, _MOST_NAMED)}"
            )
        if part.lines is not None:
            some[path[:-1]] = _with_lines(repo, trees, pair, part, part.lines)
        left -= named if part.old_path is None else {*named, os.fsencode(part.old_path)}
    base, head = without_paths(repo, pair, left)
    return Trees(base, trees.edited(head, some) if some else head)


def _with_lines(
    repo: Repository, trees: TreeStore, pair: Trees, part: ChangePart, lines: Iterable[ChangedLines]
) -> TreeEntry:
    """Return a file with some of its changed lines; how its mode changed is one with them."""
    paths = tuple(path for path in (part.path, part.old_path) if path is not None)
    before, after = (
        trees.entry(pair.base, os.fsencode(paths[-1])),
        trees.entry(pair.head, os.fsencode(paths[0])),
    )
    if before is None or after is None or not {before.mode, after.mode} <= _FILES:
        raise RequestError(f"{quoted(part.path)} can be approved as a whole only")
    patch = Patch(diff_text(repo, pair, Extent(paths=paths)).decode(errors="replace"))
    changed = [one.lines for file in patch.files for hunk in file.hunks for one in patch.edits(hunk)]
    old, new = (lines_of(trees.content(entry.oid, _MOST_BYTES)) for entry in (before, after))
    kept = frozenset(lines)
    if not kept <= set(changed) or with_edits(old, new, changed) != b"".join(new):
        raise RequestError(
            f"the change of {quoted(part.path)} is another by now, and none of it is approved",
            hint="look at it again, and choose again",
        )
    content = with_edits(old, new, [each for each in changed if each in kept])
    return after._replace(oid=trees.save_file(content))


def lines_of(content: bytes) -> list[bytes]:
    """Return the lines of a file as git counts them: only a line feed ends one."""
    return BytesIO(content).readlines()


def with_edits(old: Sequence[bytes], new: Sequence[bytes], changes: Iterable[ChangedLines]) -> bytes:
    """Return a file with some of its edits, which are in order."""
    place, pieces = 0, list[bytes]()
    for one in changes:
        pieces += [*old[place : one.old], *new[one.new : one.new + one.new_count]]
        place = one.old + one.old_count
    return b"".join([*pieces, *old[place:]])


def only_hunks(repo: Repository, pair: Trees, hunks: "Iterable[Hunk]") -> Trees:
    """Return a change at some hunks alone, as if all else of it had been there before.

    A hunk of a file that has another content by now, or is not in the change, is none.
    """
    trees, edits = TreeStore(repo), dict[bytes, TreeEntry | None]()
    changed = frozenset(trees.changed_paths(*pair))
    by_file: dict[tuple[str, str, str | None], list[ChangedLines]] = {}
    for hunk in hunks:
        by_file.setdefault((hunk.path, hunk.content, hunk.before), []).append(hunk.lines.reversed)
    for (path, content, before), lines in by_file.items():
        name = os.fsencode(path)
        after = trees.entry(pair.head, name)
        is_known = before is None or object_id_fault(before) is None
        if after is None or after.oid != content or name not in changed or not is_known:
            continue
        was, now = (lines_of(trees.content(oid, _MOST_BYTES)) if oid else [] for oid in (before, content))
        left = with_edits(now, was, sorted(lines))
        edits[name] = after._replace(oid=trees.save_file(left)) if left or before else None
    return Trees(trees.edited(pair.head, edits), pair.head)


def without_change(repo: Repository, tree: str, change: Trees) -> str:
    """Return a tree with each file that is just as a change leaves it as it was before that."""
    trees = TreeStore(repo)
    edits = {
        path: trees.entry(change.base, path)
        for path in trees.changed_paths(*change)
        if trees.entry(tree, path) == trees.entry(change.head, path)
    }
    return trees.edited(tree, edits) if edits else tree


def paths_outside(repo: Repository, whole: Trees, part: Trees) -> tuple[str, ...]:
    if whole == part:
        return ()
    left = changed_paths(repo, whole) - changed_paths(repo, part)
    return tuple(path.decode(errors="replace") for path in sorted(left))


def rename_halves(repo: Repository, whole: Trees, left_out: Collection[str]) -> dict[str, str]:
    """Return each path left out of a change that is half of a rename, with the other half, which is in it."""
    changes = summarize(repo, whole).changes
    pairs = [(change.old_path, change.path) for change in changes if change.old_path is not None]
    both = [*pairs, *((new, old) for old, new in pairs)]
    return {path: other for path, other in both if path in left_out and other not in left_out}
