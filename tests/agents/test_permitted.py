"""Opencode and Gemini CLI: how they are started, and what their streams mean, as the real ones print them."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from git_blackbird.agents.protocol import Assignment
from git_blackbird.agents.registry import load_agent
from git_blackbird.model.run.agent_io import AgentFailure, ProgressKind
from git_blackbird.model.run.ended import Ended
from git_blackbird.model.run.parts import Usage
from tests.agents.running import assign
from tests.support import config_with

SES = "ses_dddef62c1ffeNK7gnVdzSs5Hk4"
UUID = "5e551011-0000-4000-8000-000000000001"
NAMES = ("opencode", "gemini")
FOLDERS = ("/tree", "/scratch")


def request_for(**more: Any) -> Assignment:
    return assign("Go", session=None, **more)


def read(
    name: str, *lines: dict[str, Any], code: int = 0, stderr: str = "", session: str | None = None
) -> Ended:
    request = replace(request_for(), session=session, resume=session is not None)
    parser = load_agent(name, config_with()).parser(request, "/tree")
    parser.feed("".join(json.dumps(line) + "\n" for line in lines).encode())
    return parser.finish(code, stderr)


def part(kind: str, **part: Any) -> dict[str, Any]:
    return {"type": kind, "timestamp": 1, "sessionID": SES, "part": part}


def finish(reason: str, cost: float = 0.5, read: int = 0, **tokens: int) -> dict[str, Any]:
    counted = {"input": 100, "output": 20, "reasoning": 0, "cache": {"read": read, "write": 0}, **tokens}
    return part("step_finish", reason=reason, cost=cost, tokens=counted)


def tool(name: str, status: str = "completed", error: str = "", **given: Any) -> dict[str, Any]:
    return part("tool_use", tool=name, state={"status": status, "input": given, "error": error})


def error(message: str, name: str = "APIError", **data: Any) -> dict[str, Any]:
    return {"type": "error", "sessionID": SES, "error": {"name": name, "data": {"message": message, **data}}}


START = part("step_start")
DONE = (START, part("text", text="Done."), finish("stop"))
DENIAL = "The user rejected permission to use this specific tool call."


def test_the_steps_of_opencode_are_summed_up_and_the_last_one_counts() -> None:
    again = (START, part("text", text="half"), START, part("text", text="I look."))
    reading = read("opencode", *again, finish("tool-calls", read=7), *DONE)
    assert (reading.succeeded, reading.session, reading.final_text) == (True, SES, "Done.")
    assert reading.usage == Usage(input_tokens=207, output_tokens=40, cached_tokens=7)
    assert (reading.cost_usd, reading.worked, reading.last_error) == (1.0, True, None)


@pytest.mark.parametrize(
    ("lines", "code", "message"),
    [
        ((*DONE[:2], finish("unknown")), 0, "it ended without an answer: unknown"),
        ((*DONE[:2], finish("length")), 0, "opencode ended with length"),
        ((START, tool("bash", "error", DENIAL), finish("tool-calls")), 0, "exit status 0 before its answer"),
        ((*DONE, error("Overloaded", statusCode=529)), 1, "Overloaded (HTTP 529)"),
        ((*DONE, START), -2, "killed by signal 2 before its answer"),
        (DONE, 1, "exit status 1 after its answer"),
        ((), 0, "exit status 0 before its answer"),
    ],
)
def test_opencode_has_answered_only_if_its_last_step_has_and_it_ends_well(
    lines: Sequence[dict[str, Any]], code: int, message: str
) -> None:
    reading = read("opencode", *lines, code=code)
    assert (reading.succeeded, reading.error) == (False, message)


def test_an_error_that_opencode_got_over_is_none() -> None:
    assert read("opencode", START, error("Overloaded", statusCode=529), *DONE).succeeded


def test_what_opencode_was_denied_is_said() -> None:
    denied = tool("bash", "error", DENIAL, command="make")
    reading = read("opencode", START, denied, finish("tool-calls"), *DONE)
    assert (reading.succeeded, reading.blocked) == (True, "its permissions denied it: bash")


NO_MODEL = (
    'timestamp=2026-11-28T12:15:09.670Z level=ERROR run=78a1914b message=failed ref=err_09621599 error="'
    'ProviderModelNotFoundError: Model not found: foo/bar. Did you mean: frogbot?" cause="ProviderModelNot'
    'FoundError: Model not found: foo/bar.\\n    at <anonymous> (/$bunfs/root/chunk.js:439:94416)"\n'
)
RETRIED = (
    'timestamp=2026-11-28T12:18:02.749Z level=ERROR run=8d251941 message="stream error" providerID=anthropic'
    ' small=false agent=build mode=primary error.error="AI_APICallError: slow down, limit reached"\n'
)
SERVER = "Unexpected server error. Check server logs for details."


@pytest.mark.parametrize(
    ("lines", "stderr", "refusal", "message"),
    [
        ((error("bad key", statusCode=401),), "", AgentFailure.NOT_LOGGED_IN, "bad key (HTTP 401)"),
        ((error("slow down", statusCode=429),), RETRIED, AgentFailure.USAGE_LIMIT, "slow down (HTTP 429)"),
        ((error("oops", statusCode=500),), "", AgentFailure.OUTAGE, "oops (HTTP 500)"),
        (
            (error("prompt is too long: 3 tokens", "ContextOverflowError"),),
            "",
            AgentFailure.PROMPT_TOO_LONG,
            "prompt is too long: 3 tokens",
        ),
        (
            (error(SERVER, "UnknownError"),),
            NO_MODEL,
            AgentFailure.UNKNOWN_MODEL,
            "Model not found: foo/bar. Did you mean: frogbot?",
        ),
        (
            (),
            "\x1b[91m\x1b[1mError: \x1b[0mSession not found\n",
            AgentFailure.SESSION_UNKNOWN,
            "exit status 1 before its answer: Error: Session not found",
        ),
    ],
    ids=["login", "limit", "broken", "long", "model", "session"],
)
def test_why_opencode_could_not_work(
    lines: Sequence[dict[str, Any]], stderr: str, refusal: AgentFailure, message: str
) -> None:
    reading = read("opencode", *lines, code=1, stderr=stderr)
    assert (reading.refusal, reading.error, reading.worked) == (refusal, message, False)
    assert reading.way_out


def test_what_opencode_waits_for_in_silence_is_in_its_log() -> None:
    reading = read("opencode", code=-2, stderr=RETRIED)
    assert reading.last_error == "slow down, limit reached"


def init(session: str = UUID) -> dict[str, Any]:
    return {"type": "init", "session_id": session, "model": "auto"}


def said(text: str) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": text, "delta": True}


def result(status: str = "success", error: str = "", **stats: int) -> dict[str, Any]:
    ended = {"type": "result", "status": status, "stats": stats}
    return {**ended, "error": {"type": "unknown", "message": error}} if error else ended


def used(name: str, **parameters: Any) -> dict[str, Any]:
    return {"type": "tool_use", "tool_name": name, "tool_id": "t", "parameters": parameters}


def test_the_messages_of_gemini_are_put_together_from_their_pieces() -> None:
    parser = load_agent("gemini", config_with()).parser(request_for(), "/tree")
    lines = (
        init(),
        {"type": "message", "role": "user", "content": "Go"},
        said("I "),
        said("write."),
        used("write_file", file_path="/tree/a.txt", content="a"),
        {"type": "tool_result", "tool_id": "t", "status": "error", "error": {"message": "no space"}},
        used("run_shell_command", command="make"),
        said("All "),
        said("done."),
        result(total_tokens=150, input_tokens=100, output_tokens=20, cached=7),
    )
    steps = parser.feed("".join(json.dumps(line) + "\n" for line in lines).encode())
    assert [(step.kind, step.text) for step in steps if step.text] == [
        (ProgressKind.SAYS, "I write."),
        (ProgressKind.EDITS, "a.txt"),
        (ProgressKind.NOTE, "no space"),
        (ProgressKind.RUNS, "make"),
        (ProgressKind.SAYS, "All done."),
    ]
    reading = parser.finish(0, "")
    assert (reading.succeeded, reading.session, reading.final_text) == (True, UUID, "All done.")
    # The model's thoughts are in the total alone.
    assert reading.usage == Usage(input_tokens=100, output_tokens=50, cached_tokens=7)
    assert reading.cost_usd is None


TRIES = (
    "YOLO mode is enabled. All tool calls will be automatically approved.\n"
    "Attempt 1 failed with status 429. Retrying with backoff... _ApiError: "
    '{"error":{"code":429,"message":"Resource has been exhausted.","status":"X"}}\n'
    "    at throwErrorIfNotOK (file:///cli/bundle/chunk.js:267833:24) {\n  status: 429\n}\n"
)
NO_KEY = (
    "YOLO mode is enabled. All tool calls will be automatically approved.\n"
    "When using Gemini API, you must specify the GEMINI_API_KEY environment variable.\n"
    "Update your environment and try again (no reload needed if using .env)!\n"
)
NO_SESSION = (
    'Error resuming session: Invalid session identifier "5e551011".\n  Searched for sessions in /home/x.\n'
)


@pytest.mark.parametrize(
    ("lines", "code", "stderr", "refusal", "message"),
    [
        (
            (init(), result("error", '[API Error: {"error":{"code":401,"message":"API key not valid."}}]')),
            145,
            "",
            AgentFailure.NOT_LOGGED_IN,
            "API key not valid.",
        ),
        (
            (init(), result("error", "[API Error: You have exhausted your daily quota.]\nPlease wait and …")),
            173,
            "",
            AgentFailure.USAGE_LIMIT,
            "You have exhausted your daily quota.",
        ),
        (
            (init(), result("error", "[API Error: models/gemini-x is not found for API version v1beta]")),
            1,
            "",
            AgentFailure.UNKNOWN_MODEL,
            "models/gemini-x is not found for API version v1beta",
        ),
        (
            (),
            41,
            NO_KEY,
            AgentFailure.NOT_LOGGED_IN,
            f"exit status 41 before its answer: {NO_KEY.splitlines()[1]}",
        ),
        (
            (),
            42,
            NO_SESSION,
            AgentFailure.SESSION_UNKNOWN,
            f"exit status 42 before its answer: {NO_SESSION.splitlines()[0]}",
        ),
        (
            (init(),),
            0,
            TRIES,
            AgentFailure.USAGE_LIMIT,
            "exit status 0 before its answer: Resource has been exhausted. (failed with status 429)",
        ),
    ],
    ids=["key", "quota", "model", "login", "session", "interrupted"],
)
def test_why_gemini_could_not_work(
    lines: Sequence[dict[str, Any]], code: int, stderr: str, refusal: AgentFailure, message: str
) -> None:
    reading = read("gemini", *lines, code=code, stderr=stderr)
    assert (reading.succeeded, reading.refusal, reading.error) == (False, refusal, message)
    assert reading.way_out


def test_a_signal_that_gemini_ends_well_after_is_no_success() -> None:
    reading = read("gemini", init(), said("I begin."), used("run_shell_command", command="sleep"))
    assert (reading.succeeded, reading.error) == (False, "exit status 0 before its answer")
    assert reading.session == UUID


@pytest.mark.parametrize(
    ("name", "session", "lines"),
    [("opencode", "ses_1", DONE), ("gemini", UUID[::-1], (init(), said("Done."), result()))],
)
def test_another_session_than_was_asked_for_is_no_success(
    name: str, session: str, lines: Sequence[dict[str, Any]]
) -> None:
    reading = read(name, *lines, session=session)
    assert (reading.succeeded, "as asked" in (reading.error or "")) == (False, True)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("resume", [False, True])
def test_what_confines_it_is_said_at_each_start(name: str, resume: bool) -> None:
    session = {"opencode": SES, "gemini": UUID}[name]
    request = replace(request_for(resume=resume), session=session)
    given: dict[str, Any] = {f"{name}__args": ("--x",), f"{name}__model": "m"}
    free = load_agent(name, config_with(**given)).launch(request, *FOLDERS)
    bound = load_agent(name, config_with(**{f"{name}__permissions": "edit"})).launch(request, *FOLDERS)
    assert {"--auto", "yolo"} & {*free.argv}
    assert not {"--auto", "yolo"} & {*bound.argv}
    assert "--x" in free.argv
    assert ("--model", "m") in [*zip(free.argv, free.argv[1:], strict=False)]
    assert "deny" in f"{bound.environ}{bound.files}"
    assert "deny" not in f"{free.environ}{free.files}"


@pytest.mark.parametrize("name", NAMES)
def test_rights_are_asked_about_unless_it_only_edits(name: str) -> None:
    rights = load_agent(name, config_with()).rights
    assert rights is not None
    confines = f"git blackbird config {name}.permissions edit    # confines its edits to the worktree"
    assert str(rights.calmer) == confines
    assert load_agent(name, config_with(**{f"{name}__permissions": "edit"})).rights is None
    with_args: dict[str, Any] = {f"{name}__permissions": "edit", f"{name}__args": ("-x",)}
    assert load_agent(name, config_with(**with_args)).rights is not None


def test_only_names_of_sessions_are_passed_on() -> None:
    agents = {name: load_agent(name, config_with()) for name in NAMES}
    assert agents["opencode"].accepts_session(SES)
    assert agents["gemini"].accepts_session(UUID)
    for odd in ("latest", "1", "ses_", "ses_/../x", "--help", ""):
        assert not any(agent.accepts_session(odd) for agent in agents.values())


@pytest.mark.parametrize(
    ("prompt", "sent"),
    [
        ("Make a.txt", "Make a.txt"),
        (" /compress", " /compress"),
        ("+@property\n", "+\\@property\n"),
    ],
)
def test_a_prompt_reaches_gemini_as_text(prompt: str, sent: str) -> None:
    stdin = load_agent("gemini", config_with()).launch(replace(request_for(), prompt=prompt), *FOLDERS).stdin
    header, _, rest = stdin.decode().rpartition("\n\n")
    assert rest == sent
    assert header.startswith("This is a message and no command") == (prompt != sent or "/" in prompt)
    plain = (
        load_agent("opencode", config_with()).launch(replace(request_for(), prompt=prompt), *FOLDERS).stdin
    )
    assert plain.decode() == prompt
