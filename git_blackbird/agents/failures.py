"""Recognize why a program could not work, from its own output, what to do about it, and when a limit is over.

Only the program's own words count: its standard error, the error of a result. Text of a model is never
searched, since a model may quote any of this.
"""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from git_blackbird.clean import one_line
from git_blackbird.model.base.next_steps import Sentence, TaskCommand
from git_blackbird.model.base.sanitize import shell_word
from git_blackbird.model.run.agent_io import AgentFailure

_MAX_CHARACTERS = 16 * 1024
_NOT_FOUND_STATUS = 127
_UNKNOWN_FLAG = re.compile(r"(?:unknown option|unexpected argument) '(--?[\w-]+)", re.IGNORECASE)
_GIVEN_TWICE = re.compile(r"the argument '--([\w-]+)[^']*' cannot be used multiple times", re.IGNORECASE)
_VARIABLE = re.compile(r"missing environment variable:? [`'\"]?(\w+)", re.IGNORECASE)
_ERROR_LINE = re.compile(r"(?:fatal )?error: \S", re.IGNORECASE)
_NOISE = re.compile(
    r"\s*(?:\d+: (?:<unknown>|0x)|at \S+:\d+|stack backtrace:|reading (?:additional input|prompt) from stdin"
    r"|usage: |for more information, try|tip: |note: run with|\(did you mean )",
    re.IGNORECASE,
)
# In order of precedence: the first match counts. Compiled after a refusal only, which is rare.
_KNOWN: tuple[tuple[AgentFailure, tuple[str, ...]], ...] = (
    (
        AgentFailure.SESSION_UNKNOWN,
        (
            "no conversation found with session id",
            "no rollout found for (?:thread|conversation) id",
            "failed to read thread: thread-store",
            "--resume requires a valid session id",
        ),
    ),
    (AgentFailure.SESSION_BUSY, ("already has an active writer",)),
    (AgentFailure.FORBIDDEN, ("cannot be used with root/sudo privileges",)),
    (AgentFailure.TOO_OLD, (_UNKNOWN_FLAG.pattern,)),
    (AgentFailure.OUTAGE, ("temporarily limiting requests", "selected model is at capacity")),
    (
        AgentFailure.NO_CREDIT,
        (
            "out of (?:usage )?credits",
            "requires usage credits",
            "credit balance is too low",
            "quota exceeded",
            "exceeded your current quota",
            "402 payment required",
        ),
    ),
    (
        AgentFailure.USAGE_LIMIT,
        (
            "you've (?:hit|reached) your",
            r"\b(?:usage|spend|credit|session|hour|weekly|fast) limit",
            "out of (?:extra )?usage",
            "rate limit reached",
            "429 too many requests",
            r"rejected \(429\)",
        ),
    ),
    (
        AgentFailure.UNKNOWN_MODEL,
        (
            "issue with the selected model",
            "model .{1,120} does not exist",
            "model is not supported when using",
            "model_not_found",
        ),
    ),
    (
        AgentFailure.REFUSED,
        (
            "invalid (?:json )?schema",
            "unsupported (?:value|parameter):",
            r"does not support .{0,40}\b(?:parameter|effort|thinking|reasoning)\b",
            r"\b(?:effort|thinking|reasoning)\b.{0,40} (?:is )?not supported",
        ),
    ),
    (
        AgentFailure.PROMPT_TOO_LONG,
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
        AgentFailure.NOT_LOGGED_IN,
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
            "organization has been disabled",
            "token (?:has |is )?expired",
        ),
    ),
    (
        AgentFailure.OUTAGE,
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


class ProviderHelp(NamedTuple):
    """Data for hints on how to fix a program's setup.

    ``name`` is that of the agent and of the section of its configuration keys. ``args`` are the arguments
    that the configuration adds, ``task_id`` is the current task. ``phrases`` are further phrases of this
    program alone, for failures that others have, too.
    """

    name: str
    package: str
    update: str
    login: str
    args: tuple[str, ...] = ()
    task_id: str = ""
    phrases: Mapping[AgentFailure, tuple[str, ...]] = {}

    @property
    def install(self) -> str:
        return (
            f"install it: npm install -g {self.package}; "
            f"if it is elsewhere, set the key {self.name}.path to its path"
        )


class FailureMatch(NamedTuple):
    refusal: AgentFailure
    hint: str


def match_failure(message: str, provider: ProviderHelp) -> FailureMatch | None:
    text = message[-_MAX_CHARACTERS:].replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    for refusal, phrases in _KNOWN:
        match = re.search("|".join((*phrases, *provider.phrases.get(refusal, ()))), text, re.IGNORECASE)
        if match is not None:
            line = text[text.rfind("\n", 0, match.start()) + 1 :].partition("\n")[0]
            return failure_hint(refusal, line, provider)
    return None


def failure_hint(refusal: AgentFailure, line: str, provider: ProviderHelp) -> FailureMatch:
    """Return the hint for a refusal; ``line`` is the program's message."""
    if refusal is AgentFailure.TOO_OLD:
        match = _UNKNOWN_FLAG.search(line)
        flag = match[1] if match else ""
        if flag and _is_given(flag, provider.args):
            whence = f"comes from the key {provider.name}.args, and this {provider.name} does not support it"
            return FailureMatch(AgentFailure.REFUSED, f"{flag} {whence}")
        lacks = f"this {provider.name} does not support {flag}, which is needed" if flag else "it is too old"
        return FailureMatch(AgentFailure.TOO_OLD, f"{lacks}: update it: {provider.update}")
    variable = _VARIABLE.search(line)
    if refusal is AgentFailure.NOT_LOGGED_IN and variable:
        return FailureMatch(refusal, f"set {variable[1]} in the environment")
    model = f"set the key {provider.name}.model"
    if any(_is_given(flag, provider.args) for flag in ("--model", "-m")):
        model = f"it comes from the key {provider.name}.args"
    return FailureMatch(refusal, _hints(provider, model)[refusal])


def _hints(provider: ProviderHelp, model: str) -> Mapping[AgentFailure, str]:
    """Return what to do about each refusal; ``model`` is how the model is set."""
    name, task = provider.name, shell_word(provider.task_id)
    shows, restart = TaskCommand("agent", rest=f" {name}"), TaskCommand("restart", provider.task_id)
    too_long = f"shorten the prompt of {task}; if the conversation is too long: "
    return {
        AgentFailure.SESSION_UNKNOWN: Sentence("start a new session: ", restart),
        AgentFailure.SESSION_BUSY: "another process is using that session: wait for it, or stop it",
        AgentFailure.NO_CREDIT: f"add credit to the account that {name} uses",
        AgentFailure.USAGE_LIMIT: "wait until the limit resets, or raise it",
        AgentFailure.FORBIDDEN: (
            "run as a user other than root, or set IS_SANDBOX=1 if this machine is a sandbox"
        ),
        AgentFailure.UNKNOWN_MODEL: f"name a model that you may use: {model}",
        AgentFailure.REFUSED: Sentence(shows, " shows how it is started; fix that"),
        AgentFailure.CONTEXT_FULL: Sentence(
            f"divide {task} into smaller tasks, or start a new session: ", restart
        ),
        AgentFailure.PROMPT_TOO_LONG: Sentence(too_long, restart),
        AgentFailure.NOT_LOGGED_IN: provider.login,
        AgentFailure.OUTAGE: f"the service behind {name} can't be reached or is overloaded: try again later",
    }


def find_refused_start(exit_code: int | None, stderr: str, provider: ProviderHelp) -> FailureMatch | None:
    """Return the reason if a program failed before it printed an event."""
    if exit_code is None or exit_code <= 0:
        return None
    if exit_code == _NOT_FOUND_STATUS:
        return FailureMatch(AgentFailure.MISSING, provider.install)
    line = error_line(stderr)
    twice = _GIVEN_TWICE.search(line)
    if twice is not None:
        hint = f"take it out of {provider.name}.args, and set {provider.name}.{twice[1]} instead"
        return FailureMatch(AgentFailure.REFUSED, f"--{twice[1]} is always given: {hint}")
    return failure_hint(AgentFailure.REFUSED, line, provider)


def error_line(stderr: str) -> str:
    """Return the last line of standard error marked as an error, else the last that is no usual noise."""
    lines = stderr.splitlines()
    for line in reversed(lines):
        if _ERROR_LINE.match(line):
            return one_line(line, 1000)
    return last_line("\n".join(line for line in lines if not _NOISE.match(line)))


def _is_given(flag: str, args: tuple[str, ...]) -> bool:
    """Whether a flag is among the arguments, also as ``--flag=value``."""
    return any(word == flag or word.startswith(f"{flag}=") for word in args)


def last_line(text: str) -> str:
    """Return the last visible line of ``text``, cleaned; "" if there is none."""
    for line in reversed(text.splitlines()):
        if cleaned := one_line(line):
            return cleaned
    return ""


def exit_text(exit_code: int | None) -> str:
    """Return the end of a process as text, such as ``exit status 7`` or ``killed by signal 9``."""
    if exit_code is None:
        return "ended in an unknown way"
    return f"killed by signal {-exit_code}" if exit_code < 0 else f"exit status {exit_code}"


_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_EPOCH_SECONDS = re.compile(r"\|(\d{10})\b")
_WORDS = re.compile(
    rf"""\b(?:resets|try\ again)(?:\ at|\ on)?\s+
    (?:(?P<weekday>{"|".join(_DAYS)})[a-z]*,?\s+
      |(?P<month>{"|".join(_MONTHS)})[a-z]*\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:,?\s+(?P<year>\d{{4}}))?
       (?:,|\ at)?\s+)?
    (?P<hour>\d{{1,2}})(?=:|\s*[ap]m)(?::(?P<minute>\d{{2}}))?\s*(?P<half>[ap]m)?\b
    (?:\s*\((?P<zone>[^)]{{1,64}})\))?""",
    re.IGNORECASE | re.VERBOSE,
)
# Words name a minute, which has begun when the limit ends and may have passed when they are read.
_MINUTE = timedelta(minutes=1)
_SLACK = timedelta(minutes=10)


def find_reset(text: str, now: float) -> float | None:
    """Return when the limit in ``text`` is over, in seconds since 1970, if it says so."""
    epoch = _EPOCH_SECONDS.search(text)
    if epoch is not None:
        return float(epoch[1])
    match = _WORDS.search(text)
    if match is None:
        return None
    try:
        zone = ZoneInfo(match["zone"]) if match["zone"] else None
        return (_next_moment(match, datetime.fromtimestamp(now, zone)) + _MINUTE).timestamp()
    except (KeyError, ValueError, OSError, OverflowError):  # no such zone, or no such time
        return None


def _next_moment(match: re.Match[str], now: datetime) -> datetime:
    hour = int(match["hour"])
    if half := match["half"]:
        hour = hour % 12 + 12 * (half.lower() == "pm")
    at = now.replace(hour=hour, minute=int(match["minute"] or 0), second=0, microsecond=0)
    period = timedelta(days=1)
    if name := match["weekday"]:
        period = timedelta(days=7)
        at += timedelta(days=(_DAYS.index(name.lower()) - now.weekday()) % 7)
    elif name := match["month"]:
        at = at.replace(int(match["year"] or now.year), _MONTHS.index(name.lower()) + 1, int(match["day"]))
        if match["year"] or at >= now - _SLACK:
            return at
        return at.replace(at.year + 1)
    return at if at >= now - _SLACK else at + period
