"""Command lines that a person is shown, safe to paste whatever the ids in them are."""

from collections.abc import Iterable

from git_blackbird.model.conversation import Question
from git_blackbird.model.run import Run, RunType
from git_blackbird.model.text import shell_word

EXECUTE = "git blackbird execute"


def task_command(verb: str, task_id: str, rest: str = "", *, remark: str = "") -> str:
    """Write the command line that does ``verb`` to a task, with ``rest`` behind the id and a shell remark."""
    behind = f"    # {remark}" if remark else ""
    if task_id.startswith("-"):
        return f"git blackbird {verb}{rest} -- {shell_word(task_id)}{behind}"
    return f"git blackbird {verb} {shell_word(task_id)}{rest}{behind}"


def answer_options(questions: Iterable[Question]) -> str:
    """Write the options that answer these questions, with a place for each answer."""
    return "".join(f" --answer {shell_word(question.id)}=VALUE" for question in questions)


def decide_command(task_id: str) -> str:
    """Write the command line that decides on a task's run; the other decisions stand in its remark."""
    return task_command("decide", task_id, " --approve", remark="or --request-changes -m TEXT, or --reject")


def judge_command(task_id: str) -> str:
    """Write the same for a run of which no changes can be requested: it has no session to go on in."""
    return task_command("decide", task_id, " --approve", remark="or --reject")


def decide_run_command(run: Run) -> str:
    """Write whichever fits a run: nobody made the commit of one by hand who could be asked to change it."""
    return (judge_command if run.run_type is RunType.MANUAL else decide_command)(run.task_id)


def restart_command(task_id: str) -> str:
    """Write the command line that starts a task anew where its session cannot go on."""
    return task_command("restart", task_id, remark="a new session, with everything pending")


def dismiss_command(task_id: str) -> str:
    """Write the command line that lets a parent go without a passing verdict."""
    return task_command("review dismiss", task_id, " --reason TEXT")


def approve_without_commit(task_id: str) -> str:
    """Write the command line that approves a task's run and leaves the commit to whoever types it."""
    command = task_command("decide", task_id, " --approve")
    return command.replace("git", "git -c blackbird.execution.commit=never", 1)
