"""Comments on lines of a patch: where they stand, what an agent is told, and what became of them."""

from collections.abc import Iterable, Sequence

from git_blackbird.messages.display.format import place_words
from git_blackbird.messages.patch.parse import ADDED, CONTEXT, NO_NEWLINE, REMOVED, FilePatch, Patch
from git_blackbird.model.run.parts import ReviewComment, Side

_MOST_QUOTED = 12
_LONGEST_QUOTED = 400


def comment_on(patch: Patch, first: int, last: int) -> ReviewComment | None:
    """Return an empty comment on lines of one file of a patch; None where no line of a hunk is among them.

    At the header of a file it is on the file as a whole. Lines are numbered as after the change, or as before
    it where the last one was removed by it.
    """
    first, last = sorted((first, last))
    file = patch.files[patch.file_index(last)]
    if last < file.body:
        return ReviewComment(path=file.path, side=Side.NEW, start=0, end=0)
    lines = [line for line in range(max(first, file.body), last + 1) if any(patch.numbers(line))]
    if not lines:
        return None
    new = [number for line in lines if (number := patch.numbers(line).new) is not None]
    old = [number for line in lines if (number := patch.numbers(line).old) is not None]
    side, numbers = (Side.OLD, old) if patch.marks[lines[-1]] == REMOVED else (Side.NEW, new)
    path = file.path if side is Side.NEW or file.old_path is None else file.old_path
    texts = [_quotable(patch.lines[line]) for line in lines[:_MOST_QUOTED]]
    return ReviewComment(path=path, side=side, start=numbers[0], end=numbers[-1], quoted="\n".join(texts))


def line_of_comment(patch: Patch, comment: ReviewComment) -> int | None:
    """Return the last line of the patch that a comment is about; None where the patch does not have it."""
    file = file_at(patch, comment.path)
    if file is None:
        return None
    if comment.is_on_file:
        return file.start
    line = patch.line_of(file, comment.end, is_old=comment.side is Side.OLD)
    if comment.side is Side.NEW:
        return line
    first = patch.line_of(file, comment.start, is_old=True)
    # Another patch numbers removed lines differently. The last lines of a long range are not quoted.
    return line if first is not None and _quotable(patch.lines[first]) in comment.quoted.split("\n") else None


def is_as_quoted(patch: Patch, line: int, comment: ReviewComment) -> bool:
    """Whether the last line of a comment has the text that it had, as far as that is quoted."""
    is_cut = comment.end - comment.start >= _MOST_QUOTED
    return (
        comment.is_on_file or is_cut or _quotable(patch.lines[line])[1:] == comment.quoted.split("\n")[-1][1:]
    )


def _quotable(line: str) -> str:
    return line[:_LONGEST_QUOTED].rstrip("\r")


def file_at(patch: Patch, path: str) -> FilePatch | None:
    """Return the file of a patch that has, or had, a path."""
    return next((file for file in patch.files if path in (file.path, file.old_path)), None)


def comment_block(comment: ReviewComment) -> str:
    """Return a comment as a part of a change request: its place, the quoted lines, the text."""
    if comment.is_on_file:
        return f"{place_words(comment)}: {comment.text.strip()}"
    quoted = [f"> {line}" for line in comment.quoted.split("\n")]
    if comment.end - comment.start >= _MOST_QUOTED:
        quoted.append("> ...")
    return "\n".join([place_words(comment), *quoted, comment.text.strip()])


def request_with(text: str, comments: Sequence[ReviewComment], inserted: Iterable[str]) -> str:
    """Return a change request with the comments, each once.

    ``inserted`` are the blocks it was given before: those it still has of comments that are gone are taken
    out, and those a person edited or removed there are not given again.
    """
    blocks, known = [comment_block(comment) for comment in comments], set(inserted)
    for stale in known.difference(blocks):
        text = text.replace(f"\n\n{stale}", "").removeprefix(stale).lstrip("\n")
    return "\n\n".join(filter(None, (text.strip("\n"), *(block for block in blocks if block not in known))))


def sent_comments(comments: Iterable[ReviewComment], request: str) -> tuple[ReviewComment, ...]:
    """Return the comments that a change request has."""
    return tuple(comment for comment in comments if comment.text.strip() in request)


def is_taken_up(since: Patch, comment: ReviewComment) -> bool:
    """Whether the commented lines were changed; ``since`` is what was done since the request.

    Lines that were added right before or after them count. A removed line counts where it is back.
    """
    file = file_at(since, comment.path)
    if file is None:
        return False
    if comment.is_on_file or not file.hunks or file.word == "deleted":
        return True
    changed = [line for line in range(file.body, file.end) if since.marks[line] in {ADDED, REMOVED}]
    if comment.side is Side.OLD:
        quoted = comment.quoted.split("\n")
        return any(_turns_back(since.lines[line], quoted) for line in changed)
    return any(_touches(since, line, comment) for line in changed)


def _turns_back(changed: str, quoted: Sequence[str]) -> bool:
    """Whether a changed line is a removed one that is back, or one of those beside it.

    Their numbers are those before the whole change, which nothing can be compared with.
    """
    if changed.startswith(ADDED):
        return f"{REMOVED}{changed[1:]}" in quoted
    text = changed[1:]
    return bool(text.strip()) and not {f"{ADDED}{text}", f"{CONTEXT}{text}"}.isdisjoint(quoted)


def moved_along(since: Patch, comment: ReviewComment) -> ReviewComment:
    """Return a comment whose lines were not changed with the place they have now."""
    file = file_at(since, comment.path)
    if file is None or comment.side is Side.OLD:
        return comment
    if comment.is_on_file:
        return comment.model_copy(update={"path": file.path})
    start, end = (_number_after(since, file, number) for number in (comment.start, comment.end))
    return comment.model_copy(update={"path": file.path, "start": start, "end": end})


def _number_after(since: Patch, file: FilePatch, number: int) -> int:
    """Return the number after a change of a line that it left alone."""
    moved = number
    for hunk in file.hunks:
        lines = since.marks[hunk.start + 1 : hunk.end]
        if hunk.old > number:
            break
        if number < hunk.old + len(lines) - lines.count(ADDED) - lines.count(NO_NEWLINE):
            line = since.line_of(file, number, is_old=True)
            return number if line is None else since.numbers(line).new or number
        moved += lines.count(ADDED) - lines.count(REMOVED)
    return moved


def _touches(since: Patch, line: int, comment: ReviewComment) -> bool:
    """Whether a changed line is among those of a comment, by their numbers before the change."""
    number = since.numbers(line).old
    if number is not None:
        return comment.start <= number <= comment.end
    hunk = since.hunk_at(line)
    if hunk is None or since.marks[hunk.start : line].rstrip(ADDED + NO_NEWLINE).endswith(REMOVED):
        # What it replaces has a number.
        return False
    # The number of the old line that an added one stands before.
    before = hunk.old + sum(since.numbers(other).old is not None for other in range(hunk.start + 1, line))
    return comment.start <= before <= comment.end + 1
