"""The answer of an agent that plans: its models, their JSON schemas, and how an answer is checked.

Null means that a task stays as it is, and for a new task that it has none. Nothing that was not asked for is
ignored: a field of another name could be half of the plan.
"""

from typing import Annotated, Any

from pydantic import AfterValidator, Field

from git_blackbird.clean import clean
from git_blackbird.messages.incoming.json_answer import (
    Answer,
    AnswerError,
    AnswerFault,
    JsonFinder,
    one_answer,
    read_answer,
    strict_schema,
)
from git_blackbird.model.run.parts import Question

MAX_TASKS = 1000
MAX_QUESTIONS = 10

# What a person is shown is what is saved.
_Words = Annotated[str, AfterValidator(clean)]


class _Part(Answer, extra="forbid"):
    """A part of the answer."""


class QuestionAnswer(_Part):
    """A question to the person who asked for the plan."""

    id: _Words = Field(min_length=1, max_length=80)
    prompt: _Words = Field(min_length=1)
    options: list[_Words] = Field([], description="The answers to choose from; empty for free text.")


class Reason(_Part):
    """Why a task comes after another."""

    task: _Words
    reason: _Words


class OrderAnswer(_Part):
    """What a task comes after."""

    id: _Words | None = Field(
        None, description="The id of the task; null makes one of the title of a new one."
    )
    after: list[_Words] | None = Field(None, description="The ids of the tasks that must be done before it.")
    because: list[Reason] | None = Field(None, description="Why, for each of these.")


class TaskAnswer(OrderAnswer):
    """A new task, or what changes of one; fields that are null stay."""

    title: _Words | None = Field(None, description="One line; required for a new task.")
    description: _Words | None = Field(None, description="What it is about.")
    prompt: _Words | None = Field(None, description="What its agent is to do; null for a parent.")
    criteria: list[_Words] | None = Field(None, description="What must hold in the end.")
    parent: _Words | None = Field(None, description="The id of the task that it is a part of; / is the top.")
    agent: _Words | None = Field(None, description="The agent that works on it; null for the usual one.")
    model: _Words | None = Field(None, description="The model of that agent; null for the usual one.")


class OrdersAnswer(_Part):
    """Dependencies between the tasks that there are."""

    questions: list[QuestionAnswer] = Field([], max_length=MAX_QUESTIONS)
    tasks: list[OrderAnswer] = Field(max_length=MAX_TASKS)
    remarks: _Words = Field("", description="What the person should know; empty for nothing.")


class PlanAnswer(OrdersAnswer):
    """New tasks, changed ones, and those to delete."""

    tasks: list[TaskAnswer] = Field(max_length=MAX_TASKS)  # type: ignore[assignment]  # of more fields
    delete: list[_Words] = Field([], description="The ids of the tasks to delete.")

    @property
    def asked(self) -> tuple[Question, ...]:
        """The questions, each once."""
        one_each = {question.id: question for question in self.questions}
        return tuple(
            Question(id=one.id, prompt=one.prompt, options=tuple(dict.fromkeys(filter(None, one.options))))
            for one in one_each.values()
        )


def build_plan_schema(model: type[OrdersAnswer]) -> dict[str, Any]:
    """Build the schema that an agent is held to."""
    schema = model.model_json_schema()
    parts = {f"#/$defs/{name}": part for name, part in schema["$defs"].items()}
    return strict_schema({"$ref": ""}, {**parts, "": schema})


def parse_plan_answer(text: str, model: type[OrdersAnswer]) -> PlanAnswer:
    """Parse the one answer of this form in ``text``, which may be in prose, code fences or envelopes.

    Raises AnswerError; no text raises anything else or takes long.
    """
    try:
        answer = read_answer(model, one_answer(text, "tasks", JsonFinder()))
    except AnswerFault as fault:
        raise AnswerError(f"the answer cannot be used: {fault}") from None
    return PlanAnswer.model_validate(answer.model_dump(by_alias=True))
