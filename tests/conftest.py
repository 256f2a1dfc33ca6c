"""The seal around every test: its own HOME, its own git configuration, a fixed identity."""

import contextlib
import gc
import importlib
import os
import shutil
import signal
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sampling import leave_out
from tests.support import SEALED_GIT_CONFIG, Prepared, examples, git

LEAKING = ("BLACKBIRD_", "CLAUDE", "CODEX", "ANTHROPIC_", "OPENAI_", "GIT_")

# Hundreds of programs are started: none of them should have to compile what the one before it has compiled.
sys.dont_write_bytecode = False


MEMORY = Path("/dev/shm")
ROOM_BYTES = 4 * 10**9

HERE = Path(__file__).resolve().parent
LONGEST_FIRST = ("trial", "tui", "controller", "cli", "agents")
# What these begin with is dear, and shared by all of one worker: Dask, and the imports of every module.
TOGETHER = ("cluster", "test_imports.py")


def pytest_configure() -> None:
    """Put the repositories in memory where there is room: no test is about the disk, all would wait.

    Nothing may go while the tests are loaded. Started with ``nohup`` or in the background, signals would be
    ignored by every program that is started here.
    """
    gc.disable()
    _register_profile()
    for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)
    if "TMPDIR" not in os.environ and MEMORY.is_dir() and _serves(MEMORY):
        tempfile.tempdir = str(MEMORY)


def _register_profile() -> None:
    """Let no test depend on elapsed time, and the suite take the same walks each time.

    New ones are asked for by BLACKBIRD_EXAMPLES, where whoever asks also looks at what they find.
    """
    # Loaded here, what pytest rewrites of it is kept.
    from hypothesis import settings

    settings.register_profile(
        "suite",
        deadline=None,
        derandomize="BLACKBIRD_EXAMPLES" not in os.environ,
        max_examples=examples(100),
    )
    settings.load_profile("suite")


def _serves(place: Path) -> bool:
    """Whether there is room, and programs may be run from there."""
    return not os.statvfs(place).f_flag & os.ST_NOEXEC and shutil.disk_usage(place).free > ROOM_BYTES


def pytest_xdist_auto_num_workers() -> int:
    """Many tests wait for processes: two workers for each processor keep it busy.

    Each more loads all tests once more.
    """
    return 2 * (os.cpu_count() or 1)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deal the tests like cards, of nearly each package an equal share for each worker.

    Each worker begins in another package, so that tests that wait go on beside those that compute.
    """
    leave_out(config, items)
    rooms: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        rooms[item.path.relative_to(HERE).parts[0]].append(item)
    hands = getattr(config, "workerinput", {}).get("workercount", 1)
    dealt: list[list[pytest.Item]] = [[] for _ in range(hands)]
    for number, room in enumerate(TOGETHER):
        dealt[number % hands] += rooms.pop(room, [])
    for room in sorted(rooms, key=lambda room: (*LONGEST_FIRST, room).index(room)):
        for item in rooms[room]:
            min(dealt, key=len).append(item)
    begins = [len(each) * hand // hands for hand, each in enumerate(dealt)]
    items[:] = [
        item for each, begin in zip(dealt, begins, strict=True) for item in (*each[begin:], *each[:begin])
    ]


def pytest_sessionstart(session: pytest.Session) -> None:
    """Let each worker compile its share of the tests first, instead of each worker all of them.

    In a fresh clone, rewriting their assertions takes longer than all else that a worker does before its
    first test. What cannot be imported is told where it is collected.
    """
    worker = getattr(session.config, "workerinput", None)
    if worker is None:
        return
    asked = [Path(argument.partition("::")[0]).resolve() for argument in session.config.args]
    files = [path for path in sorted(HERE.rglob("test_*.py")) if any(map(path.is_relative_to, asked))]
    for path in files[int(worker["workerid"].removeprefix("gw")) :: worker["workercount"]]:
        with contextlib.suppress(Exception, pytest.skip.Exception):
            importlib.import_module(".".join(path.relative_to(HERE.parent).with_suffix("").parts))


def pytest_collection_finish() -> None:
    """Look less often for what may go, as each test's objects, and not among what is loaded by now."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)
    gc.enable()


@pytest.fixture(scope="session")
def temporary() -> Iterator[Path]:
    """A temporary folder of our own, which holds nothing of others; short, since sockets lie in it."""
    with tempfile.TemporaryDirectory(prefix="bb-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@pytest.fixture
def is_on_disk(request: pytest.FixtureRequest) -> bool:
    """Whether a sandbox must show the test's files: it has a /dev of its own, without our memory."""
    return any(map(request.node.get_closest_marker, ("on_disk", "real_agents")))


@pytest.fixture
def tmp_path(tmp_path: Path, is_on_disk: bool) -> Iterator[Path]:
    if not is_on_disk:
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(prefix="bb-", dir="/var/tmp", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@pytest.fixture(autouse=True)
def sealed(tmp_path: Path, temporary: Path, is_on_disk: bool, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the test an environment in which nothing of the machine's user is seen; returns HOME."""
    if is_on_disk:
        temporary = tmp_path / "tmp"
        temporary.mkdir()
    for name in [name for name in os.environ if name.startswith(LEAKING)]:
        monkeypatch.delenv(name)
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(SEALED_GIT_CONFIG)
    settings = {
        "HOME": str(home),
        "TMPDIR": str(temporary),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "GIT_CEILING_DIRECTORIES": str(tmp_path.parent),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "Ada",
        "GIT_AUTHOR_EMAIL": "ada@example.com",
        "GIT_AUTHOR_DATE": "2026-01-02T03:04:05Z",
        "GIT_COMMITTER_NAME": "Ada",
        "GIT_COMMITTER_EMAIL": "ada@example.com",
        "GIT_COMMITTER_DATE": "2026-01-02T03:04:05Z",
        "GIT_EDITOR": "false",
        "GIT_TERMINAL_PROMPT": "0",
        "NO_COLOR": "1",
        "COLUMNS": "80",
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    return home


@pytest.fixture(scope="session")
def new_repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the first test that needs one leaves an empty repository for the others to copy."""
    return tmp_path_factory.mktemp("new") / "repo"


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    """Repositories that several tests begin with."""
    return Prepared(tmp_path_factory.mktemp("prepared"))


@pytest.fixture
def repo(sealed: Path, new_repository: Path, tmp_path: Path) -> Path:
    """An empty repository."""
    if not new_repository.exists():
        new_repository.mkdir()
        git(new_repository, "init", "-q", "-b", "main")
        for sample in (new_repository / ".git/hooks").glob("*.sample"):
            sample.unlink()
    return Path(shutil.copytree(new_repository, tmp_path / "repo", symlinks=True))
