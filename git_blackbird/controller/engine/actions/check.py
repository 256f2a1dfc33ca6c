"""Run the user's check on the change of a run, in a throw-away checkout (DESIGN.md 15)."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from git_blackbird.agents.process import signals
from git_blackbird.agents.process.launch import ExitCause, GatedProcess, Limits, ProcessResult, spawn_gated
from git_blackbird.agents.process.logs import LogFiles, cut_saved
from git_blackbird.agents.protocol import (
    RUN_ID_VARIABLE,
    TASK_ID_VARIABLE,
    TMP_FOLDER,
    LaunchSpec,
    without_outer_session,
)
from git_blackbird.controller.core.status_sync import update_run
from git_blackbird.controller.core.ui import inform
from git_blackbird.controller.core.waiting import run_in_thread
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.decisions.checkpoint import change_of, escalation_reasons, why_not_resumable
from git_blackbird.controller.engine.engine import Engine
from git_blackbird.controller.engine.stops import interrupted_stop
from git_blackbird.controller.runs.agent_process import log_bytes, scratch_dir
from git_blackbird.errors import AgentUnavailableError
from git_blackbird.git.worktree.saved_trees import CheckoutError, checkout_tree
from git_blackbird.messages.outgoing.prompts import bound_output, render_check_request
from git_blackbird.model.base.sanitize import clean_line
from git_blackbird.model.entities.agent_io import AgentResult, Progress
from git_blackbird.model.entities.change import TreePair
from git_blackbird.model.entities.cli_hints import EXECUTE
from git_blackbird.model.entities.history import runs_in_change
from git_blackbird.model.entities.run import (
    CheckOutcome,
    CheckResult,
    ReviewState,
    Run,
    RunFields,
)
from git_blackbird.model.rules.next_action import CheckChange
from git_blackbird.model.rules.reviews import BY_CHECK, count_requests
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.views.events import CheckEnded
from git_blackbird.model.views.stop import Stop
from git_blackbird.storage.notes import load_check, save_check
from git_blackbird.storage.paths import CHECK_STREAM

# Both streams in one, in the order in which they are printed.
_JOINED = 'exec 2>&1; exec /bin/sh -c "$1"'
_NOT_STARTED = {126: "the command cannot be executed", 127: "a program of the command was not found"}
_NO_SNAPSHOTS = "there are no snapshots of the change"


async def check_change(engine: Engine, action: CheckChange, state: PlanState) -> Stop | None:
    """Check the change, and save the verdict and what follows from it."""
    workspace, task, run = engine.workspace, action.task, action.run
    command = workspace.check_command
    if not command:
        # It was switched off meanwhile.
        update_run(workspace, run, lambda stored: _passed_on(workspace, stored, None))
        return None
    runs = workspace.runs_to_decide(state.history(task.id))
    pair, _ = await run_in_thread(lambda: change_of(workspace, state, run, runs))
    result: CheckResult | None = CheckResult(outcome=CheckOutcome.BROKEN, reason=_NO_SNAPSHOTS)
    if pair is not None:
        result = await run_check(engine, run, pair)
    if result is None:
        return interrupted_stop("", EXECUTE, task_id=task.id)
    engine.ui.notify(_save(workspace, run, result))
    return None


async def run_check(engine: Engine, run: Run, pair: TreePair, what: str = "") -> CheckResult | None:
    """Return the verdict of the user's check on what a run changed; None when it was interrupted.

    ``what`` is what the later tree is to people: the change of the run's task where it is left out.
    """
    work = _Check(engine, run, engine.workspace.check_command, what or run.task_id).run(pair)
    return await engine.run_agent("stopping the check of", run.task_id, work, "it")


@dataclass(frozen=True)
class _Check:
    """The check of one run's change."""

    engine: Engine
    of_run: Run
    command: str
    what: str

    async def run(self, pair: TreePair) -> CheckResult | None:
        """Return the verdict on the head of a change; None when it was interrupted.

        Where the head fails, so may the base: then it is not the task that broke it.
        """
        result = await self._verdict(pair.head, "head")
        if result is None or result.outcome is not CheckOutcome.FAILED or pair.is_empty:
            return result
        before = await self._verdict(pair.base, "base")
        if before is not None and before.outcome is CheckOutcome.FAILED:
            return result.updated(CheckResult(outcome=CheckOutcome.FAILED_BEFORE))
        return None if before is None else result

    async def _verdict(self, tree: str, which: str) -> CheckResult | None:
        """Return the verdict on one tree, known or new; None when it was interrupted."""
        workspace, task_id = self.engine.workspace, self.of_run.task_id
        if (known := load_check(workspace.paths, tree, self.command)) is not None:
            return known
        if self.engine.is_interrupted:
            return None
        what = self.what if which == "head" else f"the base of {task_id}"
        inform(self.engine.ui, f"checking {what}: {clean_line(self.command)}", task_id)
        result = await self._result(tree, which)
        if result is not None and result.outcome is not CheckOutcome.BROKEN:
            save_check(workspace.paths, result)
        return result

    async def _result(self, tree: str, which: str) -> CheckResult | None:
        workspace, run = self.engine.workspace, self.of_run
        seconds = workspace.config.snapshot.timeout_seconds
        fields = CheckResult(
            outcome=CheckOutcome.BROKEN,
            command=self.command,
            tree=tree,
            started_at=workspace.environment.timestamp(),
        )
        # One that a killed command of ours left is found by the folder of the run in its environment.
        await run_in_thread(lambda: signals.kill_orphans({}, run.id, grace_seconds=0))
        with scratch_dir(workspace.paths, run.id) as folder:
            checkout = folder / which
            checkout.mkdir()
            try:
                await run_in_thread(
                    lambda: checkout_tree(workspace.repo, tree, checkout, timeout_seconds=seconds)
                )
                ended = await self._follow(self._spawn(folder, checkout))
            except (AgentUnavailableError, CheckoutError) as error:
                return fields.updated(CheckResult(outcome=CheckOutcome.BROKEN, reason=error.message))
        cut_saved(self._log, log_bytes(workspace))
        if ended.cause is ExitCause.INTERRUPTED:
            return None
        return fields.updated(_judge(ended, workspace.config.check.timeout_seconds))

    @property
    def _log(self) -> Path:
        return self.engine.workspace.paths.log(self.of_run.task_id, self.of_run.id, CHECK_STREAM)

    def _spawn(self, folder: Path, checkout: Path) -> GatedProcess:
        workspace, run = self.engine.workspace, self.of_run
        workspace.paths.make_folder(self._log.parent)
        log = self._log if checkout.name == "head" else folder / "base.log"
        log.unlink(missing_ok=True)
        environ = without_outer_session(workspace.repo.environ)
        environ.pop(RUN_ID_VARIABLE, None)
        environ |= {
            TASK_ID_VARIABLE: run.task_id,
            "TMPDIR": str(folder / TMP_FOLDER),
            # The folder for temporary files may lie in a repository, which is none of the check's.
            "GIT_CEILING_DIRECTORIES": str(folder),
        }
        child = spawn_gated(
            LaunchSpec(("/bin/sh", "-c", _JOINED, "check", self.command), b""),
            cwd=checkout,
            environ=environ,
            logs=LogFiles(log, folder / "errors.log", log_bytes(workspace)),
            work_dir=folder,
        )
        child.run_id = run.id
        return child

    async def _follow(self, child: GatedProcess) -> ProcessResult:
        config = self.engine.workspace.config
        seconds = float(config.check.timeout_seconds)
        child.open_gate()
        return await child.follow(
            _AnyOutput(),
            Limits(seconds, seconds, config.execution.stop_grace_seconds),
            on_progress=lambda _: None,
            on_output=None,
            hurry=self.engine.force_stop,
        )


class _AnyOutput:
    """The parser of a program whose exit code says everything."""

    needs_all = False

    def feed(self, data: bytes) -> Sequence[Progress]:  # noqa: ARG002  # the Protocol's
        return ()

    def finish(self, exit_code: int | None, stderr_tail: str) -> AgentResult:  # noqa: ARG002  # the Protocol's
        return AgentResult(succeeded=exit_code == 0)


def _judge(ended: ProcessResult, limit: int) -> CheckResult:
    """Say what the end of a check means; what did not run to its end says nothing."""
    outcome, reason = CheckOutcome.PASSED if ended.exit_code == 0 else CheckOutcome.FAILED, None
    if ended.cause is not ExitCause.EXITED:
        outcome, reason = CheckOutcome.BROKEN, f"it was not done after {limit} s (check.timeoutSeconds)"
    elif ended.exit_code is None or ended.exit_code in _NOT_STARTED:
        outcome = CheckOutcome.BROKEN
        reason = _NOT_STARTED.get(ended.exit_code or 0, "how it ended is not known")
    return CheckResult(
        outcome=outcome,
        exit_code=ended.exit_code,
        seconds=round(ended.duration_seconds, 3),
        output=bound_output(ended.stdout_tail) or None,
        reason=reason,
    )


def _save(workspace: Workspace, run: Run, result: CheckResult) -> CheckEnded:
    """Save the verdict, and what follows from it; return it as an event."""
    saved = update_run(workspace, run, lambda stored: _passed_on(workspace, stored, result))
    history = workspace.store.records.history(run.task_id)
    return CheckEnded(run.task_id, saved, result, escalation_reasons(workspace, history, saved))


def _passed_on(workspace: Workspace, stored: Run, result: CheckResult | None) -> Run:
    """Return a record with the verdict on its change, and what is due after it.

    The reviews, else a decision where one is required. A failed check goes back to the agent first where
    the configuration says so, and in the end to a person; nobody reviews that change.
    """
    checked = stored.with_fields(RunFields(check=result))
    if stored.superseded_at is not None or not stored.is_check_due:
        return checked
    config, now = workspace.config.check, workspace.environment.timestamp()
    is_reviewed = stored.review_state is ReviewState.DUE
    failed = checked.failed_check
    if failed is None or config.mode == "show":
        is_due = stored.decision_required and not is_reviewed
        return checked.awaiting_decision(now) if is_due else checked
    history = workspace.store.records.history(stored.task_id)
    if is_reviewed:
        checked = checked.with_fields(RunFields(review_state=ReviewState.SKIPPED))
    if count_requests(runs_in_change(history), stored, BY_CHECK) >= config.max_rounds or why_not_resumable(
        workspace, history, stored
    ):
        escalated = RunFields(escalated=None if stored.decision_required else True)
        return checked.awaiting_decision(now).with_fields(escalated)
    return checked.requesting_changes(now, render_check_request(failed), BY_CHECK)
