"""Command lines that a person is shown, safe to paste whatever the ids in them are."""

from collections.abc import Iterable

from git_blackbird.model.conversation import Question
from git_blackbird.model.text import shell_word


def task_command(verb: str, task_id: str, rest: str = "") -> str:
    """Write the command line that does ``verb`` to a task."""
    return f"git blackbird {verb} {shell_word(task_id)}{rest}"


def answer_options(questions: Iterable[Question]) -> str:
    """Write the options that answer these questions, with a place for each answer."""
    return "".join(f" --answer {shell_word(question.id)}=VALUE" for question in questions)
