"""A whole session with a real agent: ``python -m tests.agents.short_session PROGRAM FOLDER [unsealed]``.

Everything that git-blackbird ever starts of it: its version, what it says of itself, a run, a resumed one,
a review.
Prints what came of it as a JSON object. ``unsealed``, the program keeps its usual habits, and a run will do.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

from tests.agents.running import Stage, assign
from tests.standin.install import PROGRAMS, Program
from tests.standin.real import load, model_of, short_folder
from tests.standin.server import Reply
from tests.support import git

# Time for what a program does on the side.
PAUSE_SECONDS = 0.5
SCHEMA = {
    "type": "object",
    "properties": {"passed": {"type": "boolean"}},
    "required": ["passed"],
    "additionalProperties": False,
}


def hold_run(program: Program, folder: Path) -> dict[str, Any]:
    """Let the program run once as it does where nothing is forbidden to it."""
    with short_folder() as place, model_of(program) as model:
        os.environ |= model.environ(folder / "config")
        unseal(folder / "config")
        model.tell(Reply("Done.", delay=4 * PAUSE_SECONDS))
        stage = Stage(place)
        git(stage.tree, "init", "-q")
        ended = stage.run_agent(load(program), assign("Wait"))
    return {"text": ended.final_text}


def hold_session(program: Program, folder: Path) -> dict[str, Any]:
    agent = load(program)
    with short_folder() as place, model_of(program) as model:
        stage = Stage(place)
        git(stage.tree, "init", "-q")
        os.environ |= model.environ(folder / "config")
        inspection = agent.inspect(os.environ)
        speech = model.dialect
        tools = speech.writes(stage.tree / "a.txt", "a\n"), speech.shell("echo b >b.txt")
        model.tell(Reply("I write.", tools), Reply("Written.", delay=PAUSE_SECONDS), "Changed.")
        first = stage.run_agent(agent, assign("Write"))
        session = first.session
        second = stage.run_agent(agent, assign("Change", session=session, resume=True))
        model.tell(speech.answers({"passed": True}))
        schema = SCHEMA if agent.abilities.schema else None
        third = stage.run_agent(agent, assign("Review", schema=schema, read_only=True))
        written = sorted(path.name for path in stage.tree.glob("*.txt"))
    return {
        "version": agent.probe(os.environ),
        "obstacle": inspection.blocked_reason,
        "texts": [ended.final_text for ended in (first, second)],
        "errors": [ended.error for ended in (first, second, third)],
        "verdict": third.final_text,
        "one session": session is not None and second.session == session,
        "files": written,
    }


def unseal(config: Path) -> None:
    """Let the program do again what it was told to leave."""
    for name in [name for name in os.environ if "DISABLE" in name]:
        del os.environ[name]
    for path in config.glob("config.toml"):
        path.write_text(path.read_text().replace("= false", "= true"))


if __name__ == "__main__":
    chosen = next(program for program in PROGRAMS if program.name == sys.argv[1])
    hold = hold_run if sys.argv[3:] == ["unsealed"] else hold_session
    sys.stdout.write(json.dumps(hold(chosen, Path(sys.argv[2]))))
