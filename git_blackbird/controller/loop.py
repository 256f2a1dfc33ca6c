"""The loop: do what is due, step by step, until nothing is or someone must decide (DESIGN.md 5)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from git_blackbird.controller.agents import require_reviewer, require_reviewers
from git_blackbird.controller.approval_commits import ApprovalRefusedError
from git_blackbird.controller.asking import left_unanswered
from git_blackbird.controller.blocking import finish_in_thread, run_in_thread
from git_blackbird.controller.checkpoints import build_checkpoint, change_of
from git_blackbird.controller.consent import NotAgreedError
from git_blackbird.controller.decide import record_decision
from git_blackbird.controller.decision_stops import (
    decision_left_open,
    decision_required,
    recorded_events,
    stop_after,
)
from git_blackbird.controller.drafts import drop_arrived
from git_blackbird.controller.elsewhere import changed_elsewhere, or_elsewhere
from git_blackbird.controller.engine import Engine
from git_blackbird.controller.face import LeftOpen
from git_blackbird.controller.finishing import (
    Done,
    finish,
    looked_at,
    name_what_waits,
    not_started,
    refused,
)
from git_blackbird.controller.orders import (
    Order,
    Restart,
    order_answers,
    order_changes,
    order_continue,
    order_start,
)
from git_blackbird.controller.parent_review import ReviewMovedError, order_review, run_review
from git_blackbird.controller.readying import NoLongerReadyError
from git_blackbird.controller.record_watch import settle_watch
from git_blackbird.controller.repair import is_work_deferred
from git_blackbird.controller.review_stops import reviews_required
from git_blackbird.controller.status_changes import reset_task
from git_blackbird.controller.task_reviews import (
    ask_instead,
    is_told_otherwise,
    keep_reviews,
    merge_sides,
    order_change_review,
    review_again,
    review_change,
    skip_reviews,
)
from git_blackbird.controller.unfinished import (
    CONTINUE,
    LEAVE,
    RESTART,
    agent_missing_stop,
    name_paused,
    paused_question,
    paused_stop,
    undeliverable_stop,
)
from git_blackbird.controller.work_folders import sweep_work_folders
from git_blackbird.errors import AgentUnavailableError, LockedError
from git_blackbird.git.program import GitStoppedError
from git_blackbird.messages.answers import match_answers, take_answer
from git_blackbird.messages.questions import questions_of
from git_blackbird.model.choices import Decision, Reply, Retry, ReviewAgain
from git_blackbird.model.commands import EXECUTE, task_command
from git_blackbird.model.decisions import Decide
from git_blackbird.model.due import (
    Ask,
    AskPaused,
    CarryFeedback,
    CarryOut,
    Continue,
    Due,
    Nothing,
    ReviewChange,
    ReviewParent,
    ReviewsRequired,
    Start,
    next_due,
)
from git_blackbird.model.events import Notice, Weight
from git_blackbird.model.findings import MergedReview
from git_blackbird.model.history import since_done
from git_blackbird.model.plan import Status, Task
from git_blackbird.model.run import OVERTAKEN_BY_RESTART, DecisionState, ReviewState, Run, TerminalReason
from git_blackbird.model.standing import Standing
from git_blackbird.model.stop import Stop, StopReason
from git_blackbird.model.task_review import BY_REVIEWERS
from git_blackbird.storage.store import Image

_MAX_REFUSALS = 10


@dataclass(frozen=True)
class Opening:
    """What a call begins with, found once repair is done; without ``first`` simply what is due."""

    first: Callable[[Image], Order | Ask | Restart | None] | None = None


class Loop(Engine):
    """One call: the next action, one after another, until it stops."""

    async def run(self, opening: Opening) -> Stop:
        """Do what is due until the call ends; needs the controller lock.

        Raises BlackbirdError when something cannot go on at all.
        """
        drop_arrived(self._workspace)
        try:
            stop = await self._open(opening)
            while stop is None:
                stop = await self._turn()
        except (AgentUnavailableError, NotAgreedError) as error:
            stop = not_started(error)
        drop_arrived(self._workspace)
        # A review may have been interrupted: whatever is written from now on, no agent writes it.
        settle_watch(self._workspace, self._face)
        name_what_waits(self._workspace, self._face, self._call, stop)
        stop = stop.with_options(self._workspace.call_options)
        self._face.end(stop)
        return stop

    async def _open(self, opening: Opening) -> Stop | None:
        image = await self._repair()
        if image is None:
            return Stop(StopReason.INTERRUPTED, "interrupted")
        sweep_work_folders(self._workspace.layout)
        standing = self._workspace.standing(image)
        require_reviewers(self._workspace, standing, self._call)
        first = None if opening.first is None else opening.first(image)
        name_paused(self._face, standing, self._call)
        match first:
            case None:
                return None
            case Restart(task, message):
                return await self._restart(task, message)
            case Order() as order:
                return await self._leg(order)
            case Ask() as ask:
                return await self._perform(ask, image, standing)

    async def _turn(self) -> Stop | None:
        image = None if self._interrupted else await self._repair()
        if image is None:
            return Stop(StopReason.INTERRUPTED, "interrupted")
        standing = self._workspace.standing(image)
        return await self._perform(next_due(standing, self._call), image, standing)

    async def _perform(self, due: Due, image: Image, standing: Standing) -> Stop | None:
        match due:
            case CarryOut() | CarryFeedback() | Continue():
                step = self._go_on(due, image, standing)
            case AskPaused():
                step = self._ask_paused(due, standing)
            case ReviewChange(task, run):
                step = self._review_change(image, task, run)
            case Decide(task, run):
                step = self._decide(image, task, run)
            case Ask():
                step = self._ask(standing, due)
            case ReviewParent(task):
                step = self._review(image, task)
            case Start(task):
                step = self._start(standing, task)
            case ReviewsRequired():
                return reviews_required(standing, due)
            case Nothing():
                done = Done(self._call, frozenset(self._touched), tuple(self._lost))
                return finish(done, due, standing)
        return await step

    async def _go_on(
        self, due: CarryOut | CarryFeedback | Continue, image: Image, standing: Standing
    ) -> Stop | None:
        """Go on in a session; stop with the way out where that is due before all else and cannot be done."""
        if isinstance(due, CarryFeedback):
            return await self._leg(self._order(due, image, standing))
        stop = undeliverable_stop(self._workspace, standing, due)
        if stop is None:
            try:
                return await self._leg(self._order(due, image, standing))
            except AgentUnavailableError as error:
                return agent_missing_stop(due, error)
        if isinstance(due, CarryOut) and due.run.requested_by == BY_REVIEWERS:
            ask_instead(self._workspace, due.run)
            return None
        return stop

    def _order(self, due: CarryOut | CarryFeedback | Continue, image: Image, standing: Standing) -> Order:
        """Order what is to be carried to a session; what a review left owed once in a call."""
        task, run, owed = due.task, due.run, standing.owed_words(due.task.id)
        if isinstance(due, CarryFeedback):
            self._call = replace(self._call, carries=self._call.carries - {task.id})
        if not isinstance(due, CarryOut):
            return order_continue(run, task, owed, None)
        _, summary = change_of(self._workspace, image, run, since_done(image.history(task.id)))
        return order_changes(run, task, owed, None, summary)

    async def _start(self, standing: Standing, task: Task) -> Stop | None:
        if self._workspace.reviews_changes:
            # Who could not review the work in the end is told before it is done.
            self._crews.of_reviewers()
        if is_work_deferred(self._workspace, self._face, task.id):
            return None
        if (left := self._call.starts_left) is not None:
            self._call = replace(self._call, starts_left=left - 1)
        try:
            return await self._leg(order_start(self._workspace, standing, task, None))
        except NoLongerReadyError as error:
            self._face.notify(Notice(Weight.WARNING, error.message, task_id=task.id))
            return None

    async def _review_change(self, image: Image, task: Task, run: Run) -> Stop | None:
        """Have the change of a run reviewed by two reviewers side by side (DESIGN.md 7)."""
        workspace = self._workspace
        by_hand = task.id == self._call.review
        if not workspace.reviews_changes and not by_hand:
            skip_reviews(workspace, run)
            return None
        crews = self._crews.of_reviewers()
        await self._agreed(*crews.values(), as_reviewer=True)
        elsewhere = not all(crew.agent.abilities.read_only for crew in crews.values())
        order = await run_in_thread(
            lambda: order_change_review(workspace, image, task, run, told_where=elsewhere)
        )
        merged = MergedReview()
        if order is not None:
            self._at_work = "stopping both reviews of", task.id
            sides = await self._stoppable(review_change(crews, order, self._hurry))
            self._at_work = None
            if sides is None:
                again = task_command("review run", task.id) if by_hand else EXECUTE
                return Stop(StopReason.INTERRUPTED, "interrupted", (again,), task.id)
            for side in sides.values():
                if side.run.terminal_reason is TerminalReason.AGENT_UNAVAILABLE:
                    return refused(side.run)
            if is_told_otherwise(workspace, order):
                text = f"{task.id} was edited while it was reviewed: its change is reviewed again"
                self._face.notify(Notice(Weight.WARNING, text, task_id=task.id))
                return None
            merged = merge_sides(sides)
        self._call = replace(self._call, is_reviewed=self._call.is_reviewed or by_hand)
        self._face.notify(keep_reviews(workspace, run, order, merged))
        return None if run.review_state is ReviewState.DUE else looked_at(task, merged)

    async def _review(self, image: Image, parent: Task) -> Stop | None:
        """Have a parent reviewed; without a verdict it is tried once more, told what was wrong."""
        workspace, tries = self._workspace, image.history(parent.id).reviews
        fault = tries[-1].error if parent.id in self._call.tried and tries else None
        crew = self._crews.of(require_reviewer(workspace))
        await self._agreed(crew, as_reviewer=True)
        top = None if crew.agent.abilities.read_only else str(workspace.repo.top)
        self._at_work = "stopping the review of", parent.id
        try:
            order = await run_in_thread(lambda: order_review(workspace, image, parent, fault=fault, top=top))
            run = await self._stoppable(run_review(crew, order, self._hurry))
        except ReviewMovedError as error:
            self._face.notify(Notice(Weight.WARNING, error.message, task_id=parent.id))
            return None
        finally:
            self._at_work = None
        if run is None:
            return Stop(StopReason.INTERRUPTED, f"interrupted before {parent.id} was reviewed")
        if run.parent_review_passed is None:
            self._call = replace(self._call, tried=(*self._call.tried, parent.id))
        elif parent.id == self._call.review:
            self._call = replace(self._call, is_reviewed=True)
        return self._after(run)

    async def _decide(self, image: Image, task: Task, run: Run) -> Stop | None:
        building = run_in_thread(lambda: build_checkpoint(self._workspace, image, task, run))
        checkpoint = await self._stoppable(building)
        if checkpoint is None:
            return decision_left_open(task, run)
        asking = or_elsewhere(self._workspace, lambda: self._face.decide(checkpoint), run)
        return await self._carry_out_reply(task, run, await self._stoppable(asking))

    async def _carry_out_reply(
        self, task: Task, run: Run, reply: Reply | Run | LeftOpen | None
    ) -> Stop | None:
        """Do what was answered at a checkpoint; a run is what became of it elsewhere meanwhile."""
        if isinstance(reply, Decision):
            return await self._record(task, run, reply)
        if isinstance(reply, Retry):
            return await self._restart(task)
        if isinstance(reply, ReviewAgain):
            review_again(self._workspace, task)
            # Asked for by hand, it is done whatever the configuration says.
            self._call = replace(self._call, review=task.id, is_reviewed=True)
            return None
        if isinstance(reply, Run):
            if (event := changed_elsewhere(self._workspace, reply)) is not None:
                self._face.notify(event)
            return self._after_decision(reply)
        if isinstance(reply, LeftOpen) or self._interrupted:
            return decision_left_open(task, run)
        return decision_required(self._workspace, task, run)

    async def _restart(self, task: Task, message: str | None = None) -> Stop | None:
        """Start a task again in a new session; its runs are given up once an agent can start."""
        await self._agreed(self._crews.of_new_run())
        if self._interrupted:
            return Stop(StopReason.INTERRUPTED, f"interrupted before {task.id} was started")
        if task.status is not Status.TODO:
            reset_task(self._workspace, task.id, OVERTAKEN_BY_RESTART)
        return await self._leg(order_start(self._workspace, self._workspace.standing(), task, message))

    async def _record(self, task: Task, run: Run, decision: Decision) -> Stop | None:
        """Record a decision; one that is refused for now is due again, and the face is told why."""
        try:
            # In a thread: the commit of an approval takes as long as the user's hooks do.
            recorded = await finish_in_thread(
                lambda: record_decision(self._workspace, task.id, decision, run.id), self._hurry
            )
        except GitStoppedError:
            return decision_left_open(task, run)
        except (ApprovalRefusedError, LockedError) as error:
            self._face.notify(Notice(Weight.ERROR, error.message, error.hint, task.id))
            self._refusals += 1
            # A pipe that says the same for ever is nobody.
            return None if self._refusals < _MAX_REFUSALS else decision_required(self._workspace, task, run)
        for event in recorded_events(recorded):
            self._face.notify(event)
        return self._after_decision(recorded.run)

    def _after_decision(self, run: Run) -> Stop | None:
        """Give the stop that a recorded decision means; *approve and continue* goes on with the plan."""
        stop = stop_after(self._workspace, run)
        if stop is None and run.decision_state is DecisionState.APPROVED_CONTINUE:
            self._call = self._call.widened()
            require_reviewers(self._workspace, self._workspace.standing(), self._call)
        return stop

    async def _ask_paused(self, due: AskPaused, standing: Standing) -> Stop | None:
        """Ask how a run goes on that a limit paused; any other answer is told to its agent."""
        task, run = due.task, due.run
        question = paused_question(run)
        asking = or_elsewhere(self._workspace, lambda: self._face.answer(task, (question,)), run)
        reply = await self._stoppable(asking)
        if isinstance(reply, Run):
            return None
        if not isinstance(reply, Mapping):
            is_left = isinstance(reply, LeftOpen) or self._interrupted
            stop = paused_stop(due)
            return replace(stop, reason=StopReason.INTERRUPTED) if is_left else stop
        chosen = reply[question.id]
        if chosen == LEAVE:
            return paused_stop(due)
        if chosen == RESTART:
            return await self._restart(task)
        words = None if chosen == CONTINUE else chosen
        return await self._leg(order_continue(run, task, standing.owed_words(task.id), words))

    async def _ask(self, standing: Standing, due: Ask) -> Stop | None:
        task, run, message = due.task, due.run, due.message
        questions = questions_of(run)
        asking = or_elsewhere(self._workspace, lambda: self._face.answer(task, questions), run)
        reply = await self._stoppable(asking)
        if isinstance(reply, Mapping):
            answers = match_answers(questions, reply, take_answer)
            order = order_answers(run, task, standing.owed_words(task.id), answers)
            return await self._leg(order if message is None else order.with_message(message))
        if self._interrupted:
            reply = LeftOpen()
        return left_unanswered(self._workspace, self._face, due, reply)
