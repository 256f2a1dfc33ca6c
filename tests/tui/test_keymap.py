"""Keys of one's own for the actions of the plan: they work, and are named wherever a key is."""

from pathlib import Path

import pytest
from textual.pilot import Pilot

from git_blackbird.errors import RequestError
from git_blackbird.messages.document import facts, section
from git_blackbird.model.base.next_steps import EXECUTE, Sentence, ShellLine, TaskCommand
from git_blackbird.tui.app import BlackbirdApp
from git_blackbird.tui.keys import ACTIONS, KeyTable
from git_blackbird.tui.screens.modal import HelpScreen
from git_blackbird.tui.screens.plan_edit import LinesScreen
from git_blackbird.tui.widgets.line_view import document_lines
from tests.controller.support import leaf, put_plan
from tests.support import git
from tests.tui.driver import QuickApp, drive, screen_text, see, wait_for


class AskingApp(QuickApp):
    """Shows what it is about to start, as the real one does."""

    def action_execute(self) -> None:
        BlackbirdApp.action_execute(self)


def test_a_mapped_key_works_and_is_named_instead_of_the_usual_one(planned: Path) -> None:
    put_plan(planned, leaf("alpha", "write a.txt one"))
    git(planned, "config", "blackbird.tui.keymap", "execute=f5 execute_task=g")

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await see(app, pilot, "f5 Execute", "g: run this task alone")
        await pilot.press("e")
        await see(app, pilot, "no key does that here")
        assert app.screen is app.main
        await pilot.press("question_mark")
        await wait_for(pilot, lambda: isinstance(app.screen, HelpScreen))
        assert "f5           Execute: show what is due" in screen_text(app)
        await pilot.press("escape", "f5")
        await wait_for(pilot, lambda: isinstance(app.screen, LinesScreen))
        await pilot.press("ctrl+c")
        await wait_for(pilot, lambda: app.screen is app.main)

    drive(planned, session, (160, 40), AskingApp)


@pytest.mark.parametrize(
    ("keymap", "said"),
    [
        ("fly=g", "no action with a key of its own is called 'fly'"),
        ("pause=g", "no action with a key of its own is called 'pause'"),
        ("execute=x", "the key 'x' of execute_task has another meaning on the plan"),
        ("execute=1", "the key '1' of execute has another meaning on the plan"),
        ("execute", "'execute' is not ACTION=KEY"),
    ],
)
def test_a_keymap_that_cannot_be_is_refused_with_the_way_out(keymap: str, said: str) -> None:
    with pytest.raises(RequestError) as caught:
        KeyTable().mapped(keymap, {"1"})
    assert caught.value.message == f"tui.keymap: {said}"
    assert "`git blackbird config tui.keymap` shows where it is set" in str(caught.value.hint)


def test_a_command_is_named_by_its_key_where_that_does_all_of_it() -> None:
    keys = KeyTable()
    said = Sentence("wait, or ", EXECUTE, "; ", TaskCommand("retry", "a"), " gives it up")
    assert said == "wait, or `git blackbird execute`; `git blackbird retry a` gives it up"
    assert keys.as_key_hint(said) == "wait, or e; b on a gives it up"
    assert keys.as_key_hint(Sentence("first: ", said), "a") == "first: wait, or e; b gives it up"
    approve, remark = TaskCommand("decide", "a", " --approve"), "asks"
    for same in (approve, TaskCommand("decide", "a", remark=remark), TaskCommand("decide", "a")):
        assert keys.as_key_hint(Sentence("or ", same)) == "or d on a"
    for other in (
        TaskCommand("decide", "a", " --approve --any-branch"),
        TaskCommand("status"),
        ShellLine("git worktree prune"),
    ):
        assert keys.as_key_hint(Sentence("or ", other)) == f"or `{other}`"
    # A file may be called so.
    assert keys.as_key_hint("no file `git blackbird execute`") == "no file `git blackbird execute`"


def test_a_document_names_keys_in_its_lines_and_tables() -> None:
    said = Sentence("2 (", TaskCommand("runs", "a"), ")")
    commands = (TaskCommand("runs", "a", f" {number}") for number in "12")
    document = (facts([("rounds", said)]), section("next", ["same", "same", *commands, said]))
    shown = [one.text for one in document_lines(KeyTable().in_document(document, "a"))]
    hint = "h: the task's runs, and what their agents did"
    assert shown == ["rounds  2 (h)", "", "Next", "  same", "  same", f"  {hint}", "  2 (h)"]


def test_keys_may_change_places() -> None:
    table = KeyTable().mapped("execute=x execute_task=e", ())
    assert [table.by_key[key].action for key in "xe"] == ["execute", "execute_task"]
    assert KeyTable().mapped("", ()).actions == ACTIONS
