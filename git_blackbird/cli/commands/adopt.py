"""``adopt`` lets count what another program or clone left below ``.blackbird/``."""

import asyncio
import sys
from collections.abc import Sequence

from git_blackbird.cli.commands.run import build_ui
from git_blackbird.cli.output import CommandContext
from git_blackbird.controller.change.decide import adopt as adoption
from git_blackbird.controller.core.ui import Unanswered
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.errors import ExitCode, UsageError
from git_blackbird.messages.display.dialogue import confirm_adoption
from git_blackbird.messages.display.format import adoptable_lines, adopted_text
from git_blackbird.model.run.history import Adoptable


def adopt(call: CommandContext, task_ids: tuple[str, ...], *, take: bool, leave: bool) -> ExitCode:
    if take and leave:
        raise UsageError("--take and --leave do not go together")
    workspace = call.workspace
    items = adoption.find_adoptable(workspace, task_ids)
    if not items:
        call.print("nothing below .blackbird/ could be adopted")
    elif take or leave:
        _answer(call, workspace, items, takes=take)
    elif call.can_confirm(sys.stdout):
        with build_ui(call, workspace, stream=False) as ui:
            answer = asyncio.run(ui.agree(confirm_adoption(items)))
        if answer is None or isinstance(answer, Unanswered):
            return ExitCode.INTERRUPTED
        _answer(call, workspace, items, takes=answer)
    else:
        call.show(adoptable_lines(items))
        call.print("`git blackbird adopt --take` lets it count, `--leave` goes on without it")
    if call.as_json:
        from git_blackbird.cli.printed.setup import AdoptOutput

        taken, left = take and bool(items), leave and bool(items)
        call.data(AdoptOutput(items, taken=taken, left=left))
    return ExitCode.OK


def _answer(call: CommandContext, workspace: Workspace, items: Sequence[Adoptable], *, takes: bool) -> None:
    if takes:
        call.lines(adopted_text(one.item, one.status) for one in adoption.adopt(workspace, items))
    else:
        adoption.leave(workspace, items)
        call.show(one.behind("left: ") for one in adoptable_lines(items))


def ask_to_adopt(call: CommandContext, workspace: Workspace) -> None:
    """Ask once whether what lies below ``.blackbird/`` counts, before a decision.

    Raises UnansweredError where nobody can be asked.
    """
    state = workspace.plan_state()
    if workspace.store.unanswered(state):
        with build_ui(call, workspace, stream=False) as ui:
            adopted = asyncio.run(adoption.settle_adoption(workspace, state, ui.agree))
        call.lines(adopted_text(one.item, one.status) for one in adopted)
