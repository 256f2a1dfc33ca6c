"""The ``gemini`` agent: Gemini CLI, headless; its event stream, parsed to progress and an outcome."""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated

from pydantic import TypeAdapter

from git_blackbird.agents.answer_parser import AnswerParser
from git_blackbird.agents.event_parser import unfinished_word
from git_blackbird.agents.failures import FailureMatch, ProviderHelp, failure_hint
from git_blackbird.agents.json_events import Line
from git_blackbird.agents.program import PermittedAgent
from git_blackbird.agents.protocol import Assignment, Capabilities, Launch
from git_blackbird.clean import one_line
from git_blackbird.messages.outgoing.prompts import as_plain_text
from git_blackbird.model.base.lenient import Count, Lenient, Text, at
from git_blackbird.model.run.agent_io import AgentFailure, Progress, ProgressKind
from git_blackbird.model.run.parts import Usage

GEMINI_HELP = ProviderHelp(
    name="gemini",
    package="@google/gemini-cli",
    update="npm install -g @google/gemini-cli@latest",
    login="start `gemini` once and log in, or set a valid GEMINI_API_KEY",
    phrases={
        AgentFailure.SESSION_UNKNOWN: ("error resuming session",),
        AgentFailure.UNKNOWN_MODEL: (r"models/\S+ is not found",),
        AgentFailure.USAGE_LIMIT: ("exhausted", "failed with status 429"),
        AgentFailure.NOT_LOGGED_IN: ("api key not valid",),
        AgentFailure.OUTAGE: (r"failed with status 5\d\d",),
    },
)
_NO_LOGIN_STATUS = 41
_NOISE = re.compile(
    r"\s+at |\s*(?:[})]|\w+: )|YOLO mode|.*256-color|Ripgrep is not|\[STARTUP\]|Error executing tool|\(node:"
)
_ATTEMPT = re.compile(r"^Attempt \d+ (failed with status \d+).*", re.MULTILINE)
# The words of a provider, in its JSON or in the program's own brackets.
_SAID = re.compile(r'"message":"((?:[^"\\]|\\.)*)"|^\[API Error: ([^{]*?)\]')


class Event(Lenient):
    """An event; the fields belong to several types of events."""

    type: Text
    session: Annotated[Text, at("session_id")]
    role: Text
    content: Text
    message: Text
    tool: Annotated[Text, at("tool_name")]
    call: Annotated[Text, at("tool_id")]
    path: Annotated[Text, at("parameters.file_path", "parameters.dir_path")]
    subject: Annotated[
        Text, at(*(f"parameters.{name}" for name in ("command", "pattern", "query", "prompt")))
    ]
    status: Text
    error: Annotated[Text, at("error.message", "output")]
    input: Annotated[Count, at("stats.input_tokens")]
    output: Annotated[Count, at("stats.output_tokens")]
    total: Annotated[Count, at("stats.total_tokens")]
    cached: Annotated[Count, at("stats.cached")]


EVENTS: TypeAdapter[Event | tuple[Event, ...]] = TypeAdapter(Line[Event])
_FINISHED: Mapping[str, frozenset[str]] = {"status": frozenset({"success"})}
_FAILED = frozenset({"", "error"})


class GeminiParser(AnswerParser[Event]):
    """Put the model's messages together from their pieces, and read the result."""

    events = EVENTS
    provider = GEMINI_HELP
    tools: Mapping[str, ProgressKind] = {
        **dict.fromkeys(("read_file", "list_directory", "glob", "grep_search"), ProgressKind.READS),
        **dict.fromkeys(("web_fetch", "google_web_search"), ProgressKind.READS),
        **dict.fromkeys(("write_file", "replace"), ProgressKind.EDITS),
        "run_shell_command": ProgressKind.RUNS,
    }

    def __init__(self, assignment: Assignment, args: tuple[str, ...] = (), folder: str = "") -> None:
        super().__init__(assignment, args, folder)
        # Whether a message goes on, and whether no tool and no error has followed the last one.
        self._is_open = self._has_answer = False
        # The last error since then.
        self._warning = ""

    def _take(self, event: Event) -> Iterator[Progress]:
        self._session = event.session or self._session
        is_message = event.type == "message" and event.role == "assistant"
        if self._is_open and not is_message:
            self._is_open = False
            self._hear(self._text, ends_turn=event.type == "result")
            yield from self._says(self._text)
        if event.type in {"tool_use", "tool_result", "error"}:
            self._has_answer = False
        if event.type == "tool_result":
            self._tools.end(event.call)
        match event.type:
            case "message" if is_message:
                self._text = f"{self._text}{event.content}" if self._is_open else event.content
                self._is_open = True
                self._has_answer, self._warning = self._has_answer or bool(event.content.strip()), ""
            case "tool_use":
                self._tools.begin(event.call)
                yield self._uses(event.tool, event.path, event.subject)
            case "tool_result" if event.status == "error":
                yield self._notes(event.error)
            case "error":
                self._warning = one_line(event.message, 1000)
                yield self._notes(event.message)
            case "result":
                yield self._end(event)
            case _:
                pass

    def _end(self, event: Event) -> Progress:
        word = unfinished_word(event, _FINISHED)
        self._completed = word is None and self._has_answer
        if word in _FAILED:
            self._fails(_said(event.error) or event.error)
        elif not self._completed:
            self._end_word = word or self._warning
        # The model's thoughts, which are in the total alone, are paid for as well.
        output = max(event.output, event.total - event.input)
        self._usage = Usage(input_tokens=event.input, output_tokens=output, cached_tokens=event.cached)
        return self._spends()

    def _refusal(self) -> FailureMatch | None:
        if self._exit_code == _NO_LOGIN_STATUS and not self._session:
            return failure_hint(AgentFailure.NOT_LOGGED_IN, "", self._provider)
        return super()._refusal()

    def _words(self) -> str:
        for attempt in reversed([*_ATTEMPT.finditer(self._stderr)]):
            return " ".join(filter(None, (_said(attempt[0]), f"({attempt[1]})")))
        # Advice follows the words.
        lines = (line for line in self._stderr.splitlines() if not _NOISE.match(line))
        return next(filter(str.strip, lines), "")


def _said(text: str) -> str:
    """Return a provider's own words, without the JSON and the advice around them; "" if there are none."""
    said = _SAID.search(text)
    return (said[1] or said[2]) if said else ""


_POLICY = "policy.toml"
_READS = ("read_file", "read_many_files", "list_directory", "glob", "grep_search")
_EDITS = (*_READS, "write_file", "replace", "write_todos", "update_topic")


class GeminiAgent(PermittedAgent):
    name = "gemini"
    abilities = Capabilities(
        resume=True, read_only=True, reads_only_files=True, chooses_session=True, prints_events=True
    )
    parser_type = GeminiParser
    help_words = ("--help",)
    flags = (
        *("--output-format", "--approval-mode", "--skip-trust", "--session-id", "--resume"),
        "--admin-policy",
    )
    review_flags = ("--include-directories",)
    # The program says of itself only that it has no login, when it starts.
    keys = ("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_GCA")
    # It leaves a file in its folder of settings whenever it starts outside of a project.
    query_environ: Mapping[str, str] = {"GEMINI_CLI_HOME": "/dev/null"}
    reviews = (
        "read the files of the worktree, run nothing and write nothing; gemini.args and the repository's"
        " settings are ignored, not its GEMINI.md"
    )
    remarks = (
        "it follows the GEMINI.md of the repository that it works in, and its settings where you trust it",
        "it reports tokens, and no cost",
        "git in its commands runs no hooks and does not see your own configuration",
    )

    def _start(self, assignment: Assignment, folder: str, scratch: str) -> Launch:
        tools = _READS if assignment.read_only else _EDITS if self.mode == "edit" else ()
        # The model may leave every approval mode by itself: only a policy of this rank holds.
        policy = ("auto_edit", "--admin-policy", f"{scratch}/{_POLICY}") if tools else ("yolo",)
        session = ("--resume" if assignment.resume else "--session-id", assignment.session or "")
        argv = (
            *(self._settings.path, "--output-format", "stream-json", "--skip-trust"),
            *("--approval-mode", *policy, *self._model_args),
            *(("--include-directories", folder) if assignment.read_only else session),
        )
        names = ", ".join(f'"{tool}"' for tool in tools)
        rules = (
            '[[rule]]\ntoolName = "*"\ndecision = "deny"\npriority = 900\n\n'
            f'[[rule]]\ntoolName = [{names}]\ndecision = "allow"\npriority = 999\n'
        )
        prompt = as_plain_text(assignment.prompt).encode(errors="replace")
        return Launch(argv, prompt, files={_POLICY: rules.encode()} if tools else {})

    def launch_by_hand(self, session: str) -> Launch:
        argv = (self._settings.path, "--resume", session, *self._model_args, *self._settings.args)
        return Launch(argv, b"")
