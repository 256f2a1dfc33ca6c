"""The commands that go on with a run."""

from collections.abc import Iterable

from git_blackbird.model.base.next_steps import Blank, TaskCommand, task_command
from git_blackbird.model.base.sanitize import shell_word
from git_blackbird.model.run.parts import Landed, LandingDue, Question
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import RunStatus, RunType


def answers_blank(questions: Iterable[Question]) -> Blank | None:
    """Return the blanks for the answers to these questions, which a person is asked for without them."""
    options = answer_options(questions)
    return Blank(options, "") if options else None


def answer_options(questions: Iterable[Question]) -> str:
    """Format the options that answer these questions, with a placeholder for each answer."""
    return "".join(f" --answer {shell_word(question.id)}=VALUE" for question in questions)


def decide_run_command(run: Run) -> TaskCommand:
    """Format the decide command that fits a run; for a failed one the first choice is a retry.

    A run by hand has no agent to request changes from.
    """
    if run.run_type is RunType.MANUAL:
        return task_command("decide", run.task_id, " --approve", remark="or --reject")
    if run.is_change_gone:
        return task_command(
            "restart", run.task_id, remark="or decide --request-changes -m TEXT, or decide --reject"
        )
    # One that was accepted before, and could not land, is not retried.
    if run.status is RunStatus.FAILED and isinstance(run.landing, LandingDue | None):
        others = "accept it as it is with decide --approve, or --request-changes -m TEXT, or --reject"
        return task_command("restart", run.task_id, remark=f"or {others}")
    others = "or --request-changes -m TEXT, or --reject"
    if isinstance(run.landing, Landed):
        others = "or --approve --no-commit, or --reject --undo"  # its commit was refused
    return task_command("decide", run.task_id, " --approve", remark=others)
