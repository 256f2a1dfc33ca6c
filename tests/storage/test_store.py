"""Transactions: what many write at once is all kept, and what nobody changed is not touched."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from git_blackbird.errors import UnusableError
from git_blackbird.model.ids import RunId, TaskId
from git_blackbird.model.plan import Plan, Status, Task, with_status
from git_blackbird.model.recorded import parse_part
from git_blackbird.model.run import RECORDER, Run
from git_blackbird.storage.layout import Layout
from git_blackbird.storage.plan_format import InvalidPlanError, render_plan
from git_blackbird.storage.store import Store
from tests.storage.building import STAMP, all_files, make_layout

ROOT = Path(__file__).parents[2]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(make_layout(tmp_path))


def task(name: str) -> Task:
    return Task(id=TaskId(name), title=name, created_at=STAMP, updated_at=STAMP)


def put(store: Store, *names: str) -> Plan:
    plan = Plan({TaskId(name): task(name) for name in names})
    with store.transaction() as transaction:
        transaction.save_plan(plan)
    return plan


ADDING = """
import sys
from dataclasses import replace
from pathlib import Path
from git_blackbird.model.plan import Task
from git_blackbird.storage.layout import Layout
from git_blackbird.storage.store import Store

store = Store(Layout(Path(sys.argv[1]), Path(sys.argv[2])))
store.plan()
print("ready", flush=True)
sys.stdin.readline()
for number in range(5):
    name = f"t{sys.argv[3]}-{number}"
    with store.transaction() as transaction:
        stamp = "2026-01-01T00:00:00Z"
        transaction.change_plan(lambda plan: plan.replaced(Task(name, name, stamp, stamp)))
"""


def test_w17_twenty_writers_at_once_lose_nothing(store: Store) -> None:
    put(store, "first")
    places = [str(store.layout.state_root), str(store.layout.private)]
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", ADDING, *places, str(number)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for number in range(20)
    ]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write(b"go\n")
        writer.stdin.flush()
    for writer in writers:
        writer.communicate()
    assert [writer.returncode for writer in writers] == [0] * 20
    wanted = {"first"} | {f"t{writer}-{number}" for writer in range(20) for number in range(5)}
    assert set(store.plan().tasks) == wanted
    assert all_files(store.layout.state) == [".gitignore"]


def test_a_transaction_sees_what_others_wrote_before_it(store: Store) -> None:
    put(store, "a")
    other = Store(store.layout)
    assert set(other.plan().tasks) == {"a"}
    put(store, "a", "b")
    with other.transaction() as transaction:
        after = transaction.change_plan(lambda plan: plan.replaced(task("c")))
    assert set(after.tasks) == {"a", "b", "c"}
    assert set(store.plan().tasks) == {"a", "b", "c"}


def test_a_plan_that_did_not_change_is_not_written(store: Store) -> None:
    plan = put(store, "a")
    before = store.layout.plan.stat()
    with store.transaction() as transaction:
        assert transaction.change_plan(lambda same: same) == plan
        transaction.save_plan(Plan({TaskId("a"): replace(task("a"))}))
        transaction.change_plan(
            lambda same: same.replaced(with_status(same.tasks[TaskId("a")], Status.TODO, "later"))
        )
    after = store.layout.plan.stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_an_edit_by_hand_within_the_same_tick_is_seen(store: Store) -> None:
    put(store, "a")
    stamp = store.layout.plan.stat()
    assert set(store.plan().tasks) == {"a"}
    store.layout.plan.write_bytes(store.layout.plan.read_bytes().replace(b'"a"', b'"b"'))
    os.utime(store.layout.plan, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert set(store.plan().tasks) == {"b"}


def test_there_is_no_plan(store: Store) -> None:
    with pytest.raises(UnusableError) as raised:
        store.image()
    assert raised.value.message == f"plan file not found: {store.layout.plan}"
    assert raised.value.hint == "`git blackbird init` makes one to start from"
    with store.transaction() as transaction:
        assert transaction.plan_if_there() is None
        transaction.remember_plan()
        assert transaction.known_plan() is None


def test_an_invalid_plan_names_its_file_and_is_left_alone(store: Store) -> None:
    store.layout.plan.write_text("{}")
    with pytest.raises(InvalidPlanError, match="invalid plan: "), store.transaction() as transaction:
        transaction.change_plan(lambda plan: plan.replaced(task("a")))
    assert store.layout.plan.read_text() == "{}"


@pytest.mark.parametrize("kind", ["folder", "pipe", "device"])
def test_a_plan_that_is_no_file_is_reported_at_once(store: Store, kind: str) -> None:
    plan = store.layout.plan
    match kind:
        case "folder":
            plan.mkdir()
        case "pipe":
            os.mkfifo(plan)
        case _:
            plan.symlink_to("/dev/zero")
    with pytest.raises(UnusableError) as raised:
        store.plan()
    assert raised.value.message == (
        f"{plan} is a link to /dev/zero, which is outside the worktree"
        if kind == "device"
        else f"cannot read {plan}: not a regular file"
    )


def test_the_known_plan_follows_our_own_writes_while_an_agent_works(store: Store) -> None:
    put(store, "a")
    with store.transaction() as transaction:
        assert transaction.known_plan() is None
        transaction.remember_plan()
        first = transaction.known_plan()
        transaction.change_plan(lambda plan: plan.replaced(task("b")))
        assert (first, transaction.known_plan()) == (
            render_plan(Plan({TaskId("a"): task("a")})),
            store.plan_bytes(),
        )
        transaction.forget_plan()
        transaction.forget_plan()
        assert transaction.known_plan() is None
        transaction.change_plan(lambda plan: plan.replaced(task("c")))
        assert transaction.known_plan() is None


def test_an_invalid_plan_is_set_aside_and_replaced(store: Store) -> None:
    store.layout.plan.write_bytes(b"broken \xff")
    with store.transaction() as transaction:
        aside = transaction.set_plan_aside(RunId("0" * 16), render_plan(Plan()))
    assert aside.read_bytes() == b"broken \xff"
    assert store.plan() == Plan()


def test_an_image_holds_plan_and_runs(store: Store) -> None:
    put(store, "a")
    run = parse_part(
        Run, {"id": "0" * 16, "taskId": "a", "startedAt": STAMP, "recorder": RECORDER, "status": "running"}
    )
    with store.transaction() as transaction:
        transaction.save_run(run)
        assert transaction.history(TaskId("a")).runs == (run,)
        assert transaction.image() == store.image()
    image = store.image()
    assert image.history(TaskId("a")).live == run
    assert image.history(TaskId("b")).runs == ()


def test_state_behind_a_link_is_not_written(tmp_path: Path) -> None:
    layout = make_layout(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    layout.state.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UnusableError, match="is a symbolic link, not a folder"):
        put(Store(layout), "a")
    assert (all_files(tmp_path / "elsewhere"), layout.plan.exists()) == ([], False)


def test_a_worktree_is_two_places(tmp_path: Path) -> None:
    root = tmp_path / "a root"
    root.mkdir()
    layout = Layout(root, tmp_path / "private")
    put(Store(layout), "a")
    assert all_files(root) == [".blackbird/.gitignore", "blackbird.plan.json"]
    assert all_files(layout.private) == ["store.lock"]
