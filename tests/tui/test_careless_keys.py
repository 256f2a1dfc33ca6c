"""What is pressed without care approves, starts, stops and discards nothing that the screen did not name.

In a real terminal, at four sizes. Keys that come in one go stand for a key that is held and for a paste.
"""

import re
import shutil
import time
from pathlib import Path

import pytest

from git_blackbird.controller.change.decide.record import record_decision
from git_blackbird.controller.change.undo.undo import undo_task
from git_blackbird.model.run.findings import (
    Finding,
    FindingGroup,
    MergedReview,
    MergedVerdict,
    Severity,
    Source,
)
from git_blackbird.model.run.states import DecisionState, RunStatus
from tests.controller.support import (
    APPROVE,
    REJECT,
    Person,
    bring,
    configure,
    execute,
    leaf,
    open_at,
    parent_of,
    put_plan,
    runs_of,
    store_at,
)
from tests.support import Prepared, commit
from tests.tui.tmux import PATIENCE_SECONDS, Tmux

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="no tmux here")

SIZES = (60, 20), (80, 24), (100, 30), (200, 60)
# Sizes alternate between keys one by one and keys in one go.
TURNS = range(len(SIZES))
MANY = 60
LONG = "\\n".join(f"line {number}" for number in range(MANY + 20))
TAKES_KEYS = "esc leaves it"
NOTHING_CHOSEN = "nothing is chosen: a digit or an arrow chooses"
PRESELECTED = ">1. Approve"
ORDER = "asks", "broken", "first", "kept", "back", "found", "t1", "t2", "t3", "t4", "t5", "t6"
# While a decision is open, what it is about is at the top.
DECISION = "your decision on"
PLAN = "q Quit"
IDLE = "e Execute"


@pytest.fixture
def careless(repo: Path, prepared: Prepared) -> Path:
    """Changes that wait, have failed, are approved and were taken back, a question, and six ready tasks."""
    commit(repo, {"README.md": "# Here\n"})

    def prepare() -> None:
        configure(repo, agent="demo", execution__stopAfterEachTask="true")
        configure(repo, execution__parentReviewEnabled="false", execution__stopGraceSeconds="0")
        put_plan(
            repo,
            leaf("asks", "ask tone Which? | kind | brief\nanswered tone tone.txt"),
            leaf("broken", "write c.txt one\nfail 3"),
            parent_of("first", ["kept", "back"]),
            leaf("kept", "write kept.txt one", parent="first"),
            leaf("back", "write back.txt one", parent="first"),
            leaf("found", "write a.txt one\nwrite b.txt one\\ntwo\non-feedback write a.txt two"),
            leaf("t1", "write t1.txt one"),
            leaf("t2", f"write t2.txt {LONG}"),
            leaf("t3", "say Working on it.\nsleep 600"),
            leaf("t4", "write t4.txt one"),
            *(leaf(f"t{number}", f"write t{number}.txt one", deps=["t3"]) for number in (5, 6)),
        )
        for task_id in ("kept", "back"):
            execute(repo, Person([APPROVE]), task_id)
        undo_task(open_at(repo), "back")
        for task_id in ("asks", "broken", "found"):
            execute(repo, Person(), task_id)
        find(repo, finding("b.txt", None, "All of it."), finding("b.txt", 50, "Line fifty."))

    return bring(prepared, repo, prepare)


def finding(file: str, line: int | None, text: str) -> Finding:
    severity = Severity.CRITICAL
    return Finding(source=Source.CODE, type="bug", severity=severity, file=file, line=line, description=text)


def find(repo: Path, *found: Finding) -> None:
    """Let reviewers have found something in the change of ``found``."""
    groups = tuple(FindingGroup(findings=(one,), priority=1) for one in found)
    merged = MergedReview(overall=MergedVerdict.CODE_CRITICAL, groups=groups)
    (run,) = runs_of(repo, "found")
    with store_at(repo).transaction() as transaction:
        transaction.save_run(run.updated(review_round=1, merged_review=merged.to_json()))


def recorded(repo: Path) -> dict[str, bytes]:
    """Return the plan and all records."""
    folders = (repo / ".git/blackbird/runs", repo / ".blackbird")
    files = (path for folder in folders for path in sorted(folder.rglob("*.json")))
    return {str(path): path.read_bytes() for path in (*files, repo / "blackbird.plan.json")}


def decisions(repo: Path, *task_ids: str) -> list[DecisionState | None]:
    """Return the decision on the last run of each task; None for none, also where there is no run."""
    runs = (runs_of(repo, task_id) for task_id in task_ids)
    return [own[-1].decision_state if own else None for own in runs]


class Hand:
    """Presses keys in a terminal, one after the other or many in one go."""

    def __init__(self, repo: Path, tmux: Tmux) -> None:
        self.repo = repo
        self.tmux = tmux

    def see(self, *texts: str, without: str | None = None) -> str:
        return self.tmux.wait_for(*texts, without=without)

    def press(self, *keys: str) -> None:
        """Press keys in one go, as a machine does."""
        self.tmux.press(*keys)

    def back_to_plan(self) -> None:
        """Close whatever is open above the plan, one screen after the other."""
        for _ in range(4):
            if PLAN in self.tmux.shown():
                break
            self.tmux.press("Escape")
            self.wait_briefly(PLAN)
        # What was executed may be ending.
        self.see(PLAN, IDLE)

    def wait_briefly(self, text: str) -> bool:
        """Wait for a text for longer than enter is dropped after a stray key; return whether it came."""
        deadline = time.monotonic() + 0.7
        while text not in self.tmux.shown():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.05)
        return True

    def enter(self, text: str) -> None:
        """Press enter until it is taken: after a stray key it is dropped for half a second."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        self.press("Enter")
        while not self.wait_briefly(text):
            assert time.monotonic() < deadline, self.tmux.shown()
            self.press("Enter")

    def go_to(self, task_id: str) -> None:
        """Put the cursor on a task, with its texts beside the plan."""
        self.press("1", "Home", *["j"] * ORDER.index(task_id))
        self.see(PLAN, f" {task_id}  Task {task_id}")

    def click(self, text: str, times: int = 1) -> None:
        """Click on a text with the left button."""
        lines = self.tmux.shown().splitlines()
        row, line = next((row, line) for row, line in enumerate(lines, 1) if text in line)
        place = f"{line.index(text) + 3};{row}"
        self.tmux.press("-l", f"\x1b[<0;{place}M\x1b[<0;{place}m" * times)


def found_tasks_have_the_cursor(hand: Hand, turn: int) -> None:
    """(i) After a search or a filter, the next key is for a task that was found, not for its parent."""
    if turn % 2:
        hand.press("/", "back", "Enter")
    else:
        hand.press("/")
        hand.see(without=PLAN)
        for letter in "back":
            hand.press(letter)
        hand.see("search back: 1 of 1")
        hand.press("Enter")
    hand.see("search back: 1 of 1", " back  Task back", PLAN)
    hand.press("Escape")
    hand.see(PLAN, without="search back")
    hand.press("f")
    hand.see("filter ready: 4")
    hand.press("x")
    hand.see("enter starts it", "t1  Task t1", without="t2  Task t2")
    hand.press("Escape")
    hand.see(PLAN)
    hand.press("Escape")
    hand.see(PLAN, without="filter ready")


ASKING = {
    "w": ("broken", "2. Restart in a new session"),
    "u": ("broken", f"{DECISION} broken"),
    "b": ("broken", "2. Set it back to todo"),
    "s": ("broken", "Status of broken"),
    "D": ("broken", "2. Delete it"),
    "x": ("t1", "enter starts it"),
    "U": ("kept", "2. Take it back"),
    "R": ("back", "2. Bring it back"),
}
"""Keys of the plan with a task on which they do something, and what they ask."""
OF_THE_DIFF = "wsR"


def keys_of_the_plan_ask(hand: Hand, turn: int) -> None:
    """(f) They ask first, whatever tab is shown and whatever pane has the focus; yes takes another key."""
    here = ""
    for number, (key, (task_id, asks)) in enumerate(list(ASKING.items())[turn % 2 :: 2]):
        if task_id != here:
            hand.go_to(task_id)
            here = task_id
        is_right, tab = bool((turn + number) % 2), str((2 * turn + number) % 5 + 1)
        if is_right and tab == "4" and key in OF_THE_DIFF:
            tab = "5"
        keys = (tab, *(("Tab",) if is_right else ()), key)
        if (turn // 2 + number) % 2:
            # What comes with it is for no question that nobody has seen.
            hand.press(*keys, "2", "Enter")
        else:
            for one in keys:
                hand.press(one)
        hand.see(asks)
        hand.press("Escape")
        hand.see(PLAN, without=asks)
        if is_right:
            # The focus goes back to the plan: the frame of the other pane is a thin one.
            hand.press("Escape")
            hand.see(without="┏━ ")


def nothing_is_preselected_after_a_failure(hand: Hand, turn: int) -> None:
    """(b, d, g) Digits keep their meaning, a stray key changes nothing, and a click selects only."""
    hand.go_to("broken")
    hand.press("d")
    hand.see(f"{DECISION} broken", TAKES_KEYS, ">(choose)", "A c.txt")
    hand.press("Enter")
    hand.see(NOTHING_CHOSEN, ">(choose)")
    for digit, chosen in (("4", ">4. Reject changes"), ("1", ">1. Accept as it is and continue")):
        hand.press(digit)
        hand.see(chosen, without=NOTHING_CHOSEN)
    hand.press("1", "7", "6")
    hand.see(">6. Retry in a new session")
    hand.click("4. Reject changes")
    hand.see(">4. Reject changes", TAKES_KEYS)
    hand.click("1. Accept as it is", times=2)
    hand.see(">1. Accept as it is", TAKES_KEYS)
    hand.press("X")
    hand.see("no key does that here", ">1. Accept as it is")
    hand.press("j")
    hand.see(">2. Accept as it is and stop", TAKES_KEYS)
    hand.press("?")
    hand.see("Keys", "/ searches, esc goes back")
    hand.press("Escape")
    hand.see(TAKES_KEYS, ">2. Accept as it is and stop", without="/ searches, esc")
    # Enter that comes with a stray key is for nothing: they are a text, or keys of another screen.
    hand.press("X", "1", "Enter")
    hand.see(">1. Accept as it is", TAKES_KEYS)
    hand.press("5")
    hand.see(">5. View full diff")
    hand.enter("1 + one")
    hand.press("V")
    hand.see(TAKES_KEYS)
    hand.press("q")
    hand.see(PLAN)
    if turn % 2:
        return
    hand.press("s")
    hand.see("Status of broken")
    hand.press("X", "3", "Enter")
    hand.see("no key does that here", "Status of broken")
    hand.enter("2. Set to in_progress")
    hand.press("Enter")


def findings_are_seen(hand: Hand, turn: int) -> None:
    """(h) A finding without a line in the diff is at its file: in the list, in the diff and for keys."""
    hand.go_to("found")
    hand.press("d")
    hand.see(f"{DECISION} found", TAKES_KEYS, "!A b.txt", " A a.txt", "! findings")
    if turn % 2:
        hand.press("}", "}")
    else:
        hand.press("}")
        hand.see("a.txt  +1 -0  added")
        hand.press("}")
    hand.see(">▾ b.txt", "code reviewer, critical: All of it.", "commented line 1 of 1")
    hand.press("V")
    hand.see(TAKES_KEYS)
    hand.press("Tab", "Tab")
    hand.see("enter goes to a finding")
    while "[Code Critical] b.txt" not in (shown := hand.see()):
        assert "Action: " not in shown, shown
        hand.press("NPage")
    hand.press("Enter")
    hand.see(">▾ b.txt", "code reviewer, critical: All of it.", "line 50, not in this diff")


def a_request_goes_on_below_comments(hand: Hand, turn: int) -> None:
    """(j) What is typed below comments is not taken for more of the last one."""
    hand.press("c")
    hand.see("Comment on b.txt")
    hand.press("Why so?")
    hand.see("Why so?")
    hand.press("C-s")
    hand.see("you: Why so?", "1 comment", without="Comment on b.txt")
    hand.press("3")
    hand.see(">3. Request changes")
    hand.press("Enter")
    hand.see("What should change?", "Why so?")
    for text in ("Say", "more.") if turn % 2 else ("Say more.",):
        hand.press(*(("Space",) if text == "more." else ()), text)
    shown = hand.see("Say more.")
    assert re.search(r"b\.txt: Why so\?\W*\n\W*\n\W* Say more\.", shown), shown
    if turn % 2:
        hand.press("Escape")
        hand.see(">3. Request changes", without="What should change?")
        return
    hand.press("C-s")
    hand.see(f"{DECISION} found", "round 2", TAKES_KEYS)
    first, _ = runs_of(hand.repo, "found")
    assert "Why so?\n\nSay more." in (first.decision_feedback or "")


def an_own_answer_arrives(hand: Hand, turn: int) -> None:
    """(e) Letters at the list of answers choose nothing; behind Other... they are the answer."""
    hand.go_to("asks")
    hand.press("u")
    hand.see("Which?", "3. Other...", "enter answers")
    before = recorded(hand.repo)
    hand.press("3", "yes", "Enter")
    hand.see("no key does that here", "3. Other...")
    assert recorded(hand.repo) == before
    hand.enter("your answer")
    if turn % 2:
        hand.press("Escape")
        hand.see("3. Other...")
        hand.press("3", "Enter", "yes", "Enter")
    else:
        for letter in "yes":
            hand.press(letter)
        hand.see("┃ yes")
        hand.press("Enter")
    hand.see(f"{DECISION} asks", TAKES_KEYS)
    assert [answer.value for answer in runs_of(hand.repo, "asks")[-1].answers] == ["yes"]
    assert (hand.repo / "tone.txt").read_text() == "yes\n"


def enter_that_is_held_approves_what_was_shown(hand: Hand, turn: int) -> None:
    """(c) However many come, they approve nothing whose diff was not shown to its end."""
    tasks = [f"t{number}" for number in range(1, 7)]
    hand.press("e")
    hand.see("enter starts it", "t1  Task t1")
    hand.press("-N", str(MANY), "Enter")
    hand.see(f"{DECISION} t1:", TAKES_KEYS, ">(choose)")
    hold_enter(hand, is_paced=turn % 2 == 0)
    hand.see(NOTHING_CHOSEN, ">(choose)", f"{DECISION} t1:")
    assert decisions(hand.repo, *tasks) == [DecisionState.PENDING, *[None] * 5]
    hand.press("v")
    hand.see("1 + one", PRESELECTED)
    hand.press("V")
    hand.enter(f"{DECISION} t2:")
    hand.see(f"{DECISION} t2:", TAKES_KEYS, ">(choose)")
    hold_enter(hand, is_paced=turn % 2 == 1)
    hand.see(f"{DECISION} t2:", NOTHING_CHOSEN, ">(choose)")
    first, second, *others = decisions(hand.repo, *tasks)
    assert (first, second) == (DecisionState.APPROVED_CONTINUE, DecisionState.PENDING)
    assert others == [None] * 4


def hold_enter(hand: Hand, *, is_paced: bool) -> None:
    """Press enter many times, in one go or as fast as a keyboard repeats a key."""
    if not is_paced:
        hand.press("-N", str(MANY), "Enter")
        return
    for _ in range(MANY):
        hand.press("Enter")
        time.sleep(0.1)


def others_go_on_and_quitting_asks(hand: Hand, turn: int) -> None:
    """(a) Who leaves a decision stops nobody, and who quits is told who would be paused."""
    leaves = ("q", "Escape")[turn % 2]
    hand.press(leaves)
    hand.see(PLAN, IDLE)
    hand.press("a")
    hand.see(f"{DECISION} t2", TAKES_KEYS)
    hand.press("4")
    hand.see(">4. Reject changes")
    hand.press("Enter")
    hand.see("rejected? (Enter alone gives no reason)")
    hand.press("Enter")
    hand.see(PLAN, IDLE, "rejected")
    configure(hand.repo, execution__jobs="2")
    hand.press("e")
    hand.see("enter starts it", "t3  Task t3")
    hand.press("Enter")
    hand.see(f"{DECISION} t4", TAKES_KEYS)
    for again in ("a", ""):
        hand.press(leaves)
        hand.see(PLAN, "● t3", without=DECISION)
        if again:
            hand.press(again)
            hand.see(f"{DECISION} t4", TAKES_KEYS)
    hand.press("q", "2", "Enter")
    hand.see("t3 is at work", "1. Stay", "2. Pause it and quit")
    hand.enter(PLAN)
    hand.see("● t3", without="Pause it and quit")
    assert decisions(hand.repo, "t4") == [DecisionState.PENDING]
    assert [run.status for run in runs_of(hand.repo, "t3")] == [RunStatus.RUNNING]
    hand.press("q")
    hand.see("t3 is at work", "2. Pause it and quit")
    hand.press("2")
    hand.press("Enter")
    hand.see("paused t3; `git blackbird execute` goes on")
    hand.tmux.wait_for_end(0)
    assert [run.status for run in runs_of(hand.repo, "t3")] == [RunStatus.PAUSED]


@pytest.mark.exhaustive
@pytest.mark.parametrize("turn", TURNS, ids=["x".join(map(str, SIZES[turn])) for turn in TURNS])
def test_careless_keys(careless: Path, tmux: Tmux, turn: int) -> None:
    hand = Hand(careless, tmux)
    tmux.open(careless)
    tmux.resize(*SIZES[turn])
    hand.see("1/11", PLAN)
    before = recorded(careless)
    for changing_nothing in (
        found_tasks_have_the_cursor,
        keys_of_the_plan_ask,
        nothing_is_preselected_after_a_failure,
        findings_are_seen,
    ):
        changing_nothing(hand, turn)
        assert recorded(careless) == before
        if changing_nothing is not findings_are_seen:
            hand.back_to_plan()
    a_request_goes_on_below_comments(hand, turn)
    hand.back_to_plan()
    an_own_answer_arrives(hand, turn)
    hand.back_to_plan()
    for task_id in ("found", "asks", "broken"):
        record_decision(open_at(careless), task_id, REJECT)
    enter_that_is_held_approves_what_was_shown(hand, turn)
    others_go_on_and_quitting_asks(hand, turn)
