"""Other machines for trials of clusters: processes, each with a home of its own."""

import contextlib
import getpass
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from tests import preloaded
from tests.trial.program import PATIENCE_SECONDS, ROOT

SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


def free_port() -> int:
    """Return a port on which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def eventually(holds: Callable[[], object], said: Callable[[], str] = str) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < deadline, said()
        time.sleep(0.05)


@dataclass
class Machines:
    """A scheduler and its workers, as processes that can be killed, stopped and started again."""

    place: Path
    port: int
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def address(self) -> str:
        return f"tcp://127.0.0.1:{self.port}"

    def schedule(self) -> None:
        """Start the scheduler."""
        environ = {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0"}
        options = ("--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard")
        self._start("scheduler", (*preloaded.SCHEDULER_PROGRAM, *options), environ)

    def work(self, name: str, environ: Mapping[str, str] = MappingProxyType({})) -> None:
        """Start a worker."""
        home = self.home(name)
        folder = str(self.place / name / "work")
        options = ("--name", name, "--dir", folder)
        words = (*preloaded.PROGRAM, "worker", self.address, *options)
        self._start(name, words, {**environ, "HOME": str(home)})

    def _start(self, name: str, words: Sequence[str], environ: dict[str, str]) -> None:
        with (self.place / f"{name}.log").open("ab") as log:
            self.processes[name] = preloaded.WithDask(
                words,
                cwd=self.place,
                env={**os.environ, "PYTHONPATH": str(ROOT), **environ},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def kill(self, name: str) -> None:
        process = self.processes.pop(name)
        process.kill()
        process.wait()

    def said(self, name: str) -> str:
        return (self.place / f"{name}.log").read_text(errors="replace")

    def is_connected(self, name: str) -> bool:
        return "connected to" in self.said(name)

    def home(self, name: str) -> Path:
        """Return the home of a worker, which has nothing of that of another."""
        home = self.place / name / "home"
        home.mkdir(parents=True, exist_ok=True)
        return home


@contextlib.contextmanager
def ssh_server(place: Path) -> Iterator[tuple[str, str]]:
    """Serve this machine by ssh; give the beginning of its URLs, and what git needs as core.sshCommand."""
    assert SSHD is not None
    place.mkdir()
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", place / name], check=True)
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    port = free_port()
    where = ("-o", "ListenAddress=127.0.0.1", "-o", f"AuthorizedKeysFile={place}/user.pub")
    rules = ("-o", "UsePAM=no", "-o", "StrictModes=no", "-o", "PermitRootLogin=yes")
    command = (SSHD, "-D", "-f", "/dev/null", "-p", str(port), "-h", place / "host", *where, *rules)
    with (place / "log").open("wb") as log:
        server = subprocess.Popen([*command, "-E", place / "log"], stderr=log)
    key = (place / "host.pub").read_text()
    (place / "known").write_text(f"[127.0.0.1]:{port} {key}")
    try:
        eventually(lambda: b"listening" in (place / "log").read_bytes())
        url = f"ssh://{getpass.getuser()}@127.0.0.1:{port}"
        yield url, f"ssh -F none -i {place}/user -o UserKnownHostsFile={place}/known"
    finally:
        server.terminate()
        server.wait(PATIENCE_SECONDS)


@contextlib.contextmanager
def other_machines(place: Path) -> Iterator[Machines]:
    """Start a scheduler; it ends with the block, and so do its workers."""
    place.mkdir(exist_ok=True)
    machines = Machines(place, free_port())
    machines.schedule()
    try:
        yield machines
    finally:
        for process in machines.processes.values():
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGCONT)
            process.terminate()
        for process in machines.processes.values():
            process.wait(PATIENCE_SECONDS)
