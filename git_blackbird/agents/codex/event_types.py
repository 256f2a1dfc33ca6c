"""The events of Codex's stream, as far as they are used; facts in AGENTS.md 3.2."""

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from git_blackbird.agents.json_events import Line
from git_blackbird.model.base.lenient import Count, Flag, Lenient, Part, Several, Text


class ThreadUsage(Lenient):
    """The tokens of a thread, over all its resumes."""

    input_tokens: Count
    cached_input_tokens: Count
    cache_write_input_tokens: Count
    output_tokens: Count
    reasoning_output_tokens: Count


class Change(Lenient):
    """A file that a patch changes."""

    path: Text


class Todo(Lenient):
    """An entry of the model's to-do list."""

    text: Text
    completed: Flag


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
    items: Several[Todo]


class ErrorMessage(Lenient):
    """An error message."""

    message: Text


class ThreadStarted(Lenient):
    """The name of the thread."""

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
    error: Part[ErrorMessage]


class ErrorEvent(ErrorMessage):
    """An error after which the turn may go on."""

    type: Literal["error"]


Event = Annotated[ThreadStarted | ItemEvent | TurnEvent | ErrorEvent, Field(discriminator="type")]
EVENTS: TypeAdapter[Event | tuple[Event, ...]] = TypeAdapter(Line[Event])
