"""An agent that prints without end: what is kept and what is not add up to what it printed."""

import signal
from pathlib import Path

import pytest

from git_blackbird.controller.launch.run_files import LOG_BYTES
from tests.records import fact
from tests.support import commit, wait_until
from tests.trial.program import Record, Trial

PRINTED = LOG_BYTES + 30 * 1024 * 1024
# To both streams at the same time; how much is known once all of it is printed.
PRINT = (
    f"cat >/dev/null; yes 0123456789 | head -c {PRINTED} & "
    f"yes abcdefghij | head -c {PRINTED} >&2 & wait; touch printed"
)


@pytest.fixture
def trial(repo: Path) -> Trial:
    commit(repo, {"README.md": "x\n"})
    made = Trial(repo)
    made.plan({"a": ()})
    return made


def accounts(trial: Trial) -> Record:
    record = trial.records("a")[0]
    logs = trial.repo / ".blackbird/runs/a/logs"
    kept = {name: (logs / f"{record['id']}.{name}").stat().st_size for name in ("stdout", "stderr")}
    assert set(kept.values()) == {LOG_BYTES}
    return {name: size + fact(record, "unlogged_bytes")[name] for name, size in kept.items()}


@pytest.mark.exhaustive
def test_of_an_agent_that_ends(trial: Trial) -> None:
    trial.command(PRINT)
    trial.expect(0, "execute", "--no-input")
    assert accounts(trial) == {"stdout": PRINTED, "stderr": PRINTED}


@pytest.mark.exhaustive
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=["stopped", "killed"])
def test_of_one_that_is_cut_off(trial: Trial, number: signal.Signals) -> None:
    trial.command(f"{PRINT}; exec sleep 600")
    program = trial.start("execute", "--no-input")
    wait_until((trial.repo / "printed").exists)
    program.send_signal(number)
    program.communicate()
    trial.command("true")
    trial.expect(0, "execute", "--no-input")
    assert accounts(trial) == {"stdout": PRINTED, "stderr": PRINTED}
