"""How far it is from the command line to an agent's process."""

import os
import subprocess
import sys
from pathlib import Path

from tests.controller.support import agree_to_agent, configure, leaf, put_plan
from tests.support import commit

MAX_FRAMES, MAX_FILES = 15, 20
ROOT = Path(__file__).parents[3]


def test_few_functions_lie_between_execute_and_the_process_of_an_agent(repo: Path) -> None:
    commit(repo, {"old.txt": "old\n"}, "first")
    put_plan(repo, leaf("a"))
    configure(repo, agent="command", command__run="cat >/dev/null; echo done >new.txt")
    agree_to_agent(repo)
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("path_to_process.py"), "execute", "--no-input"],
        cwd=repo,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    path = [line.split() for line in done.stderr.splitlines() if line.startswith("path:")]
    functions = [function for _, _, function in path]
    assert {"run", "execute", "start_task", "spawn_gated"} <= set(functions), done.stderr
    assert len(functions) <= MAX_FRAMES, done.stderr
    assert len({file for _, file, _ in path}) <= MAX_FILES, done.stderr
    assert len(set(functions)) == len(functions), "two functions of one name in one chain"
