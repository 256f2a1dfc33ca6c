"""Criteria that are commands: a person agrees to each text before it runs, whoever wrote the plan."""

import hashlib
import json
from collections.abc import Collection

from git_blackbird.controller.change.call import Call
from git_blackbird.controller.core.ui import warn
from git_blackbird.controller.core.waiting import run_in_thread
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.messages.display.dialogue import confirm_criteria
from git_blackbird.messages.display.quantities import counted
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.rules.evidence import commands_in, is_shown_whole
from git_blackbird.model.rules.shell_commands import can_only_succeed
from git_blackbird.model.run.evidence import CheckResult
from git_blackbird.model.run.states import CheckOutcome
from git_blackbird.storage.notes import AgreementKind, load_agreements, save_agreement

_NOT_AGREED = "nobody agreed to it on this machine"
_NOT_SHOWN = "it has characters that cannot be shown, or too many"
_HOW = "on a terminal, without --no-input, each command is shown and asked about"


def has_checks(workspace: Workspace, task: Task) -> bool:
    """Whether anything could run on a change of a task."""
    return bool(workspace.checks) or (workspace.config.check.criteria and bool(commands_in(task)))


async def asked_criteria(call: Call, task: Task) -> tuple[CheckResult, ...]:
    """Return what is asked of the criteria of a task that are commands; some are not to run.

    Where a person can be asked, that is done first, once in a call about all of the plan.
    """
    commands = commands_in(task) if call.workspace.config.check.criteria else {}
    agreed = await _agree(call, commands.values()) if commands else ()
    asked = []
    for number, command in commands.items():
        reason = _NOT_AGREED if is_shown_whole(command) else _NOT_SHOWN
        result = CheckResult(outcome=CheckOutcome.NOT_RUN, criterion=number, command=command, reason=reason)
        is_agreed = command in agreed
        asked.append(result.updated(outcome=CheckOutcome.BROKEN, reason=None) if is_agreed else result)
    return tuple(asked)


async def _agree(call: Call, commands: Collection[str]) -> frozenset[str]:
    """Return which of these commands a person agreed to, after asking about what is new."""
    paths, plan = call.workspace.paths, (await run_in_thread(call.workspace.plan_state)).plan
    later = (command for task in plan.unfinished_leaves() for command in commands_in(task).values())
    async with call.consenting:
        agreed = load_agreements(paths, AgreementKind.AGREED)
        unknown = [
            command
            for command in dict.fromkeys((*commands, *later))
            if is_shown_whole(command) and _digest(command) not in agreed | call.declined
        ]
        if not set(unknown).isdisjoint(commands):
            digests = frozenset(map(_digest, unknown))
            shown = {command: can_only_succeed(command) for command in unknown}
            answer = await call.prompter.agree(confirm_criteria(shown))
            if answer is True:
                save_agreement(paths, AgreementKind.AGREED, *digests)
                agreed |= digests
            else:
                call.declined |= digests
            if answer is None:
                commands_not_run = f"{counted(len(unknown), 'command')} of criteria not run"
                warn(call.ui, f"{commands_not_run}, as nobody agreed on this machine", hint=_HOW)
    return frozenset(command for command in commands if _digest(command) in agreed)


def _digest(command: str) -> str:
    return hashlib.sha256(json.dumps(["criterion", command]).encode()).hexdigest()
