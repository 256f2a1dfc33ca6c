"""``execute --dry-run`` names the agent that each task gets."""

import json
from pathlib import Path

from tests.support import commit
from tests.trial.program import Trial

PAGE = "## One\n\nx\n\n## Two\nagent: codex\nmodel: gpt-5.9\n\nx\n\n## Three\n\nx\n"


def test_each_task_with_its_agent_and_model(repo: Path) -> None:
    commit(repo, {"old.txt": "old\n"})
    trial = Trial(repo)
    trial.expect(0, "init")
    trial.configure({"claude.model": "opus"})
    trial.expect(0, "add", "-", stdin=PAGE)
    said = trial.expect(0, "execute", "--dry-run")
    assert (
        "1. one  One  [claude opus]\n2. two  Two  [codex gpt-5.9]\n3. three  Three  [claude opus]\n" in said
    )
    agents = json.loads(trial.expect(0, "execute", "--dry-run", "--json"))["data"]["agents"]
    assert agents["two"] == {"agent": "codex", "model": "gpt-5.9"}
    assert "[demo]" in trial.expect(0, "execute", "--dry-run", "--agent", "demo")
