"""The editor opened from a diff, at the line under the cursor."""

import shutil
from pathlib import Path

import pytest
from textual.pilot import Pilot

from git_blackbird.tui.app import BlackbirdApp
from git_blackbird.tui.screens.checkpoint import CheckpointScreen
from tests.controller.support import configure, execute, leaf, put_plan
from tests.tui.driver import drive, see, wait_for
from tests.tui.tmux import Tmux

PROMPT = "write a.txt one\\ntwo\\nthree"


@pytest.fixture
def pending(planned: Path) -> Path:
    configure(planned, execution__stopAfterEachTask="true")
    put_plan(planned, leaf("alpha", PROMPT))
    execute(planned)
    return planned


@pytest.mark.sampled(1)
@pytest.mark.skipif(shutil.which("tmux") is None, reason="no tmux here")
@pytest.mark.parametrize(
    ("name", "said"), [("nvim", "+2 {path}"), ("code", "--goto {path}:2"), ("x", "{path}")]
)
def test_the_editor_opens_the_file_at_the_line(
    pending: Path, tmux: Tmux, monkeypatch: pytest.MonkeyPatch, name: str, said: str
) -> None:
    editor, told = pending.parent / name, pending.parent / "told"
    editor.write_text(f'#!/bin/sh\necho "$@" >{told}; echo mine >>{pending}/a.txt\n')
    editor.chmod(0o755)
    monkeypatch.setenv("GIT_EDITOR", str(editor))
    tmux.open(pending)
    tmux.wait_for("] 0/1 · ", "[a] opens alpha")
    tmux.press("a")
    tmux.wait_for("ACTION REQUIRED", "0 of 1 read")
    tmux.press("v")
    tmux.wait_for("+ three")
    tmux.press("j", "j", "j", "C-o")
    tmux.wait_for("ACTION REQUIRED", "this diff does not show what you edited just now")
    assert told.read_text() == said.format(path=pending / "a.txt") + "\n"
    assert (pending / "a.txt").read_text() == "one\ntwo\nthree\nmine\n"


@pytest.mark.exhaustive
@pytest.mark.skipif(shutil.which("tmux") is None, reason="no tmux here")
def test_a_request_is_written_in_the_editor(
    pending: Path, tmux: Tmux, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = pending.parent / "editor"
    editor.write_text('#!/bin/sh\necho "and in the editor" >>"$1"\n')
    editor.chmod(0o755)
    monkeypatch.setenv("GIT_EDITOR", str(editor))
    tmux.open(pending)
    tmux.wait_for("] 0/1 · ", "[a] opens alpha")
    tmux.press("m")
    tmux.wait_for("What should change in alpha?")
    tmux.press(*"here", "Enter", "C-o")
    tmux.wait_for("here", "and in the editor", "ctrl+o opens your editor")
    tmux.press("Escape")
    tmux.wait_for("q Quit", without="What should change")
    tmux.press("q")
    tmux.wait_for_end(0)
    (draft,) = pending.glob(".git/blackbird/drafts/texts/alpha/message*")
    assert draft.read_text() == "here\nand in the editor"


def test_what_the_worktree_does_not_have_is_said(pending: Path) -> None:
    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("d")
        await wait_for(pilot, lambda: isinstance(app.screen, CheckpointScreen))
        await pilot.press("v")
        await see(app, pilot, "+ three")
        await pilot.press("j", "ctrl+o")
        await see(app, pilot, "there is no terminal for an editor")
        (pending / "a.txt").unlink()
        (pending / "a.txt").symlink_to(pending / "README.md")
        await pilot.press("ctrl+o")
        await see(app, pilot, "the worktree has no such file: a.txt")

    drive(pending, session, (100, 30))
