"""``prove``: find which hunks of a change no check notices."""

from functools import partial

from git_blackbird.cli.commands.run import run_looking
from git_blackbird.cli.output import CommandContext
from git_blackbird.controller.proof.prove import prove_task
from git_blackbird.errors import ExitCode
from git_blackbird.messages.display.evidence import proof_lines
from git_blackbird.messages.document import block
from git_blackbird.model.base.next_steps import TaskCommand
from git_blackbird.model.run.proof import HunkVerdict


def prove(call: CommandContext, task_id: str, *, seconds: int | None) -> ExitCode:
    found = run_looking(call, partial(prove_task, task_id=task_id, seconds=seconds))
    if found is None:
        call.warn(f"interrupted; what is known of {task_id} is kept", str(TaskCommand("prove", task_id)))
        return ExitCode.INTERRUPTED
    call.show(block("\n".join(proof_lines(found.proof, most=None))))
    if found.proof.counts.get(HunkVerdict.OPEN):
        call.lines([TaskCommand("prove", found.task, remark="goes on with what is open")])
    call.data(found)
    return ExitCode.OK
