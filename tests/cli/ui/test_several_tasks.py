"""Several tasks at work at once: what a terminal and line mode show of the others, and how they ask."""

import re
from pathlib import Path

import pytest

from git_blackbird.model.run.states import DecisionState
from tests.cli.terminal import ALT_ENTER, CTRL_C, DOWN, ENTER, Terminal
from tests.cli.ui.test_plain_and_json import run
from tests.controller.support import agree_to_agent, configure, leaf, put_plan, runs_of
from tests.support import commit, wait_until

# Says a step, then waits for a file of its task's name, and spends.
AGENT = r"""#!/bin/sh
case "$1" in --version) echo "2.1.329 (Claude Code)"; exit 0;; esac
cat >/dev/null
while [ "$1" != --session-id ] && [ "$1" != --resume ]; do shift; done
printf '{"type":"system","subtype":"init","session_id":"%s"}\n' "$2"
printf '{"type":"assistant","message":{"id":"m1","content":[{"type":"text",'
printf '"text":"Step of %s"}],"usage":{"input_tokens":6000,"output_tokens":100}}}\n' $BLACKBIRD_TASK_ID
until [ -e "GO/$BLACKBIRD_TASK_ID" ]; do sleep 0.05; done
echo work >>"$BLACKBIRD_TASK_ID.txt"
printf '{"type":"result","subtype":"success","is_error":false,"result":"ok","session_id":"%s",' "$2"
printf '"total_cost_usd":0.5,"usage":{"input_tokens":12000,"output_tokens":900}}\n'
"""


@pytest.fixture
def go(tmp_path: Path) -> Path:
    """The folder in which a file of a task's name lets its agent go on."""
    folder = tmp_path / "go"
    folder.mkdir()
    return folder


@pytest.fixture
def parallel(repo: Path, tmp_path: Path, go: Path) -> Path:
    """A repository with the tasks a to d, whose agents wait for files in ``go``."""
    commit(repo, {"README.md": "# A project\n"})
    agent = tmp_path / "claude"
    agent.write_text(AGENT.replace("GO", str(go)))
    agent.chmod(0o755)
    configure(repo, agent="claude", claude__path=str(agent))
    agree_to_agent(repo)
    put_plan(repo, *map(leaf, "abcd"))
    return repo


def test_each_agent_has_a_line_with_its_time_cost_and_step(parallel: Path, go: Path) -> None:
    with Terminal(parallel, "execute", "a", "b", "--jobs", "2") as terminal:
        # Either may have begun first.
        a, b = (rf"\S {task} \d+s 6\.1k tokens  Step of {task}" for task in "ab")
        terminal.wait_to_match(rf"({a}\n{b}|{b}\n{a})$")
        (go / "a").touch()
        terminal.wait_to_see("landed a")
        (go / "b").touch()
        assert terminal.end() == 0
        lines = re.sub(r"\d+s$|[0-9a-f]{16}", "#", terminal.text, flags=re.MULTILINE).splitlines()
    ended = "1 file, +1 -0, $0.50, #"
    assert lines.pop(0) == "this call waits at usage limits until they are over (Ctrl+C ends the waiting)"
    assert sorted(lines[:2]) == ["starting a (run #, claude)", "starting b (run #, claude)"]
    assert lines[2:] == [
        f"completed a: {ended}",
        "landed a",
        f"completed b: {ended}",
        "landed b",
        "this call is done; 2 tasks are ready",
        "next step: git blackbird execute --jobs 2",
    ]


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("rows", "seen"), [(24, "  and 1 more"), (7, "7 at work")])
def test_more_agents_than_there_is_room_for_are_counted(parallel: Path, rows: int, seen: str) -> None:
    tasks = "abcdef" if rows > 7 else "abcdefg"
    put_plan(parallel, *map(leaf, tasks))
    with Terminal(parallel, "execute", "--jobs", "8", rows=rows) as terminal:
        terminal.wait_to_see(seen)
        terminal.type(CTRL_C)
        assert terminal.end() == 130


@pytest.mark.exhaustive
def test_lines_of_others_come_above_an_open_question(parallel: Path, go: Path) -> None:
    with Terminal(
        parallel, "execute", "a", "b", "c", "--jobs", "3", "--stop-after-each", rows=40
    ) as terminal:
        terminal.wait_to_see("Step of c")
        (go / "a").touch()
        terminal.wait_for_decision("a")
        terminal.wait_to_match(r"5\) View full diff\n2 at work: [bc] \d+s, [bc] \d+s$")
        terminal.type(DOWN)
        terminal.wait_to_see(" > 2) ")
        (go / "b").touch()
        # The choice that was under the cursor still is.
        above, choices = r"completed b: [^\n]*\n\? a: Select an action .*\n", r"(?:\n   \d\) [^\n]*){3}\n"
        marked = r"   1\) Approve and continue with [bc]\n > 2\) Approve and stop"
        terminal.wait_to_match(rf"{above}{marked}{choices}1 at work: c \d+s$")
        assert terminal.text.count("Select an action") == 1
        terminal.type("1", ENTER)
        terminal.wait_for_decision("b")
        terminal.wait_to_see("landed a")
        assert "Task: b - Task b" in terminal.text
        terminal.type("1", ENTER)
        (go / "c").touch()
        terminal.wait_for_decision("c")
        terminal.type("4", ENTER)
        terminal.wait_to_see("c: Why is c rejected?")
        terminal.type(ENTER)
        assert terminal.end() == 1
        assert terminal.mode() == terminal.mode_before
    assert runs_of(parallel, "a")[-1].has_landed
    assert runs_of(parallel, "b")[-1].has_landed
    assert runs_of(parallel, "c")[-1].decision_state is DecisionState.REJECTED


# Tells something in the writer's thread at the moment when it makes room for a prompt.
AT_THAT_MOMENT = """
import asyncio
import questionary
from git_blackbird.cli.ui.display import LiveDisplay
from git_blackbird.cli.ui.prompts import Prompts
from git_blackbird.messages.document import styled

class Display(LiveDisplay):
    def make_way(self):
        super().make_way()
        if not self._held and not self.pending:
            self.pending = True
            self.show([styled("landed a")])
            prompts.show_above()

Display.pending = False
display = Display(colored=False)
prompts = Prompts(display, lambda: "", colored=False)
asyncio.run(prompts.choose("b: Select an action", [questionary.Choice("one"), questionary.Choice("two")]))
display.close()
"""


@pytest.mark.exhaustive
def test_what_comes_while_a_question_is_put_comes_above_it_too(tmp_path: Path) -> None:
    with Terminal(tmp_path, program=("-c", AT_THAT_MOMENT)) as terminal:
        terminal.wait_to_see("landed a\n? b: Select an action (arrows, j/k or digits; Enter chooses)")
        terminal.type("2", ENTER)
        assert terminal.end() == 0


# Tells something while the tasks of a prompt that was answered are being ended.
AT_ITS_END = """
import asyncio
import questionary
from git_blackbird.cli.ui.display import LiveDisplay
from git_blackbird.cli.ui.prompts import Prompts
from git_blackbird.messages.document import styled

display = LiveDisplay(colored=False)
prompts = Prompts(display, lambda: "", colored=False)

async def tell_last():
    try:
        await asyncio.sleep(3600)
    finally:
        display.show([styled("landed a")])
        prompts.show_above()

async def begin():
    while prompts._open is None:
        await asyncio.sleep(0)
    prompts._open[0].create_background_task(tell_last())

async def ask():
    choices = [questionary.Choice("one"), questionary.Choice("two")]
    await asyncio.gather(begin(), prompts.choose("first", choices))
    await prompts.choose("second", choices)

asyncio.run(ask())
display.close()
"""


def test_what_comes_while_a_question_ends_keeps_no_other_from_coming(tmp_path: Path) -> None:
    with Terminal(tmp_path, program=("-c", AT_ITS_END)) as terminal:
        terminal.wait_to_see("? first (arrows")
        terminal.type(ENTER)
        terminal.wait_to_see("landed a\n? second (arrows, j/k or digits; Enter chooses)")
        terminal.type(ENTER)
        assert terminal.end() == 0


def test_what_is_written_while_others_end_stays_whole(parallel: Path, go: Path) -> None:
    with Terminal(parallel, "execute", "a", "b", "--jobs", "2", "--stop-after-each", rows=60) as terminal:
        terminal.wait_to_see("Step of b")
        (go / "a").touch()
        terminal.wait_for_decision("a")
        terminal.type("3", ENTER)
        terminal.wait_for("a: What should change?")
        terminal.wait_for("Ctrl+S sends")
        terminal.type("First line", ENTER, "and")
        terminal.wait_to_see("and")
        (go / "b").touch()
        terminal.wait_to_see("completed b")
        terminal.type(" more")
        terminal.wait_to_see("and more")
        terminal.type(ALT_ENTER)
        terminal.wait_for_decision("b")
        terminal.type(CTRL_C)
        assert terminal.end() == 130
    assert runs_of(parallel, "a")[0].decision_feedback == "First line\nand more"


def test_agents_are_looked_after_while_the_pager_shows_a_diff(
    parallel: Path, go: Path, tmp_path: Path
) -> None:
    pager = tmp_path / "pager"
    pager.write_text("#!/bin/sh\ncat >/dev/null\necho pager-is-up\nread -r _ </dev/tty\necho pager-ends\n")
    pager.chmod(0o755)
    arguments = ("execute", "a", "b", "--jobs", "2", "--stop-after-each")
    with Terminal(parallel, *arguments, environ={"GIT_PAGER": str(pager)}) as terminal:
        terminal.wait_to_see("Step of b")
        (go / "a").touch()
        terminal.wait_for_decision("a")
        terminal.type("5", ENTER)
        terminal.wait_for("pager-is-up")
        (go / "b").touch()
        wait_until(lambda: runs_of(parallel, "b")[-1].is_pending)
        assert "completed b" not in terminal.plain
        terminal.type("\n")
        terminal.wait_to_see("completed b")
        terminal.wait_for_decision("a")
        assert terminal.plain.index("pager-ends") < terminal.plain.index("completed b")
        terminal.type(CTRL_C)
        assert terminal.end() == 130


def test_streamed_lines_name_their_task(parallel: Path, go: Path) -> None:
    (go / "a").touch()
    (go / "b").touch()
    with Terminal(parallel, "execute", "a", "b", "--jobs", "2", "--stream") as terminal:
        assert terminal.end() == 0
        text = terminal.text
    for task in "ab":
        assert f"{task} |   says   Step of {task}\n" in text
        assert f"{task} |   spent  12.9k tokens, $0.50\n" in text


def test_pieces_of_lines_of_several_agents_are_not_mixed(repo: Path) -> None:
    commit(repo, {"README.md": "# A project\n"})
    script = "cat >/dev/null; printf 'half of '; echo work >$BLACKBIRD_TASK_ID.txt; printf $BLACKBIRD_TASK_ID"
    configure(repo, agent="command", command__run=script)
    agree_to_agent(repo)
    put_plan(repo, leaf("a"), leaf("b"))
    completed = run(repo, "execute", "--jobs", "2", "--stream")
    assert completed.returncode == 0, completed.stderr
    assert {"a | half of a", "b | half of b"} <= set(completed.stdout.splitlines())


@pytest.mark.exhaustive
def test_line_mode_names_the_task_and_keeps_what_others_do_until_the_answer(parallel: Path, go: Path) -> None:
    arguments = ("execute", "a", "b", "--jobs", "2", "--stop-after-each")
    with Terminal(parallel, *arguments, environ={"TERM": "dumb"}) as terminal:
        terminal.wait_for("starting b")
        (go / "a").touch()
        terminal.wait_for("a: Select option: ")
        (go / "b").touch()
        wait_until(lambda: runs_of(parallel, "b")[-1].is_pending)
        assert terminal.text.endswith("a: Select option:")
        terminal.type("1\n")
        terminal.wait_for("b: Select option: ")
        assert re.search(r"a: Select option: 1\ncompleted b", terminal.text)
        terminal.type("1\n")
        assert terminal.end() == 0


def test_the_checkpoint_names_the_worktree_and_who_waits_behind_it(parallel: Path, go: Path) -> None:
    for task in "ab":
        (go / task).touch()
    put_plan(parallel, leaf("a"), leaf("b"))
    run(parallel, "execute", "--jobs", "2", "--stop-after-each", "--no-input")
    completed = run(parallel, "execute", "--jobs", "2")
    worktree = runs_of(parallel, "a")[-1].worktree_path
    assert f"Worktree: {worktree}\n" in completed.stdout
    assert "1 more decision waits behind this one\n" in completed.stdout


@pytest.mark.sampled(1)
@pytest.mark.parametrize("named", [(), ("a", "b")])
def test_one_command_continues_all_that_was_interrupted(
    parallel: Path, go: Path, named: tuple[str, ...]
) -> None:
    with Terminal(parallel, "execute", *named, "--jobs", "2") as terminal:
        terminal.wait_to_see("Step of b")
        terminal.wait_to_see("Step of a")
        terminal.type(CTRL_C)
        assert terminal.end() == 130
        last = terminal.text.splitlines()[-2:]
    names = last[1].removeprefix("next step: git blackbird execute --jobs 2").split()
    assert (last[0], sorted(names)) == ("interrupted", sorted(named))
    for task in "abcd":
        (go / task).touch()
    done = run(parallel, *last[1].removeprefix("next step: git blackbird ").split())
    assert done.returncode == 0, done.stdout
    tasks = named or tuple("abcd")
    assert {task for task in "abcd" if (parallel / f"{task}.txt").exists()} == set(tasks)
    assert runs_of(parallel, "a")[-1].resumes == runs_of(parallel, "a")[0].id
