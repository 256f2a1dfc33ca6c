"""A change in words: its files and snippets, and what happened beside it and may matter to who decides."""

from collections.abc import Iterable, Iterator
from itertools import islice

from git_blackbird.messages.display.fitting import Passage, Rank, bulleted, lines_of, one_line
from git_blackbird.messages.display.format import place_words, render_path, render_totals, some_paths
from git_blackbird.messages.display.quantities import counted
from git_blackbird.messages.document import Line, Style, block, code, line, plain, styled
from git_blackbird.model.base.next_steps import SETTING_BACK, Sentence, TaskCommand
from git_blackbird.model.change.decision import SPECS
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import VERBS, Choice
from git_blackbird.model.run.summary import (
    MAX_FILES,
    FileChange,
    Outside,
    OutsideChange,
    Subject,
    Summary,
    SwitchedBranch,
)
from git_blackbird.model.views.checkpoint import CommentOutcome, SinceRequest
from git_blackbird.model.views.undo import UndoResult

SEEN = "seen while agents worked, by them or by others"
_PERHAPS_OUTSIDE = Sentence(
    "HEAD moved during the run; part of the change, since nothing tells whose it was",
    " (the hook tells of commits: ",
    TaskCommand("hooks install"),
    ")",
)
_TAKES_BACK = "takes back edits of yours, or of tasks that have landed, that are in no commit"
_ID_LETTERS = 10
_DIFF_STYLES = {"+": Style.ADDED, "-": Style.REMOVED, "@": Style.PLACE}


def snippet_lines(summary: Summary, indent: str) -> Iterator[Line]:
    """Return the beginnings of its diffs, each below its path."""
    for snippet in summary.snippets:
        yield styled(f"{indent}{render_path(snippet.file)}", Style.PLACE)
        for text in snippet.snippet.split("\n"):
            yield code(text, _DIFF_STYLES.get(text[:1], Style.PLAIN)).behind(f"{indent}  ")


def file_lines(summary: Summary, indent: str = "") -> Iterator[Line]:
    """List each path once, with its status and the number of changed lines."""
    if summary.changes:
        texts = [_file_line(change) for change in summary.changes]
    elif lines := list(plain(block(summary.diffstat))):
        # The Go program only has the numbers as formatted by git.
        texts = [text.strip() for text in lines]
    else:
        texts = [render_path(path) for path in summary.files]
    yield from (styled(indent + text) for text in texts[:MAX_FILES])
    if not texts:
        yield styled(f"{indent}(none)", Style.FAINT)
    if summary.totals.files > 1:
        yield styled(f"{indent}together: {render_totals(summary)}", Style.FAINT)


def _file_line(change: FileChange) -> str:
    name = render_path(change.path)
    if change.old_path is not None:
        name = f"{render_path(change.old_path)} -> {name}"
    lines = "binary" if change.binary else f"+{change.additions} -{change.deletions}"
    mode = f" (mode {change.old_mode} -> {change.new_mode})" if change.new_mode else ""
    return f"{change.status} {name}  {lines}{mode}"


def notes_on_change(run: Run, summary: Summary, outside: Outside) -> Iterator[tuple[str, Iterable[str]]]:
    """Yield what happened beside a change, as titles with their lines, which may be none."""
    left_out = [f"{render_path(one.path)} ({one.reason})" for one in summary.left_out]
    between = [f"{render_path(edit.path)} by run {edit.run} of {edit.task}" for edit in summary.between]
    switched = () if summary.switched is None else switched_lines(summary.switched)
    counts = "; this counts once you approve" if run.is_pending else ""
    yield "left out of the snapshot", left_out
    yield "submodules (edits inside them are neither approved nor committed here)", submodule_lines(summary)
    yield "also touched by another task in between", between
    yield "HEAD moved during the run; not part of the change", _moves(summary, in_change=False)
    yield _PERHAPS_OUTSIDE, _moves(summary, in_change=True)
    yield "the agent left what the task began with", switched
    yield _TAKES_BACK, map(render_path, summary.takes_back)
    yield "done outside its place", own_lines(outside)
    yield SEEN, seen_lines(outside)
    yield f"edited in the plan during the run{counts}", run.plan_edits
    yield "the configuration changed during the run", run.config_edits
    yield "a hook refused the commit", plain(block(run.hook_output or ""))
    yield "notes", run.notes


def submodule_lines(summary: Summary) -> list[str]:
    """List the submodules of a change and what is new in each, in git's words."""
    lines = []
    for submodule in summary.submodules:
        news = {"new commits": submodule.commits, "modified content": submodule.content}
        what = ", ".join(text for text, is_so in news.items() if is_so)
        if submodule.files:
            more = f" and {submodule.more_files} more" if submodule.more_files else ""
            what += f" ({', '.join(map(render_path, submodule.files))}{more})"
        lines.append(f"submodule {render_path(submodule.path)}: {what}")
    return lines


def switched_lines(switched: SwitchedBranch) -> Iterator[str]:
    """Say to which branch an agent went, and what its change is then."""
    where = "a detached HEAD" if switched.branch is None else f"branch {switched.branch}"
    if switched.since is None:
        yield f"it went to {where}, where nothing is older than its run; the change is all that differs"
    else:
        yield f"it went to {where}; the change is what is new there since commit {switched.since[:10]}"
    if switched.unmerged:
        yield f"that does not merge with what the task began with in {some_paths(switched.unmerged)}"


def _moves(summary: Summary, *, in_change: bool) -> list[str]:
    """List moves of HEAD in git's words, and where the change includes them."""
    lines = []
    for move in summary.head_moves:
        if move.in_change is in_change:
            changed = f"; also changed by it: {some_paths(move.paths)}" if move.paths else ""
            lines.append(f"{move.new[:10]} {move.text}{changed}")
    return lines


def own_lines(outside: Outside) -> Iterator[str]:
    """Say what the run itself did."""
    yield from (f"wrote {render_path(path)}" for path in outside.paths)
    for made in outside.commits:
        yield f"made commit {made.commit[:_ID_LETTERS]} in {render_path(made.worktree)}"


def seen_lines(outside: Outside) -> Iterator[str]:
    """Say what it or anybody else may have done."""
    for change in outside.seen:
        back = way_back(change)
        yield Sentence(seen_text(change), *((" (", back, " sets it back)") if back else ()))


def seen_text(change: OutsideChange) -> str:
    """Say what is another than before."""
    name = change.name
    match change.subject:
        case Subject.PLACE:
            return f"the worktree of {change.before} is gone: {name}"
        case Subject.WORKTREE:
            return f"new worktree {name}"
        case Subject.BRANCH:
            return _branch_text(name, change)
        case Subject.SETTING:
            before = "(unset)" if change.before is None else change.before
            return f"{name} {before} -> {'removed' if change.after is None else change.after}"
        case _:
            what = "is gone" if change.after is None else "changed" if change.before else "is new"
            return f"{name} in the git directory {what}"


def _branch_text(name: str, change: OutsideChange) -> str:
    before, after = ((target or "")[:_ID_LETTERS] for target in (change.before, change.after))
    if not before:
        return f"new branch {name} at {after}"
    return f"branch {name} {before} -> {after}" if after else f"branch {name}, at {before}, is gone"


def way_back(change: OutsideChange) -> str | None:
    """Return the command that sets back what keeps git from working here; None for all else."""
    is_set = change.subject is Subject.SETTING and change.after not in {None, "false"}
    return SETTING_BACK.get(change.name) if is_set else None


def undo_result_lines(result: UndoResult) -> Iterator[Line]:
    """Yield what was taken back or brought back, what stays, and how to turn that round."""
    yield from moved_back_lines(result)
    words = VERBS[result.verb]
    if result.commit is not None:
        yield line(f"committed as {result.commit[:12]}")
    if not result.is_whole:
        again = TaskCommand(words.command, result.task.id)
        yield line("this is half done; once nothing is in the way, this completes it: ", again)
    if not result.is_dry_run:
        back = TaskCommand(VERBS[words.back].command, result.task.id)
        yield line("to turn that round: ", back)


def moved_back_lines(result: UndoResult) -> Iterator[Line]:
    """Yield what is taken back or brought back, and what is left."""
    task_id = result.task.id
    for other in result.dependents:
        yield line(f"{other} depends on {task_id} and has run since")
    words = VERBS[result.verb]
    did = f"would {words.base}" if result.is_dry_run else words.past
    yield line(f"{did} the change of {task_id}: {counted(result.summary.totals.files, 'file')}")
    yield from block(result.summary.diffstat)
    for kept in result.kept:
        yield styled(f"  left as it is: {render_path(kept.path)}: {kept.reason}", Style.WARNING)
    yield from (line(f"with it goes what `{other}` had to leave") for other in result.completes)


def since_request_passages(since: SinceRequest | None) -> Iterator[Passage]:
    """List what was done since a person's last request."""
    if since is None:
        return
    rest = _shown_by(Choice.VIEW_SINCE_REQUEST)
    if since.comments:
        heading = styled("Your comments:", Style.HEADING)
        yield Passage((heading, *_outcomes(since.comments)), Rank.SINCE_REQUEST, rest)
    lines: Iterable[Line] = file_lines(since.summary, "  ")
    if since.summary.minimal is not None:
        lines = (styled(f"  not known: {since.summary.minimal}", Style.WARNING),)
    heading = styled("Changed since the request:", Style.HEADING)
    yield Passage((heading, *lines), Rank.SINCE_REQUEST, rest)


def _shown_by(choice: Choice) -> str:
    return f"{SPECS[choice].digit} shows the diff"


def _outcomes(comments: Iterable[CommentOutcome]) -> Iterator[Line]:
    """Yield a line for each comment, with whether the lines that it is on were changed since."""
    for comment, is_taken_up in islice(comments, MAX_FILES):
        word, style = ("changed", Style.PLAIN) if is_taken_up else ("not changed", Style.WARNING)
        yield styled(f"  {word:<11}  {place_words(comment)}: {comment.text}", style)


def summary_passages(summary: Summary) -> Iterator[Passage]:
    """Show the files and snippets, and what the summary omits."""
    yield Passage((styled("Review summary:", Style.HEADING),), Rank.HEADING, least=0)
    if summary.minimal is not None:
        yield one_line(f"  this summary is minimal: {summary.minimal}", Style.WARNING)
    *files, last = file_lines(summary, "    ")
    rest, heading = _shown_by(Choice.VIEW_DIFF), styled("  Files:", Style.HEADING)
    yield Passage((heading, *files), Rank.FILES, rest)
    yield Passage((last,))
    snippets = tuple(snippet_lines(summary, "    ")) or (styled("    (none)", Style.FAINT),)
    cut = lines_of(bulleted("Not all is shown:", summary.cut, Style.FAINT))
    yield Passage((styled("  Snippets:", Style.HEADING), *snippets, *cut), Rank.SNIPPETS, rest)


def both_added_passages(summary: Summary | None) -> Iterator[Passage]:
    """Show the lines that are to land beside others."""
    if summary is not None:
        heading = "Both added here (your lines stay above those of the task):"
        lines = (
            styled(heading, Style.WARNING),
            *file_lines(summary, "  "),
            *snippet_lines(summary, "  "),
        )
        yield Passage(lines, Rank.FILES, _shown_by(Choice.VIEW_DIFF))
