"""Transactions: what many write at once is all kept, and what nobody changed is not touched."""

import os
import random
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from git_blackbird.errors import UnusableError
from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.change.change import open_histories
from git_blackbird.model.plan.plan import Plan, Task, new_task, with_status
from git_blackbird.model.plan.status import Status
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import PROGRAM
from git_blackbird.storage.paths import Paths
from git_blackbird.storage.plan_file import InvalidPlanError, render_plan
from git_blackbird.storage.store import Store
from tests.records import run_of
from tests.storage.building import STAMP, all_files, make_layout
from tests.support import hold_none, redact_none

ROOT = Path(__file__).parents[2]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(make_layout(tmp_path), hold_none, redact_none)


def task(name: str) -> Task:
    return new_task(TaskId(name), name, STAMP)


def put(store: Store, *names: str) -> Plan:
    plan = Plan({TaskId(name): task(name) for name in names})
    with store.transaction() as transaction:
        transaction.save_plan(plan)
    return plan


ADDING = """
import os, sys
from pathlib import Path
from git_blackbird.model.plan.plan import new_task
from git_blackbird.storage.paths import Paths
from git_blackbird.storage.store import Store
from tests.support import hold_none, redact_none


def add(writer):
    store = Store(Paths(Path(sys.argv[1]), Path(sys.argv[2])), hold_none, redact_none)
    store.plan()
    os.close(going)
    os.read(waiting, 1)
    for number in range(5):
        name = f"t{writer}-{number}"
        with store.transaction() as transaction:
            stamp = "2026-01-01T00:00:00Z"
            transaction.save_plan(transaction.plan().replaced(new_task(name, name, stamp)))


# Each waits at the pipe until nobody could write to it any more.
waiting, going = os.pipe()
for writer in range(8):
    if os.fork() == 0:
        add(writer)
        sys.exit()
os.close(going)
sys.exit(max(os.wait()[1] for _ in range(8)))
"""


def test_writers_at_once_lose_nothing(store: Store) -> None:
    put(store, "first")
    places = [str(store.paths.state_root), str(store.paths.private)]
    subprocess.run([sys.executable, "-c", ADDING, *places], cwd=ROOT, check=True)
    wanted = {"first"} | {f"t{writer}-{number}" for writer in range(8) for number in range(5)}
    assert set(store.plan().tasks) == wanted
    assert all_files(store.paths.private_tmp) == []


def test_a_transaction_sees_what_others_wrote_before_it(store: Store) -> None:
    put(store, "a")
    other = Store(store.paths, hold_none, redact_none)
    assert set(other.plan().tasks) == {"a"}
    put(store, "a", "b")
    with other.transaction() as transaction:
        transaction.save_plan(transaction.plan().replaced(task("c")))
    assert set(store.plan().tasks) == {"a", "b", "c"}


@pytest.mark.parametrize("seed", range(3))
def test_what_a_transaction_finds_is_what_is_there_whoever_saved_it(store: Store, seed: int) -> None:
    put(store, "a", "b", "c")
    chance, stores = random.Random(seed), (store, Store(store.paths, hold_none, redact_none))
    closed = set()
    for _ in range(40):
        with chance.choice(stores).transaction() as transaction:
            found = transaction.state().histories
            assert found == store.records.histories()
            closed |= found.keys() - open_histories(found).keys()
            name = chance.choice("abc")
            if name in found and chance.random() < 0.2:
                transaction.drop_run(found[TaskId(name)].recent[-1])
            status = chance.choice(["success", "failed", "running", "paused"])
            run = run_of(id=f"{chance.randrange(4):016x}", task_id=name, started_at=STAMP, status=status)
            transaction.save_run(run)
            assert transaction.state().histories == store.records.histories()
    assert closed


def test_runs_that_are_over_are_read_again_once_somebody_else_may_have_written(store: Store) -> None:
    put(store, "a")
    run = run_of(id="0" * 16, task_id="a", started_at=STAMP, status="success")
    with store.transaction() as transaction:
        transaction.save_run(run)
        assert transaction.state().open_histories == {}
    store.paths.record(run.task_id, run.id).unlink()
    with store.transaction() as transaction:
        assert transaction.state().history(run.task_id).runs == (run,)
    with Store(store.paths, hold_none, redact_none).transaction():
        pass
    with store.transaction() as transaction:
        assert transaction.state().histories == {}


def test_a_plan_that_did_not_change_is_not_written(store: Store) -> None:
    plan = put(store, "a")
    before = store.paths.plan.stat()
    with store.transaction() as transaction:
        transaction.save_plan(transaction.plan())
        transaction.save_plan(Plan({TaskId("a"): replace(task("a"))}))
        transaction.save_plan(plan.replaced(with_status(plan.tasks[TaskId("a")], Status.TODO, "later")))
    after = store.paths.plan.stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_an_edit_by_hand_within_the_same_tick_is_seen(store: Store) -> None:
    put(store, "a")
    stamp = store.paths.plan.stat()
    assert set(store.plan().tasks) == {"a"}
    store.paths.plan.write_bytes(store.paths.plan.read_bytes().replace(b'"a"', b'"b"'))
    os.utime(store.paths.plan, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert set(store.plan().tasks) == {"b"}


def test_there_is_no_plan(store: Store) -> None:
    with pytest.raises(UnusableError) as raised:
        store.state()
    assert raised.value.message == f"plan file not found: {store.paths.plan}"
    assert raised.value.hint == "`git blackbird init` makes one to start from"
    with store.transaction() as transaction:
        assert store.plan_bytes() is None
        transaction.backup_plan()
        assert store.backup.load() is None


def test_an_invalid_plan_names_its_file_and_is_left_alone(store: Store) -> None:
    store.paths.plan.write_text("{}")
    with pytest.raises(InvalidPlanError, match="invalid plan: "), store.transaction() as transaction:
        transaction.save_plan(transaction.plan().replaced(task("a")))
    assert store.paths.plan.read_text() == "{}"


@pytest.mark.parametrize("kind", ["folder", "pipe", "device"])
def test_a_plan_that_is_no_file_is_reported_at_once(store: Store, kind: str) -> None:
    plan = store.paths.plan
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
        assert store.backup.load() is None
        transaction.backup_plan()
        first = store.backup.load()
        transaction.save_plan(transaction.plan().replaced(task("b")))
        assert (first, store.backup.load()) == (
            render_plan(Plan({TaskId("a"): task("a")})),
            store.plan_bytes(),
        )
        transaction.drop_plan_backup()
        transaction.drop_plan_backup()
        assert store.backup.load() is None
        transaction.save_plan(transaction.plan().replaced(task("c")))
        assert store.backup.load() is None


def test_an_invalid_plan_is_set_aside_and_replaced(store: Store) -> None:
    store.paths.plan.write_bytes(b"broken \xff")
    with store.transaction() as transaction:
        aside = transaction.quarantine_plan(RunId("0" * 16), render_plan(Plan()))
    assert aside.read_bytes() == b"broken \xff"
    assert store.plan() == Plan()


def test_an_image_holds_plan_and_runs(store: Store) -> None:
    put(store, "a")
    run = run_of(id="0" * 16, taskId="a", startedAt=STAMP, program=PROGRAM, status="running")
    with store.transaction() as transaction:
        transaction.save_run(run)
        assert store.records.history(TaskId("a")).runs == (run,)
        assert transaction.state() == store.state()
    state = store.state()
    assert state.history(TaskId("a")).live == run
    assert state.history(TaskId("b")).runs == ()


def test_a_worktree_is_two_places(tmp_path: Path) -> None:
    root = tmp_path / "a root"
    root.mkdir()
    paths = Paths(root, tmp_path / "private")
    put(Store(paths, hold_none, redact_none), "a")
    assert all_files(root) == ["blackbird.plan.json"]
    assert all_files(paths.private) == ["store.lock"]


def test_a_key_that_stands_twice_is_read_but_not_written_over(store: Store) -> None:
    put(store, "a")
    twice = store.paths.plan.read_bytes().replace(b'"title": "a"', b'"title": "b",\n      "title": "a"')
    store.paths.plan.write_bytes(twice)
    assert store.plan().tasks[TaskId("a")].title == "a"
    with store.transaction() as transaction, pytest.raises(InvalidPlanError) as raised:
        transaction.save_plan(transaction.plan().replaced(task("b")))
    assert [str(fault) for fault in raised.value.faults] == [
        '$: the key "title" appears twice in one object (keep one of the two)'
    ]
    assert store.paths.plan.read_bytes() == twice
    store.paths.plan.write_bytes(twice.replace(b'"title": "b",\n      ', b""))
    with store.transaction() as transaction:
        transaction.save_plan(transaction.plan().replaced(task("b")))
    assert set(store.plan().tasks) == {"a", "b"}


def test_a_record_that_names_a_lost_tree_is_not_saved(tmp_path: Path) -> None:
    paths, tree, wanted = make_layout(tmp_path), "a" * 40, list[frozenset[str]]()

    def lose(_run: Run, trees: frozenset[str]) -> frozenset[str]:
        wanted.append(trees)
        return trees

    fields = {"id": "9f86d081884c7d65", "taskId": "a", "startedAt": STAMP, "status": "success"}
    known = Run.from_value({**fields, "blackbird": {"snapshots": {"base": tree}}})
    with Store(paths, hold_none, redact_none).transaction() as transaction:
        transaction.save_run(known)
    before = all_files(paths.private)
    with Store(paths, lose, redact_none).transaction() as transaction:
        # Of what it names already nothing is asked: that was kept, and is the user's to drop.
        transaction.save_run(known)
        assert wanted == []
        with pytest.raises(UnusableError, match=f"the tree {'b' * 40} that it names is gone"):
            transaction.save_run(known.updated(base_tree=tree, head_tree="b" * 40))
    assert wanted == [frozenset({tree, "b" * 40})]
    assert all_files(paths.private) == before
    assert Store(paths, hold_none, redact_none).records.history(TaskId("a")).runs == (known,)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        (
            {"provider_session_ref": "--option"},
            'provider_session_ref: is "--option", not the name of a session',
        ),
        ({"head_tree": "b" * 40}, "blackbird.base_tree: is missing"),
    ],
)
def test_what_no_record_could_be_read_with_is_not_saved(
    store: Store, fields: dict[str, str], said: str
) -> None:
    run = run_of(id="9f86d081884c7d65", task_id="a", started_at=STAMP, status="success")
    with store.transaction() as transaction:
        transaction.save_run(run)
        with pytest.raises(ValueError, match=re.escape(said)):
            transaction.save_run(run.updated(**fields))
    assert Store(store.paths, hold_none, redact_none).records.history(TaskId("a")).runs == (run,)
