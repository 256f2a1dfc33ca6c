"""``prove``: find which hunks of a change no check notices."""

from functools import partial

from git_blackbird.cli.commands.run import run_looking
from git_blackbird.cli.output import CommandContext
from git_blackbird.controller.engine.proving import prove_task
from git_blackbird.errors import ExitCode, RequestError
from git_blackbird.messages.display.proof import proof_lines
from git_blackbird.messages.document import block
from git_blackbird.model.base.next_steps import TaskCommand


def prove(call: CommandContext, task_id: str, *, seconds: int | None) -> ExitCode:
    run, proof = run_looking(call, partial(prove_task, task_id=task_id, seconds=seconds))
    if proof is None:
        call.warn(
            f"interrupted; what is known of {run.task_id} is kept", str(TaskCommand("prove", run.task_id))
        )
        return ExitCode.INTERRUPTED
    if proof.fault is not None:
        raise RequestError(f"nothing can be told of {run.task_id}: {proof.fault}")
    call.show(block("\n".join(proof_lines(proof, most=None))))
    if call.as_json:
        from git_blackbird.cli.printed.given import ProveOutput

        call.data(ProveOutput(run.task_id, run.id, proof))
    return ExitCode.OK
