"""No text of a plan, a record, a log or a change is more on any screen than the text that it is."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from textual.filter import LineFilter
from textual.pilot import Pilot
from textual.widgets import Static

from git_blackbird.clean import clean
from git_blackbird.model.base.ids import TaskId
from git_blackbird.tui.app import BlackbirdApp
from git_blackbird.tui.keys import ACTIONS
from git_blackbird.tui.screens.checkpoint import CheckpointScreen
from git_blackbird.tui.screens.comment import CommentScreen
from git_blackbird.tui.screens.modal import ChoiceModal
from git_blackbird.tui.screens.questions import QuestionScreen
from git_blackbird.tui.screens.request import RequestScreen
from git_blackbird.tui.themes import HarmlessFilter
from tests.attack.hostile import record, states, task_fields
from tests.controller.support import configure, leaf, parent_of, put_plan
from tests.records import with_facts
from tests.support import commit, git, write
from tests.tui.driver import drive, screen_text, see, wait_for

MARKED = "qq[red]zz[@click=app.bell]tt[link=h]ll"
EATEN = ("qqzz", "zztt", "ttll")
"""What is seen where one of the tags is taken for one."""
HOSTILE = (
    f"{MARKED}x\x1b]52;c;aGk=\x07\x1b]8;;https://h\x07\x1b[31my\x9b31m\u202e\u2066z\u200f\u200b\u200d\ufe0f\u00ad"
    "\U000e0041\x85\u2028w\x7f\r\b\tv[/][/red][$text][bold]"
)
SIZE = (150, 45)
RUN = "01a20000000000"
PARENT, REVIEW = "parent", f"{RUN}ee"
STARTING = frozenset({"execute_task", "resume", "tell"})
"""They start an agent."""
ENDING = frozenset({"pause", "suspend_process", "quit"})
OPENING = tuple(action.key for action in ACTIONS if action.action not in STARTING | ENDING)


class AskingApp(BlackbirdApp):
    """Accepts keys at once, and shows what an execution would do before it starts.

    Nothing is cleaned when it is drawn: until then it has to be.
    """

    pause_seconds = 0.0

    def get_line_filters(self) -> Sequence[LineFilter]:
        return [one for one in super().get_line_filters() if not isinstance(one, HarmlessFilter)]


@dataclass
class Looks:
    """What was looked at, with the number of hostile texts there."""

    app: BlackbirdApp
    seen: dict[str, int] = field(default_factory=dict)

    def at(self, what: str) -> None:
        """Assert that the terminal and Textual take nothing on the screen for more than text."""
        for strip in self.app.screen._compositor.render_strips():
            assert clean(strip.text) == strip.text, what
            assert not {"\t", "\n"} & set(strip.text), what
            for text, style, control in strip:
                assert not control
                assert style is None or (style.link is None and "@click" not in style.meta), (what, text)
        shown = screen_text(self.app)
        assert [eaten for eaten in EATEN if eaten in shown] == [], (what, shown)
        self.seen[what] = self.seen.get(what, 0) + shown.count("[red]zz")


def task_of(state: str) -> TaskId:
    # An id has no slash and nothing invisible, but brackets.
    return TaskId(f"{state}[red]zz[@click=app.bell]")


@pytest.fixture
def hostile(repo: Path) -> Path:
    commit(repo, {"README.md": "# Here\n"})
    configure(repo, agent="command", command__run=f"true '{HOSTILE}'", command__schema="true")
    configure(repo, execution__stopAfterEachTask="true")
    return repo


def hostile_change(repo: Path) -> dict[str, object]:
    """Make a change with hostile lines in hostile files; return the fields that name its trees."""
    before = git(repo, "rev-parse", "HEAD^{tree}")
    write(repo, {f"{MARKED}\x1b[31m\u202e.txt": f"{HOSTILE}\n" * 3, "README.md": f"# {HOSTILE}\n"})
    git(repo, "add", "--all")
    after = git(repo, "write-tree")
    git(repo, "reset", "-q")
    return {"base_tree": before, "head_tree": after}


def put_hostile(repo: Path, *names: str, ours: bool = True, **more: object) -> None:
    """Put a task with a record for each of these states of a run, below a parent with a review.

    ``more`` has fields of the records that are not hostile.
    """
    top = repo / (".git/blackbird" if ours else ".blackbird")
    change, fields = hostile_change(repo), states(HOSTILE)
    for place, name in enumerate(names):
        task, run = task_of(name), f"{RUN}{place:02x}"
        write(
            top,
            {
                f"runs/{task}/{run}.json": json.dumps(
                    with_facts(record(task, run, fields[name]), **change, **more)
                )
            },
        )
        write(repo, {f".blackbird/runs/{task}/logs/{run}.stdout": f"{HOSTILE}\n" * 3})
        owed = {"parentTaskId": PARENT, "reviewRunId": REVIEW, "feedback": HOSTILE}
        write(top, {f"parent-review-feedback/{task}.json": json.dumps(owed)})
    flagged = task_of(names[0])
    result = {"task_id": flagged, "status": "failed", "feedback": HOSTILE}
    verdict: dict[str, object] = {"run_type": "review", "status": "success", "decision_state": None}
    verdict |= {"parent_review_passed": False, "parent_review_results": {flagged: result}}
    verdict |= {"parent_review_resume_task_ids": [flagged]}
    write(
        top, {f"runs/{PARENT}/{REVIEW}.json": json.dumps(record(PARENT, REVIEW, fields["failed"] | verdict))}
    )
    tasks = [task_of(name) for name in names]
    put_plan(repo, parent_of(PARENT, tasks), *(leaf(task, parent=PARENT) for task in tasks))
    path = repo / "blackbird.plan.json"
    plan = json.loads(path.read_bytes())
    items = {task: {**item, **task_fields(HOSTILE)} for task, item in plan["items"].items()}
    path.write_text(json.dumps({**plan, "items": items}))


async def look_at_task(looks: Looks, pilot: Pilot[None], task: str, tabs: str) -> None:
    """Look at all that the main screen shows of a task."""
    app = looks.app
    app.main.plan_tree.select(TaskId(task))
    for tab in tabs:
        await pilot.press(tab)
        if tab == "3":
            await wait_for(pilot, lambda: "reading..." not in screen_text(app))
        looks.at(f"tab {tab}")


async def open_all(looks: Looks, pilot: Pilot[None], keys: tuple[str, ...]) -> None:
    """Open what each key opens, and look at it."""
    app = looks.app
    for key in keys:
        await pilot.press(key)
        await wait_for(pilot, lambda: not app.is_opening)
        looks.at(type(app.screen).__name__)
        await pilot.press("escape")
        while app.screen is not app.main:
            await pilot.press("escape")


@pytest.mark.sampled(1)
@pytest.mark.parametrize("ours", [True, False])
def test_records_are_shown_as_text_on_every_screen(hostile: Path, ours: bool) -> None:
    names = tuple(states(HOSTILE))
    put_hostile(hostile, *names, ours=ours)

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        looks = Looks(app)
        for name in names:
            await look_at_task(looks, pilot, task_of(name), "13")
        for task in (PARENT, task_of("pending")):
            await look_at_task(looks, pilot, task, "12345")
            await open_all(looks, pilot, ("p",))
        app.main.plan_tree.select(task_of("pending"))
        await open_all(looks, pilot, OPENING)
        await pilot.press("ctrl+p")
        await see(app, pilot, "git blackbird")
        looks.at("palette")
        await pilot.press(*"Sta")
        await see(app, pilot, "set-status")
        looks.at("palette")
        seen = {what for what, number in looks.seen.items() if number}
        assert seen >= {"TaskForm", "DeleteScreen", "MoveScreen", "DepsScreen", "LinesScreen", "palette"}
        if ours:
            assert seen >= {"CheckpointScreen", "ChangeReviewScreen", "ParentReviewScreen"}

    drive(hostile, session, SIZE, AskingApp)


@pytest.mark.exhaustive
def test_a_decision_shows_records_and_changes_as_text(hostile: Path) -> None:
    configure(hostile, agent="demo")
    put_hostile(hostile, "pending", provider="demo", provider_session_ref="a-session")

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        looks = Looks(app)
        app.main.plan_tree.select(task_of("pending"))
        await pilot.press("d")
        await see(app, pilot, "+3 -0")
        await look_through_pages(looks, pilot, "overview")
        await pilot.press("v")
        await see(app, pilot, "@@")
        await look_through_pages(looks, pilot, "diff")
        await pilot.press("ctrl+end", "y")
        await see(app, pilot, "copied: ")
        looks.at("copied place")
        await pilot.press("v", "up", "y")
        await see(app, pilot, "copied: +qq[red]zz")
        looks.at("copied lines")
        await pilot.press("slash", *"qq", "enter")
        looks.at("searched")
        await pilot.press("escape", "escape", "ctrl+home", "n", "down", "c")
        await wait_for(pilot, lambda: isinstance(app.screen, CommentScreen))
        looks.at("comment")
        await pilot.press("escape")
        await wait_for(pilot, lambda: isinstance(app.screen, CheckpointScreen))
        await pilot.press("1", "enter")
        await wait_for(pilot, lambda: isinstance(app.screen, ChoiceModal))
        looks.at("branch")
        await pilot.press("escape")
        await wait_for(pilot, lambda: isinstance(app.screen, CheckpointScreen))
        await pilot.press("3", "enter")
        await wait_for(pilot, lambda: isinstance(app.screen, RequestScreen))
        looks.at("request")
        assert (
            min(looks.seen[what] for what in ("overview", "diff", "copied lines", "comment", "branch")) > 0
        ), looks.seen

    drive(hostile, session, SIZE, AskingApp)


async def look_through_pages(looks: Looks, pilot: Pilot[None], what: str) -> None:
    for _ in range(5):
        looks.at(what)
        await pilot.press("pagedown")


@pytest.mark.exhaustive
def test_a_question_and_its_options_are_shown_as_text(hostile: Path) -> None:
    configure(hostile, agent="demo")
    put_hostile(hostile, "asking", provider="demo")

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        looks = Looks(app)
        app.main.plan_tree.select(task_of("asking"))
        await pilot.press("u")
        for _ in range(3):
            await wait_for(pilot, lambda: isinstance(app.screen, QuestionScreen))
            looks.at("question")
            await pilot.press("x", "enter")
            await pilot.pause(0.05)
        assert looks.seen["question"] > 1, looks.seen

    drive(hostile, session, SIZE, AskingApp)


def test_a_run_at_work_elsewhere_is_shown_as_text(hostile: Path) -> None:
    put_hostile(hostile, "asking")
    alive: dict[str, Any] = {"status": "running", "worker": HOSTILE, "completedAt": None}
    task, run = task_of("asking"), f"{RUN}00"
    fields = with_facts(states(HOSTILE)["asking"], **alive, questions=[], repo_root=str(hostile))
    write(hostile / ".git/blackbird", {f"runs/{task}/{run}.json": json.dumps(record(task, run, fields))})
    write(hostile / ".git/blackbird", {f"streams/{task}.{run}.stdout": f"{HOSTILE}\n" * 3})

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        looks = Looks(app)
        await pilot.press("2")
        await see(app, pilot, f"{task} on qq[red]zz", f"starting {task}", "│ qq[red]zz")
        looks.at("live")

    drive(hostile, session, SIZE, AskingApp)


def test_nothing_that_is_drawn_acts_on_a_terminal(hostile: Path) -> None:
    put_plan(hostile, leaf("alpha"))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await app.screen.mount(Static(f"{HOSTILE}\tend", markup=False), Static("[link='https://h']go[/link]"))
        await see(app, pilot, MARKED, "go")
        Looks(app).at("raw")
        for strip in app.screen._compositor.render_strips():
            assert sum(segment.cell_length for segment in strip) == app.size.width

    drive(hostile, session, SIZE)
