"""Let an agent plan: what it is told, its call, and what a person makes of its proposal."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from git_blackbird.controller.core.agents import planner_words
from git_blackbird.controller.core.ui import UserInterface
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.engine.loop import Join
from git_blackbird.controller.plan.editor import AgreesToDelete, edit_page_in_editor
from git_blackbird.controller.plan.outcomes import page_lines
from git_blackbird.controller.plan.page import PageResult
from git_blackbird.controller.planning.proposal import Proposal
from git_blackbird.controller.planning.session import Planned, PlanSession
from git_blackbird.messages.document import styled
from git_blackbird.messages.outgoing.planning import PlanKind, PlanRequest
from git_blackbird.model.base.ids import PLANNING
from git_blackbird.model.rules.scope import CallScope
from git_blackbird.model.views.stop import Stop, StopReason
from git_blackbird.tui.context import AppContext
from git_blackbird.tui.screens.modal import ChoiceModal
from git_blackbird.tui.screens.plan_edit import LinesScreen
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
_PROMISE = "The plan changes only if you accept what it proposes."


class PlanningCall:
    """A session that plans, as the application runs its loops; ``ended`` is given its outcome."""

    def __init__(self, session: PlanSession, ended: Callable[[Planned], object]) -> None:
        self._session = session
        self._ended = ended

    @property
    def scope(self) -> CallScope:
        return self._session.scope

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

    async def plan(self) -> None:
        """Ask what an agent is to plan, and let it."""
        workspace = await asyncio.to_thread(self._app.open_workspace)
        workspace.require_settings()
        plan = await asyncio.to_thread(workspace.store.plan)
        kind: PlanKind | None = PlanKind.GENERATE
        if plan.tasks:
            kind = await self._app.ask(ChoiceModal("Let an agent plan", _KINDS))
        if kind is None:
            return
        terms = f"{planner_words(workspace, kind)}\n{_PROMISE}"
        if kind is not PlanKind.INFER:
            text = await self._describe(kind, terms, workspace.paths.state_root)
            if text is not None:
                self._start(PlanRequest(kind, text))
        elif await self._agrees_to_infer(terms):
            self._start(PlanRequest(kind))

    async def _describe(self, kind: PlanKind, terms: str, top: Path) -> str | None:
        draft = self._app.drafts.message(PLANNING)
        lister = self._app.path_lister
        screen = RequestScreen(_TITLES[kind], lister, draft, remark=terms, folders=(top,))
        return await self._app.ask(screen)

    async def _agrees_to_infer(self, terms: str) -> bool:
        lines = [styled(line) for line in terms.splitlines()]
        title = "Work out which tasks need which"
        return await self._app.ask(LinesScreen(title, lines, "starts it")) is True

    def _start(self, request: PlanRequest) -> None:
        def prepare(workspace: Workspace, ui: UserInterface) -> PlanningCall:
            session = PlanSession(workspace, ui, request, accepts=False)
            return PlanningCall(session, lambda planned: self._app.call_later(self._finish, request, planned))

        self._app.start(request.kind, prepare)

    def _finish(self, request: PlanRequest, planned: Planned) -> None:
        proposal = planned.proposal
        if planned.is_to_edit and proposal is not None and planned.draft is not None:
            self._app.open_modal(self._edit(request, proposal, planned.draft))
        elif planned.stop.reason is StopReason.COMPLETED:
            self._drop_text(request)
        if planned.is_saved and proposal is not None and proposal.change is not None:
            self._report(proposal.change.result)

    def _drop_text(self, request: PlanRequest) -> None:
        """Drop the text that was written for a request, which has been used."""
        if request.text:
            self._app.drafts.message(PLANNING).drop()

    async def _edit(self, request: PlanRequest, proposal: Proposal, draft: Path) -> None:
        """Give the terminal to the editor with the proposal as a page, which counts once it is saved."""
        workspace = await asyncio.to_thread(self._app.open_workspace)
        # What the proposal deletes was shown; for what is deleted besides, there is nobody to ask.
        asks = AgreesToDelete(() if proposal.change is None else proposal.change.result.deleted)
        with self._app.lend_terminal():
            result = edit_page_in_editor(workspace, proposal.base, draft, asks)
        self._drop_text(request)
        self._report(result)

    def _report(self, result: PageResult) -> None:
        """Show what became of the plan, and the plan with it."""
        self._app.poll()
        self._app.log_and_notify(*page_lines(result), is_good=True)
