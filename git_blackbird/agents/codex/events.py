"""The events of Codex's stream."""

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from git_blackbird.agents.json_events import Line
from git_blackbird.model.base.lenient import (
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


class ThreadUsage(Lenient):
    """The tokens of a thread, over all its resumes."""

    input_tokens: Count
    cached_input_tokens: Count
    cache_write_input_tokens: Count
    output_tokens: Count
    reasoning_output_tokens: Count


class Change(Lenient):
    path: Text


class Todo(Lenient):
    text: Text
    completed: Flag


class WebAction(Lenient):
    """An action on the web; the fields belong to several types of actions."""

    type: Text
    query: Text
    queries: Several[str]
    url: Text
    pattern: Text


class SubagentState(Lenient):
    status: Text


class Item(Lenient):
    """A message or action of the model; the fields belong to several types of items."""

    type: Text
    id: Text
    status: Text
    text: Text
    message: Text
    command: Text
    aggregated_output: Text
    exit_code: Count
    changes: Several[Change]
    server: Text
    tool: Text
    query: Text
    action: Part[WebAction]
    prompt: Text
    agents_states: Annotated[dict[str, Valid[SubagentState]], Fallback({})]
    items: Several[Todo]


class ErrorMessage(Lenient):
    message: Text


class ServerError(Lenient):
    """An error of a model's server, as a message quotes it."""

    detail: Text
    error: Part[ErrorMessage]


class ThreadStarted(Lenient):
    type: Literal["thread.started"]
    thread_id: Text


class ItemEvent(Lenient):
    """An item that started, changed or completed."""

    type: Literal["item.started", "item.updated", "item.completed"]
    item: Part[Item]


class TurnEvent(Lenient):
    """A turn that started, completed or failed."""

    type: Literal["turn.started", "turn.completed", "turn.failed"]
    usage: Part[ThreadUsage]
    error: ErrorText


class ErrorEvent(ErrorMessage):
    """An error after which the turn may go on."""

    type: Literal["error"]
    error: ErrorText


class OtherEvent(Lenient):
    """An event of an unknown type, such as another end of a turn."""

    type: Text


_KnownEvent = Annotated[ThreadStarted | ItemEvent | TurnEvent | ErrorEvent, Field(discriminator="type")]
Event = Annotated[_KnownEvent | OtherEvent, Field(union_mode="left_to_right")]
EVENTS: TypeAdapter[Event | tuple[Event, ...]] = TypeAdapter(Line[Event])
