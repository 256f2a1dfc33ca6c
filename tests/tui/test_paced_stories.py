"""Decisions and questions in terminals of four sizes, with keys as fast as people and as machines type."""

import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from git_blackbird.model.plan.status import Status
from tests.controller.support import agree_to_agent, configure, execute, leaf, put_plan, status
from tests.support import commit, git
from tests.tui.tmux import PATIENCE_SECONDS, Tmux

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="no tmux here")
LEAST_WITH_LIST = 18
"""Below so many lines a decision has no room for the list of files."""
SIZES = (60, 16), (80, 24), (100, 30), (200, 60)
HUMAN, MACHINE = 0.1, 0.0
PLAN, IDLE, DECISION = "q Quit", "e Execute", "ACTION REQUIRED  your decision on"
TAKES_KEYS = "enter chooses"


class Typist:
    """Types in a terminal: key by key, or all keys in one go."""

    def __init__(self, tmux: Tmux, size: tuple[int, int], pause_seconds: float) -> None:
        self._tmux = tmux
        self._size = size
        self.lines = size[1]
        self.is_machine = not pause_seconds
        self._pause_seconds = pause_seconds

    def open(self, repo: Path) -> None:
        self._tmux.open(repo)
        self._tmux.resize(*self._size)

    def see(self, *texts: str, without: str | None = None) -> str:
        return self._tmux.wait_for(*texts, without=without)

    def type(self, *keys: str) -> None:
        if not self._pause_seconds:
            self._tmux.press(*keys)
            return
        for key in keys:
            self._tmux.press(key)
            time.sleep(self._pause_seconds)

    def leave(self) -> None:
        """Go back to the plan."""
        self.type("Escape")
        self.see(PLAN, IDLE, without=DECISION)

    def quit(self) -> None:
        self.type("q")
        self._tmux.wait_for_end(0)


@pytest.fixture(params=SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def size(request: pytest.FixtureRequest) -> tuple[int, int]:
    assert isinstance(request.param, tuple)
    return request.param


@pytest.fixture(params=[HUMAN, MACHINE], ids=["human", "machine"])
def typist(tmux: Tmux, size: tuple[int, int], request: pytest.FixtureRequest) -> Typist:
    return Typist(tmux, size, request.param)


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def wait_until_done(repo: Path, task_id: str) -> None:
    wait_until(lambda: status(repo, task_id) is Status.DONE)


WRITES = r"""
cat >/dev/null
[ -n "$BLACKBIRD_RESUME" ] && echo two >>lib/a.txt && exit
mkdir lib; printf '\0new' >new.bin; rm old.bin
for file in lib/a.txt lib/b.txt lib/c.txt z.txt; do echo one >$file; done
"""


@pytest.fixture
def planned(repo: Path) -> Path:
    commit(repo, {"README.md": "# Here\n", "old.bin": "\0"})
    configure(repo, execution__stopAfterEachTask="true", execution__commit="approved")
    return repo


@pytest.mark.sampled(1)
def test_marks_of_files_and_folders_stay_through_a_round(planned: Path, typist: Typist) -> None:
    configure(planned, agent="command", command__run=WRITES)
    put_plan(planned, leaf("alpha"))
    agree_to_agent(planned)
    execute(planned)
    typist.open(planned)
    typist.see(PLAN, "[a] opens alpha")
    typist.type("a")
    typist.see(DECISION, TAKES_KEYS)
    has_list = typist.lines >= LEAST_WITH_LIST
    if has_list:
        typist.see("  A new.bin", "binary", "  D old.bin")
        typist.type("Tab", "Down")
        typist.see("enter goes to what is shown")
        typist.type("z", "o")
        typist.see("✗ ▸ lib/ 3 files", "0 of 6 read")
        typist.type("m")
        typist.see("3 of 6 read", "file 4 of 6")
        typist.type("Up", "z", "o")
        typist.see("✓ A lib/a.txt", "✗ A lib/b.txt", "✗ A lib/c.txt")
    else:
        typist.type("v", "]")
        typist.see("file 2 of 6, 0 of 6 read")
        typist.type("o", "]", "o")
        typist.see("file 3 of 6, ✗ 0 of 6 read")
    typist.type("3", "Enter")
    typist.see("What should change?")
    typist.type("Two", "C-s")
    typist.see(
        DECISION,
        TAKES_KEYS,
        "8. View changes",
        *(["✗ A lib/b.txt", "✗ A lib/c.txt", "2 of 6 read"] if has_list else []),
    )
    typist.type("1", "Enter")
    wait_until_done(planned, "alpha")
    typist.see(PLAN, IDLE)
    typist.quit()
    shown = git(planned, "show", "--name-status", "--format=").split()
    assert shown == ["A", "lib/a.txt", "A", "new.bin", "D", "old.bin", "A", "z.txt"]


@pytest.mark.exhaustive
def test_enter_approves_only_what_was_shown_to_its_end(planned: Path, typist: Typist) -> None:
    configure(planned, agent="demo")
    long = "\\n".join(["line"] * 99)
    put_plan(planned, leaf("alpha", "write a.txt one"), leaf("beta", f"write b.txt {long}"))
    for task_id in ("alpha", "beta"):
        execute(planned, None, task_id)
    typist.open(planned)
    typist.see(PLAN, "[a] opens alpha")
    typist.type("a")
    typist.see(f"{DECISION} alpha", TAKES_KEYS, ">(choose)")
    typist.type(*["Enter"] * 5)
    typist.see(f"{DECISION} alpha", "nothing is chosen", ">(choose)")
    typist.type("v")
    typist.see("1 + one", ">1. Approve")
    typist.leave()
    typist.see("[a] opens beta")
    typist.type("a")
    typist.see(f"{DECISION} beta", TAKES_KEYS)
    typist.type("v")
    typist.see("1 + line", ">(choose)")
    typist.type("G")
    typist.see("99 + line", ">1. Approve")
    typist.type("V")
    typist.see("Change: 1 file")
    typist.type("Enter")
    wait_until_done(planned, "beta")
    typist.see(f"{DECISION} alpha", TAKES_KEYS, ">(choose)")
    typist.leave()
    typist.quit()
    assert status(planned, "alpha") is Status.WAITING_USER


@pytest.mark.exhaustive
def test_what_a_rejection_takes_out_is_shown_first_and_asked_about(planned: Path, typist: Typist) -> None:
    configure(planned, agent="demo")
    put_plan(planned, leaf("alpha", "write a.txt one\ndelete old.bin"))
    execute(planned)
    typist.open(planned)
    typist.see(PLAN, "[a] opens alpha")
    typist.type("a")
    typist.see(DECISION, TAKES_KEYS)
    # What comes along at once is for no question that nobody has seen.
    typist.type("9", "Enter", *(("Enter", "2", "Enter") if typist.is_machine else ()))
    asks = "2. Reject it, and take it back", "enter chooses, esc goes back"
    typist.see("would take back the change of alpha: 2 files", *asks)
    typist.type("Escape")
    typist.see(DECISION, TAKES_KEYS, ">9. Reject and take back", without=asks[1])
    assert status(planned, "alpha") is Status.WAITING_USER
    typist.type("Enter")
    typist.see(*asks)
    typist.type("2", "Enter")
    typist.see("Why is alpha rejected?")
    typist.type("Enter")
    typist.see(PLAN, IDLE, without=DECISION)
    wait_until(lambda: status(planned, "alpha") is Status.FAILED and not (planned / "a.txt").exists())
    assert (planned / "old.bin").exists()
    typist.quit()


@pytest.mark.exhaustive
def test_keys_of_the_first_second_wait_for_the_records(planned: Path, typist: Typist) -> None:
    configure(planned, agent="demo")
    put_plan(planned, leaf("alpha", "write a.txt one"), leaf("beta", deps=["alpha"]))
    execute(planned)
    typist.open(planned)
    typist.see("Task alpha")
    typist.type("e")
    typist.see("Execute", "alpha: decision due", "enter does what is due")
    typist.type("Escape")
    typist.see(PLAN, IDLE)
    typist.quit()


@pytest.mark.exhaustive
def test_one_key_follows_the_queue_of_status(planned: Path, typist: Typist) -> None:
    configure(planned, agent="demo")
    later = [leaf(name, deps=["beta"]) for name in ("first", "second")]
    put_plan(
        planned,
        leaf("alpha", "write a.txt one"),
        leaf("beta", "write b.txt one"),
        leaf("fails", "fail 3"),
        *later,
    )
    for task_id in ("alpha", "beta", "fails"):
        execute(planned, None, task_id)
    typist.open(planned)
    # What unblocks most comes first, wherever the cursor is.
    typist.see(PLAN, "(3): [a] opens beta")
    for task_id, after in (("beta", "alpha"), ("alpha", "fails"), ("fails", "beta"), ("beta", "alpha")):
        typist.type("a")
        typist.see(f"{DECISION} {task_id}", TAKES_KEYS)
        typist.leave()
        typist.see(f"(3): [a] opens {after}")
    typist.type("Home")
    typist.see("(3): [a] opens beta")
    typist.quit()


@pytest.mark.exhaustive
def test_hints_name_keys(planned: Path, typist: Typist) -> None:
    configure(planned, agent="demo")
    put_plan(planned, leaf("alpha", "write a.txt one"), leaf("beta", deps=["alpha"]))
    execute(planned)
    (planned / ".git/blackbird/runs/beta").mkdir(parents=True)
    (planned / ".git/blackbird/runs/beta/0000000000000001.json").write_text("{")
    typist.open(planned)
    typist.see(PLAN, "1 unreadable record ([a])", "[a] opens alpha")
    typist.type("a")
    typist.see(DECISION, TAKES_KEYS)
    typist.type("4", "Enter")
    typist.see("Why is alpha rejected?")
    typist.type("Enter")
    shown = typist.see(PLAN, IDLE, "Rejected alpha.", "next step: U: ", without=DECISION)
    assert "git blackbird" not in shown
    typist.type("2")
    assert "git blackbird" not in typist.see("Rejected alpha.")
    typist.quit()
