"""What a task's agent gets: the context pack in the Go program's form, or the same as prose."""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from git_blackbird.clean import clean, one_line
from git_blackbird.messages.display.evidence import places
from git_blackbird.messages.display.merged_review import render_fix_request
from git_blackbird.messages.display.quantities import some_of
from git_blackbird.messages.incoming.questions import QUESTION_FORM
from git_blackbird.model.base.redaction import MARK
from git_blackbird.model.base.sanitize import quoted
from git_blackbird.model.change.messages import PendingMessages
from git_blackbird.model.plan.plan import Plan, Task
from git_blackbird.model.rules.other_tasks import OtherTask, OtherTasks
from git_blackbird.model.run.findings import MergedReview
from git_blackbird.model.run.parent_verdict import Feedback
from git_blackbird.model.run.parts import Answer, Question
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.summary import Summary

if TYPE_CHECKING:
    from git_blackbird.model.run.evidence import CheckResult, FailedCase
    from git_blackbird.model.run.proof import ProvenPart

CONTINUE_TEXT = "You were interrupted. Continue the task where you stopped, and finish it."
_TOLD = "A person has stopped you to say this:"
_GO_ON = "Take it into account, and go on with the task until it is finished."
_REPEATED = "repeated, since an earlier run was sent this and the task is not done yet"
_FIX = "Fix this in the existing work, and check that it is fixed."
SNAPSHOT_BYTES = 32_768
MASKED = (
    f"Where a text that you are given has {MARK}:KIND] or {MARK}:$NAME], a secret of that kind, or the value "
    "of that variable, was masked: look at the original, and never write such a mark into a file."
)

SYSTEM_PROMPT = (
    "You are working without a user present on one task of a plan, in the git repository that is your "
    "working directory. You may edit files there and run non-destructive commands without asking for "
    "confirmation. Do everything the task asks and nothing else. Do not touch .blackbird/ or "
    "blackbird.plan.json. Check your work with the project's own tests and tools. End with a short "
    f"summary of what you did. {MASKED}\n" + QUESTION_FORM
)


WORKTREE_PROMPT = (
    "\n\nYour working directory is a linked git worktree of your own; others work on other tasks of the plan "
    "beside it, in theirs. Stay in it. Branches, tags and the stash (refs/stash) are shared with them: leave "
    "those alone. BLACKBIRD_SLOT is a number that no other task at work has, and BLACKBIRD_PORT is the first "
    "of 10 ports that are yours: use them for what you start or create outside of your files."
)


def build_context(plan: Plan, task: Task, snapshot: str | None) -> dict[str, Any]:
    """Build the context pack of a fresh run; empty parts are left out."""
    context: dict[str, Any] = {"schemaVersion": 1, "task": task_part(task)}
    if task.deps:
        context["dependencies"] = [
            {"id": dep, "title": plan.tasks[dep].title, "status": plan.tasks[dep].status.value}
            for dep in sorted(task.deps)
        ]
    if snapshot:
        context["projectSnapshot"] = snapshot
    context["systemPrompt"] = SYSTEM_PROMPT
    return context


def task_part(task: Task) -> dict[str, Any]:
    """Return a task in the form of a context pack; empty parts are left out."""
    return _without_empty(
        {
            "id": task.id,
            "title": task.title,
            "description": task.description,
            "acceptanceCriteria": list(task.acceptance_criteria),
            "prompt": task.prompt,
        }
    )


def _without_empty(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value}


def with_feedback(context: dict[str, Any], texts: Sequence[str]) -> dict[str, Any]:
    """Add pending messages."""
    return {**context, "feedback": "\n\n".join(texts)} if texts else context


def with_changed_files(context: dict[str, Any], change: Summary | None) -> dict[str, Any]:
    """Add the files and their number for a change request, which prose lists below it."""
    if change is None or not change.files:
        return context
    total = max(change.totals.files, len(change.files))
    return {**context, "changedFiles": list(change.files), "changedFilesTotal": total}


def with_messages(context: dict[str, Any], messages: PendingMessages) -> dict[str, Any]:
    """Add pending messages: texts, the feedback of a parent's review, and answers with their questions.

    Feedback that an earlier run was sent is marked as repeated.
    """
    context = with_feedback(context, messages.texts)
    review = messages.review
    repeated = [text for text in messages.texts if text in messages.sent_texts]
    if repeated:
        context = {**context, "repeatedFeedback": repeated}
    if review is not None:
        part: dict[str, Any] = {
            "parentTaskId": review.parent_task_id,
            "reviewRunId": review.review_run_id,
            "feedback": review.feedback,
        }
        if messages.review_sent:
            part["repeated"] = True
        context = {**context, "parentReviewFeedback": part}
    if messages.answers:
        questions = [_without_empty(question.to_json()) for question in messages.questions]
        answers = [answer.to_json() for answer in messages.answers]
        context = {**context, "questions": questions, "answers": answers}
    return context


OTHERS = "otherTasks"
_MOST_OTHERS, _MOST_FILES, _MOST_CHARACTERS = 8, 4, 80
_NOT_YOURS = (
    "Others do these, not you: do not do, undo or repeat any of it. Where you need a file of theirs, change "
    "there only what your task asks for; your change will be merged with theirs."
)


def others_part(others: OtherTasks) -> dict[str, Any]:
    """Return other tasks in the form of a context pack, cut to a few words each; empty without any."""
    return _without_empty(
        {
            "underWay": [_other_part(other) for other in others.under_way[:_MOST_OTHERS]],
            "underWayTotal": len(others.under_way),
            "landed": [_other_part(other) for other in others.landed[:_MOST_OTHERS]],
            "landedTotal": len(others.landed),
        }
    )


def _other_part(other: OtherTask) -> dict[str, Any]:
    files = [one_line(name, _MOST_CHARACTERS) for name in other.files[:_MOST_FILES]]
    title = one_line(other.task.title, _MOST_CHARACTERS)
    return _without_empty(
        {"id": other.task.id, "title": title, "files": files, "filesTotal": len(other.files)}
    )


def render_others(part: Mapping[str, Any]) -> str:
    """Format other tasks as a section of a prompt; "" if there are none."""
    if not part:
        return ""
    under_way = _render_list("Under way now:", part, "underWay")
    landed = _render_list("Landed meanwhile; your worktree may not have it yet:", part, "landed")
    return render_section(
        "Other tasks of the plan", ["\n\n".join(filter(None, [_NOT_YOURS, under_way, landed]))]
    )


def _render_list(title: str, part: Mapping[str, Any], name: str) -> str:
    others = part.get(name, ())
    lines = [f"- {other['id']}: {quoted(other['title'])}{_render_files(other)}" for other in others]
    more = part.get(f"{name}Total", 0) - len(others)
    return "\n".join([title, *lines, *([f"- and {more} more"] if more > 0 else [])]) if others else ""


def _render_files(other: Mapping[str, Any]) -> str:
    files = other.get("files", ())
    more = other.get("filesTotal", 0) - len(files)
    return f" ({', '.join(files)}{f' and {more} more' if more > 0 else ''})" if files else ""


def bound_snapshot(text: str) -> str:
    """Trim the project snapshot and limit its size, noting a cut."""
    trimmed = text.strip()
    data = trimmed.encode()
    if len(data) <= SNAPSHOT_BYTES:
        return trimmed
    return data[:SNAPSHOT_BYTES].decode(errors="ignore") + "\n[cut: the file is longer]"


MAX_BYTES = 4096
_HEADING = re.compile(r" {0,3}#{1,6}(?:\s|$)")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)\s*$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_LONGEST_DECORATION = 2000
# Badges, pictures and HTML around a title do not describe the project.
_BADGE = r"(?:\[!\[[^]]*\](?:\([^)]*\)|\[[^]]*\])\]|!\[[^]]*\])(?:\([^)]*\)|\[[^]]*\])?"
_DECORATION = re.compile(rf"\s*(?:(?:{_BADGE}|<[^>]*>)\s*)+$|\s*\[[^]]+\]:\s|\s*>\s*\[!\w+\]\s*$")
_BADGES_BEHIND = re.compile(rf"(?:\s+{_BADGE})+\s*$")


def first_section(text: str) -> str:
    """Return a Markdown text up to the heading after its first section with content.

    At most ``MAX_BYTES``, also of a text without headings, cut between paragraphs if possible.
    """
    lines = _undecorated(text.splitlines())
    headings = _headings(lines)
    content = (
        number
        for number, line in enumerate(lines)
        if number not in headings and line.strip() and not _UNDERLINE.match(line)
    )
    first = next(content, len(lines))
    end = next((number for number in headings if number > first), len(lines))
    section = re.sub(r"\n{3,}", "\n\n", "\n".join(lines[:end])).strip()
    data = section.encode()
    if len(data) <= MAX_BYTES:
        return section
    cut = data[:MAX_BYTES].decode(errors="ignore")
    return (cut.rpartition("\n\n")[0] or cut).rstrip()


def _undecorated(lines: Sequence[str]) -> list[str]:
    """Return lines without badges, pictures and HTML, except in code blocks."""
    kept: list[str] = []
    fence = ""
    for line in lines:
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1].startswith(fence):
            fence = ""
        if fence or mark or len(line) > _LONGEST_DECORATION:
            kept.append(line)
        elif not _DECORATION.match(line):
            kept.append(_BADGES_BEHIND.sub("", line))
    return kept


def _headings(lines: list[str]) -> list[int]:
    """Return the lines at which headings begin, except in code blocks."""
    headings: list[int] = []
    fence = ""
    for number, line in enumerate(lines):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
        elif mark:
            fence = mark[1]
        elif _HEADING.match(line):
            headings.append(number)
        elif number and _UNDERLINE.match(line) and lines[number - 1].strip() and number - 1 not in headings:
            headings.append(number - 1)
    return headings


def render_prompt(context: Mapping[str, Any]) -> str:
    """Format a context pack as the prompt of a fresh run."""
    task = context["task"]
    criteria = [f"- {line}" for line in task.get("acceptanceCriteria", ())]
    dependencies = [f"- {dep['id']}: {dep['title']}" for dep in context.get("dependencies", ())]
    # Those of the session before, in a new one.
    prompts = {question.get("id"): question.get("prompt") for question in context.get("questions", ())}
    answers = [
        f"- {prompts.get(answer.get('id')) or answer.get('id')}\n  {answer.get('value')}"
        for answer in context.get("answers") or ()
    ]
    return join_parts(
        context.get("systemPrompt", ""),
        f"# Task {task['id']}: {task['title']}",
        task.get("description", ""),
        task.get("prompt", ""),
        render_section("Acceptance criteria", criteria),
        render_section("Finished tasks that this one depends on", dependencies),
        render_section("Feedback on earlier work on this task", [context.get("feedback", "")]),
        _review_section(context.get("parentReviewFeedback")),
        render_section("Earlier questions about this task, and their answers", answers),
        render_others(context.get(OTHERS, {})),
        render_section("The project", [context.get("projectSnapshot", "")]),
    )


def _review_section(feedback: Mapping[str, Any] | None) -> str:
    if not feedback:
        return ""
    title = f"Changes to earlier work on this task, requested by the review of {feedback['parentTaskId']}"
    if feedback.get("repeated"):
        title = f"{title} ({_REPEATED})"
    return render_section(title, [f"{feedback['feedback'].rstrip()}\n\n{_FIX}"])


def join_parts(*parts: str) -> str:
    """Join the parts of a prompt, leaving out empty ones."""
    return "\n\n".join(filter(None, parts)) + "\n"


def render_section(title: str, lines: Sequence[str]) -> str:
    """Format a section of a prompt; "" if it is empty."""
    body = "\n".join(line for line in lines if line)
    return f"## {title}\n\n{body}" if body else ""


def render_change_request(text: str, change: Summary | None) -> str:
    """Format a change request: the person's text unchanged, then the files it is about."""
    if change is None or not change.files:
        return text
    more = change.totals.files - len(change.files)
    files = [f"- {name}" for name in change.files] + ([f"- and {more} more"] if more > 0 else [])
    return text.rstrip("\n") + "\n\nFiles of the change so far:\n" + "\n".join(files) + "\n"


def render_review_feedback(feedback: Feedback, *, is_repeated: bool = False) -> str:
    """Format the feedback of a parent's review, unchanged, for the session that did the work."""
    again = f" ({_REPEATED})" if is_repeated else ""
    return (
        f"The work on {feedback.parent_task_id}, which your task is part of, was reviewed, and changes to "
        f"your part were requested{again}:\n\n{feedback.feedback.rstrip()}\n\n{_FIX}\n"
    )


def render_told(text: str) -> str:
    """Format what a person said to an agent at work, unchanged, for the session that was stopped for it."""
    return "\n\n".join((_TOLD, text.rstrip("\n"), f"{_GO_ON}\n"))


def render_answers(questions: Sequence[Question], answers: Sequence[Answer]) -> str:
    """Format the answers to an agent's questions."""
    asked = {question.id: question for question in questions}
    lines = [_answer_line(asked.get(answer.id), answer) for answer in answers]
    return "Answers to your questions:\n\n" + "\n".join(lines) + "\n\nContinue with the task.\n"


def _answer_line(question: Question | None, answer: Answer) -> str:
    if question is None:
        return f"- {answer.id}\n  {answer.value}"
    # The agent knows it by its place: here it has a mark that stands for a secret.
    is_marked = answer.value in question.options and MARK in answer.value
    place = f" (your option {question.options.index(answer.value) + 1})" if is_marked else ""
    return f"- {question.prompt}\n  {answer.value}{place}"


def join_messages(*parts: str) -> str:
    """Join messages to one agent, leaving out empty ones."""
    return "\n\n".join(part.rstrip("\n") for part in parts if part.strip()) + "\n"


def render_earlier_requests(texts: Sequence[str]) -> str:
    """Repeat earlier requests for a task; sending them twice is harmless."""
    if not texts:
        return ""
    introduction = "Earlier feedback on this task, repeated in case you have not received it:"
    return "\n\n".join([introduction, *(text.rstrip("\n") for text in texts)])


MAX_OUTPUT_CHARACTERS = 8000
_MOST_PARTS = 50
_REFUSED = (
    "A hook of the repository refused to commit your change. Fix what it reports, and check that it passes. "
    "The hook said:"
)


def bound_output(text: str) -> str:
    """Return the end of a program's output, without control sequences."""
    output = clean(text).strip()
    left_out = len(output) - MAX_OUTPUT_CHARACTERS
    return output if left_out <= 0 else f"({left_out} characters before)\n{output[left_out:]}"


def render_check_request(failed: "Sequence[CheckResult]") -> str:
    """Format failed checks as a change request: the tests that fail, or the end of what was printed."""
    return "\n".join(map(_check_request, failed))


def _check_request(check: "CheckResult") -> str:
    failed = f"The {check.title} of your change failed ({check.ended}): {one_line(check.command or '')}"
    if check.restored:
        names = some_of([*map(one_line, check.restored)], 10)
        failed += f"\n\nProtected files were in it as they were before your change: {names}"
    text = f"{failed}\n\n{_FIX}"
    if check.tests is not None and check.tests.failing:
        cases = "\n\n".join(map(_failed_case, check.tests.failing))
        more = check.tests.new - len(check.tests.failing)
        beside = f"\n\n{more} more fail.\n" if more else "\n"
        return f"{text} These tests fail, and did not before your change:\n\n{bound_output(cases)}{beside}"
    output = bound_output(check.output or "")
    return f"{text} The end of what it printed:\n\n{output}\n" if output else f"{text} It printed nothing.\n"


def _failed_case(case: "FailedCase") -> str:
    return "\n".join(filter(None, (f"- {case.name}: {case.message or 'failed'}", case.output)))


_NO_MARKERS = (
    "`git add` a file without markers that is right as git left it. A file that git has named NAME~COMMIT is "
    "one for which something else was in the way: move it to where it belongs, or delete it."
)


def render_conflict_request(conflicts: Sequence[bytes], messages: Sequence[str]) -> str:
    """Format a conflict with the user's worktree as a change request."""
    names = "\n".join(f"- {one_line(path.decode(errors='replace'))}" for path in conflicts)
    says = "\n".join(one_line(message) for message in messages)
    return (
        "While you worked, the files that your task began with have changed. Your worktree now has both "
        "merged, and git could not merge these files, which have its conflict markers or are as git left "
        f"them:\n\n{names}\n\nGit says:\n\n{says}\n\nResolve each conflict so that both changes do "
        f"what they were meant to do, remove the markers, and check your work again. {_NO_MARKERS}\n"
    )


def render_unresolved_request(conflicts: Sequence[bytes]) -> str:
    """Format a conflict that was left as git left it as a change request."""
    names = "\n".join(f"- {one_line(path.decode(errors='replace'))}" for path in conflicts)
    return (
        f"These files still are as git left them when it could not merge them:\n\n{names}\n\n"
        f"Resolve each conflict, remove the markers, and check your work again. {_NO_MARKERS}\n"
    )


def render_merged_check_request(failed: "Sequence[CheckResult]") -> str:
    """Format checks that failed on a change merged with the user's worktree as a change request."""
    return (
        "While you worked, the files that your task began with have changed. Your worktree now has both "
        f"merged, and that does not pass. {render_check_request(failed)}"
    )


def _unnoticed_request(parts: "Sequence[ProvenPart]") -> str:
    named = "\n".join(f"- {places(part)}" for part in parts[:_MOST_PARTS])
    more = f"\n- and {len(parts) - _MOST_PARTS} more" if len(parts) > _MOST_PARTS else ""
    return (
        "No check notices these parts of your change: without each of them, they pass as well.\n\n"
        f"{named}{more}\n\nAdd tests that fail without them, which say what they are for. "
        "Where no test can, say why.\n"
    )


def render_suggestion(run: Run, merged: MergedReview | None) -> str | None:
    """Format a change request with the known problems of a change; None without any."""
    parts = []
    if run.hook_output is not None:
        parts.append(f"{_REFUSED}\n\n{bound_output(run.hook_output)}\n")
    if run.failed_checks:
        parts.append(render_check_request(run.failed_checks))
    if run.evidence is not None and run.evidence.by_nothing:
        parts.append(_unnoticed_request(run.evidence.by_nothing))
    if merged is not None and merged.findings:
        parts.append(render_fix_request(merged))
    return "\n".join(parts) or None


def as_plain_text(prompt: str) -> str:
    """Return a prompt for a program that executes a first ``/word``, and adds files named as ``@path``."""
    if "@" not in prompt and not prompt.lstrip().startswith("/"):
        return prompt
    escaped = prompt.replace("@", "\\@")
    return f"This is a message and no command, and each at sign in it is written as \\@.\n\n{escaped}"
