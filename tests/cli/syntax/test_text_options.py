"""Options that take a text refuse what is none; nothing is written then."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests import preloaded
from tests.cli.terminal import PATIENCE_SECONDS, PROGRAM, program_environ
from tests.controller.support import configure, leaf, put_plan
from tests.support import commit

BROKEN = b"caf\xe9"


@pytest.fixture
def planned(repo: Path) -> Path:
    commit(repo, {"a.txt": "one\n"})
    configure(repo, agent="demo")
    put_plan(repo, leaf("a"))
    return repo


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("command", "option"),
    [
        *((("edit", "a"), option) for option in ("--title", "--description", "--prompt", "--notes", "--ac")),
        *((("add", "--title", "B"), option) for option in ("--description", "--prompt", "--notes", "--ac")),
        (("add",), "--title"),
        (("resume", "a"), "-m"),
        (("resume", "a"), "--answer"),
        (("restart", "a"), "--message"),
        (("decide", "a", "--request-changes"), "-m"),
        (("review", "dismiss", "a"), "--reason"),
    ],
)
def test_bytes_that_are_no_text_are_refused_by_the_options_name(
    planned: Path, command: tuple[str, ...], option: str
) -> None:
    before = (planned / "blackbird.plan.json").read_bytes()
    completed = preloaded.run(
        [sys.executable, *PROGRAM, *command, option, BROKEN],
        cwd=planned,
        env=program_environ({"PYTHONUTF8": "1"}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=PATIENCE_SECONDS,
    )
    said = completed.stderr.decode()
    assert completed.returncode == 2, said
    assert "it is not UTF-8" in said
    assert option in said
    assert (planned / "blackbird.plan.json").read_bytes() == before


def test_other_text_is_kept_as_it_is(planned: Path) -> None:
    told = [sys.executable, *PROGRAM, "edit", "a", "--prompt", "  café \U0001f600\n"]
    preloaded.run(told, cwd=planned, env=program_environ(), check=True, timeout=PATIENCE_SECONDS)
    assert '"  café \U0001f600\\n"' in (planned / "blackbird.plan.json").read_text(encoding="utf-8")
