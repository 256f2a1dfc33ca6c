"""Carry out the actions of the screen through the controller; importing it loads what runs agents."""

import asyncio
from collections.abc import Callable, Iterator
from functools import partial

from git_blackbird.controller.change.decide.adopt import settle_adoption
from git_blackbird.controller.change.decide.checkpoint import (
    follows_in_execute,
    pending_checkpoint,
    unnamed_start,
)
from git_blackbird.controller.change.decide.record import record_decision
from git_blackbird.controller.change.status_changes import reset_task, set_status
from git_blackbird.controller.change.undo.undo import begin_undo, redo_task, undo_task
from git_blackbird.controller.change.work.tell import require_tellable, tell
from git_blackbird.controller.core.ui import Unanswered
from git_blackbird.controller.core.waiting import race_external_change
from git_blackbird.controller.core.workspace import Workspace, find_task, lock_holder
from git_blackbird.controller.engine.commands import (
    ResumeRequest,
    execute_loop,
    require_messageable,
    restart_loop,
    resume_all_loop,
    resume_loop,
)
from git_blackbird.controller.engine.review_commands import (
    dismiss_review,
    dismissal_obstacle,
    review_loop,
    review_obstacle,
)
from git_blackbird.controller.queries.reviews import view_change_review, view_review
from git_blackbird.messages.display.change import undo_result_lines
from git_blackbird.messages.display.dialogue import Confirm, confirm_undo
from git_blackbird.messages.display.events import overtaken_text, render_decided, render_told
from git_blackbird.messages.display.format import adopted_text, moved_lines, reset_lines
from git_blackbird.messages.display.reviews import dismissal_lines
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.change.decision import Decision, Reply, RerunReviews, Retry
from git_blackbird.model.change.stages import BY_ITSELF, Due
from git_blackbird.model.change.work import next_steps
from git_blackbird.model.config.layers import AGENT_NAMES
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.queue import PENDING, Item
from git_blackbird.model.rules.state import feedback_below
from git_blackbird.model.rules.status import StatusChange
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import DecisionState
from git_blackbird.model.views.checkpoint import Checkpoint
from git_blackbird.model.views.events import Decided
from git_blackbird.model.views.undo import UndoResult
from git_blackbird.tui.actions import help_lines
from git_blackbird.tui.context import AppContext
from git_blackbird.tui.keys import KeyTable
from git_blackbird.tui.screens.checkpoint import CheckpointScreen
from git_blackbird.tui.screens.modal import ChoiceModal, ConfirmModal, HelpScreen
from git_blackbird.tui.screens.request import RequestScreen
from git_blackbird.tui.screens.review import (
    ChangeReviewScreen,
    Obstacles,
    ParentReviewScreen,
    ReviewAction,
    ReviewScreen,
)
from git_blackbird.tui.screens.settings import SettingsScreen
from git_blackbird.tui.widgets.choices import ChoiceItem
from git_blackbird.tui.widgets.mention_editor import PathLister


class Commands:
    """Carries out the actions of one application, which shows the BlackbirdError of each."""

    def __init__(self, app: AppContext) -> None:
        self._app = app

    def execute(self, *only: TaskId) -> None:
        """Run the next tasks of the plan, or only these."""
        self._app.start("execute", lambda workspace, ui: execute_loop(workspace, ui, only, None))

    async def resume(self, task: Task) -> None:
        """Resume a task's session; for a parent, those of all tasks that its review flagged.

        Who is asked before the agent starts, a question of its own, is not asked twice.
        """
        pending = self._pending(task)
        if pending is not None and pending.due is Due.ANSWER:
            self._resume(task.id)
        elif task.children:
            if await self._agrees(task, f"Resume {', '.join(self._flagged(task)) or 'its tasks'}"):
                self._resume_all(task.id)
        elif await self._agrees(task, "Resume in its session"):
            self._resume(task.id)

    def _flagged(self, parent: Task) -> Iterator[str]:
        state = self._app.view_state
        leaves = () if state is None else feedback_below(state.state, parent)
        return (leaf.id for leaf in leaves)

    def _resume(self, task_id: TaskId, message: str | None = None) -> None:
        request = ResumeRequest(task_id, message)
        self._app.start("resume", lambda workspace, ui: resume_loop(workspace, ui, request))

    def _resume_all(self, parent_id: TaskId) -> None:
        self._app.start("resume", lambda workspace, ui: resume_all_loop(workspace, ui, parent_id))

    def _restart(self, task_id: TaskId) -> None:
        self._app.start("restart", lambda workspace, ui: restart_loop(workspace, ui, task_id, None))

    def _review(self, task_id: TaskId) -> None:
        self._app.start("review run", lambda workspace, ui: review_loop(workspace, ui, task_id))

    async def restart(self, task: Task) -> None:
        """Start a task in a new session, if a person confirms it."""
        if await self._agrees(task, "Restart in a new session", self._superseded(task)):
            self._restart(task.id)

    async def retry(self, task: Task) -> None:
        """Set a task back to todo, if a person confirms it."""
        if await self._agrees(task, "Set it back to todo", self._superseded(task)):
            await self._change(lambda workspace: reset_task(workspace, task.id))

    async def set_status(self, task: Task) -> None:
        items = [ChoiceItem(status, status.value) for status in Status]
        title = f"Status of {task.id}"
        status = await self._app.ask(ChoiceModal(title, items, list(Status).index(task.status)))
        if status is None:
            return
        lost = self._superseded(task)
        if not lost or await self._agrees(task, f"Set to {status}", lost):
            await self._change(lambda workspace: set_status(workspace, task.id, status))

    async def _agrees(self, task: Task, action: str, lost: str = "") -> bool:
        """Ask before an action on a task: a key is easily pressed by mistake."""
        about = f"{task.id}: {self._app.state_text(task)}"
        return await self._app.ask(ConfirmModal(Confirm((), f"{about}{lost}", action, "Leave it"))) is True

    def _superseded(self, task: Task) -> str:
        """Return the remark that a run which waits for a person will be superseded; "" if none does."""
        state = self._app.view_state
        due = () if state is None else state.view(task).due
        is_waiting = any(item.run is not None and item.due in PENDING | BY_ITSELF for item in due)
        return "; that run will be superseded" if is_waiting else ""

    def _pending(self, task: Task) -> Item | None:
        state = self._app.view_state
        return None if state is None else state.pending(task.id)

    async def _change(self, change: Callable[[Workspace], StatusChange]) -> None:
        """Change a status in a thread: another process may hold the lock of the store."""
        try:
            reset = await asyncio.to_thread(change, await self._open())
        finally:
            self._app.poll()
        self._app.log_and_notify(f"{reset.task_id} is now {reset.status}", *reset_lines(reset), is_good=True)

    async def decide(self, task_id: TaskId) -> None:
        """Show a task's checkpoint, record the decision, and carry on as it says unless agents run."""
        try:
            workspace = await self._open()
            await self._settle_adoption(workspace)
            checkpoint = await asyncio.to_thread(pending_checkpoint, workspace, task_id)
            asking = race_external_change(
                workspace, lambda: ask_decision(self._app, workspace, checkpoint), checkpoint.run
            )
            match checkpoint.with_shown(await asking):
                case Decision() as decision:
                    if (why := await self._unnamed_start(workspace, checkpoint, decision)) is not None:
                        self._app.log_and_notify(why, is_good=True)
                        return await self.decide(task_id)
                    await self._record(workspace, checkpoint.run, decision)
                case Retry():
                    self._restart(task_id)
                case RerunReviews():
                    self._review(task_id)
                case Run(is_superseded=True) as run:
                    self._app.log_and_notify(overtaken_text(run), is_good=True)
                case Run() as run:
                    # Without a decision, the run was amended, or is reviewed again.
                    what = "changed" if run.decision_state in {None, DecisionState.PENDING} else "was decided"
                    self._app.log_and_notify(f"{task_id} {what} from another terminal", is_good=True)
                case None:
                    pass
        finally:
            self._app.poll()

    async def _unnamed_start(
        self, workspace: Workspace, checkpoint: Checkpoint, decision: Decision
    ) -> str | None:
        """Return what to say where an approval would by now start another task than was named."""
        if decision.state is not DecisionState.APPROVED_CONTINUE or not self._app.can_execute:
            return None
        state, task_id = await asyncio.to_thread(workspace.plan_state), checkpoint.task.id
        return unnamed_start(task_id, checkpoint.follows, follows_in_execute(state, task_id))

    async def _settle_adoption(self, workspace: Workspace) -> None:
        """Ask first whether what another program or clone did counts. Raises UnansweredError."""

        async def agree(step: Confirm) -> bool | Unanswered:
            answer = await self._app.ask(ConfirmModal(step))
            return Unanswered() if answer is None else answer

        state = await asyncio.to_thread(workspace.plan_state)
        for one in await settle_adoption(workspace, state, agree):
            self._app.log_and_notify(adopted_text(one.item, one.status), is_good=True)

    async def _record(self, workspace: Workspace, run: Run, decision: Decision) -> None:
        """Record a decision, show it with warnings and how to undo it, and start what it asks for."""
        app = self._app
        app.is_commit_interrupted = False
        recorded = await asyncio.to_thread(record_decision, workspace, run.task_id, decision, run.id)
        app.drafts.settle(Decided(run.task_id, run.id, decision.state, elsewhere=False))
        if recorded.decided is not None:
            text, hints = render_decided(recorded.decided), self._next_step_hints(decision, recorded.run)
            moved, warnings = moved_lines(recorded.moved), recorded.warnings
            app.log_and_notify(text, *recorded.remarks, *warnings, *moved, *hints, is_good=not warnings)
        if decision.undoes:
            await self._take_back(workspace, run.task_id)
        if not app.can_execute or app.is_commit_interrupted:
            # A command that runs agents carries on by itself.
            return
        if recorded.run.decision_state is DecisionState.APPROVED_CONTINUE:
            self.execute()
        elif recorded.run.decision_state is DecisionState.CHANGES_REQUESTED:
            self._resume(run.task_id)

    def _next_step_hints(self, decision: Decision, run: Run) -> Iterator[str]:
        """Yield how to go on with a task that was rejected, by keys; to take it back next says so itself."""
        steps = () if decision.undoes else next_steps(run)
        here = None if self._app.current is None else self._app.current.id
        return (f"next step: {self._app.keys.as_key_hint(step, here)}" for step in steps)

    async def _take_back(self, workspace: Workspace, task_id: TaskId) -> None:
        """Take back a rejected change; a command that runs agents does it by itself."""
        await asyncio.to_thread(begin_undo, workspace, task_id)
        if self._app.can_execute:
            self._show_moved(await asyncio.to_thread(undo_task, workspace, task_id))

    async def undo(self, task: Task) -> None:
        """Show what taking a task's change back would do, and do it if a person confirms it."""
        await self._move_change(partial(undo_task, task_id=task.id))

    async def redo(self, task: Task) -> None:
        await self._move_change(partial(redo_task, task_id=task.id))

    async def _move_change(self, move: Callable[..., UndoResult]) -> None:
        workspace = await self._open()
        preview = await asyncio.to_thread(move, workspace, dry_run=True)
        if await self._app.ask(ConfirmModal(confirm_undo(preview))) is True:
            try:
                result = await asyncio.to_thread(move, workspace)
            finally:
                self._app.poll()
            self._show_moved(result)

    def _show_moved(self, result: UndoResult) -> None:
        is_good = result.is_whole and not any(result.remarks)
        self._app.log_and_notify(*undo_result_lines(result), *result.warnings, is_good=is_good)

    async def send_message(self, task: Task) -> None:
        """Ask for a message, and resume a task's session with it; one at work is paused for that.

        It stays a draft until a run records it.
        """
        workspace, is_at_work = await self._open(), self._app.accepts_current("tell")
        require = require_tellable if is_at_work else require_messageable
        run = await asyncio.to_thread(require, workspace, task.id)
        title = (
            f"What should change in {task.id}?"
            if run.is_pending
            else f"What should {task.id}'s agent be told?"
        )
        draft = self._app.drafts.message(task.id)
        folders = (workspace.paths.state_root, workspace.worktree_of(run))
        text = await self._app.ask(RequestScreen(title, self._app.path_lister, draft, folders=folders))
        if text is not None and is_at_work:
            told = await asyncio.to_thread(tell, workspace, task.id, text)
            draft.drop()
            is_watched = lock_holder(workspace) is not None
            self._app.log_and_notify(render_told(told, is_watched=is_watched), is_good=True)
        elif text is not None:
            self._resume(task.id, text)

    async def show_review(self, task_id: TaskId) -> None:
        """Show the reviews of a task, and do what a person chooses."""
        workspace = await asyncio.to_thread(self._app.open_workspace)
        create_screen = await asyncio.to_thread(_read_reviews, workspace, task_id, self._app.keys)
        request = await self._app.ask(create_screen())
        if request is None:
            return
        match request.action:
            case ReviewAction.RESUME:
                self._resume(request.task_id)
            case ReviewAction.RESTART:
                self._restart(request.task_id)
            case ReviewAction.RESUME_ALL:
                self._resume_all(request.task_id)
            case ReviewAction.REVIEW:
                self._review(request.task_id)
            case ReviewAction.DISMISS:
                await self._dismiss(request.task_id)
            case ReviewAction.DECIDE:
                await self.decide(request.task_id)

    async def announce_review(self, task_id: TaskId) -> None:
        """Show the reviews of a task, unasked: once nobody writes anything."""
        await self._app.questions.wait(f"review of {task_id}")
        self._app.ignore_pending_input()
        await self.show_review(task_id)

    async def _dismiss(self, parent_id: TaskId) -> None:
        workspace = await self._open()
        draft = self._app.drafts.reason(parent_id)
        title = f"Why is the review of {parent_id} dismissed?"
        reason = await self._app.ask(RequestScreen(title, self._app.path_lister, draft))
        if reason is not None:
            dismissed = await asyncio.to_thread(dismiss_review, workspace, parent_id, reason)
            draft.drop()
            lines = dismissal_lines(dismissed.parent, dismissed.dropped)
            self._app.log_and_notify(*lines, is_good=True)
        self._app.poll()

    async def choose_agent(self) -> None:
        setting = (await asyncio.to_thread(self._app.open_workspace)).settings.applied["agent"]
        items = [
            ChoiceItem(name, name, setting.origin if name == setting.value else "") for name in AGENT_NAMES
        ]
        start = AGENT_NAMES.index(str(setting.value))
        name = await self._app.ask(ChoiceModal("Agent for new runs", items, start))
        if name is not None:
            self._app.chosen_agent = name
            self._app.log_and_notify(f"new runs use {name} until you leave", is_good=True)

    async def settings(self) -> None:
        app = self._app
        screen = SettingsScreen(app.open_workspace, lambda: app.watcher.workspace)
        await app.push_screen(screen, lambda _: app.poll())

    async def help(self, task: Task | None) -> None:
        """List the keys of the screen, each with the command that does the same."""
        lines = help_lines(self._app.screen, self._app.keys, None if task is None else task.id)
        await self._app.push_screen(HelpScreen(lines))

    async def _open(self) -> Workspace:
        """Open the worktree to change something, which its configuration must allow."""
        workspace = await asyncio.to_thread(self._app.open_workspace)
        workspace.require_settings()
        return workspace


async def ask_decision(app: AppContext, workspace: Workspace, checkpoint: Checkpoint) -> Reply | None:
    """Show a checkpoint; None leaves it open. If cancelled, report the request that was being written."""
    task_id = checkpoint.run.task_id
    draft = app.drafts.message(task_id)
    try:
        marks, lister = app.review_marks(task_id), app.path_lister
        if checkpoint.worktree is not None:
            lister = PathLister(workspace, checkpoint.worktree)
        return await app.ask(CheckpointScreen(workspace, checkpoint, app.drafts, lister, marks))
    except asyncio.CancelledError:
        if draft.text.strip():
            app.show_unsent(task_id, draft.text)
        raise


def _read_reviews(workspace: Workspace, task_id: TaskId, keys: KeyTable) -> Callable[[], ReviewScreen]:
    """Read the reviews of a task, and why an action on them is not possible, in any thread."""
    state = workspace.plan_state()
    task = find_task(state.plan, task_id)
    running = lock_holder(workspace)
    busy = None if running is None else f"running: {running}"
    review = review_obstacle(state, task)
    if task.is_leaf:
        change_review = view_change_review(workspace, task)
        return partial(ChangeReviewScreen, change_review, Obstacles(busy, review, None))
    obstacles = Obstacles(busy, review, dismissal_obstacle(state, task))
    return partial(ParentReviewScreen, view_review(workspace, task_id), obstacles, keys)
