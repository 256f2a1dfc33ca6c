"""The hunks of a change that can be taken back, and which of them go together."""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

from git_blackbird.controller.proof.lexed import Lexed, Scope, Use, used
from git_blackbird.errors import UnusableError
from git_blackbird.git.change.changes import diff_text
from git_blackbird.git.change.parts import lines_of, with_edits
from git_blackbird.git.core.repository import Repository
from git_blackbird.git.core.trees import EXECUTABLE, LINK, REGULAR, TreeEntry, TreeStore
from git_blackbird.messages.patch.parse import FilePatch, Patch
from git_blackbird.model.run.proof import Hunk
from git_blackbird.model.run.summary import ChangedLines, Extent, SkippedPath, Trees

_MOST_HUNKS = 2_000
_MOST_BYTES = 16 * 1024 * 1024
_LOCK_FILE = re.compile(r"(?:^|/)(?:[^/]+[.-]lock(?:\.json|\.yaml)?|go\.sum)$")
_FILES = frozenset({REGULAR, EXECUTABLE})


class Trial(NamedTuple):
    """Hunks by their numbers: those that are judged, and all that are taken back for it.

    Beside the judged ones these are others which use what they introduce.
    """

    judged: tuple[int, ...]
    taken: frozenset[int]


@dataclass(frozen=True)
class _File:
    """A file of the change: its lines before and after, and those of its hunks, by their numbers."""

    path: bytes
    after: TreeEntry
    is_added: bool
    old: Sequence[bytes]
    new: Sequence[bytes]
    hunks: Mapping[int, ChangedLines]

    def without(self, taken: AbstractSet[int]) -> bytes | None:
        """Return the file without some hunks; None where nothing that it says is left."""
        if self.is_added and self.hunks.keys() <= taken:
            return None
        back = (lines.reversed for number, lines in self.hunks.items() if number in taken)
        return with_edits(self.new, self.old, back)


class _Names(NamedTuple):
    """The names of a hunk on one side that the other side of its file does not have.

    It has ``introduced`` them, each for a scope, and ``used`` them; ``wanted`` ones its file has from others.
    ``defined`` are its callables and types, whether new or not.
    """

    path: str
    introduced: Mapping[str, Scope]
    used: AbstractSet[tuple[str, Use]]
    wanted: AbstractSet[str]
    defined: AbstractSet[str]

    @classmethod
    def of(cls, path: str, file: Lexed, lines: tuple[int, int], elsewhere: AbstractSet[str]) -> "_Names":
        names = [*file.names(*lines)]
        scopes = sorted((name.scope, name.text) for name in names if name.scope is not None)
        introduced = {text: scope for scope, text in scopes if text not in elsewhere}
        found = {(text, use) for text, use in used(names) if text not in elsewhere}
        imported = {text for text, scope in introduced.items() if scope is Scope.IMPORTED}
        wanted = {text for text, _ in found} - file.introduced | imported
        return cls(path, introduced, found, wanted, {name.text for name in names if name.is_definition})


class ChangeHunks:
    """The hunks of a change, ``pair``, in the order of its files; ``left_out`` are files that have none.

    Tests, comments and white space are none, nor are files that were added, removed or changed as a whole:
    links, submodules, binary and deleted files, modes.
    """

    def __init__(self, repo: Repository, pair: Trees, is_test: re.Pattern[str]) -> None:
        self.pair = pair
        self._trees = TreeStore(repo)
        self.hunks: list[Hunk] = []
        self.left_out: list[SkippedPath] = []
        self._names: list[tuple[_Names, _Names]] = []
        self._files: dict[str, _File] = {}
        patch = Patch(diff_text(repo, pair, Extent(context=0)).decode(errors="replace"))
        for file in patch.files:
            if is_test.fullmatch(file.path) is None:
                reason = self._add(patch, file)
                if reason is not None:
                    self.left_out.append(SkippedPath(path=file.path, reason=reason))

    def _add(self, patch: Patch, file: FilePatch) -> str | None:
        """Take up the hunks of a file; return why it has none."""
        pair, path = self.pair, file.path.encode(errors="replace")
        before = self._trees.entry(pair.base, (file.old_path or file.path).encode(errors="replace"))
        after = self._trees.entry(pair.head, path)
        if any(entry is not None and entry.mode == LINK for entry in (before, after)):
            return "a symbolic link"
        is_file = after is not None and after.mode in _FILES and (before is None or before.mode in _FILES)
        if after is None or not is_file or not file.hunks:
            return file.word
        if _LOCK_FILE.search(file.path):
            return "a lock file"
        try:
            contents = [self._trees.content(one.oid, _MOST_BYTES) if one else b"" for one in (before, after)]
        except UnusableError as error:
            return error.message
        old, new = map(lines_of, contents)
        was, now = (Lexed(file.path, content) for content in contents)
        edits = [edit.lines for hunk in file.hunks for edit in patch.edits(hunk)]
        if now.is_prose:
            return "prose"
        if with_edits(old, new, edits) != b"".join(new):
            return "its lines are not those that git shows"
        count = len(self.hunks)
        hunk = partial(Hunk, path=file.path, content=after.oid, before=None if before is None else before.oid)
        hunks = dict(each for edit in edits for each in self._hunks_of(hunk, edit, was, now))
        if len(self.hunks) > _MOST_HUNKS:
            del self.hunks[count:], self._names[count:]
            return f"the change has more than {_MOST_HUNKS} hunks"
        self._files[file.path] = _File(path, after, before is None, old, new, hunks)
        return None

    def _hunks_of(
        self, hunk: Callable[..., Hunk], edit: ChangedLines, was: Lexed, now: Lexed
    ) -> Iterator[tuple[int, ChangedLines]]:
        """Yield an edit that says something, of a long addition the parts, each with its number as a hunk."""
        (first, *blocks), whole = now.blocks(edit.new, edit.new_count), (edit.new, edit.new_count)
        if edit.old_count > first[1]:
            first, blocks = whole, []
        after = ChangedLines(edit.old + edit.old_count, 0, *whole)
        for base, (new, new_count) in ((edit, first), *((after, block) for block in blocks)):
            lines = base._replace(new=new, new_count=new_count)
            if was.said(lines.old, lines.old_count) == now.said(new, new_count):
                continue
            said = now.trimmed(new, new_count)
            found = hunk(**lines._replace(new=said[0], new_count=said[1])._asdict())
            old = _Names.of(found.path, was, (lines.old, lines.old_count), now.all_names)
            self._names.append((old, _Names.of(found.path, now, (new, new_count), was.all_names)))
            yield len(self.hunks), lines
            self.hunks.append(found)

    @cached_property
    def trials(self) -> tuple[Trial, ...]:
        """What is taken back, in the order of hunks: each with those that would be broken without it."""
        numbers = range(len(self.hunks))
        # Sets of numbers as bits: there may be thousands.
        sets, needs = [1 << number for number in numbers], self._needs()
        for number, others in needs.items():
            sets[number] |= sum(1 << other for other in others - {number})
        for middle in numbers:
            sets = [each | sets[middle] if each >> middle & 1 else each for each in sets]
        judged: dict[int, list[int]] = {}
        for number in numbers:
            judged.setdefault(sets[number], []).append(number)
        return tuple(
            Trial(tuple(those), frozenset(number for number in numbers if taken >> number & 1))
            for taken, those in judged.items()
        )

    def _needs(self) -> Mapping[int, set[int]]:
        """Return which hunks have to be taken back with one.

        Those that use what it introduces; what it uses, and they removed; and where its function went.
        """
        needs: dict[int, set[int]] = defaultdict(set)
        for side in (0, 1):
            for number, other in _uses([names[side] for names in self._names]):
                needs[other if side else number].add(number if side else other)
        now: dict[str, list[int]] = defaultdict(list)
        for number, (old, new) in enumerate(self._names):
            for name in new.defined - old.defined:
                now[name].append(number)
        for number, (old, new) in enumerate(self._names):
            for other in (other for name in old.defined - new.defined for other in now[name]):
                needs[number].add(other)
                needs[other].add(number)
        return needs

    def tree_without(self, taken: AbstractSet[int]) -> str:
        """Return the tree after the change without some hunks, by their numbers."""
        return self._trees.edited(self.pair.head, self._files_without(taken))

    def key(self, taken: AbstractSet[int]) -> str:
        """Return what the files of some hunks are, with them and without."""
        files = sorted(self._files_without(taken).items())
        return repr([(path, self._trees.entry(self.pair.head, path), entry) for path, entry in files])

    def _files_without(self, taken: AbstractSet[int]) -> Mapping[bytes, TreeEntry | None]:
        files = [self._files[path] for path in self.paths(taken)]
        return {file.path: self._entry(file, taken) for file in files}

    def _entry(self, file: _File, taken: AbstractSet[int]) -> TreeEntry | None:
        content = file.without(taken)
        return None if content is None else file.after._replace(oid=self._trees.save_file(content))

    def paths(self, taken: AbstractSet[int]) -> Collection[str]:
        return dict.fromkeys(self.hunks[number].path for number in sorted(taken))

    def taken(self, trial: Trial) -> Sequence[Hunk]:
        return [self.hunks[number] for number in sorted(trial.taken)]


def _uses(hunks: Sequence[_Names]) -> Iterator[tuple[int, int]]:
    """Yield each hunk that uses what another introduces, and that other, by their numbers.

    What is known in a part of a file alone is of the hunk before that introduces it last.
    """
    introducing: dict[str, list[tuple[int, Scope]]] = defaultdict(list)
    for number, names in enumerate(hunks):
        for text, scope in names.introduced.items():
            introducing[text].append((number, scope))
    for number, names in enumerate(hunks):
        for text, use in names.used:
            last = None
            for other, scope in introducing[text]:
                is_same = hunks[other].path == names.path
                is_known = scope is Scope.WIDE or (scope is Scope.PARAMETER and use is Use.KEYWORD)
                if is_known and (is_same or text in names.wanted):
                    yield number, other
                elif is_same and other < number and scope is not Scope.WIDE and use is Use.PLAIN:
                    last = other
            if last is not None:
                yield number, last
