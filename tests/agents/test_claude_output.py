import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from git_blackbird.agents.claude import ClaudeAgent
from git_blackbird.agents.claude_output import ClaudeReader
from git_blackbird.agents.json_lines import MAX_LINE_BYTES, JsonLines
from git_blackbird.agents.protocol import AgentSettings
from git_blackbird.model.conversation import Progress, ProgressKind, Question, Reading, Refusal, Usage
from tests.agents.running import assign

SESSION = "5e551011-0000-4000-8000-000000000001"
INIT = {"type": "system", "subtype": "init", "cwd": "/w", "session_id": SESSION}
SUCCESS = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "result": "Done.",
    "session_id": SESSION,
    "total_cost_usd": 0.5,
    "usage": {
        "input_tokens": 10,
        "cache_creation_input_tokens": 20,
        "cache_read_input_tokens": 30,
        "output_tokens": 4,
    },
    "permission_denials": [],
}


def printed(*events: Any) -> bytes:
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


def read(*events: Any, exit_code: int | None = 0, stderr: str = "", **assigned: Any) -> Reading:
    reader = ClaudeReader(assign("Go", **assigned))
    reader.feed(printed(*events))
    return reader.finish(exit_code, stderr)


def without(event: dict[str, Any], *names: str, **more: Any) -> dict[str, Any]:
    return {name: value for name, value in event.items() if name not in names} | more


def test_everything_agrees_on_success() -> None:
    assert read(INIT, SUCCESS) == Reading(
        succeeded=True,
        session=SESSION,
        final_text="Done.",
        usage=Usage(input_tokens=60, output_tokens=4, cached_tokens=30),
        cost_usd=0.5,
        raw_totals={"total_cost_usd": 0.5},
    )


@pytest.mark.parametrize(
    ("events", "exit_code", "stderr", "error"),
    [
        ((INIT,), 0, "", "exit status 0 without a result"),
        ((INIT,), 143, "", "exit status 143 without a result"),
        ((INIT,), -9, "", "killed by signal 9 without a result"),
        ((INIT,), None, "a\nb\n", "ended, nobody knows how without a result: b"),
        ((INIT, SUCCESS), 1, "", "exit status 1 after a result that says success"),
        ((INIT, SUCCESS), None, "", "ended, nobody knows how after a result that says success"),
        ((INIT, without(SUCCESS, is_error=True, result="Prompt is too long")), 1, "", "Prompt is too long"),
        ((INIT, without(SUCCESS, is_error=True, result="Prompt is too long")), 0, "", "Prompt is too long"),
        ((INIT, without(SUCCESS, "is_error")), 0, "", "Done."),
        ((INIT, without(SUCCESS, "subtype")), 0, "", "Done."),
        (
            (
                INIT,
                without(
                    SUCCESS, "result", subtype="error_during_execution", is_error=True, errors=["a", "b"]
                ),
            ),
            0,
            "",
            "a; b",
        ),
        (
            (INIT, without(SUCCESS, "result", subtype="error_max_turns", is_error=True)),
            1,
            "",
            "error_max_turns",
        ),
        (
            (INIT, without(SUCCESS, session_id="another")),
            0,
            "",
            f"worked in the session another, not in {SESSION} as asked",
        ),
    ],
)
def test_whatever_does_not_prove_success_is_none(
    events: tuple[Any, ...], exit_code: int | None, stderr: str, error: str
) -> None:
    reading = read(*events, exit_code=exit_code, stderr=stderr)
    assert (reading.succeeded, reading.error, reading.refusal) == (False, error, None)


def test_a_run_killed_before_it_began_has_no_session() -> None:
    assert read(exit_code=-15).session is None
    assert read(exit_code=-15).refusal is None


@pytest.mark.parametrize(
    ("text", "refusal", "hint"),
    [
        (
            "Invalid API key · Please run /login",
            Refusal.NOT_LOGGED_IN,
            "start claude and log in with /login, or set",
        ),
        ("Claude AI usage limit reached|1767225600", Refusal.USAGE_LIMIT, None),
        ("You've hit your session limit · resets 3pm (UTC)", Refusal.USAGE_LIMIT, None),
        ("5-hour limit reached ∙ resets 3pm", Refusal.USAGE_LIMIT, None),
        ("You're out of usage credits.", Refusal.USAGE_LIMIT, None),
    ],
)
def test_it_says_why_it_could_not_work(text: str, refusal: Refusal, hint: str | None) -> None:
    reading = read(INIT, without(SUCCESS, is_error=True, result=text), exit_code=1)
    assert (reading.succeeded, reading.refusal, reading.error) == (False, refusal, text)
    shown = "Claude AI usage limit reached, resets at 2026-01-01T00:00:00Z" if "|" in text else text
    assert reading.refusal_hint is not None
    assert reading.refusal_hint.startswith(hint or shown)


def test_what_an_agent_says_of_limits_is_no_refusal() -> None:
    reading = read(INIT, without(SUCCESS, result="I wrote: usage limit reached, Please run /login"))
    assert (reading.succeeded, reading.refusal) == (True, None)


@pytest.mark.parametrize(
    ("exit_code", "stderr", "refusal"),
    [
        (127, "gate: exec: claude: not found", Refusal.MISSING),
        (1, "Error: Session ID x is already in use.", Refusal.REFUSED),
        (
            1,
            "--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons",
            Refusal.FORBIDDEN,
        ),
        (1, "No conversation found with session ID: x", Refusal.SESSION_UNKNOWN),
    ],
)
def test_it_may_refuse_without_an_event(exit_code: int, stderr: str, refusal: Refusal) -> None:
    reading = read(exit_code=exit_code, stderr=stderr + "\n")
    assert (reading.succeeded, reading.session, reading.refusal) == (False, None, refusal)
    assert reading.refusal_hint is not None


def model_usage(cost: float, output_tokens: int) -> dict[str, Any]:
    return {"model-a": {"costUSD": cost, "outputTokens": output_tokens}, "model-b": {"costUSD": 0.25}}


@pytest.mark.parametrize(
    ("result", "cost"),
    [
        ({"total_cost_usd": 2.0, "model_usage_since_last_result": model_usage(0.5, 4)}, 0.75),
        ({"total_cost_usd": 2.0, "modelUsage": model_usage(2.0, 99)}, 0.75),
        ({"total_cost_usd": 2.0, "modelUsage": model_usage(2.0, 4)}, 2.0),
        ({"total_cost_usd": 1.0, "modelUsage": model_usage(1.0, 99)}, 1.0),
        ({"total_cost_usd": None}, None),
        ({"total_cost_usd": "much"}, None),
        ({"total_cost_usd": float("nan")}, None),
        ({"total_cost_usd": 10**400}, None),
    ],
)
def test_cost_is_that_of_this_run(result: dict[str, Any], cost: float | None) -> None:
    reader = ClaudeReader(assign("Go", resume=True, previous_totals={"total_cost_usd": 1.25}))
    reader.feed(printed(INIT, SUCCESS | result))
    assert reader.finish(0, "").cost_usd == cost


@pytest.mark.parametrize("events", [(), (INIT,), (INIT, SUCCESS | {"total_cost_usd": 0, "is_error": True})])
def test_totals_go_on_over_a_run_that_counted_nothing(events: tuple[Any, ...]) -> None:
    before = {"total_cost_usd": 1.25}
    assert read(*events, exit_code=1, previous_totals=before).raw_totals == before


def test_questions_count_in_a_success_only() -> None:
    text = 'Text\n{"questions": [{"prompt": "Which?"}]}'
    assert read(INIT, SUCCESS | {"result": text}).questions == (Question(id="q1", prompt="Which?"),)
    assert read(INIT, SUCCESS | {"result": text, "is_error": True}).questions == ()
    assert read(INIT, SUCCESS | {"result": text}, exit_code=1).questions == ()


def test_denied_tools_are_noted() -> None:
    denials = [{"tool_name": "Write"}, {"tool_name": "Bash\x1b[2J"}, {"tool_name": "Write"}, "odd"]
    assert read(INIT, SUCCESS | {"permission_denials": denials}).notes == (
        "4 tool calls were denied: Bash, Write",
    )


def tool(name: str, given: Any) -> dict[str, Any]:
    return {"type": "assistant", "message": {"content": [{"type": "tool_use", "name": name, "input": given}]}}


@pytest.mark.parametrize(
    ("event", "kind", "text"),
    [
        (tool("Read", {"file_path": "/w/a/b.py"}), ProgressKind.READS, "a/b.py"),
        (tool("Read", {"file_path": "/other/b.py"}), ProgressKind.READS, "/other/b.py"),
        (tool("Grep", {"pattern": "x.*y"}), ProgressKind.READS, "x.*y"),
        (tool("Edit", {"file_path": "/w/a b"}), ProgressKind.EDITS, "a b"),
        (tool("MultiEdit", {"file_path": "/w/m"}), ProgressKind.EDITS, "m"),
        (tool("Bash", {"command": "make\n\tcheck"}), ProgressKind.RUNS, "make check"),
        (tool("Bash", {"command": "x" * 5000}), ProgressKind.RUNS, "x" * 199 + "…"),
        (tool("Task", {"description": "look"}), ProgressKind.TOOL, "Task look"),
        (tool("Write", {}), ProgressKind.TOOL, "Write"),
        (tool("Write", None), ProgressKind.TOOL, "Write"),
        (
            {
                "type": "assistant",
                "message": {"content": [{"type": "text", "text": "\x1b]0;t\x07Hi\x1b[31m\nyou\u202e"}]},
            },
            ProgressKind.SAYS,
            "Hi you",
        ),
    ],
)
def test_steps_are_shown_on_one_clean_line(event: Any, kind: ProgressKind, text: str) -> None:
    reader = ClaudeReader(assign("Go"))
    assert list(reader.feed(printed(INIT, event))) == [Progress(kind, text)]


def test_the_stream_may_come_in_any_pieces_and_hold_anything_else() -> None:
    whole = b"noise\n{broken\n[1]\n\xff\xfe\n" + printed(
        INIT, {"type": ["odd"]}, tool("Bash", {"command": "ls"}), SUCCESS
    )
    for size in (1, 7, 4096):
        reader = ClaudeReader(assign("Go"))
        steps = [step for at in range(0, len(whole), size) for step in reader.feed(whole[at : at + size])]
        assert steps == [Progress(ProgressKind.RUNS, "ls")]
        assert reader.finish(0, "").succeeded


def test_a_result_without_a_line_end_counts() -> None:
    reader = ClaudeReader(assign("Go"))
    reader.feed(printed(INIT, SUCCESS).rstrip(b"\n"))
    assert reader.finish(0, "").succeeded


def test_lines_too_long_are_passed_over_and_noted() -> None:
    reader = ClaudeReader(assign("Go"))
    reader.feed(printed(INIT))
    for _ in range(20):
        reader.feed(b"x" * (MAX_LINE_BYTES // 10))
    reader.feed(b"\n" + printed(SUCCESS))
    reading = reader.finish(0, "")
    assert reading.succeeded
    assert reading.notes == (f"1 lines of output longer than {MAX_LINE_BYTES} bytes were not read",)


@pytest.mark.parametrize(
    "line", [b"{" * 100_000, b'{"a":' * 100_000, b'{"n": ' + b"9" * 5000 + b"}", b'{"a": "\xff"}']
)
def test_lines_that_are_no_json_are_passed_over(line: bytes) -> None:
    lines = JsonLines()
    assert list(lines.feed(line + b'\n{"a": 1}\n')) == [{"a": 1}]


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
fields = [
    "type",
    "subtype",
    "message",
    "content",
    "name",
    "input",
    "result",
    "errors",
    "usage",
    "modelUsage",
    "session_id",
]
events = st.dictionaries(
    st.sampled_from(
        [*fields, "total_cost_usd", "model_usage_since_last_result", "permission_denials", "api_error_status"]
    ),
    values | st.sampled_from(["assistant", "result", "system", "init", "success"]),
)


@settings(deadline=None)
@given(st.lists(events), st.sampled_from([0, 1, -9, None]))
def test_any_stream_is_survived(stream: list[dict[str, Any]], exit_code: int | None) -> None:
    reader = ClaudeReader(assign("Go"))
    reader.feed(printed(*stream))
    assert not reader.finish(exit_code, "").succeeded or exit_code == 0


def test_the_arguments_of_a_start_and_of_a_resume() -> None:
    stream = ("-p", "--output-format", "stream-json", "--verbose")
    plain = ClaudeAgent(AgentSettings())
    assert plain.launch(assign("Go"), {}).argv == (
        *("claude", *stream, "--session-id", SESSION),
        *("--permission-mode", "bypassPermissions"),
    )
    told = AgentSettings(
        claude_path="/opt/claude",
        claude_permission_mode="acceptEdits",
        claude_model="m",
        claude_args=("--effort", "low"),
    )
    launch = ClaudeAgent(told).launch(assign("/compact", resume=True), {})
    assert launch.argv == (
        *("/opt/claude", *stream, "--resume", SESSION),
        *("--permission-mode", "acceptEdits", "--model", "m", "--effort", "low"),
    )
    assert launch.stdin == b"\n/compact"
    assert dict(launch.environ) == {"DISABLE_AUTOUPDATER": "1"}
