"""What the real programs say when they cannot work, word for word, and the way out of it."""

import json
from typing import Any

import pytest

from git_blackbird.agents.claude.parser import CLAUDE_HELP, ClaudeParser
from git_blackbird.agents.codex.parser import CodexParser, unwrap
from git_blackbird.agents.failures import error_line
from git_blackbird.agents.protocol import OutputParser
from git_blackbird.model.run.agent_io import AgentFailure
from git_blackbird.model.run.ended import Ended
from tests.agents.running import assign

RESTART = "`git blackbird restart t1`"
TOO_LONG = f"shorten the prompt of t1; if the conversation is too long: {RESTART}"
CLAUDE_LOGIN = "log in: claude auth login (or /login in claude); or set a valid ANTHROPIC_API_KEY"
CODEX_LOGIN = "log in with `codex login`, or set a valid CODEX_API_KEY"
CLAUDE_UPDATE = "claude update, or npm install -g @anthropic-ai/claude-code@latest"
CODEX_UPDATE = "npm install -g @openai/codex@latest"
CLAUDE_OUTAGE = "the service behind claude can't be reached or is overloaded: try again later"
CLAUDE_CREDIT = "add credit to the account that claude uses"
CODEX_CREDIT = "add credit to the account that codex uses"
CODEX_OUTAGE = "the service behind codex can't be reached or is overloaded: try again later"
CODEX_LIMIT = (
    "You’ve hit your usage limit. Upgrade to Pro (https://chatgpt.com/explore/pro), visit "  # noqa: RUF001  # its words
    "https://chatgpt.com/settings/usage to purchase more credits or try again at 2:08 PM."
)
BACKTRACE = "\n\nStack backtrace:\n   0: <unknown>\n   1: <unknown>\n  11: <unknown>\n"
SESSION = "5e551011-0000-4000-8000-000000000001"


def finish(reader: OutputParser, events: tuple[Any, ...], exit_code: int, stderr: str) -> Ended:
    reader.feed(b"".join(json.dumps(event).encode() + b"\n" for event in events))
    return reader.finish(exit_code, stderr)


def claude_says(text: str, **more: Any) -> Ended:
    init = {"type": "system", "subtype": "init", "session_id": SESSION}
    result = {"type": "result", "subtype": "success", "is_error": True, "result": text, **more}
    return finish(ClaudeParser(assign("Go")), (init, result), 1, "")


def claude_refuses(stderr: str, *args: str, exit_code: int = 1) -> Ended:
    return finish(ClaudeParser(assign("Go"), args), (), exit_code, stderr + "\n")


def codex_says(message: str) -> Ended:
    failed = {"type": "turn.failed", "error": {"message": message}}
    return finish(CodexParser(assign("Go")), ({"type": "turn.started"}, failed), 1, "")


def codex_refuses(stderr: str, *args: str, exit_code: int = 1) -> Ended:
    return finish(CodexParser(assign("Go"), args), (), exit_code, stderr)


LIMIT = "wait until the limit resets, or raise it"


def refused_start(name: str) -> str:
    return f"`git blackbird agent {name}` shows how it is started; fix that"


def refusal_of(reading: Ended) -> tuple[AgentFailure | None, str | None]:
    assert not reading.succeeded
    assert reading.error
    return reading.refusal, reading.way_out


@pytest.mark.parametrize(
    ("text", "refusal", "hint"),
    [
        ("Invalid API key · Please run /login", AgentFailure.NOT_LOGGED_IN, CLAUDE_LOGIN),
        ("Not logged in · Please run /login", AgentFailure.NOT_LOGGED_IN, CLAUDE_LOGIN),
        ("Failed to authenticate. API Error: 403 forbidden", AgentFailure.NOT_LOGGED_IN, CLAUDE_LOGIN),
        (
            "Claude AI usage limit reached|1767225600",
            AgentFailure.USAGE_LIMIT,
            LIMIT,
        ),
        ("You've hit your session limit · resets 3pm (UTC)", AgentFailure.USAGE_LIMIT, LIMIT),
        ("5-hour limit reached ∙ resets 3pm", AgentFailure.USAGE_LIMIT, LIMIT),
        ("You're out of usage credits.", AgentFailure.NO_CREDIT, CLAUDE_CREDIT),
        ("Credit balance is too low", AgentFailure.NO_CREDIT, CLAUDE_CREDIT),
        ("API Error: Request rejected (429) · slow down", AgentFailure.USAGE_LIMIT, LIMIT),
        (
            "There's an issue with the selected model (X). It may not exist.",
            AgentFailure.UNKNOWN_MODEL,
            "name a model that you may use: set the key claude.model",
        ),
        ("Prompt is too long · the request is ~210000 tokens", AgentFailure.PROMPT_TOO_LONG, TOO_LONG),
        ("API Error: 529 Overloaded. This is a server-side issue", AgentFailure.OUTAGE, CLAUDE_OUTAGE),
        ("API Error: 500 oops. This is a server-side issue", AgentFailure.OUTAGE, CLAUDE_OUTAGE),
        ("API Error: Unable to connect to API (ConnectionRefused)", AgentFailure.OUTAGE, CLAUDE_OUTAGE),
        (
            "API Error: Server is temporarily limiting requests (not your usage limit)",
            AgentFailure.OUTAGE,
            CLAUDE_OUTAGE,
        ),
        (
            "API Error: API returned an empty or malformed response (HTTP 200) — check for a proxy",
            AgentFailure.OUTAGE,
            CLAUDE_OUTAGE,
        ),
    ],
)
def test_claude_says_why_it_could_not_work(text: str, refusal: AgentFailure, hint: str | None) -> None:
    assert refusal_of(claude_says(text)) == (refusal, hint or text)
    assert claude_says(text).error == text


@pytest.mark.parametrize(
    ("more", "refusal"),
    [
        ({"terminal_reason": "prompt_too_long"}, AgentFailure.PROMPT_TOO_LONG),
        ({"terminal_reason": "blocking_limit"}, AgentFailure.PROMPT_TOO_LONG),
        ({"terminal_reason": "api_error", "api_error_status": 413}, AgentFailure.PROMPT_TOO_LONG),
        ({"api_error_status": 401}, AgentFailure.NOT_LOGGED_IN),
        ({"api_error_status": 402}, AgentFailure.NO_CREDIT),
        ({"api_error_status": 403}, AgentFailure.NOT_LOGGED_IN),
        ({"api_error_status": 404}, AgentFailure.UNKNOWN_MODEL),
        ({"api_error_status": 429}, AgentFailure.USAGE_LIMIT),
        ({"api_error_status": 503}, AgentFailure.OUTAGE),
        ({"api_error_status": 400}, None),
        ({"api_error_status": "429"}, None),
    ],
)
def test_words_it_has_not_used_before_are_told_by_its_codes(
    more: dict[str, Any], refusal: AgentFailure | None
) -> None:
    assert refusal_of(claude_says("Something new", **more))[0] is refusal


@pytest.mark.parametrize(
    ("infos", "refusal", "resets_at"),
    [
        ([{"status": "rejected", "resetsAt": 1795875431}], AgentFailure.USAGE_LIMIT, 1795875431),
        (
            [
                {
                    "status": "rejected",
                    "resetsAt": 2,
                    "rateLimitType": "seven_day",
                    "unifiedWindows": {"five_hour": {"resetsAt": 3}, "seven_day": {"resetsAt": 2}},
                }
            ],
            AgentFailure.USAGE_LIMIT,
            2,
        ),
        (
            [
                {
                    "status": "rejected",
                    "unifiedWindows": {
                        "five_hour": {"resetsAt": 3, "status": "rejected"},
                        "seven_day": {"resetsAt": 9, "status": "rejected"},
                        "other": {"resetsAt": 99, "status": "allowed"},
                        "odd": [],
                    },
                }
            ],
            AgentFailure.USAGE_LIMIT,
            9,
        ),
        (
            [{"status": "allowed", "overageStatus": "rejected", "isUsingOverage": True, "resetsAt": 5}],
            AgentFailure.USAGE_LIMIT,
            5,
        ),
        ([{"status": "rejected", "resetsAt": "soon"}], AgentFailure.USAGE_LIMIT, None),
        ([{"status": "allowed", "overageStatus": "rejected", "isUsingOverage": False}], None, None),
        ([{"status": "allowed_warning", "resetsAt": 5}], None, None),
        ([{"status": "rejected", "resetsAt": 5}, {"status": "allowed", "resetsAt": 6}], None, None),
        (["odd"], None, None),
    ],
)
def test_only_a_limit_that_rejects_says_when_it_is_over(
    infos: list[Any], refusal: AgentFailure | None, resets_at: float | None
) -> None:
    events = [{"type": "rate_limit_event", "rate_limit_info": info} for info in infos]
    result = {"type": "result", "subtype": "success", "is_error": True, "result": "Something new"}
    reading = finish(ClaudeParser(assign("Go")), (*events, result), 1, "")
    assert (reading.refusal, reading.resets_at) == (refusal, resets_at)


@pytest.mark.parametrize("result", [{"is_error": False}, {"is_error": None}, {}])
def test_what_a_model_says_of_limits_is_no_refusal(result: dict[str, Any]) -> None:
    text = "I wrote: usage limit reached, Please run /login, 401 Unauthorized"
    event = {"type": "result", "subtype": "success", "session_id": SESSION, "result": text, **result}
    for exit_code in (0, 1):
        assert finish(ClaudeParser(assign("Go")), (event,), exit_code, "").refusal is None
    said = {"type": "item.completed", "item": {"type": "agent_message", "text": text}}
    started, completed = {"type": "thread.started", "thread_id": SESSION}, {"type": "turn.completed"}
    reading = finish(CodexParser(assign("Go")), (started, said, completed), 0, f"ERROR x: {text}\n")
    assert (reading.succeeded, reading.refusal) == (True, None)
    cut_off = finish(CodexParser(assign("Go")), (started, said), 1, f"ERROR x: {text}\nError: odd\n")
    assert cut_off.refusal is None


@pytest.mark.parametrize(
    ("stderr", "refusal", "hint"),
    [
        (
            "No conversation found with session ID: x",
            AgentFailure.SESSION_UNKNOWN,
            f"start a new session: {RESTART}",
        ),
        (
            "--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons",
            AgentFailure.FORBIDDEN,
            "run as a user other than root, or set IS_SANDBOX=1 if this machine is a sandbox",
        ),
        (
            "Error: piped stdin input exceeds 10MB. Pass large content as a file",
            AgentFailure.PROMPT_TOO_LONG,
            TOO_LONG,
        ),
        (
            "error: unknown option '--session-id'",
            AgentFailure.TOO_OLD,
            f"this claude does not support --session-id, which is needed: update it: {CLAUDE_UPDATE}",
        ),
        (
            "error: unknown option '--nonsense'",
            AgentFailure.REFUSED,
            "--nonsense comes from the key claude.args, and this claude does not support it",
        ),
        ("Error: Session ID x is already in use.", AgentFailure.REFUSED, refused_start("claude")),
        ("", AgentFailure.REFUSED, refused_start("claude")),
    ],
)
def test_claude_may_refuse_before_one_event(stderr: str, refusal: AgentFailure, hint: str | None) -> None:
    reading = claude_refuses(stderr, "--nonsense", "1")
    assert refusal_of(reading) == (refusal, hint or stderr)
    assert reading.session is None


@pytest.mark.parametrize(
    ("message", "refusal", "hint"),
    [
        (
            "unexpected status 401 Unauthorized: bad key, url: http://x",
            AgentFailure.NOT_LOGGED_IN,
            CODEX_LOGIN,
        ),
        ("unexpected status 403 Forbidden: no, url: http://x", AgentFailure.NOT_LOGGED_IN, CODEX_LOGIN),
        (
            "Your access token could not be refreshed. Please log out and sign in again.",
            AgentFailure.NOT_LOGGED_IN,
            CODEX_LOGIN,
        ),
        ("Missing environment variable: `XKEY`.", AgentFailure.NOT_LOGGED_IN, "set XKEY in the environment"),
        (CODEX_LIMIT, AgentFailure.USAGE_LIMIT, LIMIT),
        ("exceeded retry limit, last status: 429 Too Many Requests", AgentFailure.USAGE_LIMIT, LIMIT),
        ("Quota exceeded. Check your plan and billing details.", AgentFailure.NO_CREDIT, CODEX_CREDIT),
        ("Your workspace is out of credits. Add credits to continue.", AgentFailure.NO_CREDIT, CODEX_CREDIT),
        (
            "The model `gpt-9` does not exist or you do not have access to it.",
            AgentFailure.UNKNOWN_MODEL,
            "name a model that you may use: set the key codex.model",
        ),
        (
            "The 'gpt-9' model requires a newer version of Codex. Please upgrade to the latest app or CLI.",
            AgentFailure.TOO_OLD,
            "it is too old: update it: npm install -g @openai/codex@latest",
        ),
        (
            "Codex ran out of room in the model's context window. Start a new thread.",
            AgentFailure.PROMPT_TOO_LONG,
            TOO_LONG,
        ),
        (
            "stream disconnected before completion: stream closed before response.completed",
            AgentFailure.OUTAGE,
            CODEX_OUTAGE,
        ),
        (
            "We’re currently experiencing high demand, which may cause temporary errors.",  # noqa: RUF001  # its words
            AgentFailure.OUTAGE,
            CODEX_OUTAGE,
        ),
        ("unexpected status 503 Service Unavailable: oops, url: http://x", AgentFailure.OUTAGE, CODEX_OUTAGE),
        ("Selected model is at capacity. Please try a different model.", AgentFailure.OUTAGE, CODEX_OUTAGE),
    ],
)
def test_codex_says_why_it_could_not_work(message: str, refusal: AgentFailure, hint: str | None) -> None:
    assert refusal_of(codex_says(message)) == (refusal, hint or message)
    assert codex_says(message).error == message


def test_an_error_of_the_server_is_told_without_its_json() -> None:
    detail = '{"detail": "The \'gpt-9\' model is not supported when using Codex with a ChatGPT account."}'
    assert codex_says(detail).refusal is AgentFailure.UNKNOWN_MODEL
    assert codex_says(detail).error == (
        "The 'gpt-9' model is not supported when using Codex with a ChatGPT account."
    )
    assert unwrap('{"error": {"message": "no"}}') == "no"
    for text in ("plain", "{broken", '{"other": 1}', '{"detail": 1, "error": 2}', "{" * 100_000):
        assert unwrap(text) == text


def test_what_is_not_known_is_a_failure_and_no_refusal() -> None:
    assert refusal_of(codex_says("bad request")) == (None, None)
    assert refusal_of(codex_says("")) == (None, None)
    assert refusal_of(claude_says("Something new")) == (None, None)


@pytest.mark.parametrize(
    ("stderr", "refusal", "hint", "told"),
    [
        (
            "Error: thread/resume: thread/resume failed: no rollout found for thread id 01 (code -32600)",
            AgentFailure.SESSION_UNKNOWN,
            f"start a new session: {RESTART}",
            "no rollout found for thread id 01 (code -32600)",
        ),
        (
            "Error: thread/resume: thread/resume failed: thread 01 already has an active writer",
            AgentFailure.SESSION_BUSY,
            "another process is using that session: wait for it, or stop it",
            "thread 01 already has an active writer",
        ),
        (
            "Error: turn/start: turn/start failed: Input exceeds the maximum length of 1048576 characters.",
            AgentFailure.PROMPT_TOO_LONG,
            TOO_LONG,
            "Input exceeds the maximum length of 1048576 characters.",
        ),
        (
            "error: unexpected argument '--json' found",
            AgentFailure.TOO_OLD,
            f"this codex does not support --json, which is needed: update it: {CODEX_UPDATE}",
            "unexpected argument '--json' found",
        ),
        (
            "error: unexpected argument '--odd' found",
            AgentFailure.REFUSED,
            "--odd comes from the key codex.args, and this codex does not support it",
            "unexpected argument '--odd' found",
        ),
        (
            "error: the argument '--sandbox <SANDBOX_MODE>' cannot be used multiple times",
            AgentFailure.REFUSED,
            "--sandbox is always given: take it out of codex.args, and set codex.sandbox instead",
            "the argument '--sandbox <SANDBOX_MODE>' cannot be used multiple times",
        ),
        ("Error: Something new", AgentFailure.REFUSED, refused_start("codex"), "Something new"),
    ],
)
def test_codex_may_refuse_before_one_event(stderr: str, refusal: AgentFailure, hint: str, told: str) -> None:
    reading = codex_refuses(f"Reading prompt from stdin...\n{stderr}{BACKTRACE}", "--odd=1", exit_code=1)
    assert refusal_of(reading) == (refusal, hint)
    assert reading.error == f"exit status 1 before the end of the turn: {told}"


def test_a_model_out_of_the_added_arguments_is_named_as_such() -> None:
    failed = {"type": "turn.failed", "error": {"message": "The model `x` does not exist"}}
    reading = finish(CodexParser(assign("Go"), ("-m", "x")), (failed,), 1, "")
    assert reading.way_out == "name a model that you may use: it comes from the key codex.args"


def test_a_program_that_is_not_there_is_missing() -> None:
    for reading, name in (
        (claude_refuses("gate: 1: exec: claude: not found", exit_code=127), "@anthropic-ai/claude-code"),
        (codex_refuses("gate: 1: exec: codex: not found\n", exit_code=127), "@openai/codex"),
    ):
        refusal, hint = refusal_of(reading)
        assert refusal is AgentFailure.MISSING
        assert hint is not None
        assert f"npm install -g {name}" in hint


@pytest.mark.parametrize("exit_code", [-9, 143])
def test_a_program_that_was_stopped_has_refused_nothing(exit_code: int) -> None:
    stderr = "You've hit your usage limit"
    assert finish(ClaudeParser(assign("Go")), ({"type": "system"},), exit_code, stderr).refusal is None
    assert finish(CodexParser(assign("Go")), ({"type": "turn.started"},), -9, stderr).refusal is None


def test_the_telling_line_is_found_among_noise() -> None:
    assert error_line(f"Error: first\nwarning\nError: last{BACKTRACE}") == "Error: last"
    assert error_line("error: unknown option '--a'\n(Did you mean --b?)\n") == "error: unknown option '--a'"
    assert error_line("odd\n   0: <unknown>\nUsage: x\nFor more information, try '--help'.\n") == "odd"
    assert error_line("") == error_line(BACKTRACE) == ""


def test_an_install_hint_names_every_way() -> None:
    assert CLAUDE_HELP.install == (
        "install it: npm install -g @anthropic-ai/claude-code; "
        "if it is elsewhere, set the key claude.path to its path"
    )
