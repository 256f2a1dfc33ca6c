"""The bounded summary of a change that records keep and checkpoints show."""

import base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from git_blackbird.git.core.repository import Repository, open_fresh_libgit2, open_libgit2, using_objects
from git_blackbird.git.core.trees import SUBMODULE
from git_blackbird.git.worktree.comparing import comparison, is_binary
from git_blackbird.messages.display.quantities import counted
from git_blackbird.model.base.sanitize import escaped_text
from git_blackbird.model.run.summary import (
    MAX_CHANGES,
    MAX_DIFFSTAT_BYTES,
    MAX_FILES,
    MAX_SNIPPET_BYTES,
    MAX_SNIPPET_LINES,
    MAX_SNIPPETS,
    FileChange,
    FileStatus,
    Snippet,
    Summary,
    Totals,
    Trees,
)

if TYPE_CHECKING:
    import pygit2

_WIDTH = 80
_NAME_WIDTH = 50


@dataclass(frozen=True)
class ChangedFile:
    index: int
    status: FileStatus
    path: bytes
    old_path: bytes
    modes: tuple[int, int]
    additions: int
    deletions: int
    is_binary: bool

    @property
    def name(self) -> str:
        """Its path, or both if it was renamed, as git shows it."""
        new = quoted(self.path)
        return f"{quoted(self.old_path)} => {new}" if self.status is FileStatus.RENAMED else new


def quoted(path: bytes) -> str:
    """Return a path as git shows it with ``core.quotePath`` off: quoted only if necessary."""
    # Bytes that are not UTF-8 become surrogates, which are not printable.
    text = path.decode(errors="surrogateescape")
    if text.isprintable() and not any(char in text for char in '"\\'):
        return text
    return f'"{escaped_text(text)}"'


def render_diffstat(files: Sequence[ChangedFile]) -> tuple[str, int]:
    """Render a diffstat in at most ``MAX_DIFFSTAT_BYTES``; also return how many files are listed."""
    if not files:
        return "", 0
    additions, deletions = (sum(file.additions for file in files), sum(file.deletions for file in files))
    parts = [f" {counted(len(files), 'file')} changed"]
    if additions or not deletions:
        parts.append(f"{counted(additions, 'insertion')}(+)")
    if deletions or not additions:
        parts.append(f"{counted(deletions, 'deletion')}(-)")
    total = ", ".join(parts)
    names = [file.name for file in files]
    names = [name if len(name) <= _NAME_WIDTH else "..." + name[3 - _NAME_WIDTH :] for name in names]
    widest = max(len(name) for name in names)
    most = max(file.additions + file.deletions for file in files)
    digits = max(len(str(most)), 3 if any(file.is_binary for file in files) else 0)
    room = _WIDTH - widest - digits - len("  | ") - 1
    lines = []
    for name, file in zip(names, files, strict=True):
        more, fewer = file.additions, file.deletions
        if most > room:
            # A bar gets shorter, but never nothing.
            more, fewer = (1 + count * (room - 2) // most if count else 0 for count in (more, fewer))
        count = "Bin" if file.is_binary else file.additions + file.deletions
        lines.append(f" {name:<{widest}} | {count:>{digits}} {'+' * more}{'-' * fewer}".rstrip())
    if len("\n".join([*lines, total]).encode()) <= MAX_DIFFSTAT_BYTES:
        return "\n".join([*lines, total]), len(files)
    shown: list[str] = []
    room = MAX_DIFFSTAT_BYTES - len(total.encode()) - len(f"\n ... and {len(files)} more files".encode())
    for line in lines:
        room -= len(line.encode()) + 1
        if room < 0:
            break
        shown.append(line)
    note = f" ... and {len(files) - len(shown)} more files"
    return "\n".join([*shown, note, total]), len(shown)


_CONTEXT_LINES = 2
# Comparing n removed with m added files costs n times m, so similar files are sought among few only.
_ALIKE_LIMIT = 200
_EQUAL_LIMIT = 2000


def summarize(repo: Repository, pair: Trees) -> Summary:
    """Summarize the difference of two trees, within the limits of a run record. Raises UnusableError."""
    compared = comparison(repo)
    # Opened anew: libgit2 keeps the attributes that it has read.
    objects = open_libgit2(compared.repo)
    with using_objects(repo):
        diff = _compare(objects, pair)
        changed = sorted(
            _changed(objects, diff), key=lambda item: (compared.rank(item.path), item.path, item.old_path)
        )
        snippets, snippet_cuts = _snippets(diff, changed)
    diffstat, shown = render_diffstat(changed)
    totals = Totals(
        files=len(changed),
        additions=sum(item.additions for item in changed),
        deletions=sum(item.deletions for item in changed),
    )
    limits, found = (("files", MAX_FILES), ("diffstat", shown), ("changes", MAX_CHANGES)), len(changed)
    return Summary(
        files=tuple(_text(item.path) for item in changed[:MAX_FILES]),
        diffstat=diffstat,
        snippets=snippets,
        changes=tuple(_file_change(item) for item in changed[:MAX_CHANGES]),
        totals=totals,
        cut=(
            *(f"{part}: {most} of {found} files are shown" for part, most in limits if most < found),
            *snippet_cuts,
        ),
    )


def file_changes(repo: Repository, pair: Trees) -> tuple[FileChange, ...]:
    """Return every path at which two trees differ, however many there are. Raises UnusableError."""
    objects = open_fresh_libgit2(repo.git_dir)
    with using_objects(repo):
        return tuple(map(_file_change, _changed(objects, _compare(objects, pair))))


def _compare(objects: "pygit2.Repository", pair: Trees) -> "pygit2.Diff":
    from git_blackbird.git.core.libgit2 import pygit2  # loaded by now

    base, head = (objects[oid].peel(pygit2.Tree) for oid in (pair.base, pair.head))
    renames = pygit2.enums.DiffFind.FIND_RENAMES
    equal = renames | pygit2.enums.DiffFind.FIND_EXACT_MATCH_ONLY

    flags = pygit2.enums.DiffOption.INCLUDE_TYPECHANGE
    diff = base.diff_to_tree(head, flags=flags, context_lines=_CONTEXT_LINES)
    try:
        diff.find_similar(flags=equal, rename_limit=_EQUAL_LIMIT)
        diff.find_similar(flags=renames, rename_limit=_ALIKE_LIMIT)
    except pygit2.GitError:
        # Where one of several equal files was moved, libgit2 fails at its second look.
        diff = base.diff_to_tree(head, flags=flags, context_lines=_CONTEXT_LINES)
        diff.find_similar(flags=renames, rename_limit=_ALIKE_LIMIT)
    return diff


def _changed(objects: "pygit2.Repository", diff: "pygit2.Diff") -> Iterator[ChangedFile]:
    for index, delta in enumerate(diff.deltas):
        patch = diff[index]
        status = FileStatus(delta.status_char())
        is_deleted = status is FileStatus.DELETED
        _, additions, deletions = patch.line_stats if patch else (0, 0, 0)
        if status is FileStatus.TYPE_CHANGED:
            # libgit2 makes no patch of these; git shows them as removed and added.
            additions, deletions = _lines(objects, delta.new_file), _lines(objects, delta.old_file)
        yield ChangedFile(
            index=index,
            status=status,
            path=(delta.old_file if is_deleted else delta.new_file).raw_path,
            old_path=delta.old_file.raw_path,
            modes=(int(delta.old_file.mode), int(delta.new_file.mode)),
            additions=additions,
            deletions=deletions,
            # Known only after the patch has been made.
            is_binary=bool((patch.delta if patch else delta).is_binary),
        )


def _lines(objects: "pygit2.Repository", file: "pygit2.DiffFile") -> int:
    from git_blackbird.git.core.libgit2 import pygit2  # loaded by now

    if file.mode == SUBMODULE:
        return 1
    blob = objects[file.id]
    if not isinstance(blob, pygit2.Blob) or is_binary(blob.data):
        return 0
    return blob.data.count(b"\n") + (bool(blob.data) and not blob.data.endswith(b"\n"))


def _file_change(item: ChangedFile) -> FileChange:
    old, new = item.modes
    has_new_mode = old != new and 0 not in item.modes
    return FileChange(
        status=item.status,
        path=_text(item.path),
        old_path=_text(item.old_path) if item.status is FileStatus.RENAMED else None,
        path_b64=None if _text(item.path).encode() == item.path else base64.b64encode(item.path).decode(),
        additions=item.additions,
        deletions=item.deletions,
        binary=item.is_binary,
        old_mode=f"{old:06o}" if has_new_mode else None,
        new_mode=f"{new:06o}" if has_new_mode else None,
    )


def _snippets(diff: "pygit2.Diff", changed: Sequence[ChangedFile]) -> tuple[tuple[Snippet, ...], list[str]]:
    shown = [
        item
        for item in changed
        if item.additions + item.deletions and item.status is not FileStatus.TYPE_CHANGED
    ]
    snippets: list[Snippet] = []
    cuts: list[str] = []
    for item in shown[:MAX_SNIPPETS]:
        text, is_cut = _clipped(_hunk_lines(diff[item.index]))
        if text:
            snippets.append(Snippet(file=_text(item.path), snippet=text))
        if is_cut:
            cuts.append(f"snippet of {quoted(item.path)}: only its start is shown")
    if len(shown) > MAX_SNIPPETS:
        cuts.append(f"snippets: {MAX_SNIPPETS} of {len(shown)} files are shown")
    return tuple(snippets), cuts


def _hunk_lines(patch: "pygit2.Patch | None") -> Iterator[str]:
    for hunk in patch.hunks if patch else ():
        yield hunk.header.removesuffix("\n")
        for line in hunk.lines:
            # At most a snippet's length of an endless line.
            content = line.raw_content[: MAX_SNIPPET_BYTES + 1].decode(errors="replace")
            is_remark = line.origin in "=<>"
            yield content.strip("\n") if is_remark else line.origin + content.removesuffix("\n")


def _clipped(lines: Iterator[str]) -> tuple[str, bool]:
    """Take whole lines, then whole characters, up to the limit; also return whether it was cut."""
    clipped: list[str] = []
    room = MAX_SNIPPET_BYTES + 1
    for line in lines:
        if len(clipped) == MAX_SNIPPET_LINES:
            return "\n".join(clipped), True
        encoded = line.encode()
        room -= len(encoded) + 1
        if room < 0:
            clipped.append(encoded[:room].decode(errors="ignore"))
            return "\n".join(clipped), True
        clipped.append(line)
    return "\n".join(clipped), False


def _text(path: bytes) -> str:
    return path.decode(errors="replace")
