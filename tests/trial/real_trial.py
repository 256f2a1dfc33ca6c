"""What trials with the real agents have in common."""

import json
from pathlib import Path

from tests.records import fact
from tests.standin.install import Program
from tests.standin.real import SANDBOX, binary_of, path_of
from tests.standin.server import StandIn
from tests.trial.program import Record, Trial

QUESTION = {"id": "tone", "prompt": "Which tone?", "options": ["formal", "plain"]}
ASKS = f"Tell me.\n```json\n{json.dumps({'questions': [QUESTION]})}\n```"


def enlist(trial: Trial, program: Program, model: StandIn, config: Path) -> None:
    """Let a program of this kind be this one, and speak to this model."""
    trial.environ |= model.environ(config)
    trial.configure({f"{program.agent}.path": binary_of(program), "codex.sandbox": SANDBOX})


def start_as_installed(trial: Trial, program: Program) -> None:
    """Let it be started through its launcher: what gets our signals need not be what works."""
    trial.configure({f"{program.agent}.path": path_of(program)})


def assert_one_session(records: list[Record]) -> None:
    assert [fact(record, "resumes") for record in records[1:]] == [record["id"] for record in records[:-1]]
    assert len({record["provider_session_ref"] for record in records}) == 1
    assert records[0]["provider_session_ref"]
