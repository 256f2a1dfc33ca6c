"""The events of Claude Code's stream."""

from typing import Annotated, Literal

from pydantic import Field, JsonValue, TypeAdapter
from pydantic.alias_generators import to_camel

from git_blackbird.agents.json_events import Line
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

_REJECTED = "rejected"


class LimitWindow(Lenient, alias_generator=to_camel):
    """A period with a usage limit; ``resets_at`` is in seconds since 1970."""

    status: Text
    resets_at: Amount


class LimitInfo(LimitWindow):
    """The usage limits: the window that decides, all of them, and whether paid overage is used."""

    overage_status: Text
    is_using_overage: Flag
    unified_windows: Annotated[dict[str, Valid[LimitWindow]], Fallback({})]

    @property
    def is_rejected(self) -> bool:
        """Whether a request was refused; any other status comes with requests that were answered."""
        is_overage_rejected = self.overage_status == _REJECTED and self.is_using_overage
        return self.status == _REJECTED or bool(is_overage_rejected)

    @property
    def over_at(self) -> float | None:
        """When every window that rejected is over, in seconds since 1970; None if unknown."""
        windows = self.unified_windows.values()
        rejecting = [each.resets_at for each in windows if each.status == _REJECTED and each.resets_at]
        return max(rejecting, default=self.resets_at)


class LimitEvent(Lenient):
    """The rest of the usage limits; printed with each answer of the server."""

    type: Literal["rate_limit_event"]
    rate_limit_info: Part[LimitInfo]


class TokenUsage(Lenient):
    input_tokens: Count
    cache_creation_input_tokens: Count
    cache_read_input_tokens: Count
    output_tokens: Count


class ModelUsage(TokenUsage, alias_generator=to_camel):
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
    """Blocks of a message, or results of tool calls; one of the program itself may have an ``error``."""

    type: Literal["assistant", "user"]
    message: Part[Message]
    parent_tool_use_id: Text
    error: Text

    @property
    def is_synthetic(self) -> bool:
        return self.message.model == "<synthetic>"

    @property
    def text(self) -> str:
        return "\n".join(block.text for block in self.message.content if block.type == "text" and block.text)


class StreamEvent(Lenient):
    """A part of a message, if the user requested them; the whole message follows."""

    type: Literal["stream_event"]


class Task(Lenient):
    task_id: Text
    description: Text


class TaskPatch(Lenient):
    status: Text


class McpServer(Lenient):
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
    tool_name: Text
    tool_use_id: Text
    tool_input: Annotated[JsonValue, Fallback(None)]


class Origin(Lenient):
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
