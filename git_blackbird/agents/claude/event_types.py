"""The events of Claude Code's stream, as far as they are used; facts in AGENTS.md 2.2 and 2.3."""

from typing import Annotated, Literal

from pydantic import Field, JsonValue, TypeAdapter
from pydantic.alias_generators import to_camel

from git_blackbird.agents.json_events import Line
from git_blackbird.model.base.lenient import (
    Amount,
    Count,
    Fallback,
    Flag,
    Lenient,
    Part,
    Several,
    Text,
    Valid,
)


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
    """A block of a message of the model or a subagent, or the results of its tool calls."""

    type: Literal["assistant", "user"]
    message: Part[Message]
    parent_tool_use_id: Text


class Partial(Lenient):
    """The start or the end of a message."""

    type: Text
    message: Part[Message]
    usage: Part[TokenUsage]


class StreamEvent(Lenient):
    """A part of a message, if partial messages were requested."""

    type: Literal["stream_event"]
    event: Part[Partial]
    parent_tool_use_id: Text


class System(Lenient):
    """A status event of the program; the fields belong to several subtypes."""

    type: Literal["system"]
    subtype: Text
    session_id: Text
    cwd: Text
    attempt: Count
    max_retries: Count
    error: Text
    status: Text
    content: Text


class Denial(Lenient):
    """A tool call that was denied."""

    tool_name: Text
    tool_use_id: Text


class Result(Lenient):
    """How a conversation, or a turn of it, ended."""

    type: Literal["result"]
    subtype: Text
    is_error: Flag
    result: Text
    errors: Several[str]
    session_id: Text
    structured_output: Annotated[JsonValue, Fallback(None)]
    permission_denials: Several[Denial]
    terminal_reason: Text
    api_error_status: Count
    usage: Annotated[TokenUsage | None, Fallback(None)]
    total_cost_usd: Amount
    model_usage: Annotated[dict[str, Valid[ModelUsage]], Fallback({}), Field(alias="modelUsage")]
    model_usage_since_last_result: Annotated[dict[str, Valid[ModelUsage]] | None, Fallback(None)]


Event = Annotated[MessageEvent | StreamEvent | System | Result, Field(discriminator="type")]
EVENTS: TypeAdapter[Event | tuple[Event, ...]] = TypeAdapter(Line[Event])
