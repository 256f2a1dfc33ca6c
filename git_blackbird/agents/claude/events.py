"""The events of Claude Code's stream, and the tokens and cost in them."""

from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, JsonValue, TypeAdapter
from pydantic.alias_generators import to_camel

from git_blackbird.agents.claude.limits import LimitEvent
from git_blackbird.agents.event_parser import Line
from git_blackbird.model.base.lenient import (
    Amount,
    Count,
    ErrorText,
    Fallback,
    Flag,
    Lenient,
    Part,
    Several,
    Text,
    Valid,
)
from git_blackbird.model.base.sanitize import clean_line
from git_blackbird.model.run.parts import Usage


class TokenUsage(Lenient):
    """The tokens of a message or of a conversation."""

    input_tokens: Count
    cache_creation_input_tokens: Count
    cache_read_input_tokens: Count
    output_tokens: Count


class ModelUsage(TokenUsage, alias_generator=to_camel):
    """The tokens and the US dollars that one model used."""

    cost_usd: Amount = Field(alias="costUSD")


class ToolInput(Lenient):
    """The arguments of a tool call that describe it, the most specific first."""

    file_path: Text
    notebook_path: Text
    path: Text
    pattern: Text
    command: Text
    url: Text
    query: Text
    description: Text


class Block(Lenient):
    """A part of a message: ``text``, a ``tool_use``, or the ``tool_result`` with its ``content``."""

    type: Text
    text: Text
    id: Text
    name: Text
    input: Part[ToolInput]
    tool_use_id: Text
    is_error: Flag
    content: Annotated["str | tuple[Valid[Block], ...]", Fallback("")]


class Message(Lenient):
    """A message; its ``usage`` counts the output that existed when the message began."""

    id: Text
    model: Text
    usage: Part[TokenUsage]
    content: Several[Block]


class MessageEvent(Lenient):
    """A block of a message of the model or a subagent, or the results of its tool calls.

    A message of the program itself may say by ``error`` what kind of error it reports.
    """

    type: Literal["assistant", "user"]
    message: Part[Message]
    parent_tool_use_id: Text
    error: Text

    @property
    def is_synthetic(self) -> bool:
        """Whether the program itself wrote it, in place of a model."""
        return self.message.model == "<synthetic>"

    @property
    def text(self) -> str:
        """The text of its blocks."""
        return "\n".join(block.text for block in self.message.content if block.type == "text" and block.text)


class StreamEvent(Lenient):
    """A part of a message, if the user requested them; the whole message follows."""

    type: Literal["stream_event"]


class Task(Lenient):
    """A command or a subagent that works in the background."""

    task_id: Text
    description: Text


class TaskPatch(Lenient):
    """The changes of a background task."""

    status: Text


class McpServer(Lenient):
    """A server of tools, and whether it could be started."""

    name: Text
    status: Text


class PromptOutcome(Lenient):
    """Why a prompt did not reach the model."""

    kind: Text
    reason: Text


class System(Lenient):
    """A status event of the program; its fields belong to several subtypes."""

    type: Literal["system"]
    subtype: Text
    session_id: Text
    cwd: Text
    permission_mode: Annotated[Text, Field(alias="permissionMode")]
    mcp_servers: Several[McpServer]
    prompt_submit_outcome: Part[PromptOutcome]
    attempt: Count
    max_retries: Count
    error: Text
    status: Text
    content: Text
    task_id: Text
    description: Text
    ambient: Flag
    patch: Part[TaskPatch]
    tasks: Several[Task]
    task_type: Text
    subagent_type: Text


class ErrorEvent(Lenient):
    """An error of the model's server, as it sent it."""

    type: Literal["error"]
    message: Text
    error: ErrorText


class Denial(Lenient):
    """A tool call that was denied."""

    tool_name: Text
    tool_use_id: Text
    tool_input: Annotated[JsonValue, Fallback(None)]


class Origin(Lenient):
    """The origin of a turn."""

    kind: Text


class Result(Lenient):
    """The end of a conversation, or of a turn of it."""

    type: Literal["result"]
    subtype: Text
    is_error: Flag
    result: Text
    origin: Part[Origin]
    errors: Several[str]
    session_id: Text
    structured_output: Annotated[JsonValue, Fallback(None)]
    permission_denials: Several[Denial]
    stop_reason: Text
    terminal_reason: Text
    num_turns: Annotated[int | None, Fallback(None)]
    api_error_status: Count
    usage: Annotated[TokenUsage | None, Fallback(None)]
    total_cost_usd: Amount
    model_usage: Annotated[dict[str, Valid[ModelUsage]], Fallback({}), Field(alias="modelUsage")]
    model_usage_since_last_result: Annotated[dict[str, Valid[ModelUsage]] | None, Fallback(None)]


Event = Annotated[
    MessageEvent | StreamEvent | System | ErrorEvent | LimitEvent | Result, Field(discriminator="type")
]
EVENTS: TypeAdapter[Event | tuple[Event, ...]] = TypeAdapter(Line[Event])


# Nobody but us, or the program itself, began a turn with these.
_OURS = frozenset({"human", "sdk", "auto-continuation"})
_ENDED = frozenset({"completed", "failed", "killed", "paused"})
_MAX_TASKS = 100


def is_woken(origin: Origin) -> bool | None:
    """Whether a turn was begun by something other than our message; None if the program does not say."""
    return origin.kind not in _OURS if origin.kind else None


class LastMessage:
    """The text of the model's last message, which comes in one event for each block."""

    def __init__(self) -> None:
        self.text = self.id = ""

    def take(self, message: Message) -> None:
        """Add an event; one without text is no message."""
        text = "\n\n".join(block.text for block in message.content if block.type == "text" and block.text)
        if text and message.id and message.id == self.id:
            self.text = f"{self.text}\n\n{text}"
        elif text:
            self.text = text
        self.id = message.id


class BackgroundTasks:
    """The commands and subagents that work in the background, as far as the stream shows them."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """Their descriptions, in the words of the model."""
        return tuple(self._names.values())

    def take(self, event: System) -> None:
        """Track tasks that begin and end."""
        match event.subtype:
            case "background_tasks_changed":
                # A list of all.
                self._names.clear()
                for task in event.tasks:
                    self._add(task.task_id, task.description)
            case "task_started" if not event.ambient:
                self._add(event.task_id, event.description)
            case "task_updated" if event.patch.status in _ENDED:
                self._names.pop(event.task_id, None)
            case "task_notification":
                self._names.pop(event.task_id, None)
            case _:
                pass

    def _add(self, task_id: str, description: str) -> None:
        if len(self._names) < _MAX_TASKS:
            self._names[task_id] = clean_line(description) or task_id


TOTAL_COST = "total_cost_usd"
TOTAL_OUTPUT = "model_output_tokens"
_MAX_RECENT = 256


class LiveUsage:
    """Count the tokens of the model's messages as they arrive.

    A message arrives in several events with equal figures, and counts once. Its output figure is the one from
    its beginning.
    """

    def __init__(self) -> None:
        self._total = Counter[str]()
        self._recent: dict[str, Counter[str]] = {}

    @property
    def usage(self) -> Usage:
        """The tokens of this run so far, including subagents."""
        return Usage(**self._total)

    @property
    def known(self) -> Usage | None:
        """The same; None before the first message."""
        return self.usage if self._recent else None

    def take_message(self, message: Message) -> bool:
        """Count a message; return whether the figures changed."""
        if not message.id:
            return False
        old = self._recent.get(message.id, Counter())
        new = old | _count(message.usage)
        if new == old:
            return False
        self._recent[message.id] = new
        self._total += new - old
        if len(self._recent) > _MAX_RECENT:
            del self._recent[next(iter(self._recent))]
        return True


class UsageTotals:
    """Add up the results of one run.

    There is one result each time the model stops: background work wakes it again. Newer versions count a
    session over its resumes, older ones a single run, subagents included; the difference between two results
    reveals which, or else the earlier total of the session.
    """

    def __init__(self, previous: Mapping[str, float]) -> None:
        self._previous = dict(previous)
        self._last: Result | None = None
        # Whether each result had the figures since the one before it.
        self._has_since = True
        self._since = Counter[str]()
        self._reported = Counter[str]()
        self._since_cost = 0.0

    def take(self, result: Result) -> None:
        """Add one result."""
        self._last = result
        self._has_since = self._has_since and result.model_usage_since_last_result is not None
        for model in (result.model_usage_since_last_result or {}).values():
            self._since += _count(model)
            self._since_cost += model.cost_usd or 0.0
        if result.usage is not None:
            self._reported += _count(result.usage)

    @property
    def usage(self) -> Usage | None:
        """The tokens of this run alone; None if no result had any."""
        if self._last is None:
            return None
        if self._has_since and self._since:
            return Usage(**self._since)
        if self._last.model_usage and not self._counts_session:
            return Usage(**sum(map(_count, self._last.model_usage.values()), Counter()))
        return Usage(**self._reported) if self._last.usage is not None else None

    @property
    def cost_usd(self) -> float | None:
        """The US dollars of this run alone; None if no result had any."""
        if self._last is None:
            return None
        if self._has_since:
            return self._since_cost
        total = self._last.total_cost_usd
        if total is None or not self._counts_session:
            return total
        before = self._previous.get(TOTAL_COST, 0.0)
        return total - before if total >= before else total

    @property
    def totals(self) -> dict[str, float]:
        """The counters as printed, from which the next resume is subtracted."""
        # A session that could not be opened counts from zero: the next resume continues the old one.
        if self._last is None or not self._last.total_cost_usd:
            return dict(self._previous)
        output = self._model_output
        return {TOTAL_COST: self._last.total_cost_usd, **({TOTAL_OUTPUT: float(output)} if output else {})}

    @property
    def _counts_session(self) -> bool:
        """Whether the totals may be those of the session, not of this run alone.

        They are the run's if its models produced no more than this conversation did, or less than the session
        had before: subagents are in the totals, but not in the usage.
        """
        output, own = self._model_output, self._reported["output_tokens"]
        return not output or (output != own and output >= self._previous.get(TOTAL_OUTPUT, 0) + own)

    @property
    def _model_output(self) -> int:
        return sum(model.output_tokens for model in self._last.model_usage.values()) if self._last else 0


def _count(usage: TokenUsage) -> Counter[str]:
    """Return the tokens by the fields of Usage, in which the input includes its cached part."""
    cached = usage.cache_read_input_tokens
    total = usage.input_tokens + usage.cache_creation_input_tokens + cached
    return Counter(input_tokens=total, output_tokens=usage.output_tokens, cached_tokens=cached)
