"""The ``opencode`` agent: opencode, headless; its event stream, parsed to progress and an outcome."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Annotated

from pydantic import JsonValue, TypeAdapter

from git_blackbird.agents.answer_parser import AnswerParser
from git_blackbird.agents.event_parser import unfinished_word
from git_blackbird.agents.failures import ProviderHelp, error_line
from git_blackbird.agents.json_events import Line
from git_blackbird.agents.program import PermittedAgent, Program, run_query
from git_blackbird.agents.protocol import Assignment, Capabilities, Launch
from git_blackbird.clean import one_line
from git_blackbird.model.base.lenient import Amount, Count, Lenient, Text, at
from git_blackbird.model.run.agent_io import AgentFailure, Progress, ProgressKind
from git_blackbird.model.run.parts import Usage

OPENCODE_HELP = ProviderHelp(
    name="opencode",
    package="opencode-ai",
    update="npm install -g opencode-ai@latest",
    login="log in with `opencode auth login`",
    phrases={
        AgentFailure.SESSION_UNKNOWN: ("session not found",),
        AgentFailure.UNKNOWN_MODEL: ("model not found:",),
        AgentFailure.USAGE_LIMIT: (r"\(HTTP 429\)", "usage exceeded"),
        AgentFailure.NOT_LOGGED_IN: (r"\(HTTP 40[13]\)",),
        AgentFailure.OUTAGE: (r"\(HTTP 5\d\d\)", "cannot connect to api"),
    },
)
# In a line of its log: the error of a step, or of a request that is tried again.
_LOGGED = re.compile(r' error(?:\.error)?="(?:\w+: )?((?:[^"\\]|\\.)*)"')
# The whole of some errors in the stream: the log has their words.
_SEE_LOG = "check server logs"
_DENIED = ("The user rejected permission", "The user has specified a rule which prevents you")


class Event(Lenient):
    """An event; the fields belong to several types of events."""

    type: Text
    session: Annotated[Text, at("sessionID")]
    text: Annotated[Text, at("part.text")]
    tool: Annotated[Text, at("part.tool")]
    path: Annotated[Text, at("part.state.input.filePath", "part.state.input.path")]
    subject: Annotated[
        Text, at(*(f"part.state.input.{name}" for name in ("command", "pattern", "url", "description")))
    ]
    tool_error: Annotated[Text, at("part.state.error")]
    reason: Annotated[Text, at("part.reason")]
    cost: Annotated[Amount, at("part.cost")]
    # Without those of the provider's cache.
    input: Annotated[Count, at("part.tokens.input")]
    output: Annotated[Count, at("part.tokens.output")]
    thoughts: Annotated[Count, at("part.tokens.reasoning")]
    cached: Annotated[Count, at("part.tokens.cache.read")]
    newly_cached: Annotated[Count, at("part.tokens.cache.write")]
    error: Annotated[Text, at("error.data.message", "error.name")]
    status: Annotated[Count, at("error.data.statusCode")]


EVENTS: TypeAdapter[Event | tuple[Event, ...]] = TypeAdapter(Line[Event])
_FINISHED: Mapping[str, frozenset[str]] = {"reason": frozenset({"stop"})}
_FAILED = frozenset({"", "error", "unknown"})


class OpencodeParser(AnswerParser[Event]):
    """Sum up the steps; the last one ends the run, for there is no event for that."""

    events = EVENTS
    provider = OPENCODE_HELP
    tools: Mapping[str, ProgressKind] = {
        **dict.fromkeys(("read", "grep", "glob", "list", "webfetch"), ProgressKind.READS),
        **dict.fromkeys(("edit", "write", "patch"), ProgressKind.EDITS),
        "bash": ProgressKind.RUNS,
    }

    def _take(self, event: Event) -> Iterator[Progress]:
        self._session = event.session or self._session
        if event.type in {"step_start", "text", "tool_use", "step_finish", "error"}:
            self._failure, self._completed, self._end_word = "", False, None
        match event.type:
            case "step_start":
                self._text = ""
                # It says of a tool only that it has ended.
                self._tools.begin("")
            case "text":
                self._text = "\n\n".join(filter(None, (self._text, event.text)))
                yield from self._says(event.text)
            case "tool_use":
                yield self._uses(event.tool, event.path, event.subject)
                if event.tool_error:
                    self._denied += [event.tool] if event.tool_error.startswith(_DENIED) else []
                    yield self._notes(f"{event.tool_error}: {event.tool}")
            case "step_finish":
                yield self._finish_step(event)
            case "error":
                yield self._fails(event.error, f" (HTTP {event.status})" if event.status else "")
            case _:
                pass

    def _finish_step(self, event: Event) -> Progress:
        self._tools.end("")
        word = unfinished_word(event, _FINISHED)
        self._completed = word is None
        self._hear(self._text, ends_turn=self._completed)
        if word in _FAILED:
            self._fails(f"it ended without an answer: {word or 'no reason was given'}")
        elif word != "tool-calls":
            self._end_word = word
        before = self._usage or Usage()
        self._usage = Usage(
            input_tokens=before.input_tokens + event.input + event.cached + event.newly_cached,
            output_tokens=before.output_tokens + event.output + event.thoughts,
            cached_tokens=before.cached_tokens + event.cached,
        )
        self._cost = (self._cost or 0.0) + (event.cost or 0.0)
        return self._spends()

    def _error(self) -> str | None:
        if _SEE_LOG in self._failure.lower():
            self._failure = self._words() or self._failure
        return super()._error()

    def _words(self) -> str:
        return next(reversed(_LOGGED.findall(self._stderr)), "") or error_line(self._stderr)


# It neither updates itself under a run nor, when it is only asked about itself, fetches lists of models.
_PINNED = {"OPENCODE_DISABLE_AUTOUPDATE": "1"}
_READING: Mapping[str, JsonValue] = dict.fromkeys(("read", "grep", "glob", "list"), "allow")
_EDITING = {**_READING, "edit": "allow", "todowrite": "allow"}
_SESSION = re.compile(r"ses_[0-9A-Za-z]{1,100}")
_COUNTS = re.compile(r"\b(\d+) (credential|environment variable)s?\b")


class OpencodeAgent(PermittedAgent):
    name = "opencode"
    abilities = Capabilities(
        resume=True, read_only=True, reads_only_files=True, reports_cost=True, prints_events=True
    )
    parser_type = OpencodeParser
    help_words = ("run", "--help")
    flags = ("--format", "--session", "--title", "--dir", "--auto", "--agent", "--print-logs")
    query_environ: Mapping[str, str] = {**_PINNED, "OPENCODE_DISABLE_MODELS_FETCH": "1"}
    reviews = (
        "read the files of the worktree, run nothing and write nothing; opencode.args and the repository's"
        " own settings are ignored, and no session is kept"
    )
    remarks = (
        "it follows the settings, plugins and AGENTS.md of the repository that it works in",
        "what its subagents cost is not in the cost that it reports",
        "without a login and a model it uses a free model of its own provider",
    )

    def _login(self, program: Program, environ: Mapping[str, str]) -> str:
        """Return how many logins it knows; those of local models need none."""
        output = run_query(program.path, "auth", "list", environ=environ)
        counts = _COUNTS.findall(one_line(f"{output.stdout}\n{output.stderr}", 100_000))
        return ", ".join(f"{count} {what}{'' if count == '1' else 's'}" for count, what in counts)

    def accepts_session(self, session: str) -> bool:
        return _SESSION.fullmatch(session) is not None

    def _start(self, assignment: Assignment, folder: str, scratch: str) -> Launch:
        agent, confines = f"blackbird-{assignment.run_id}", assignment.read_only or self.mode == "edit"
        # Else it asks another model for a title, and does not say what that costs.
        session = (
            ("--session", assignment.session or "") if assignment.resume else ("--title", assignment.task_id)
        )
        argv = (
            *(self._settings.path, "run", "--format", "json"),
            # Its log has the reason of an error that its events only number, or that it retries in silence.
            *("--print-logs", "--log-level", "WARN", *session, *self._model_args),
            # It believes the variable PWD, which is not always the working folder.
            *(("--dir", folder) if folder and not assignment.read_only else ()),
            *(("--agent", agent) if confines else ("--auto",)),
        )
        variables = _confined(agent, _EDITING) if confines else {}
        if assignment.read_only:
            # The worktree is not the working folder.
            reaching: JsonValue = {"*": "deny", f"{folder}/*": "allow"}
            variables = _confined(agent, {**_READING, "external_directory": reaching})
            variables["OPENCODE_DB"] = f"{scratch}/sessions.db"
        return Launch(argv, assignment.prompt.encode(errors="replace"), _PINNED | variables)

    def launch_by_hand(self, session: str) -> Launch:
        argv = (self._settings.path, "--session", session, *self._model_args, *self._settings.args)
        if self._settings.permissions == "all":
            return Launch(argv, b"", _PINNED)
        agent = f"blackbird-{session}"
        return Launch((*argv, "--agent", agent), b"", _PINNED | _confined(agent, _EDITING))


def _confined(agent: str, tools: Mapping[str, JsonValue]) -> dict[str, str]:
    """Return the variable that defines one of the program's own agents, with these tools alone.

    Permissions that are not an agent's own are overruled by those of agents in the repository's settings,
    which cannot know this one's name.
    """
    config = {"agent": {agent: {"mode": "primary", "permission": {"*": "deny", **tools}}}}
    return {"OPENCODE_CONFIG_CONTENT": json.dumps(config)}
