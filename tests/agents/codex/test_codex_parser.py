import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from git_blackbird.agents.codex.parser import CodexParser, unwrap_command
from git_blackbird.agents.json_events import MAX_LINE_BYTES
from git_blackbird.agents.protocol import new_session
from git_blackbird.agents.registry import load_agent
from git_blackbird.model.run.agent_io import AgentFailure, Progress, ProgressKind
from git_blackbird.model.run.ended import Ended
from git_blackbird.model.run.parts import Question, Usage
from tests.agents.running import assign
from tests.support import config_with

THREAD = "5e551011-0000-4000-8000-000000000001"
OTHER = "5e551011-0000-4000-8000-000000000002"
STARTED = {"type": "thread.started", "thread_id": THREAD}
TURN = {"type": "turn.started"}
USED = {
    "input_tokens": 300,
    "cached_input_tokens": 30,
    "cache_write_input_tokens": 0,
    "output_tokens": 60,
    "reasoning_output_tokens": 5,
}
TOTALS = {name: float(count) for name, count in USED.items()}
COMPLETED = {"type": "turn.completed", "usage": USED}
FAILED = {"type": "turn.failed", "error": {"message": "odd"}}
REJECTED = (
    "2026-11-21T12:08:06.970827Z ERROR codex_core::tools::router: error=patch rejected: "
    "writing outside of the project; rejected by user approval settings\n"
)


def item_completed(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": "item.completed", "item": {"id": "item_1", "type": kind, **fields}}


def item_started(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": "item.started", "item": {"id": "item_1", "type": kind, **fields}}


def says(text: str) -> dict[str, Any]:
    return item_completed("agent_message", text=text)


def printed(*events: Any) -> bytes:
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


def read(*events: Any, exit_code: int | None = 0, stderr: str = "", **assigned: Any) -> Ended:
    reader = CodexParser(assign("Go", **assigned))
    reader.feed(printed(*events))
    return reader.finish(exit_code, stderr)


def steps_of(*events: Any, folder: str = "") -> list[Progress]:
    return list(CodexParser(assign("Go"), folder=folder).feed(printed(*events)))


def kinds_and_texts(*events: Any, folder: str = "") -> list[tuple[ProgressKind, str]]:
    return [(step.kind, step.text) for step in steps_of(*events, folder=folder)]


def test_everything_agrees_on_success() -> None:
    assert read(STARTED, TURN, says("I begin."), says("Done."), COMPLETED) == Ended(
        succeeded=True,
        session=THREAD,
        final_text="Done.",
        usage=Usage(input_tokens=300, output_tokens=60, cached_tokens=30),
        cost_usd=None,
        raw_totals=TOTALS,
        worked=True,
    )


@pytest.mark.parametrize(
    ("events", "exit_code", "stderr", "error"),
    [
        ((STARTED, TURN), 0, "", "exit status 0 before the end of the turn"),
        ((STARTED, TURN), -2, "", "killed by signal 2 before the end of the turn"),
        ((STARTED, TURN), None, "", "ended in an unknown way before the end of the turn"),
        (
            (),
            101,
            "thread main panicked\n",
            "exit status 101 before the end of the turn: thread main panicked",
        ),
        ((STARTED, COMPLETED), 1, "", "exit status 1 after a turn that was completed"),
        ((STARTED, COMPLETED), None, "", "ended in an unknown way after a turn that was completed"),
        ((STARTED, COMPLETED, FAILED), 0, "", "odd"),
        ((STARTED, {"type": "turn.failed"}), 1, "", "the turn failed, and no reason was given"),
    ],
)
def test_whatever_does_not_prove_success_is_none(
    events: tuple[Any, ...], exit_code: int | None, stderr: str, error: str
) -> None:
    reading = read(*events, says('{"questions": [{"prompt": "Which?"}]}'), exit_code=exit_code, stderr=stderr)
    assert (reading.succeeded, reading.error, reading.questions) == (False, error, ())


def test_errors_on_the_way_are_no_failure() -> None:
    reconnecting = {"type": "error", "message": "Reconnecting... 1/5"}
    unknown = item_completed("error", message="Model metadata for `x` not found.")
    reading = read(STARTED, unknown, TURN, reconnecting, says("Done."), COMPLETED)
    assert (reading.succeeded, reading.notes) == (True, ("Model metadata for `x` not found.",))


def test_a_resume_must_go_on_in_the_same_thread() -> None:
    assert read(STARTED, TURN, says("Done."), COMPLETED, resume=True).succeeded
    answered = (TURN, says("Done."), COMPLETED)
    other = read(STARTED | {"thread_id": OTHER}, *answered, resume=True, previous_totals=TOTALS)
    assert other.error == f"worked in the session {OTHER}, not in {THREAD} as asked"
    assert other.usage == Usage(input_tokens=300, output_tokens=60, cached_tokens=30)
    assert read(*answered, resume=True).error == (
        f"worked in the session of no name, not in {THREAD} as asked"
    )
    assert read(STARTED | {"thread_id": OTHER}, TURN, COMPLETED, session=None).session == OTHER


@pytest.mark.parametrize(
    ("events", "resume", "session"),
    [
        ((), True, None),
        ((STARTED,), False, None),
        ((STARTED,), True, THREAD),
        ((STARTED, TURN), False, THREAD),
        ((STARTED, FAILED), False, THREAD),
        ((STARTED | {"thread_id": 7}, TURN), False, None),
    ],
)
def test_a_session_is_named_when_it_can_be_resumed(
    events: tuple[Any, ...], resume: bool, session: str | None
) -> None:
    assert read(*events, exit_code=-9, resume=resume).session == session


@pytest.mark.parametrize(
    ("before", "usage"),
    [
        ({}, Usage(input_tokens=300, output_tokens=60, cached_tokens=30)),
        (
            {"input_tokens": 200.0, "cached_input_tokens": 30.0, "output_tokens": 59.0},
            Usage(input_tokens=100, output_tokens=1, cached_tokens=0),
        ),
        ({"input_tokens": 301.0}, Usage(input_tokens=300, output_tokens=60, cached_tokens=30)),
        ({"output_tokens": float("nan")}, Usage(input_tokens=300, output_tokens=60, cached_tokens=30)),
        (TOTALS, Usage()),
    ],
)
def test_usage_is_that_of_this_run(before: dict[str, float], usage: Usage) -> None:
    reading = read(STARTED, TURN, COMPLETED, resume=True, previous_totals=before)
    assert (reading.usage, reading.raw_totals) == (usage, TOTALS)


@pytest.mark.parametrize(
    "usage", [None, {}, "odd", {"input_tokens": 0}, {"input_tokens": 10**400}, {"x": [1]}]
)
def test_totals_go_on_over_a_turn_that_counted_nothing(usage: Any) -> None:
    event = {"type": "turn.completed", "usage": usage}
    reading = read(STARTED, TURN, says("Done."), event, resume=True, previous_totals=TOTALS)
    assert (reading.succeeded, reading.usage, reading.raw_totals) == (True, None, TOTALS)
    assert read(STARTED, TURN, exit_code=-9, previous_totals=TOTALS).raw_totals == TOTALS


def test_a_question_is_asked_in_whichever_message_it_stands() -> None:
    asked = 'Text\n{"questions": [{"prompt": "Which?"}]}'
    reading = read(STARTED, TURN, says(asked), COMPLETED)
    assert (reading.succeeded, reading.questions) == (False, (Question(id="q1", prompt="Which?"),))
    later = read(STARTED, TURN, says(asked), says("Lint is clean."), COMPLETED)
    assert (later.questions, later.final_text) == (reading.questions, "Lint is clean.")
    ruled = read(STARTED, TURN, says(asked), says('{"rulings": [{"id": "q1", "decision": "a"}]}'), COMPLETED)
    assert (ruled.succeeded, ruled.questions, ruled.rulings) == (True, (), {"q1": ("a", None)})


def test_a_sandbox_that_cannot_be_made_is_a_refusal_unless_something_worked_in_it() -> None:
    output = "bwrap: Creating new namespace failed: Operation not permitted\n"
    command = item_completed("command_execution", aggregated_output=output, exit_code=1, status="failed")
    reading = read(STARTED, TURN, command, says("I could not."), COMPLETED)
    assert (reading.succeeded, reading.refusal, reading.session) == (False, AgentFailure.FORBIDDEN, THREAD)
    assert reading.error == f"its sandbox cannot be set up here: {output.strip()}"
    assert reading.way_out is not None
    assert reading.way_out.endswith("git config blackbird.codex.sandbox danger-full-access")
    edit = item_completed("file_change", changes=[], status="completed")
    assert read(STARTED, TURN, command, edit, says("Done."), COMPLETED).succeeded


def test_a_reviewer_whose_sandbox_cannot_be_made_is_not_sent_out_of_it() -> None:
    output = "bwrap: Creating new namespace failed: Operation not permitted\n"
    command = item_completed("command_execution", aggregated_output=output, exit_code=1, status="failed")
    reading = read(STARTED, TURN, command, says("I could not."), COMPLETED, read_only=True)
    assert (reading.succeeded, reading.refusal) == (False, AgentFailure.FORBIDDEN)
    assert reading.way_out == ("its reviews need that sandbox: review with another agent")


def test_a_reviewer_has_no_session_and_is_not_blocked_by_what_is_denied_to_it() -> None:
    reading = read(STARTED, TURN, says('{"passed":true}'), COMPLETED, stderr=REJECTED, read_only=True)
    assert (reading.succeeded, reading.final_text, reading.session) == (True, '{"passed":true}', None)
    assert (reading.notes, reading.blocked) == (
        ("1 patch was rejected: writing outside of the project",),
        None,
    )


def test_rejected_patches_are_noted_and_named_as_what_blocked_it() -> None:
    reading = read(STARTED, TURN, says("I could not."), COMPLETED, stderr=f"noise\n{REJECTED}")
    assert reading.blocked == "1 patch was rejected: writing outside of the project"
    assert (reading.succeeded, reading.notes) == (True, (reading.blocked,))
    other = REJECTED.replace("writing outside of the project", "writing is blocked by read-only sandbox")
    assert read(STARTED, TURN, COMPLETED, stderr=REJECTED + other + REJECTED).blocked == (
        "3 patches were rejected: writing is blocked by read-only sandbox, writing outside of the project"
    )


CHANGES = [{"path": "/w/a b.txt", "kind": "add"}, {"path": "/else/c", "kind": "delete"}, "odd", {"path": 1}]


@pytest.mark.parametrize(
    ("event", "steps"),
    [
        (says("Hi\nyou"), [(ProgressKind.SAYS, "Hi\nyou")]),
        (says(" \n"), []),
        (
            item_completed("file_change", changes=CHANGES, status="completed"),
            [(ProgressKind.EDITS, "a b.txt"), (ProgressKind.EDITS, "/else/c")],
        ),
        (
            item_completed("command_execution", command="/bin/bash -lc 'make check'", exit_code=0),
            [(ProgressKind.RUNS, "make check")],
        ),
        (
            item_completed(
                "command_execution", command="/bin/bash -lc 'exit 3'", exit_code=3, status="failed"
            ),
            [(ProgressKind.RUNS, "exit 3"), (ProgressKind.NOTE, "exit status 3: exit 3")],
        ),
        (
            item_completed("command_execution", command="ls", exit_code=None, status="declined"),
            [(ProgressKind.RUNS, "ls"), (ProgressKind.NOTE, "declined: ls")],
        ),
        (
            item_completed("mcp_tool_call", server="s", tool="t", status="failed"),
            [(ProgressKind.TOOL, "s t"), (ProgressKind.NOTE, "failed: t")],
        ),
        (item_completed("web_search", query="a\nb"), [(ProgressKind.NOTE, "searches the web: a b")]),
        (item_completed("web_search"), []),
        *(
            (item_completed("web_search", query="q", action=action), [(ProgressKind.NOTE, text)])
            for action, text in (
                ({"type": "search", "query": "a"}, "searches the web: a"),
                ({"type": "search", "queries": ["a", "b"]}, "searches the web: a, b"),
                ({"type": "open_page", "url": "https://a"}, "opens https://a"),
                ({"type": "find_in_page", "url": "https://a", "pattern": "b"}, "looks for b in https://a"),
                ({"type": "other"}, "searches the web: q"),
                ("odd", "searches the web: q"),
            )
        ),
        (
            item_completed("collab_tool_call", tool="spawn_agent", prompt="read\ndocs", status="completed"),
            [(ProgressKind.TOOL, "spawn_agent read docs")],
        ),
        (
            item_completed("collab_tool_call", tool="wait", status="failed"),
            [(ProgressKind.TOOL, "wait"), (ProgressKind.NOTE, "failed: wait")],
        ),
        (
            item_completed(
                "todo_list", items=[{"text": "a", "completed": True}, {"text": "b", "completed": False}]
            ),
            [(ProgressKind.NOTE, "1 of 2 done, next: b")],
        ),
        (
            item_completed("todo_list", items=[{"text": "a", "completed": True}]),
            [(ProgressKind.NOTE, "1 of 1 done")],
        ),
        (item_completed("error", message="careful"), [(ProgressKind.NOTE, "careful")]),
        ({"type": "error", "message": "Reconnecting... 1/5"}, [(ProgressKind.NOTE, "Reconnecting... 1/5")]),
        (item_completed("reasoning", text="hm"), []),
        (item_completed("unheard_of", text="hm"), []),
        ({"type": "item.completed", "item": "odd"}, []),
        ({"type": ["odd"]}, []),
    ],
)
def test_each_item_is_a_step(event: Any, steps: list[tuple[ProgressKind, str]]) -> None:
    assert kinds_and_texts(event, folder="/w") == steps


def test_subagents_that_were_cut_off_are_noted_once() -> None:
    states = {"t1": {"status": "interrupted"}, "t2": {"status": "completed"}, "t3": "odd"}
    waits = item_completed("collab_tool_call", tool="wait", agents_states=states, status="completed")
    assert read(waits, waits, says("ok")).notes == ("subagent t1 was stopped",)


def test_an_item_is_shown_once_and_what_came_of_it() -> None:
    command = {"command": "/bin/bash -lc 'false'"}
    assert kinds_and_texts(
        item_started("command_execution", **command, status="in_progress"),
        item_started("command_execution", **command, status="in_progress") | {"type": "item.updated"},
        item_completed("command_execution", **command, exit_code=1, status="failed"),
        item_started("file_change", changes=CHANGES[:1], status="in_progress"),
        item_completed("file_change", changes=CHANGES[:1], status="failed"),
        folder="/w",
    ) == [
        (ProgressKind.RUNS, "false"),
        (ProgressKind.NOTE, "exit status 1: false"),
        (ProgressKind.EDITS, "a b.txt"),
        (ProgressKind.NOTE, "an edit failed"),
    ]


def test_figures_come_with_the_end() -> None:
    assert steps_of(STARTED, TURN, COMPLETED) == [
        Progress(ProgressKind.SPENDS, "", usage=Usage(input_tokens=300, output_tokens=60, cached_tokens=30))
    ]


def test_there_are_bounds_to_what_is_shown() -> None:
    changes = [{"path": f"/w/{number}"} for number in range(1000)]
    edits = kinds_and_texts(item_completed("file_change", changes=changes), folder="/w")
    assert edits[-1] == (ProgressKind.EDITS, "900 more files")
    assert len(edits) == 101
    assert kinds_and_texts(says("x" * 100_000)) == [(ProgressKind.SAYS, "x" * 8191 + "…")]


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("/bin/bash -lc 'make check'", "make check"),
        ("/usr/bin/zsh -c ls", "ls"),
        ("sh -c \"echo 'it'\"", "echo 'it'"),
        ("/bin/bash -lc 'echo '\"'\"'a'\"'\"' b'", "echo 'a' b"),
        ("/bin/bash -lc 'broken", "/bin/bash -lc 'broken"),
        ("/bin/bash -lc '", "/bin/bash -lc '"),
        ("/bin/bash -lc a b", "/bin/bash -lc a b"),
        ("make sh -c x", "make sh -c x"),
        ("", ""),
        ("/bin/bash -lc \"'" + "x" * 5000, "x" * 5000),
    ],
)
def test_the_shell_is_taken_off_a_command(command: str, text: str) -> None:
    assert unwrap_command(command) == text


def test_lines_too_long_are_passed_over_and_noted() -> None:
    reader = CodexParser(assign("Go"))
    reader.feed(printed(STARTED, TURN) + b"x" * (MAX_LINE_BYTES + 1) + b"\n" + printed(COMPLETED).rstrip())
    assert reader.finish(0, "").notes == (
        f"1 lines of output longer than {MAX_LINE_BYTES} bytes were not read",
    )


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
items = st.dictionaries(
    st.sampled_from(
        [
            *("id", "type", "text", "changes", "command", "exit_code", "status", "items"),
            *("query", "tool", "message"),
        ]
    ),
    values
    | st.sampled_from(
        ["agent_message", "file_change", "command_execution", "todo_list", "error", "web_search"]
    )
    | st.lists(st.dictionaries(st.sampled_from(["path", "text", "completed"]), values), max_size=3),
)
events = st.dictionaries(
    st.sampled_from(["type", "item", "usage", "error", "message", "thread_id"]),
    values
    | items
    | st.sampled_from(["item.started", "item.completed", "turn.completed", "turn.failed", "error"]),
)


@settings(deadline=None)
@given(st.lists(events), st.sampled_from([0, 1, -9, None]), st.text())
def test_any_stream_is_survived(stream: list[dict[str, Any]], exit_code: int | None, stderr: str) -> None:
    reading = read(*stream, exit_code=exit_code, stderr=stderr)
    assert not reading.succeeded or exit_code == 0


def test_the_arguments_of_a_start_and_of_a_resume() -> None:
    bound = ("-c", "sandbox_workspace_write.exclude_slash_tmp=true")
    assert load_agent("codex", config_with()).launch(assign("Go")).argv == (
        *("codex", "exec", "--json", "-s", "workspace-write", *bound, "-"),
    )
    told = config_with(
        codex__path="/opt/codex",
        codex__sandbox="danger-full-access",
        codex__model="m",
        codex__args=("-c", "model_reasoning_effort=low"),
    )
    launch = load_agent("codex", told).launch(assign("/review", resume=True))
    assert launch.argv == (
        *("/opt/codex", "exec", "--json", "-s", "danger-full-access", "--model", "m"),
        *("-c", "model_reasoning_effort=low", "resume", THREAD, "-"),
    )
    assert (launch.stdin, dict(launch.environ)) == (b"/review", {})


@pytest.mark.parametrize("sandbox", ["workspace-write", "danger-full-access"])
def test_the_arguments_of_a_reviewer_are_no_wider_than_they_must_be(sandbox: str) -> None:
    told = config_with(codex__sandbox=sandbox, codex__model="m", codex__args=("--add-dir", "/"))
    asked = assign("Look", schema={"a": [1]}, read_only=True)
    launch = load_agent("codex", told).launch(asked, '/w "ä', "/s")
    assert launch.argv == (
        *("codex", "exec", "--json", "-s", "read-only", "--ephemeral"),
        *("-c", "project_doc_max_bytes=0"),
        *("-c", 'projects={"/w \\"ä"={trust_level="untrusted"}}', "--model", "m"),
        *("--output-schema", "/s/schema.json", "-"),
    )
    assert dict(launch.files) == {"schema.json": b'{"a":[1]}'}
    assert (launch.stdin, dict(launch.environ)) == (b"Look", {})


def test_only_uuids_are_its_sessions() -> None:
    agent = load_agent("codex", config_with())
    assert agent.accepts_session(THREAD)
    assert not any(agent.accepts_session(name) for name in ("", "blah", "--last", f"{THREAD} "))
    assert new_session(agent, "0" * 32) is None
    assert agent.leftover_dirs == (".codex", ".agents", ".aws")
