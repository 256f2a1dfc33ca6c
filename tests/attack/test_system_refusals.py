"""What the system refuses is told as that, with 128, and nothing is lost: 70 means a bug and only that."""

import errno
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests import preloaded
from tests.preloaded import PROGRAM
from tests.sampling import EVERY_STEP
from tests.support import commit, git
from tests.trial.program import PATIENCE_SECONDS, ROOT, Trial

linux_only = pytest.mark.skipif(
    sys.platform != "linux", reason="/dev/full and small file systems are Linux's"
)
FILES_HINT = "hint: raise the limit of open files, as with `ulimit -n 256`, then repeat the command\n"
NO_LOCKS_HINT = (
    "hint: this file system gives no locks; mount it with them (NFS without its lock service: "
    "`local_lock=flock`), or move the repository to one that has them"
)


@dataclass
class Call:
    """One way to start the program; ``prepare`` is done in its process before it is the program."""

    cwd: Path
    variables: Mapping[str, str] = field(default_factory=dict)
    prepare: Callable[[], None] | None = None

    def __call__(
        self, *args: str, stdout: int = subprocess.PIPE, stderr: int = subprocess.PIPE
    ) -> tuple[int, str, str]:
        completed = preloaded.run(
            [*PROGRAM, *args],
            cwd=self.cwd,
            env={**os.environ, "PYTHONPATH": str(ROOT), **self.variables},
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            preexec_fn=self.prepare,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
        return completed.returncode, (completed.stdout or b"").decode(), (completed.stderr or b"").decode()


@pytest.fixture
def trial(repo: Path) -> Trial:
    commit(repo, {"README.md": "x\n"})
    made = Trial(repo)
    made.command("cat >context; echo done")
    made.plan({"a": (), "b": ()})
    return made


@contextmanager
def full() -> Iterator[int]:
    descriptor = os.open("/dev/full", os.O_WRONLY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_is_named(trial: Trial, tmp_path: Path, number: int) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import fcntl, os\n"
        f"def refuse(*_):\n    raise OSError({number}, os.strerror({number}))\n"
        "fcntl.flock = refuse\n"
    )
    call = Call(trial.repo, {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"})
    private = trial.repo / ".git/blackbird"
    for args, lock in ((("execute", "--no-input"), "controller"), (("set-status", "a", "done"), "store")):
        code, out, said = call(*args)
        assert (code, out) == (128, "")
        assert said.splitlines() == [
            f"fatal: cannot lock {private / lock}.lock: {os.strerror(number)}",
            NO_LOCKS_HINT,
        ]
    assert trial.statuses() == {"a": "todo", "b": "todo"}


@pytest.mark.sampled(1)
@linux_only
@pytest.mark.parametrize(
    "args",
    [
        ("status",),
        ("list", "--json"),
        ("runs",),
        ("--help",),
        ("--version",),
        ("config",),
        ("execute", "--dry-run"),
        ("completion", "bash"),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_standard_output_that_is_full_is_told_of_once(
    trial: Trial, args: tuple[str, ...], unbuffered: str
) -> None:
    with full() as descriptor:
        code, _, said = Call(trial.repo, {"PYTHONUNBUFFERED": unbuffered})(*args, stdout=descriptor)
    assert code == 128
    assert said.endswith("fatal: cannot write to standard output: No space left on device\n")


@linux_only
@pytest.mark.parametrize("as_json", [False, True])
def test_work_whose_telling_is_lost_is_recorded(trial: Trial, as_json: bool) -> None:
    args = ("execute", "--no-input", *(("--json",) if as_json else ()))
    with full() as descriptor:
        code, _, said = Call(trial.repo)(*args, stdout=descriptor)
    assert code == 128
    assert said.endswith("fatal: cannot write to standard output: No space left on device\n")
    assert trial.statuses() == {"a": "done", "b": "done"}
    assert [record["status"] for record in trial.records("a")] == ["success"]


@linux_only
def test_standard_error_that_is_full_changes_nothing(trial: Trial) -> None:
    with full() as descriptor:
        call = Call(trial.repo)
        assert call("show", "nothing", stderr=descriptor)[0] == 1
        assert call("list", "--nothing", stderr=descriptor)[0] == 2
        assert call("status", stdout=descriptor, stderr=descriptor)[0] == 128
        assert call("execute", "--no-input", stderr=descriptor)[0] == 0
    assert trial.statuses() == {"a": "done", "b": "done"}


def test_a_removed_folder_is_told_of(trial: Trial) -> None:
    gone = trial.repo / "gone"
    gone.mkdir()
    script = f"rmdir ../gone && exec {sys.executable} -P -m git_blackbird status"
    completed = subprocess.run(
        ["/bin/sh", "-c", script],
        cwd=gone,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=False,
    )
    assert (completed.returncode, completed.stderr) == (
        128,
        b"fatal: cannot tell the current folder: No such file or directory\nhint: go to another\n",
    )


@pytest.mark.exhaustive
@linux_only
@pytest.mark.parametrize("number", range(5, 34) if EVERY_STEP else (5, 9, 11, 14, 16, 24))
def test_without_descriptors_each_command_works_or_names_the_limit(trial: Trial, number: int) -> None:
    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (number, number))

    call = Call(trial.repo, prepare=limited)
    for args in (("status",), ("list", "--json"), ("config",), ("execute", "--no-input", "a")):
        code, _, said = call(*args)
        assert code in {0, 128}, (args, said)
        assert code == 0 or ("Too many open files\n" in said and said.endswith(FILES_HINT)), (args, said)
    if trial.statuses()["a"] != "done":
        trial.expect(0, "execute", "--no-input", "a")
    assert [record["status"] for record in trial.records("a")] == ["success"]


@linux_only
def test_on_a_full_disk_nothing_is_lost_and_the_same_command_goes_on(tmp_path: Path) -> None:
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", place], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("no small file system can be mounted here")
    try:
        _on_a_full_disk(place)
    finally:
        subprocess.run(["umount", "-l", place], check=True)


def _on_a_full_disk(place: Path) -> None:
    git(place, "init", "-q", "--template=")
    commit(place, {".gitignore": "filler\n"})
    trial = Trial(place)
    trial.command("cat >context; echo done")
    trial.configure({"execution.stopAfterEachTask": "true"})
    trial.plan({"a": (), "b": ()})
    trial.expect(3, "execute", "--no-input", "a")
    before = {path: path.read_bytes() for path in place.glob(".blackbird/runs/**/*.json")}
    plan = (place / "blackbird.plan.json").read_bytes()
    call = Call(place)
    # A snapshot that fails gives up the kept index, and there would be room again.
    shutil.rmtree(place / ".git" / "blackbird" / "snapshot")
    with filled(place):
        for args in (
            ("add", "--title", "T", "--prompt", "P"),
            ("edit", "a", "--title", "T"),
            ("execute", "--no-input", "b"),
            ("decide", "a", "--approve"),
            ("decide", "a", "--reject"),
            ("set-status", "b", "done"),
            ("config", "execution.jobs", "3", "--project"),
        ):
            code, out, said = call(*args)
            assert (code, out) == (128, ""), (args, said)
            assert "No space left on device\n" in said or "Out of diskspace\n" in said, (args, said)
            assert "make room" in said, (args, said)
        assert call("status")[0] == call("runs", "a")[0] == call("list")[0] == 0
    assert {path: path.read_bytes() for path in place.glob(".blackbird/runs/**/*.json")} == before
    assert (place / "blackbird.plan.json").read_bytes() == plan
    trial.expect(0, "decide", "a", "--approve")
    trial.expect(3, "execute", "--no-input", "b")


@contextmanager
def filled(place: Path) -> Iterator[None]:
    """Leave no room for a single byte."""
    filler = place / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while file.write(bytes(4096)):
            pass
    try:
        yield
    finally:
        filler.unlink()


@pytest.mark.parametrize("milliseconds", range(1, 300, 3) if EVERY_STEP else (20, 40, 70, 110, 160))
@pytest.mark.parametrize("args", [("status",), ("--help",), ("execute", "--no-input")], ids=" ".join)
def test_an_early_interrupt_ends_without_a_word_of_ours(
    trial: Trial, args: tuple[str, ...], milliseconds: int
) -> None:
    # A cold start: what is struck is how the program is loaded.
    process = subprocess.Popen(
        [*PROGRAM, *args],
        cwd=trial.repo,
        env=trial.all_variables(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    time.sleep(milliseconds / 1000)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=PATIENCE_SECONDS)
    # Before this program's first function is called, Python tells of an interrupt as it likes.
    assert b", in run\n" not in said
    assert process.returncode in {0, 1, 130, -signal.SIGINT}


UNREADABLE = "caf\udce9"


@pytest.mark.exhaustive
@linux_only
def test_a_path_that_is_not_utf8_serves_every_command(tmp_path: Path) -> None:
    place = tmp_path / UNREADABLE
    place.mkdir()
    git(place, "init", "-q", "-b", "main")
    commit(place, {"README.md": "x\n"})
    trial = Trial(place)
    trial.command("cat >context; echo done")
    trial.configure({"execution.stopAfterEachTask": "true", "execution.commit": "approved"})
    call = Call(place)
    for args in (
        ("init", "--no-input", "--hooks", "--json"),
        ("add", "--id", "a", "--title", "A", "--prompt", "P"),
        ("edit", "a", "--title", "B"),
        ("hooks", "status", "--json"),
        ("hooks", "status"),
        ("config", "--json"),
        ("config",),
        ("show", "a", "--json"),
        ("list", "--json"),
        ("status", "--json"),
        ("status",),
        ("agent", "--json"),
    ):
        _succeeds(call, args)
    assert call("execute", "--no-input", "--json")[0] == 3
    _succeeds(call, ("decide", "a", "--approve", "--json"))
    for args in (
        ("runs", "a", "--json"),
        ("runs", "a", "--log"),
        ("runs", "a", "--diff"),
        ("runs", "--json"),
    ):
        _succeeds(call, args)
    assert trial.records("a")[0]["repo_root"] == f"{tmp_path}/caf\ufffd"
    assert git(place, "log", "-1", "--format=%s") == "B"


def _succeeds(call: Call, args: tuple[str, ...]) -> None:
    code, out, said = call(*args)
    assert (code, said) == (0, ""), args
    if "--json" in args:
        assert "\udce9" not in json.dumps(json.loads(out), ensure_ascii=False)
