"""Mentioning paths in a text of several lines."""

import asyncio
from pathlib import Path

from textual.app import App, ComposeResult
from textual.widgets import OptionList

from git_blackbird.controller.core.drafts import Drafts
from git_blackbird.controller.core.workspace import Workspace, open_workspace
from git_blackbird.model.base.ids import TaskId
from git_blackbird.tui.widgets.mention_editor import MentionEditor, PathLister
from tests.support import commit, write
from tests.tui.driver import environment_at


class EditorApp(App[None]):
    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._listing = PathLister(workspace)
        self._draft = Drafts(workspace).reason(TaskId("a"))

    def compose(self) -> ComposeResult:
        yield MentionEditor(self._listing, self._draft)


def test_what_is_chosen_stays_so_when_more_is_found(repo: Path) -> None:
    commit(repo, {"view.py": "", "review.py": "", "v-i-e-w.py": ""})
    app = EditorApp(open_workspace(environment_at(repo)))

    async def session() -> None:
        async with app.run_test() as pilot:
            picker = app.query_one("#picker", OptionList)
            await pilot.press(*"@view")
            while picker.option_count < 3:
                await pilot.pause(0.02)
            await pilot.press("down")
            app.query_one(MentionEditor).on_text_area_selection_changed()
            await app.workers.wait_for_complete()
            await pilot.press("enter")
            assert app.query_one(MentionEditor).text == "@review.py "
            await pilot.press("ctrl+home", *"See ", "ctrl+end")
            assert app.query_one(MentionEditor).text == "See @review.py "
            write(repo, {"viewed-since.py": ""})
            await pilot.press(*"@viewed")
            while not picker.option_count or picker.get_option_at_index(0).prompt != "viewed-since.py":
                await pilot.pause(0.02)

    asyncio.run(session())
