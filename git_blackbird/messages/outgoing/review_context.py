"""The context of a parent's reviewer: the Go program's context pack, and the same as prose."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from git_blackbird.messages.outgoing.prompts import join_parts, render_section, task_part
from git_blackbird.model.base.sanitize import shell_word
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.summary import Summary, Trees

MAX_SUMMARY_BYTES = 1200
MAX_FILES = 50
# For the summaries and file names of all children together.
MAX_CHANGES_BYTES = 200_000

REVIEW_FORM = """\
Answer with one JSON object: no words before or after it. It alone is your verdict: what else your answer
says means nothing. It has these four fields:

- "passed": true if the acceptance criteria are met, otherwise false.
- "resumeTaskIds": the ids of the tasks that need more work; empty if and only if "passed" is true.
- "feedbackForResume": what must be fixed, in enough detail to fix it from this text alone; "" if and only if
  "passed" is true.
- "reviewResults": one object for each task under review: "taskId", "status" ("passed" or "failed") and
  "feedback" (what is wrong with this task's work; null if it passed). The status is "failed" if and only if
  the task is in "resumeTaskIds"."""

REVIEWER_SYSTEM_PROMPT = (
    "You review finished work, without a user present, in the git repository that is your working directory. "
    "You are only the reviewer: do not implement anything, do not edit, create or delete files, do not "
    "commit. Judge the work against the acceptance criteria. Look at the work itself, not only at its "
    "description: read the files and the changes, and run those checks of the project that write nothing. "
    "Nobody is there to answer, so ask no questions: decide by what you see.\n\n" + REVIEW_FORM
)
REVIEWER_INSTRUCTIONS = (
    "Judge the work of the children as a whole against the acceptance criteria of the parent; if it has "
    "none, against its title, description and prompt. Flag only the children whose work must change. For "
    "each, say what is wrong and what would be right."
)

_NO_RUN = "This task has no run, its status was set by hand: look at the work itself."
_SKIPPED = (
    "A person decided to skip these tasks. Do not expect their work, and do not name them in your answer. If "
    "a criterion cannot be met without them, say so in the feedback for the task that it concerns most."
)
_TOO_MUCH = "Its change is too large to be listed here: look at the work itself."


@dataclass(frozen=True)
class ComposedChange:
    """The joint change of several runs of a task; ``pair`` is None if its snapshots are gone."""

    pair: Trees | None
    summary: Summary
    runs: int


@dataclass(frozen=True)
class ReviewedChild:
    """A child under review and the run that counts for it; that of a parent is its own latest review.

    ``run`` is None for a child that was set ``done`` by hand. ``top`` is the top of the worktree for a
    reviewer that works elsewhere. ``composed`` is the child's change if it took several runs.
    """

    task: Task
    run: Run | None
    top: str | None = None
    composed: ComposedChange | None = None

    @property
    def summary(self) -> Summary | None:
        """The summary of its whole change."""
        if self.composed is not None:
            return self.composed.summary
        return None if self.run is None else self.run.review_summary


def build_review_context(
    parent: Task, children: Sequence[ReviewedChild], fault: str | None = None, skipped: Sequence[Task] = ()
) -> dict[str, Any]:
    """Build the context pack of a parent's reviewer; ``fault`` is the error of the previous answer.

    ``skipped`` children are listed, but not judged. Summaries and file names are bounded, and omissions are
    noted.
    """
    review: dict[str, Any] = {
        "parentTaskId": parent.id,
        "parentTaskTitle": parent.title,
        "acceptanceCriteria": list(parent.acceptance_criteria),
        "reviewerInstructions": REVIEWER_INSTRUCTIONS,
        "faultOfLastAnswer": fault,
        "children": _child_parts(children),
        "skippedChildren": [{"childId": task.id, "childTitle": task.title} for task in skipped],
    }
    return {
        "schemaVersion": 1,
        "task": task_part(parent),
        "parentReview": {name: value for name, value in review.items() if value},
        "systemPrompt": REVIEWER_SYSTEM_PROMPT,
    }


def _child_parts(children: Sequence[ReviewedChild]) -> list[dict[str, Any]]:
    left = MAX_CHANGES_BYTES
    parts = []
    for child in sorted(children, key=lambda child: child.task.id):
        change, size = _change_part(child)
        if size > left:
            change = {"note": _TOO_MUCH}
        else:
            left -= size
        parts.append(_child_part(child, change))
    return parts


def _child_part(child: ReviewedChild, change: Mapping[str, Any]) -> dict[str, Any]:
    task, run = child.task, child.run
    if run is None:
        return {"childId": task.id, "childTitle": task.title, "note": _NO_RUN}
    record = f".blackbird/runs/{task.id}/{run.id}.json"
    notes = [_of_review(run), change.get("note", "")]
    facts = {
        "childId": task.id,
        "childTitle": task.title,
        "latestRunId": run.id,
        "latestRunSummary": change.get("latestRunSummary"),
        "artifactRefs": [record, *change.get("artifactRefs", ())],
        "changeCommand": _change_command(run, child),
        "note": " ".join(filter(None, notes)),
    }
    return {name: value for name, value in facts.items() if value}


def _change_part(child: ReviewedChild) -> tuple[dict[str, Any], int]:
    """Return the description of a child's change, and its size in bytes."""
    summary = child.summary
    if summary is None:
        return {}, 0
    files = sorted(set(summary.files))
    more = max(summary.totals.files, len(files)) - min(len(files), MAX_FILES)
    diffstat = summary.diffstat.strip().encode(errors="replace")[:MAX_SUMMARY_BYTES].decode(errors="ignore")
    facts: dict[str, Any] = {
        "latestRunSummary": diffstat,
        "artifactRefs": files[:MAX_FILES],
        "note": " ".join(_notes(child.composed, more)),
    }
    return facts, sum(len(text.encode(errors="replace")) for text in [diffstat, *files[:MAX_FILES]])


def _notes(composed: ComposedChange | None, more: int) -> Iterator[str]:
    if composed is not None:
        yield f"{composed.runs} runs made its change."
        if composed.summary.minimal is not None:
            yield f"What they changed together is not known: {composed.summary.minimal}"
        if composed.summary.between:
            names = sorted({edit.path for edit in composed.summary.between})[:MAX_FILES]
            yield f"Between them, other tasks changed {', '.join(names)} as well."
    if more:
        yield f"{more} more files were changed."


def _change_command(run: Run, child: ReviewedChild) -> str | None:
    if child.composed is not None:
        pair = child.composed.pair
        return None if pair is None or pair.is_empty else diff_command(*pair, child.top)
    if run.is_review or run.tree_pair is None or run.tree_pair.is_empty:
        return None
    ref = f"refs/blackbird/runs/{run.id}"
    return diff_command(f"{ref}:base", f"{ref}:head", child.top)


def diff_command(base: str, head: str, top: str | None) -> str:
    """Return the command with which a reviewer sees a change, whatever its attributes say of its files.

    ``top`` is the worktree, for a reviewer elsewhere.
    """
    git = f"git -C {shell_word(top)}" if top else "git"
    return f"{git} diff --text --no-ext-diff --no-textconv --ignore-submodules=none {base} {head}"


def _of_review(run: Run) -> str:
    """Describe the result of the review of a child that is a parent."""
    if not run.is_review:
        return ""
    if run.dismissed is not None:
        return f"Its own review was dismissed: {run.dismissed.reason}"
    return "Its own children were reviewed and passed." if run.parent_review_passed else ""


def render_review_prompt(context: Mapping[str, Any]) -> str:
    """Format a review's context pack as the prompt of its reviewer."""
    task, review = context["task"], context["parentReview"]
    skipped = [
        f"- {child['childId']}: {child.get('childTitle', '')}" for child in review.get("skippedChildren", ())
    ]
    return join_parts(
        context.get("systemPrompt", ""),
        f"# Review of {task['id']}: {task.get('title', '')}",
        render_section("What was to be done", [task.get("description", ""), task.get("prompt", "")]),
        render_section("Acceptance criteria", [f"- {line}" for line in task.get("acceptanceCriteria", ())]),
        render_section("How to judge", [review.get("reviewerInstructions", "")]),
        "## The tasks under review",
        *map(_render_child, review.get("children", ())),
        render_section("Skipped tasks", [_SKIPPED, *skipped] if skipped else []),
        render_section("Your last answer could not be used", [review.get("faultOfLastAnswer", "")]),
    )


def _render_child(child: Mapping[str, Any]) -> str:
    record, *files = child.get("artifactRefs") or [None]
    command = child.get("changeCommand")
    parts = [
        f"### {child['childId']}: {child.get('childTitle', '')}",
        child.get("note", ""),
        f"Record of its latest run: {record}" if record else "",
        f"Its whole change: `{command}`" if command else "",
        child.get("latestRunSummary", ""),
        "\n".join(["Files it changed:", *(f"- {name}" for name in files)]) if files else "",
    ]
    return "\n\n".join(part for part in parts if part)
