"""The tests speak to the loopback and to nobody else; seen from networks that have nothing but it."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.standin.alone import ENTER, obstacle
from tests.standin.install import CODEX, FULL_PROGRAMS, GEMINI, OPENCODE, Program
from tests.standin.real import DIALECTS, path_of, real, real_by
from tests.standin.server import serve

ROOT = Path(__file__).resolve().parents[2]


pytestmark = pytest.mark.skipif(obstacle() is not None, reason=str(obstacle()))


def run_alone(*command: str, environ: dict[str, str] | None = None) -> dict[str, Any]:
    """Run a command alone; a proxy would hide whom it wants to reach."""
    direct = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    completed = subprocess.run(
        [*ENTER, sys.executable, "-m", "tests.standin.alone", *command],
        cwd=ROOT,
        env={**direct, **(environ or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    assert completed.returncode == 0, completed.stderr
    seen: dict[str, Any] = json.loads(completed.stdout)
    return seen


def run_session(program: Program, folder: Path, *more: str) -> dict[str, Any]:
    named = {program.variable: path_of(program)}
    session = (sys.executable, "-m", "tests.agents.short_session", program.name, str(folder), *more)
    return run_alone(*session, environ=named)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("program", real(*reversed(FULL_PROGRAMS), OPENCODE, GEMINI))
def test_a_program_reaches_for_nothing_but_the_loopback(program: Program, tmp_path: Path) -> None:
    seen = run_session(program, tmp_path)
    assert (seen["status"], seen["stderr"]) == (0, "")
    assert json.loads(seen["stdout"]) == {
        "version": program.version,
        "obstacle": None,
        "texts": ["Written.", "Changed."],
        "errors": [None, None, None],
        "verdict": '{"passed": true}',
        "one session": True,
        "files": ["a.txt", "b.txt"],
    }
    assert (seen["names"], seen["unrouted"]) == ([], 0)


@pytest.mark.exhaustive
@pytest.mark.parametrize("program", real_by(CODEX))
def test_what_an_unsealed_program_reaches_for_is_seen(program: Program, tmp_path: Path) -> None:
    seen = run_session(program, tmp_path, "unsealed")
    assert seen["status"] == 0, seen["stderr"]
    assert seen["names"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("attempt", "names", "unrouted"),
    [
        ("connect(('127.0.0.1', 53))", [], 0),
        ("connect(('192.0.2.1', 443))", [], 1),
        ("connect(('blackbird.example', 443))", ["blackbird.example"], 0),
    ],
    ids=["loopback", "address", "name"],
)
@pytest.mark.parametrize("kind", ["SOCK_STREAM", "SOCK_DGRAM"])
def test_every_attempt_is_counted(kind: str, attempt: str, names: Sequence[str], unrouted: int) -> None:
    code = f"import socket\nsocket.socket(socket.AF_INET, socket.{kind}).{attempt}"
    seen = run_alone(sys.executable, "-c", code)
    assert (seen["names"], seen["unrouted"]) == (names, unrouted)


@pytest.mark.parametrize("kind", ["SOCK_STREAM", "SOCK_DGRAM"])
def test_every_attempt_at_the_longer_addresses_is_counted(kind: str) -> None:
    code = f"import socket\nsocket.socket(socket.AF_INET6, socket.{kind}).connect(('2001:db8::1', 443))"
    seen = run_alone(sys.executable, "-c", code)
    assert (seen["unrouted"] > 0) == Path("/proc/net/snmp6").exists()


@pytest.mark.parametrize("agent", sorted(DIALECTS))
def test_what_a_program_is_told_lies_within_the_tests_own_folder(
    agent: str, tmp_path: Path, sealed: Path
) -> None:
    with serve(DIALECTS[agent]) as model:
        environ = {**os.environ, **model.environ(tmp_path / "config")}
        told = " ".join([*environ.values(), *(path.read_text() for path in _settings_in(tmp_path))])
        assert model.url in told
        assert "https://" not in told
    own = ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "XDG_DATA_HOME")
    homes = {name: environ[name] for name in ("HOME", *own) if name in environ}
    assert len(homes) == 2
    assert all(Path(home).is_relative_to(tmp_path) for home in homes.values())
    assert environ["HOME"] == str(sealed)


def _settings_in(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.suffix in {".toml", ".json"})
