import json
from typing import Any

import pytest

from git_blackbird.agents.claude.parser import ClaudeParser
from git_blackbird.model.run.agent_io import Progress, ProgressKind
from git_blackbird.model.run.parts import Usage
from tests.agents.running import assign

INIT = {"type": "system", "subtype": "init", "cwd": "/w"}


def steps_of(*events: Any, folder: str = "") -> list[Progress]:
    reader = ClaudeParser(assign("Go"), folder=folder)
    return list(reader.feed(b"".join(json.dumps(event).encode() + b"\n" for event in events)))


def kinds_and_texts(*events: Any, folder: str = "") -> list[tuple[ProgressKind, str]]:
    return [(step.kind, step.text) for step in steps_of(*events, folder=folder)]


def says(*blocks: Any, **more: Any) -> dict[str, Any]:
    return {"type": "assistant", "message": {"content": list(blocks), **more}}


def tool(name: str, given: Any, call: str = "") -> dict[str, Any]:
    return {"type": "tool_use", "id": call, "name": name, "input": given}


def answer(call: str, content: Any, *, is_error: bool = True) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": call, "content": content, "is_error": is_error}
    return {"type": "user", "message": {"role": "user", "content": [block]}}


@pytest.mark.parametrize(
    ("block", "kind", "text"),
    [
        (tool("Read", {"file_path": "/w/a/b.py"}), ProgressKind.READS, "a/b.py"),
        (tool("Read", {"file_path": "/other/b.py"}), ProgressKind.READS, "/other/b.py"),
        (tool("Read", {"file_path": "/work/b.py"}), ProgressKind.READS, "/work/b.py"),
        (tool("Grep", {"pattern": "x.*y"}), ProgressKind.READS, "x.*y"),
        (tool("Glob", {"path": "/w"}), ProgressKind.READS, "."),
        (tool("Edit", {"file_path": "/w/a b"}), ProgressKind.EDITS, "a b"),
        (tool("MultiEdit", {"file_path": "/w/m"}), ProgressKind.EDITS, "m"),
        (tool("Bash", {"command": "make\n\tcheck"}), ProgressKind.RUNS, "make check"),
        (tool("Bash", {"command": "/w/run.sh"}), ProgressKind.RUNS, "/w/run.sh"),
        (tool("Bash", {"command": "x" * 5000}), ProgressKind.RUNS, "x" * 197 + "..."),
        (tool("Agent", {"description": "look"}), ProgressKind.TOOL, "Agent look"),
        (tool("Write", {}), ProgressKind.TOOL, "Write"),
        (tool("Write", None), ProgressKind.TOOL, "Write"),
        (tool("Write", {"file_path": ["odd"]}), ProgressKind.TOOL, "Write"),
    ],
)
def test_a_tool_call_is_shown_on_one_clean_line(block: Any, kind: ProgressKind, text: str) -> None:
    assert steps_of(INIT, says(block)) == [Progress(kind, text)]


def test_what_it_says_is_shown_as_it_is_within_bounds() -> None:
    text = "\x1b]0;t\x07Hi\x1b[31m\nyou\u202e"
    assert kinds_and_texts(says({"type": "text", "text": text})) == [(ProgressKind.SAYS, text)]
    assert kinds_and_texts(says({"type": "text", "text": "x" * 100_000})) == [
        (ProgressKind.SAYS, "x" * 8191 + "…")
    ]
    assert kinds_and_texts(says({"type": "text", "text": " \n"}), says("odd", {"type": "text"})) == []


def test_paths_are_those_in_the_worktree_wherever_the_program_stands() -> None:
    read = says(tool("Read", {"file_path": "/top/sub/a"}), tool("Read", {"file_path": "/w/b"}))
    assert [text for _, text in kinds_and_texts(INIT, read, folder="/top/")] == ["sub/a", "b"]
    assert [text for _, text in kinds_and_texts(read, folder="/top")] == ["sub/a", "/w/b"]


def test_calls_that_failed_are_told() -> None:
    calls = says(tool("Bash", {"command": "make"}, "c1"), tool("Bash", {"command": "ls"}, "c2"))
    answers = (
        answer("c1", "Exit code 2\nmake: no rule"),
        answer("c2", "fine", is_error=False),
        answer("c3", [{"type": "text", "text": "<tool_use_error>Error: no such tool</tool_use_error>"}]),
        answer("c4", None),
    )
    assert kinds_and_texts(calls, *answers)[2:] == [
        (ProgressKind.NOTE, "Exit code 2: make"),
        (ProgressKind.NOTE, "Error: no such tool"),
        (ProgressKind.NOTE, "failed"),
    ]


def test_the_program_and_subagents_are_told_from_the_model() -> None:
    said = {"type": "text", "text": "API Error\nodd"}
    assert kinds_and_texts(says(said, model="<synthetic>"), says(said) | {"parent_tool_use_id": "c1"}) == [
        (ProgressKind.NOTE, "API Error odd"),
        (ProgressKind.NOTE, "a subagent says: API Error odd"),
    ]


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (
            {
                "subtype": "api_retry",
                "attempt": 1,
                "max_retries": 10,
                "error_status": 529,
                "error": "overloaded",
            },
            "the model's server failed: retry 1 of 10: overloaded",
        ),
        ({"subtype": "compact_boundary"}, "the conversation was compacted"),
        ({"subtype": "status", "status": "compacting"}, "compacts the conversation"),
        ({"subtype": "informational", "content": "a\nb"}, "a b"),
    ],
)
def test_what_the_program_says_of_itself_is_a_note(event: dict[str, Any], text: str) -> None:
    assert kinds_and_texts({"type": "system", **event}) == [(ProgressKind.NOTE, text)]


def task(subtype: str, name: str, **more: Any) -> dict[str, Any]:
    return {"type": "system", "subtype": f"task_{subtype}", "task_id": name, **more}


def test_subagents_that_were_cut_off_and_stops_for_safety_are_notes_of_the_run() -> None:
    refused = {"type": "system", "subtype": "model_refusal_no_fallback", "content": "no\nmore"}
    ended = {"type": "result", "subtype": "success", "is_error": False, "result": "ok", "session_id": "s"}
    events = [
        task("started", "x", task_type="local_agent", subagent_type="Explore", description="read docs"),
        task("started", "y", task_type="local_agent", description="write"),
        task("started", "z", task_type="local_bash", description="serve"),
        task("notification", "x", status="stopped"),
        task("notification", "y", status="completed"),
        task("notification", "z", status="stopped"),
        task("notification", "x", status="stopped"),
        refused,
        {**ended, "stop_reason": "refusal"},
    ]
    notes = ("a subagent was stopped: read docs", "the model stopped for safety reasons: no more")
    assert tuple(step.text for step in steps_of(*events) if step.kind is ProgressKind.NOTE) == notes
    reader = ClaudeParser(assign("Go"))
    list(reader.feed(b"".join(json.dumps(event).encode() + b"\n" for event in events)))
    assert reader.finish(0, "").notes == notes
    (safety,) = (step for step in steps_of({**ended, "stop_reason": "refusal"}) if step.text)
    assert safety.text == "the model stopped for safety reasons"


@pytest.mark.parametrize("subtype", ["status", "hook_started", "task_progress", None, ["odd"]])
def test_what_tells_nothing_is_not_shown(subtype: Any) -> None:
    assert kinds_and_texts({"type": "system", "subtype": subtype, "status": "requesting"}) == []


def test_figures_come_with_the_first_step_that_changes_them_and_with_the_end() -> None:
    usage = {"input_tokens": 100, "output_tokens": 1}
    text, thinking = {"type": "text", "text": "Hi"}, {"type": "thinking", "thinking": "…"}
    result = {"type": "result", "total_cost_usd": 0.5, "usage": {"input_tokens": 200, "output_tokens": 40}}
    assert steps_of(
        says(text, id="m1", usage=usage),
        says(tool("Bash", {"command": "ls"}), id="m1", usage=usage),
        says(thinking, id="m2", usage=usage),
        result,
    ) == [
        Progress(ProgressKind.SAYS, "Hi", usage=Usage(input_tokens=100, output_tokens=1)),
        Progress(ProgressKind.RUNS, "ls"),
        Progress(ProgressKind.SPENDS, "", usage=Usage(input_tokens=200, output_tokens=2)),
        Progress(ProgressKind.SPENDS, "", Usage(input_tokens=200, output_tokens=40), 0.5),
    ]
