"""Some of the hunks of a patch, chosen one after the other by the letters of ``git add -p``."""

from collections.abc import Iterator
from typing import NamedTuple

from git_blackbird.messages.patch.parse import NO_NEWLINE, Edit, FilePatch, Patch
from git_blackbird.model.run.summary import ChangePart

HELP = (
    "y - approve this",
    "n - leave this out",
    "q - leave out this and all that is undecided",
    "a - approve this and all that is undecided below it in the file",
    "d - leave out this and all that is undecided below it in the file",
    "j - leave this undecided and go to the next",
    "k - leave this undecided and go to the one before",
    "s - split this into smaller hunks",
    "/ - go to the next that has a text: /TEXT",
    "? - show this",
)
_WHAT = {"added": "the added file", "deleted": "the deleted file"}


class Question(NamedTuple):
    """A hunk, or a file without one, by its lines of the patch; a part of a hunk has its own ``head``."""

    file: FilePatch
    start: int
    end: int
    edits: tuple[Edit, ...] = ()
    head: str = ""


class Selection:
    """The answers to the questions about a patch: True approves, False leaves out, None is undecided."""

    def __init__(self, patch: Patch) -> None:
        self._patch = patch
        self.questions = [question for file in patch.files for question in _questions(patch, file)]
        self.answers: list[bool | None] = [None] * len(self.questions)
        self.at = 0

    @property
    def question(self) -> Question:
        return self.questions[self.at]

    @property
    def is_complete(self) -> bool:
        return None not in self.answers

    def lines(self) -> Iterator[str]:
        """Yield what the question is about; the first about a file has its header, too."""
        question = self.question
        if not self.at or self.questions[self.at - 1].file is not question.file:
            yield from self._patch.lines[question.file.start : question.file.body]
        if question.head:
            yield question.head
        yield from self._patch.lines[question.start : question.end]

    @property
    def prompt(self) -> str:
        question = self.question
        what = _WHAT.get(question.file.word, "this hunk" if question.edits else "this file")
        letters = ",".join(line[0] for line in HELP if line[0] != "s" or len(question.edits) > 1)
        return f"({self.at + 1}/{len(self.questions)}) Approve {what} [{letters}]? "

    def take(self, typed: str) -> tuple[str, ...]:
        """Take what was typed at the prompt; return what there is to say about it."""
        letter, question = typed[:1].lower(), self.question
        if letter == "/":
            return self._search(typed[1:])
        if len(typed) == 1 and letter in "jk":
            return self._move(1 if letter == "j" else -1)
        if len(typed) == 1 and letter == "s" and len(question.edits) > 1:
            parts = list(_split(self._patch, question))
            self.questions[self.at : self.at + 1] = parts
            self.answers[self.at : self.at + 1] = [None] * len(parts)
            return (f"Split into {len(parts)} hunks.",)
        if len(typed) != 1 or letter not in "ynqad":
            return HELP
        for place, (other, answer) in enumerate(zip(self.questions, self.answers, strict=True)):
            is_below = place > self.at and other.file is question.file
            if place == self.at or (answer is None and (letter == "q" or (letter in "ad" and is_below))):
                self.answers[place] = letter in "ya"
        later = [*range(self.at + 1, len(self.answers)), *range(self.at)]
        self.at = next((place for place in later if self.answers[place] is None), self.at)
        return ()

    def _move(self, step: int) -> tuple[str, ...]:
        if not 0 <= self.at + step < len(self.questions):
            return ("That was the last hunk." if step > 0 else "That was the first hunk.",)
        self.at += step
        return ()

    def _search(self, text: str) -> tuple[str, ...]:
        places = [*range(self.at + 1, len(self.questions)), *range(self.at + 1)]
        for place in places if text else ():
            question = self.questions[place]
            if any(text in line for line in self._patch.lines[question.start : question.end]):
                self.at = place
                return ()
        return ("No hunk has that text." if text else "What is searched for stands after the slash: /TEXT",)

    def parts(self) -> tuple[ChangePart, ...]:
        """Return what is approved."""
        return tuple(part for file in self._patch.files if (part := self._part(file)) is not None)

    def _part(self, file: FilePatch) -> ChangePart | None:
        answers = zip(self.questions, self.answers, strict=True)
        # A file that became a link is there twice.
        own = [(question, answer) for question, answer in answers if question.file.path == file.path]
        kept = [question for question, answer in own if answer]
        if not kept:
            return None
        lines = tuple(edit.lines for question in kept for edit in question.edits)
        return ChangePart(file.path, lines if len(kept) < len(own) else None, file.old_path)


def _questions(patch: Patch, file: FilePatch) -> Iterator[Question]:
    if not file.hunks:
        yield Question(file, file.end, file.end)
    for hunk in file.hunks:
        yield Question(file, hunk.start, hunk.end, tuple(patch.edits(hunk)))


def _split(patch: Patch, question: Question) -> Iterator[Question]:
    """Yield a hunk for each edit; the lines between two are shown with both."""
    starts = [question.start + (not question.head), *(edit.end for edit in question.edits[:-1])]
    ends = [*(edit.start for edit in question.edits[1:]), question.end]
    for edit, start, end in zip(question.edits, starts, ends, strict=True):
        above, lines = edit.start - start, edit.lines
        same = above + end - edit.end - patch.marks.count(NO_NEWLINE, edit.end, end)
        before = f"-{lines.old - above + 1},{same + lines.old_count}"
        after = f"+{lines.new - above + 1},{same + lines.new_count}"
        yield Question(question.file, start, end, (edit,), f"@@ {before} {after} @@")
