"""``prove``: judge the hunks of one change by hand, and record what came of it."""

from typing import NamedTuple

from git_blackbird.controller.change.call import Call
from git_blackbird.controller.change.check.evidence import run_checks
from git_blackbird.controller.change.trees import change_of
from git_blackbird.controller.core.guards import require_readable
from git_blackbird.controller.core.status_sync import update_run
from git_blackbird.controller.core.waiting import run_in_thread
from git_blackbird.controller.core.workspace import Workspace, find_task
from git_blackbird.controller.engine.recovery import recover
from git_blackbird.controller.launch.run_files import sweep_scratch_dirs
from git_blackbird.controller.place.worktrees import bring_submodules
from git_blackbird.controller.proof.prove import prove
from git_blackbird.errors import RequestError
from git_blackbird.model.base.next_steps import Sentence, TaskCommand
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.rules.evidence import commands_in
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.run.proof import Proof
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.summary import Trees


class Proven(NamedTuple):
    """The run whose change was judged, as it is recorded, and what came of it; None: it was interrupted."""

    run: Run
    proof: Proof | None


async def prove_task(call: Call, task_id: str, seconds: int | None) -> Proven:
    """Judge the hunks of a task's change, and record what came of it; needs the controller lock.

    Raises RequestError where there is no change or no check, and BlackbirdError.
    """
    workspace = call.workspace
    state = await run_in_thread(lambda: recover(workspace, call.ui, call.scope))
    sweep_scratch_dirs(workspace.paths)
    task = find_task(state.plan, task_id)
    run, pair = await run_in_thread(lambda: _change(workspace, state, task))
    if not workspace.checks and not (workspace.config.check.criteria and commands_in(task)):
        hint = Sentence(TaskCommand("config", "check.command", " 'make test'"), " sets one")
        raise RequestError("no check is configured that could notice anything", hint=hint)
    await run_in_thread(lambda: bring_submodules(workspace, run))
    evidence = run.evidence or await run_checks(call, task, run, pair)
    proof = None if evidence is None else await prove(call, task, run, pair, seconds)
    if evidence is None or proof is None or proof.fault is not None:
        return Proven(run, proof)
    known = evidence.updated(proof=proof)
    return Proven(update_run(workspace, run, lambda stored: stored.updated(evidence=known)), proof)


def _change(workspace: Workspace, state: PlanState, task: Task) -> tuple[Run, Trees]:
    """Return the latest run of a task, and the trees of its change. Raises RequestError without one."""
    require_readable(state, task)
    run = state.history(task.id).latest
    pair, summary = change_of(workspace, state, task.id)
    if run is None or pair is None:
        raise RequestError(f"there is no change of {task.id} to prove: {summary.minimal}")
    if run.is_check_due:
        hint = Sentence(TaskCommand("execute", task.id), " runs it")
        raise RequestError(f"the check of {task.id} is due first", hint=hint)
    return run, pair
