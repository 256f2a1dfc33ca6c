"""Why a program could not work at all, out of what it said itself, and the way out.

Only what the program says counts: its standard error, the error of a result. The words of a model are
never looked at here, since a model may quote any of this.
"""

import json
import re
from dataclasses import dataclass

from git_blackbird.agents.activity import last_line, one_line
from git_blackbird.agents.json_values import object_of, text_of
from git_blackbird.model.commands import restart_command
from git_blackbird.model.conversation import Refusal
from git_blackbird.model.text import shell_word
from git_blackbird.model.timestamps import format_timestamp

_CURLY = "\N{RIGHT SINGLE QUOTATION MARK}"
_LOOKED_AT_CHARACTERS = 16 * 1024
_NOT_FOUND_STATUS = 127
_RESET_SECONDS = re.compile(r"\|(\d{10})\b")
_UNKNOWN_FLAG = re.compile(r"(?:unknown option|unexpected argument) '(--?[\w-]+)", re.IGNORECASE)
_GIVEN_TWICE = re.compile(r"the argument '--([\w-]+)[^']*' cannot be used multiple times", re.IGNORECASE)
_VARIABLE = re.compile(r"missing environment variable:? [`'\"]?(\w+)", re.IGNORECASE)
_ERROR_LINE = re.compile(r"(?:fatal )?error: \S", re.IGNORECASE)
_NOISE = re.compile(
    r"\s*(?:\d+: (?:<unknown>|0x)|at \S+:\d+|stack backtrace:|reading (?:additional input|prompt) from stdin"
    r"|usage: |for more information, try|tip: |note: run with|\(did you mean )",
    re.IGNORECASE,
)
# In the order in which they are looked for: the first that is said counts. Compiled when a program has
# refused, which few runs come to.
_KNOWN: tuple[tuple[Refusal, tuple[str, ...]], ...] = (
    (
        Refusal.SESSION_UNKNOWN,
        (
            "no conversation found with session id",
            "no rollout found for (?:thread|conversation) id",
            "failed to read thread: thread-store",
            "--resume requires a valid session id",
        ),
    ),
    (Refusal.SESSION_BUSY, ("already has an active writer",)),
    (Refusal.FORBIDDEN, ("cannot be used with root/sudo privileges",)),
    (
        Refusal.TOO_OLD,
        (
            _UNKNOWN_FLAG.pattern,
            "version of claude code .{0,40}needs an update",
            "requires a newer version of codex",
        ),
    ),
    (Refusal.OUTAGE, ("temporarily limiting requests", "selected model is at capacity")),
    (
        Refusal.USAGE_LIMIT,
        (
            "you've (?:hit|reached) your",
            r"\b(?:usage|spend|credit|session|hour|weekly|fast) limit",
            "out of (?:usage )?credits",
            "credit balance is too low",
            "quota exceeded",
            "exceeded your current quota",
            "429 too many requests",
            r"rejected \(429\)",
            "402 payment required",
            "to use codex with your chatgpt plan, upgrade",
        ),
    ),
    (
        Refusal.UNKNOWN_MODEL,
        (
            "issue with the selected model",
            "model .{1,120} does not exist",
            "model is not supported when using",
            "model_not_found",
        ),
    ),
    (
        Refusal.PROMPT_TOO_LONG,
        (
            "prompt is too long",
            "input is too long for",
            "input exceeds the maximum length",
            "piped stdin input exceeds",
            "ran out of room in the model's context window",
            "context_length_exceeded",
        ),
    ),
    (
        Refusal.NOT_LOGGED_IN,
        (
            "please run /login",
            "not logged in",
            "invalid api key",
            "incorrect api key",
            "failed to authenticate",
            "401 unauthorized",
            "403 forbidden",
            "log out and sign in again",
            "missing environment variable",
            "no codex credentials were found",
            "organization has been disabled",
        ),
    ),
    (
        Refusal.OUTAGE,
        (
            r"api error: 5\d\d\b",
            r"\bstatus:? 5\d\d\b",
            "overloaded",
            "experiencing high (?:demand|load)",
            "unable to connect to api",
            "connection (?:refused|reset|error|closed|failed)",
            "stream disconnected before completion",
            "stream ended (?:unexpectedly|without)",
            "error sending request",
            "returned an empty or malformed response",
            "request timed out",
            "idle timeout waiting for",
            "capacity is unavailable",
        ),
    ),
)

_OTHER_AGENT = "choose another agent for the next task with --agent"
_WAYS_OUT = {
    Refusal.SESSION_UNKNOWN: "start a new session: {restart}",
    Refusal.SESSION_BUSY: "another process is using that session: wait for it, or stop it",
    Refusal.FORBIDDEN: "run as a user other than root, or set IS_SANDBOX=1 if this machine is a sandbox",
    Refusal.UNKNOWN_MODEL: "name a model that you may use: {model}",
    Refusal.PROMPT_TOO_LONG: "shorten the prompt of {task}; if the conversation is too long: {restart}",
    Refusal.NOT_LOGGED_IN: "{login}",
    Refusal.OUTAGE: "the service that {name} works with can't be reached or is overloaded: try again later",
}


@dataclass(frozen=True)
class Manual:
    """What a person types to put a program right.

    ``name`` is the agent's, and the section of its configuration keys. ``args`` are the arguments that
    the configuration adds, ``task_id`` the task it works on.
    """

    name: str
    package: str
    update: str
    login: str
    args: tuple[str, ...] = ()
    task_id: str = ""

    @property
    def install(self) -> str:
        """How to get the program, or to do without it."""
        return (
            f"install it: npm install -g {self.package}, or name it: "
            f"git config blackbird.{self.name}.path PATH, or choose another agent with --agent"
        )


@dataclass(frozen=True)
class Finding:
    """A refusal and the way out of it."""

    refusal: Refusal
    hint: str


def find_refusal(said: str, manual: Manual) -> Finding | None:
    """Recognise a refusal in what a program said; None when it says nothing that is known."""
    looked_at = _plain(said[-_LOOKED_AT_CHARACTERS:])
    for refusal, phrases in _KNOWN:
        match = re.search("|".join(phrases), looked_at, re.IGNORECASE)
        if match is not None:
            return explain(refusal, _line_at(looked_at, match.start()), manual)
    return None


def explain(refusal: Refusal, line: str, manual: Manual) -> Finding:
    """Name the way out of a refusal; ``line`` is what the program said of it."""
    if refusal is Refusal.TOO_OLD:
        return _explain_flag(line, manual)
    return Finding(refusal, _hint(refusal, line, manual))


def find_refused_start(exit_code: int | None, stderr: str, manual: Manual) -> Finding | None:
    """Say why a program ended with an error of its own before it printed a single event."""
    if exit_code is None or exit_code <= 0:
        return None
    if exit_code == _NOT_FOUND_STATUS:
        return Finding(Refusal.MISSING, manual.install)
    line = telling_line(stderr)
    twice = _GIVEN_TWICE.search(line)
    if twice is not None:
        way = f"take it out of {manual.name}.args, and set {manual.name}.{twice[1]} instead"
        return Finding(Refusal.REFUSED, f"--{twice[1]} is always given: {way}")
    known = f"git blackbird agent {manual.name}"
    return Finding(Refusal.REFUSED, f"`{known}` shows how it is started; fix that, or {_OTHER_AGENT}")


def telling_line(stderr: str) -> str:
    """Give the line of a program's standard error that says what went wrong; "" when none does.

    That is the last one that calls itself an error; without one, the last that is no usual noise.
    """
    lines = stderr.splitlines()
    for line in reversed(lines):
        if _ERROR_LINE.match(line):
            return one_line(line, 1000)
    return last_line("\n".join(line for line in lines if not _NOISE.match(line)))


def unwrap(message: str) -> str:
    """Give the sentence out of an error that is a server's JSON object; any other text as it is."""
    if not message.lstrip().startswith("{"):
        return message
    try:
        told = object_of(json.loads(message[:_LOOKED_AT_CHARACTERS]))
    except (ValueError, RecursionError):
        return message
    return text_of(told.get("detail")) or text_of(object_of(told.get("error")).get("message")) or message


def _plain(text: str) -> str:
    return text.replace(_CURLY, "'")


def _line_at(text: str, at: int) -> str:
    start = text.rfind("\n", 0, at) + 1
    return text[start:].partition("\n")[0]


def _hint(refusal: Refusal, line: str, manual: Manual) -> str:
    variable = _VARIABLE.search(line)
    if refusal is Refusal.NOT_LOGGED_IN and variable:
        return f"set {variable[1]} in the environment"
    known = _WAYS_OUT.get(refusal)
    if known is None:
        return _limit_hint(line)
    task, restart = shell_word(manual.task_id), restart_command(manual.task_id)
    return known.format(
        name=manual.name, task=task, restart=restart, model=_model_way(manual), login=manual.login
    )


def _model_way(manual: Manual) -> str:
    if any(_stands_in(flag, manual.args) for flag in ("--model", "-m")):
        return f"it comes from the key {manual.name}.args"
    return f"git config blackbird.{manual.name}.model NAME"


def _explain_flag(line: str, manual: Manual) -> Finding:
    match = _UNKNOWN_FLAG.search(line)
    flag = match[1] if match else ""
    if flag and _stands_in(flag, manual.args):
        return Finding(
            Refusal.REFUSED,
            f"{flag} comes from the key {manual.name}.args, and this {manual.name} does not support it",
        )
    lacks = f"this {manual.name} does not support {flag}, which is needed" if flag else "it is too old"
    return Finding(Refusal.TOO_OLD, f"{lacks}: update it: {manual.update}")


def _stands_in(flag: str, args: tuple[str, ...]) -> bool:
    """Whether a flag is among arguments, also as ``--flag=value``."""
    return any(word == flag or word.startswith(f"{flag}=") for word in args)


def _limit_hint(line: str) -> str:
    """Say what to do about a limit, with the time at which it resets where that is told as a number.

    Where the program says the time in words, they are in the error itself.
    """
    reset = _RESET_SECONDS.search(line)
    if reset is None:
        return f"wait until the limit resets, add to it, or {_OTHER_AGENT}"
    return f"wait until {format_timestamp(int(reset[1]) * 10**9)}, or {_OTHER_AGENT}"
