"""Two tasks with the real ``claude``, whose model is a script on the loopback."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

from benchmarks.trial_support import LIMIT_SECONDS, Place, Record
from tests.standin.anthropic import Anthropic
from tests.standin.install import CLAUDE, find_program
from tests.standin.server import Reply, StandIn, ToolCall, serve

QUESTION = {"id": "tone", "prompt": "Which tone?", "options": ["formal", "plain"]}
ASKS = f"I must know.\n```json\n{json.dumps({'questions': [QUESTION]})}\n```"
REQUEST = "Say goodbye as well."


def run_trial(place: Place, work: Path) -> None:
    place.table.title("Two tasks with the real claude")
    claude = find_program(CLAUDE)
    if claude is None:
        place.table.row("claude", "not there: python tests/standin/install.py", ok=False)
        return
    with serve(Anthropic()) as model:
        place.environ |= model.environ(work / "claude-config")
        place.git("config", "blackbird.claude.path", claude)
        place.git("config", "blackbird.execution.stopAfterEachTask", "true")
        place.expect(0, "init")
        place.expect(
            0, "add", "--id", "greet", "--title", "Greet", "--prompt", "Write greet.py, shorten README."
        )
        place.expect(
            0, "add", "--id", "part", "--title", "Part", "--prompt", "Write part.py.", "--dep", "greet"
        )
        greet(place, model)
        part(place, model)
    statuses = place.statuses()
    place.table.same("the plan", statuses, {"greet": "done", "part": "done"})


def tool(place: Place, name: str, **given: Any) -> ToolCall:
    if "file_path" in given:
        given["file_path"] = str(place.repo / given["file_path"])
    return ToolCall(name, given)


def greet(place: Place, model: StandIn) -> None:
    """A run with edits of many kinds, then a change request in the same session."""
    table, repo = place.table, place.repo
    title = "".join((repo / "README.rst").read_text().splitlines(keepends=True)[:3])
    model.tell(
        Reply("I read.", (tool(place, "Read", file_path="README.rst"),)),
        Reply(
            "I edit.",
            (
                tool(place, "Edit", file_path="README.rst", old_string=title, new_string="Shorter\n"),
                tool(place, "Write", file_path="greet.py", content="print('hello')\n"),
                tool(place, "Bash", command="rm INSTALL && git mv AUTHORS PEOPLE && chmod +x setup.cfg"),
            ),
        ),
        "greet.py greets.",
    )
    place.expect(3, "execute", "--no-input")
    first = place.records("greet")[0]
    place.check_summary(first)
    seen = sorted((one["status"], one["path"]) for one in first["review_summary"]["changes"])
    wanted = [("A", "greet.py"), ("D", "INSTALL"), ("M", "README.rst"), ("M", "setup.cfg"), ("R", "PEOPLE")]
    table.same("what it changed", seen, wanted)
    check_told(place, first, requests=3, text="greet.py greets.")
    place.expect(0, "decide", "greet", "--request-changes", "-m", REQUEST)
    content = "print('hello')\nprint('goodbye')\n"
    model.tell(
        Reply("", (tool(place, "Read", file_path="greet.py"),)),
        Reply("", (tool(place, "Write", file_path="greet.py", content=content),)),
        "Says goodbye.",
    )
    said = place.expect(3, "execute", "--no-input")
    table.row("the checkpoint comes again", "decide greet" in said, ok="decide greet" in said)
    second = place.records("greet")[1]
    place.check_summary(second)
    check_told(place, second, requests=3, text="Says goodbye.")
    same = second["provider_session_ref"] == first["provider_session_ref"]
    table.row("the change request goes to the same session", second["provider_session_ref"], ok=same)
    prompts = model.prompts()
    held = any("Write greet.py" in one for one in prompts) and any(REQUEST in one for one in prompts)
    table.row("the model hears the history and the request", f"{len(prompts)} texts", ok=held)
    place.expect(0, "decide", "greet", "--approve")


def check_told(place: Place, record: Record, *, requests: int, text: str) -> None:
    table, name = place.table, f"{record['taskId']} {record['id']}"
    table.same(
        f"{name}: status, exit, result",
        (record["status"], record["exitCode"], record["result"]),
        ("success", 0, text),
    )
    usage = record["usage"]
    table.same(
        f"{name}: tokens", (usage["input_tokens"], usage["output_tokens"]), (100 * requests, 20 * requests)
    )
    table.row(f"{name}: cost", record["cost_usd"], ok=record["cost_usd"] > 0)
    version = record["agent_version"]
    table.row(
        f"{name}: version, session", (version, record["provider_session_ref"]), ok=version.count(".") == 2
    )


def part(place: Place, model: StandIn) -> None:
    """Interrupted, resumed; killed with the program, repaired, resumed; asks; is answered: one session."""
    table = place.table
    busy_until_stopped(place, model, "execute", signal.SIGINT, 130)
    busy_until_stopped(place, model, "resume part", signal.SIGKILL, -signal.SIGKILL)
    running = place.records("part")[-1]
    alive = Path(f"/proc/{running['pid']}").exists()
    table.row(
        "the killed program leaves a record and an agent", f"{running['status']}, alive: {alive}", ok=alive
    )
    said = place.run("status").stdout
    table.row(
        "status says so",
        [one for one in said.splitlines() if running["id"] in one or "part" in one][:2],
        ok="part" in said,
    )
    said = place.expect(0, "execute", "--no-input")
    named = f"process {running['pid']}" in said or str(running["pid"]) in said
    table.row("the next command names and stops the orphan", running["pid"], ok=named)
    table.row("nothing is left of it", agents_alive(place), ok=not agents_alive(place))
    table.same("its record", place.records("part")[-1]["status"], "paused")
    model.tell(ASKS)
    place.expect(4, "resume", "part", "--no-input")
    model.tell(Reply("", (tool(place, "Write", file_path="part.py", content="print('bye')\n"),)), "Parted.")
    place.expect(3, "resume", "part", "--answer", "tone=2", "--no-input")
    prompts = "\n".join(model.prompts())
    held = all(text in prompts for text in ("Write part.py", "plain"))
    table.row("the answer went into the same conversation", f"{len(model.prompts())} texts", ok=held)
    records = place.records("part")
    seen = [(one["status"], one.get("terminal_reason")) for one in records]
    table.same(
        "part: records",
        seen,
        [("paused", "interrupted"), ("paused", "controller_lost"), ("waiting_user", None), ("success", None)],
    )
    table.same("part: sessions", len({one["provider_session_ref"] for one in records}), 1)
    chain = [one.get("resumes") for one in records]
    table.same("part: each resumes the one before", chain, [None, *(one["id"] for one in records[:-1])])
    for record in records:
        place.check_summary(record)
    place.expect(0, "decide", "part", "--approve")
    place.expect(0, "execute", "--no-input")


def busy_until_stopped(place: Place, model: StandIn, command: str, number: signal.Signals, code: int) -> None:
    """Start a command, wait until claude runs a tool that lasts, and send the program a signal."""
    mark = place.repo / f"busy-{number.name}"
    busy = f"touch {mark.name}; sleep 600"
    model.tell(Reply("I begin.", (tool(place, "Bash", command=busy),)))
    process = place.start(*command.split(), "--no-input")
    deadline = time.monotonic() + LIMIT_SECONDS
    while not mark.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(number)
    try:
        said, _ = process.communicate(timeout=LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        said = "it did not end"
    last = said.strip().splitlines()[-1:]
    place.table.row(
        f"{number.name} to {command}", f"exit {process.returncode}; {last}", ok=process.returncode == code
    )
    if number is signal.SIGINT:
        place.table.row("nothing is left of it", agents_alive(place), ok=not agents_alive(place))


def agents_alive(place: Place) -> list[int]:
    """Processes that carry this repository in their environment."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                environ = (entry / "environ").read_bytes()
            except OSError:
                continue
            if b"BLACKBIRD_RUN_ID=" in environ and os.fsencode(f"PWD={place.repo}") in environ:
                found.append(int(entry.name))
    return found
