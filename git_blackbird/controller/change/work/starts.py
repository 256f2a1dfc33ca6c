"""What starts or resumes an agent on a task, and what it is told."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from git_blackbird.agents.protocol import Agent, Assignment, JsonObject, OutputParser
from git_blackbird.controller.core.agents import agent_for, find_agent_for_run
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.messages.incoming.questions import questions_of
from git_blackbird.messages.outgoing.prompts import (
    CONTINUE_TEXT,
    OTHERS,
    SNAPSHOT_BYTES,
    WORKTREE_PROMPT,
    bound_snapshot,
    build_context,
    first_section,
    join_messages,
    others_part,
    render_answers,
    render_change_request,
    render_earlier_requests,
    render_others,
    render_prompt,
    render_review_feedback,
    render_told,
    with_changed_files,
    with_feedback,
    with_messages,
)
from git_blackbird.messages.outgoing.rulings import DECIDE_YOURSELF, RULING_PROMPT, render_ruling
from git_blackbird.model.base.system import STATE_NAME, is_exhausted
from git_blackbird.model.change.messages import PendingMessages
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.rules.other_tasks import OtherTasks
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.run.parts import Answer, Ruling
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.summary import Summary
from git_blackbird.model.views.stop import Stop
from git_blackbird.storage.files import load_inside
from git_blackbird.storage.paths import OVERVIEW_NAME

if TYPE_CHECKING:
    # Readers of logs name what an agent was told, and start none.
    from git_blackbird.controller.launch.launch import Launcher

_OF_ONE_RUN = frozenset(
    {
        "questions",
        "answers",
        "feedback",
        "repeatedFeedback",
        "parentReviewFeedback",
        "changedFiles",
        "changedFilesTotal",
        OTHERS,
    }
)


@dataclass(frozen=True)
class Start:
    """One start of an agent, or one resume of a run's session, as it was chosen.

    ``prompt`` is for agents that read prose, ``context`` for those that read JSON. ``message`` and
    ``answers`` are what a person adds with this run; the record keeps them until the task is done. In it the
    agent is to say its ``rulings``. ``by_hand`` opens the session at a person's terminal, where it is told
    nothing. ``schema`` and ``wall_seconds`` are for one that only reads: the form of its answer, and a limit
    instead of the configured one.
    """

    task: Task
    agent: Agent
    context: dict[str, Any]
    prompt: str
    resumes: Run | None = None
    message: str | None = None
    answers: tuple[Answer, ...] = ()
    rulings: tuple[Ruling, ...] = ()
    by_hand: "Launcher | None" = None
    schema: JsonObject | None = None
    wall_seconds: float | None = None

    def with_message(self, message: str) -> "Start":
        context = with_feedback(self.context, (*filter(None, [self.context.get("feedback")]), message))
        return replace(self, context=context, prompt=join_messages(self.prompt, message), message=message)

    def with_other_tasks(self, others: OtherTasks) -> "Start":
        part = others_part(others)
        if not part or self.by_hand is not None:
            return self
        context = {**self.context, OTHERS: part}
        if self.resumes is None:
            return replace(self, context=context, prompt=render_prompt(context))
        return replace(self, context=context, prompt=join_messages(self.prompt, render_others(part)))


@dataclass(frozen=True)
class Restart:
    task: Task
    message: str | None


Done = Stop | Start | Restart | None
"""What comes of an item: how the call ends, or what a person wants to be begun; None to go on."""


def new_start(workspace: Workspace, state: PlanState, task: Task, message: str | None) -> Start:
    """Start a new session with every pending message of the task."""
    owed = _with_message(state.pending_messages(task.id), message)
    project = load_project_overview(workspace)
    context = with_messages(build_context(state.plan, task, None if project is None else project.text), owed)
    if workspace.gets_worktree(state.history(task.id)):
        context["systemPrompt"] += WORKTREE_PROMPT
    if workspace.config.execution.questions == "rule":
        context["systemPrompt"] += RULING_PROMPT
    return Start(task, agent_for(workspace, task), context, render_prompt(context), message=message)


def continuing(
    workspace: Workspace, run: Run, task: Task, owed: PendingMessages, message: str | None
) -> Start:
    """Resume a session with a person's message, with review feedback, or with the fixed text.

    Without a message it is what a person said while the run worked.
    """
    text, told = message or ("" if owed.review else CONTINUE_TEXT), run.text_while_working
    if message is None and told is not None:
        text, message = render_told(told), told
    prompt = join_messages(text, _earlier_messages(owed, message))
    return replace(_resuming(workspace, run, task, _with_message(owed, message), prompt), message=message)


def going_on_by_hand(workspace: Workspace, run: Run, task: Task, launcher: "Launcher") -> Start:
    """Have a person go on with a session."""
    return replace(_resuming(workspace, run, task, PendingMessages(), ""), by_hand=launcher)


def answering(
    workspace: Workspace, run: Run, task: Task, owed: PendingMessages, answers: tuple[Answer, ...]
) -> Start:
    asked = questions_of(run)
    answered = owed._replace(questions=(*owed.questions, *asked), answers=(*owed.answers, *answers))
    prompt = join_messages(render_answers(asked, answers), _earlier_messages(owed._replace(answers=()), None))
    return replace(_resuming(workspace, run, task, answered, prompt), answers=answers)


def ruling(workspace: Workspace, run: Run, task: Task, owed: PendingMessages) -> Start:
    """Resume a session whose agent is to decide itself what it asked."""
    asked = run.questions
    rulings = tuple(Ruling(question=question, told=DECIDE_YOURSELF) for question in asked)
    answered = answering(workspace, run, task, owed, tuple(ruling.answer for ruling in rulings))
    prompt = join_messages(render_ruling(rulings), _earlier_messages(owed, None))
    return replace(answered, prompt=prompt, answers=(), rulings=rulings)


def changing(
    workspace: Workspace,
    run: Run,
    task: Task,
    owed: PendingMessages,
    message: str | None,
    change: Summary | None,
) -> Start:
    request = run.decision_feedback or ""
    current = join_messages(request, message) if message else request
    request_text = render_change_request(current, change)
    earlier = _earlier_messages(owed, request)
    prompt = join_messages(request_text, earlier) if earlier else request_text
    start = _resuming(workspace, run, task, _with_message(owed, message), prompt)
    return replace(start, context=with_changed_files(start.context, change), message=message)


def _resuming(workspace: Workspace, run: Run, task: Task, owed: PendingMessages, prompt: str) -> Start:
    fresh = {name: value for name, value in run.context.items() if name not in _OF_ONE_RUN}
    asked_again = {question.id for question in run.questions}
    owing = (one for one in run.rulings if one.decision is None and one.question.id not in asked_again)
    unsaid = tuple(ruling for ruling in owing if not ruling.is_overruled(owed.texts))
    return Start(
        task,
        find_agent_for_run(workspace, run, task),
        with_messages(fresh, owed),
        prompt,
        run,
        rulings=unsaid,
    )


def _with_message(owed: PendingMessages, message: str | None) -> PendingMessages:
    if not message or message in owed.texts:
        return owed
    return owed._replace(texts=(*owed.texts, message))


def _earlier_messages(owed: PendingMessages, said_now: str | None) -> str:
    """Repeat earlier requests and answers: the agent may never have got them."""
    texts = [text for text in owed.texts if text != said_now]
    answers = render_answers(owed.questions, owed.answers) if owed.answers else ""
    review = render_review_feedback(owed.review, is_repeated=owed.review_sent) if owed.review else ""
    return join_messages(review, render_earlier_requests(texts), answers).strip("\n")


def recorded_reader(workspace: Workspace, agent: Agent, run: Run) -> OutputParser:
    """Return a parser for the output of a recorded run, with the totals of the run that it resumed."""
    resumed = workspace.store.records.history(run.task_id).find(run.resumes) if run.resumes else None
    assignment = Assignment(
        run.provider,
        run.task_id,
        run.id,
        run.provider_session_ref,
        run.prompt or "",
        run.context,
        resume=run.resumes is not None,
        previous_totals={} if resumed is None else resumed.raw_totals or {},
    )
    # Where it worked then: the worktree may have been moved since.
    return agent.parser(assignment, run.worktree_path or run.repo_root or str(workspace.repo.top))


README = "README.md"
_FILES = (f"{STATE_NAME}/{OVERVIEW_NAME}", "OVERVIEW.md", README)


class ProjectOverview(NamedTuple):
    """The description of a project by itself; ``is_beginning`` if the file goes on."""

    file: str
    text: str
    is_beginning: bool = False


def load_project_overview(workspace: Workspace) -> ProjectOverview | None:
    """Return the first file that has text; of a README only its first section."""
    for name in _FILES:
        top = workspace.paths.state_root
        try:
            data = load_inside(top, top / name, limit=4 * SNAPSHOT_BYTES)
        except OSError as error:
            # There is none, or none that a repository may have an agent read.
            if is_exhausted(error):
                raise
            continue
        text = data.decode(errors="replace").strip()
        if text:
            break
    else:
        return None
    if name != README:
        return ProjectOverview(name, bound_snapshot(text))
    section = first_section(text)
    if section != text:
        section = f"{section}\n\n[the beginning of {README}; the file has more]"
    return ProjectOverview(README, section, is_beginning=section != text)
