"""Let an agent plan: what it is told, its call, and what a person makes of its proposal."""

import asyncio
from collections.abc import Callable

from git_blackbird.controller.core.agents import require_planner
from git_blackbird.controller.core.ui import UserInterface
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.engine.loop import Join
from git_blackbird.controller.plan.editor import NobodyAsks, edit_page_in_editor
from git_blackbird.controller.plan.outcomes import page_lines
from git_blackbird.controller.planning.session import Planned, PlanSession
from git_blackbird.messages.outgoing.planning import PlanKind, PlanRequest
from git_blackbird.model.base.ids import PLANNING
from git_blackbird.model.views.stop import Stop, StopReason
from git_blackbird.tui.context import AppContext
from git_blackbird.tui.screens.modal import ChoiceModal
from git_blackbird.tui.screens.request import RequestScreen
from git_blackbird.tui.widgets.choices import ChoiceItem

_KINDS = (
    ChoiceItem(PlanKind.GENERATE, "Add tasks for what you describe"),
    ChoiceItem(PlanKind.REFINE, "Change the tasks as you describe"),
    ChoiceItem(PlanKind.INFER, "Work out which tasks need which"),
)
_TITLES = {
    PlanKind.GENERATE: "What is to be done?",
    PlanKind.REFINE: "What should be different in the plan?",
}


_PROMISE = "It reads this repository and changes nothing; you accept what it proposes."


class PlanningCall:
    """A session that plans, as the application runs its loops; ``ended`` is given its outcome."""

    def __init__(self, session: PlanSession, ended: Callable[[Planned], object]) -> None:
        self._session = session
        self._ended = ended

    def interrupt(self) -> None:
        """Stop the agent; a second interrupt kills it."""
        self._session.interrupt()

    async def run(self, _join: Join) -> Stop:
        """Plan to the end of the call. Raises BlackbirdError."""
        planned = await self._session.run()
        self._ended(planned)
        return planned.stop


class PlanningCommands:
    """Lets agents plan for one application, which shows the BlackbirdError of each step."""

    def __init__(self, app: AppContext) -> None:
        self._app = app

    async def plan(self, *, has_tasks: bool) -> None:
        """Ask what an agent is to plan, and let it."""
        kind = PlanKind.GENERATE
        if has_tasks:
            chosen = await self._app.ask(ChoiceModal("Let an agent plan", _KINDS))
            if chosen is None:
                return
            kind = chosen
        text = "" if kind is PlanKind.INFER else await self._describe(kind)
        if text is not None:
            self._start(PlanRequest(kind, text))

    async def _describe(self, kind: PlanKind) -> str | None:
        workspace = await asyncio.to_thread(self._app.open_workspace)
        workspace.require_settings()
        planner = require_planner(workspace, kind)
        folders = (workspace.paths.state_root,)
        remark = (
            f"{planner.summary}\nIt reads this repository and changes nothing; you accept what it proposes."
        )
        draft = self._app.drafts.message(PLANNING)
        return await self._app.ask(
            RequestScreen(_TITLES[kind], self._app.path_lister, draft, remark=remark, folders=folders)
        )

    def _start(self, request: PlanRequest) -> None:
        def prepare(workspace: Workspace, ui: UserInterface) -> PlanningCall:
            session = PlanSession(workspace, ui, request, accepts=False)
            return PlanningCall(session, lambda planned: self._app.call_later(self._finish, planned))

        self._app.start(request.kind, prepare)

    def _finish(self, planned: Planned) -> None:
        if planned.stop.reason is StopReason.COMPLETED:
            # What was written has been used.
            self._app.drafts.message(PLANNING).drop()
        if planned.is_to_edit:
            self._app.open_modal(self._edit(planned))

    async def _edit(self, planned: Planned) -> None:
        """Give the terminal to the editor with the proposal as a page, which counts once it is saved."""
        if planned.draft is None or planned.proposal is None:
            return
        workspace = await asyncio.to_thread(self._app.open_workspace)
        with self._app.lend_terminal():
            result = edit_page_in_editor(workspace, planned.proposal.base, planned.draft, NobodyAsks())
        self._app.poll()
        lines = page_lines(result) if result.is_changed else ("the plan is unchanged",)
        self._app.log_and_notify("\n".join(lines), is_good=True)
