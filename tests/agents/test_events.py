import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from git_blackbird.agents.claude.events import EVENTS, System
from git_blackbird.agents.claude.parser import ClaudeParser
from git_blackbird.agents.json_events import MAX_LINE_BYTES, JsonEvents
from git_blackbird.agents.registry import load_agent
from git_blackbird.model.run.agent_io import ProgressKind
from git_blackbird.model.run.ended import Ended
from git_blackbird.model.run.parts import Question, Usage
from tests.agents.running import assign
from tests.support import config_with

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


def read(*events: Any, exit_code: int | None = 0, stderr: str = "", **assigned: Any) -> Ended:
    reader = ClaudeParser(assign("Go", **assigned))
    reader.feed(printed(*events))
    return reader.finish(exit_code, stderr)


def without(event: dict[str, Any], *names: str, **more: Any) -> dict[str, Any]:
    return {name: value for name, value in event.items() if name not in names} | more


def test_everything_agrees_on_success() -> None:
    assert read(INIT, SUCCESS) == Ended(
        succeeded=True,
        session=SESSION,
        final_text="Done.",
        usage=Usage(input_tokens=60, output_tokens=4, cached_tokens=30),
        cost_usd=0.5,
        raw_totals={"total_cost_usd": 0.5},
        worked=True,
    )


@pytest.mark.parametrize(
    ("events", "exit_code", "stderr", "error"),
    [
        ((INIT,), 0, "", "exit status 0 without a result"),
        ((INIT,), 143, "", "exit status 143 without a result"),
        ((INIT,), -9, "", "killed by signal 9 without a result"),
        ((INIT,), None, "a\nb\n", "ended in an unknown way without a result: b"),
        ((INIT, SUCCESS), 1, "", "exit status 1 after a result that says success"),
        ((INIT, SUCCESS), None, "", "ended in an unknown way after a result that says success"),
        (
            (INIT, SUCCESS),
            1,
            "\nPlan mode needs a check.\n",
            "exit status 1 after a result that says success: Plan mode needs a check.",
        ),
        ((INIT, without(SUCCESS, is_error=True, result="Too odd")), 1, "", "Too odd"),
        ((INIT, without(SUCCESS, is_error=True, result="Too odd")), 0, "", "Too odd"),
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


CONVERSING = {"type": "assistant", "message": {"content": []}}


@pytest.mark.parametrize(
    ("events", "exit_code", "resume", "session"),
    [
        ((), -15, False, None),
        ((INIT,), -9, False, None),
        ((INIT,), None, False, None),
        ((INIT,), 143, False, SESSION),
        ((INIT,), 0, False, SESSION),
        ((INIT,), -9, True, SESSION),
        ((INIT, CONVERSING), -9, False, SESSION),
        ((INIT, {"type": "user"}), -9, False, SESSION),
        ((INIT, {"type": "stream_event"}), -9, False, SESSION),
        ((SUCCESS,), 0, False, SESSION),
        ((SUCCESS | {"is_error": True},), 1, True, None),
    ],
)
def test_a_session_is_named_when_it_can_be_resumed(
    events: tuple[Any, ...], exit_code: int | None, resume: bool, session: str | None
) -> None:
    reading = read(*events, exit_code=exit_code, resume=resume)
    assert (reading.session, reading.refusal) == (session, None)


def test_questions_count_in_a_success_only() -> None:
    text = 'Text\n{"questions": [{"prompt": "Which?"}]}'
    assert read(INIT, SUCCESS | {"result": text}).questions == (Question(id="q1", prompt="Which?"),)
    assert read(INIT, SUCCESS | {"result": text, "is_error": True}).questions == ()
    assert read(INIT, SUCCESS | {"result": text}, exit_code=1).questions == ()


def test_denied_tools_are_noted_and_named_as_what_blocked_it() -> None:
    first = {"tool_name": "Write", "tool_use_id": "t1"}
    second = [first, {"tool_name": "Bash\x1b[2J"}, {"tool_name": "Write", "tool_use_id": "t2"}, "odd"]
    reading = read(INIT, SUCCESS | {"permission_denials": [first]}, SUCCESS | {"permission_denials": second})
    assert reading.notes == ("3 tool calls were denied: Bash, Write",)
    assert reading.blocked == reading.notes[0]
    assert read(INIT, SUCCESS | {"permission_denials": [first]}).blocked == "1 tool call was denied: Write"


VERDICT = {"passed": False, "resumeTaskIds": ["ä"]}
REVIEWS: dict[str, Any] = {"schema": {"type": "object"}, "read_only": True}


def test_with_a_schema_the_object_is_the_answer() -> None:
    said = SUCCESS | {"structured_output": VERDICT, "result": "Here it is."}
    reading = read(INIT, said, schema={"type": "object"})
    assert (reading.succeeded, reading.session) == (True, SESSION)
    assert json.loads(reading.final_text) == VERDICT
    assert read(INIT, said).final_text == "Here it is."


@pytest.mark.parametrize("word", [{}, {"stop_reason": None}, {"stop_reason": "tool_use"}])
@pytest.mark.parametrize("text", [{}, {"result": ""}, {"result": json.dumps(VERDICT)}])
def test_an_object_is_an_answer_also_without_a_text_or_a_word_of_its_end(
    word: dict[str, Any], text: dict[str, Any]
) -> None:
    reading = read(INIT, without(SUCCESS, "result", structured_output=VERDICT) | word | text, **REVIEWS)
    assert (reading.succeeded, reading.is_unknown_end, reading.error) == (True, False, None)
    assert json.loads(reading.final_text) == VERDICT


def test_no_object_makes_good_an_end_that_a_newer_version_says_is_another() -> None:
    ended = SUCCESS | {"structured_output": VERDICT, "terminal_reason": "hook_stopped"}
    reading = read(INIT, ended, **REVIEWS)
    assert (reading.succeeded, reading.error) == (False, "claude ended with hook_stopped")


@pytest.mark.parametrize("found", [{}, {"structured_output": None}])
def test_prose_where_an_object_was_asked_for_is_no_success(found: dict[str, Any]) -> None:
    reading = read(INIT, SUCCESS | {"result": "I like it."} | found, **REVIEWS)
    assert (reading.succeeded, reading.questions, reading.refusal) == (False, (), None)
    assert reading.error == "answered in prose, not in the required format"
    assert reading.final_text == "I like it."


def test_a_question_where_an_object_was_asked_for_is_a_question() -> None:
    asks = 'It depends. {"questions": [{"prompt": "Which?"}]}'
    reading = read(INIT, SUCCESS | {"result": asks}, **REVIEWS)
    assert (reading.succeeded, reading.error) == (False, None)
    assert [question.prompt for question in reading.questions] == ["Which?"]


def test_an_object_that_never_fits_is_no_success() -> None:
    text = "Failed to provide valid structured output after 5 attempts"
    event = without(SUCCESS, "result", subtype="error_max_structured_output_retries", errors=[text])
    reading = read(INIT, event | {"is_error": True}, exit_code=1, **REVIEWS)
    assert (reading.succeeded, reading.error, reading.refusal) == (False, text, None)


def test_a_reviewer_has_no_session_and_is_not_blocked_by_what_is_denied_to_it() -> None:
    denial = {"tool_name": "Write", "tool_use_id": "t1"}
    ended = SUCCESS | {
        "session_id": "5e551011-0000-4000-8000-00000000000f",
        "structured_output": VERDICT,
        "permission_denials": [denial],
    }
    reading = read(INIT, ended, **REVIEWS)
    assert (reading.succeeded, reading.error, reading.session) == (True, None, None)
    assert (reading.notes, reading.blocked) == (("1 tool call was denied: Write",), None)


def tool(name: str, given: Any) -> dict[str, Any]:
    return {"type": "assistant", "message": {"content": [{"type": "tool_use", "name": name, "input": given}]}}


def test_the_stream_may_come_in_any_pieces_and_hold_anything_else() -> None:
    whole = b"noise\n{broken\n[1]\n\xff\xfe\n" + printed(
        INIT, {"type": ["odd"]}, tool("Bash", {"command": "ls"}), SUCCESS
    )
    for size in (1, 7, 4096):
        reader = ClaudeParser(assign("Go"))
        steps = [step for at in range(0, len(whole), size) for step in reader.feed(whole[at : at + size])]
        assert [(step.kind, step.text) for step in steps] == [
            (ProgressKind.RUNS, "ls"),
            (ProgressKind.SPENDS, ""),
        ]
        assert reader.finish(0, "").succeeded


def test_the_objects_may_come_as_one_array() -> None:
    reader = ClaudeParser(assign("Go"))
    reader.feed(json.dumps([INIT, CONVERSING, "odd", SUCCESS]).encode())
    reading = reader.finish(0, "")
    assert (reading.succeeded, reading.session, reading.cost_usd) == (True, SESSION, 0.5)


def test_an_event_in_the_middle_of_a_result_costs_neither() -> None:
    answer = 'I {did} "it", \u00e4 and all.'
    event = without(SUCCESS, "permission_denials", result=answer, nested=[{"a": [1, None]}, True])
    said = json.dumps(event)
    limit = {"type": "system", "subtype": "status", "status": "compacting", "deep": {"a": {"b": 0.5}}}
    for place in range(1, len(said)):
        for line_end in ("", "\n"):
            torn = f"{said[:place]}{json.dumps(limit)}{line_end}{said[place:]}\n"
            reader = ClaudeParser(assign())
            steps = [step.text for step in reader.feed(printed(INIT) + torn.encode())]
            reading = reader.finish(0, "")
            assert (reading.final_text, reading.succeeded) == (answer, True), torn
            assert steps == ["compacts the conversation", ""], torn


def test_two_events_on_one_line_are_two() -> None:
    reader = ClaudeParser(assign())
    reader.feed(f'{json.dumps(INIT)}{json.dumps(SUCCESS)} {{"type": "result", "is_err'.encode())
    assert reader.finish(0, "").succeeded


def test_a_single_result_is_enough() -> None:
    assert read(SUCCESS).succeeded
    assert read(SUCCESS).session == SESSION


def test_the_last_failure_says_how_it_ended() -> None:
    odd, woken = {"is_error": True, "result": "odd"}, {"origin": {"kind": "task-notification"}}
    assert read(INIT, SUCCESS, SUCCESS | odd, SUCCESS).error == "odd"
    assert read(INIT, SUCCESS | odd, SUCCESS | woken).error == "odd"
    # The program itself went on with our turn.
    assert read(INIT, SUCCESS | odd, SUCCESS | {"origin": {"kind": "auto-continuation"}}).succeeded


@pytest.mark.parametrize("text", ["half \ud83d", '\\\ud83d\ude00\udc00"'])
def test_text_cut_in_the_middle_of_a_character_is_read(text: str) -> None:
    """JSON writes half of a pair of surrogates as an escape that pydantic refuses."""
    readable = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert read(INIT, SUCCESS | {"result": text}).final_text == readable


def test_a_result_without_a_line_end_counts() -> None:
    reader = ClaudeParser(assign("Go"))
    reader.feed(printed(INIT, SUCCESS).rstrip(b"\n"))
    assert reader.finish(0, "").succeeded


def test_lines_too_long_are_passed_over_and_noted() -> None:
    reader = ClaudeParser(assign("Go"))
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
    lines = JsonEvents(EVENTS)
    (event,) = lines.feed(line + b'\n{"type": "system", "cwd": "/w"}\n')
    assert event == System.model_validate({"type": "system", "cwd": "/w"})


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
    "is_error",
    "event",
    "id",
    "text",
    "parent_tool_use_id",
    "tool_use_id",
    "terminal_reason",
]
events = st.dictionaries(
    st.sampled_from(
        [*fields, "total_cost_usd", "model_usage_since_last_result", "permission_denials", "api_error_status"]
    ),
    values
    | st.sampled_from(["assistant", "user", "result", "system", "init", "success", "stream_event"])
    | st.dictionaries(st.sampled_from(["content", "usage", "id", "type", "text"]), values),
)


@settings(deadline=None)
@given(st.lists(events), st.sampled_from([0, 1, -9, None]))
def test_any_stream_is_survived(stream: list[dict[str, Any]], exit_code: int | None) -> None:
    reader = ClaudeParser(assign("Go"))
    reader.feed(printed(*stream))
    assert not reader.finish(exit_code, "").succeeded or exit_code == 0


def test_the_arguments_of_a_start_and_of_a_resume() -> None:
    stream = ("-p", "--output-format", "stream-json", "--verbose")
    plain = load_agent("claude", config_with())
    assert plain.launch(assign("Go")).argv == (
        *("claude", *stream, "--session-id", SESSION),
        *("--permission-mode", "bypassPermissions"),
    )
    told = config_with(
        claude__path="/opt/claude",
        claude__permission_mode="acceptEdits",
        claude__model="m",
        claude__args=("--effort", "low"),
    )
    launch = load_agent("claude", told).launch(assign("/compact", resume=True))
    assert launch.argv == (
        *("/opt/claude", *stream, "--resume", SESSION),
        *("--permission-mode", "acceptEdits", "--model", "m", "--effort", "low"),
    )
    assert launch.stdin == b"\n/compact"
    assert dict(launch.environ) == {"DISABLE_AUTOUPDATER": "1"}


@pytest.mark.parametrize("mode", ["acceptEdits", "bypassPermissions"])
def test_the_arguments_of_a_reviewer_are_no_wider_than_they_must_be(mode: str) -> None:
    told = config_with(
        claude__permission_mode=mode, claude__model="m", claude__args=("--dangerously-skip-permissions",)
    )
    launch = load_agent("claude", told).launch(assign("Look", schema={"a": [1]}, read_only=True))
    assert launch.argv == (
        *("claude", "-p", "--output-format", "stream-json", "--verbose", "--json-schema", '{"a":[1]}'),
        *("--tools", "Read,Grep,Glob,Bash", "--permission-mode", "dontAsk", "--setting-sources", "user"),
        *("--strict-mcp-config", "--no-session-persistence", "--model", "m"),
    )
    assert (launch.stdin, dict(launch.environ)) == (b"Look", {"DISABLE_AUTOUPDATER": "1"})


REFUSED_MODE = (
    "its permission mode was default, not {} as asked: a setting refuses that,"
    " such as one of your organisation"
)


@pytest.mark.parametrize(
    ("config", "read_only", "said"),
    [
        ({}, False, REFUSED_MODE.format("bypassPermissions")),
        ({"claude__permission_mode": "acceptEdits"}, False, REFUSED_MODE.format("acceptEdits")),
        ({"claude__permission_mode": "manual"}, False, None),
        ({"claude__args": ("--dangerously-skip-permissions",)}, False, None),
        ({}, True, REFUSED_MODE.format("dontAsk")),
    ],
)
def test_a_permission_mode_is_compared_with_the_one_that_was_asked_for(
    config: dict[str, Any], read_only: bool, said: str | None
) -> None:
    parser = load_agent("claude", config_with(**config)).parser(assign("Go", read_only=read_only))
    # A later turn may be in another one that its model chose.
    later = INIT | {"permissionMode": "plan"}
    parser.feed(printed(INIT | {"permissionMode": "default"}, later, SUCCESS))
    reading = parser.finish(0, "")
    assert (reading.succeeded, reading.notes, reading.lacked) == (True, (said,) if said else (), said)
