"""The command ``demo``: the whole flow in a repository made for it."""

import shlex
import shutil
import sys
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from git_blackbird.cli.commands.run import build_ui, run_loop
from git_blackbird.cli.commands.status import status
from git_blackbird.cli.output import CommandContext
from git_blackbird.cli.render.stops import show_status_change, show_stop
from git_blackbird.cli.syntax.setup import DEMO_FOLDER
from git_blackbird.cli.ui.base import BaseUI
from git_blackbird.cli.ui.json import JsonUI
from git_blackbird.cli.ui.plain import PlainUI
from git_blackbird.cli.ui.writer import Writer
from git_blackbird.controller.change.status_changes import reset_task
from git_blackbird.controller.core.ui import Unanswered, UserInterface
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.engine.commands import ResumeRequest, execute_loop, resume_loop
from git_blackbird.controller.setup.demo import CHANGE_REQUEST, make_demo
from git_blackbird.errors import ExitCode
from git_blackbird.messages.display.checkpoint import TITLE, render_checkpoint
from git_blackbird.messages.display.events import render_verdicts
from git_blackbird.messages.document import block, line, plain
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.next_steps import EXECUTE, TaskCommand
from git_blackbird.model.change.decision import STATE_OF, Decision
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.plan.status import Status
from git_blackbird.model.run.parts import Question
from git_blackbird.model.run.states import Choice, DecisionState, RunStatus
from git_blackbird.model.views.checkpoint import Checkpoint
from git_blackbird.model.views.events import Event, ReviewsEnded
from git_blackbird.model.views.stop import Stop, StopReason

_MAX_ROUNDS = 5
_PROGRAM = "git-blackbird"


def demo(call: CommandContext, *, folder: str | None, auto: bool, jobs: int) -> ExitCode:
    place = Path(folder or DEMO_FOLDER)
    path = str(place)
    environment = make_demo(call.environment, call.environment.cwd / place, jobs)
    inside = CommandContext(call.command, environment, as_json=call.as_json, no_input=call.no_input)
    workspace = inside.workspace
    call.print(f"made a repository with a plan of {len(workspace.store.plan().tasks)} tasks: {path}")
    if auto:
        code = _rehearse(inside, workspace)
    else:
        with build_ui(inside, workspace, stream=False) as ui:
            loop = execute_loop(workspace, ui, (), None)
            stop = run_loop(workspace, "demo", loop)
        code = show_stop(inside, stop, ui.shown_reviews)
    call.lines(["", "$ git blackbird status"])
    status(CommandContext("status", environment, as_json=call.as_json, no_input=call.no_input))
    _print_hints(call, path, workspace)
    return code


def _rehearse(call: CommandContext, workspace: Workspace) -> ExitCode:
    """Execute until nothing is due; resume or reset the task that stopped it."""
    resumed: TaskId | None = None
    for _ in range(_MAX_ROUNDS):
        stop = _perform(call, workspace, resumed)
        flagged = stop.held[0].flagged if stop.held else None
        resumed = flagged.resume[0] if flagged is not None and flagged.resume else None
        if resumed is None and stop.reason is StopReason.FAILED and stop.task_id is not None:
            call.print(f"$ git blackbird retry {stop.task_id}")
            change = reset_task(workspace, stop.task_id)
            show_status_change(call, change, f"reset {stop.task_id} to todo")
        elif resumed is None and EXECUTE not in stop.next_steps:
            break
    return stop.exit_code


def _perform(call: CommandContext, workspace: Workspace, resumed: TaskId | None) -> Stop:
    """Resume a task, or execute, with answers from the script."""
    call.print(f"$ {EXECUTE if resumed is None else TaskCommand('resume', resumed)}")
    as_json = call.as_json
    with closing(Writer()) as writer:
        shown: UserInterface = PlainUI(workspace, writer, asks=False, wants_output=False)
        if as_json:
            shown = JsonUI(writer, wants_output=False)
        ui = ScriptedUI(shown, writer, as_json=as_json)
        if resumed is None:
            loop = execute_loop(workspace, ui, (), None)
        else:
            loop = resume_loop(workspace, ui, ResumeRequest(resumed))
        stop = run_loop(workspace, "demo", loop)
    show_stop(call, stop, ui.shown_reviews)
    return stop


def _print_hints(call: CommandContext, path: str, workspace: Workspace) -> None:
    histories = workspace.plan_state().histories
    runs = [run for history in histories.values() for run in history.work_runs]
    call.lines(["", "look further:"])
    if (folder := _folder_to_add(call.environment.environ)) is not None:
        call.print(f"  export PATH={shlex.quote(str(folder))}:$PATH    # until it is installed for good")
    call.print(f"  cd {shlex.quote(path)}")
    call.print("  git blackbird list --all --tree")
    if runs:
        first = min(runs, key=lambda run: run.sort_key)
        call.print(f"  git blackbird runs {first.task_id}")
        call.print(f"  git blackbird runs {first.task_id} {first.id}")
        call.print(f"  git diff refs/blackbird/runs/{first.id}:base refs/blackbird/runs/{first.id}:head")
    for task_id in (task_id for task_id in sorted(histories) if histories[task_id].reviews):
        call.print(f"  {TaskCommand('review show', task_id)}")
    if any(task.status is not Status.DONE for task in workspace.store.plan().leaves()):
        call.print("  git blackbird execute    # goes on with whatever is due")


def _folder_to_add(environ: Mapping[str, str]) -> Path | None:
    """Return the folder of this program where git does not find it there; else None."""
    folder = Path(sys.executable).parent
    is_there = (folder / _PROGRAM).exists()
    return folder if is_there and shutil.which(_PROGRAM, path=environ.get("PATH")) is None else None


class ScriptedUI(BaseUI):
    """Requests changes once, rejects what failed, approves the rest, takes the first of all options.

    ``shown`` shows what happens; its answers are not used.
    """

    shows_checkpoints = True

    def __init__(self, shown: UserInterface, writer: Writer, *, as_json: bool) -> None:
        super().__init__(wants_output=False)
        self._shown = shown
        self._writer = writer
        self._as_json = as_json

    def show(self, event: Event) -> None:
        """Show what happens; reviews that a checkpoint shows next take one line."""
        if isinstance(event, ReviewsEnded) and event.run.is_pending and not self._as_json:
            self._print(render_verdicts(event))
        else:
            self._shown.notify(event)

    async def answer(
        self, task: Task, questions: tuple[Question, ...]
    ) -> Mapping[str, str] | Unanswered | None:
        """Answer with the first option, as the command line would."""
        answers = {question.id: (*question.options, "as you like")[0] for question in questions}
        for question in questions:
            self._print(*plain(block(f"{question.id}: {question.prompt}")))
            self._print(*(f"  {option}" for option in question.options))
        options = " ".join(f"--answer {name}={value}" for name, value in answers.items())
        self._print(f"$ git blackbird resume {task.id} {options}")
        await self._shown.answer(task, questions)
        return answers

    async def decide(self, checkpoint: Checkpoint) -> Decision | Unanswered | None:
        """Decide by what the checkpoint shows."""
        self._print("", TITLE, *plain(render_checkpoint(checkpoint)), "")
        choice = _choice(checkpoint)
        offer = next(offer for offer in checkpoint.offers() if offer.choice is choice)
        step = checkpoint.command_for(offer)
        feedback = CHANGE_REQUEST if choice is Choice.REQUEST_CHANGES else None
        typed = (step.template or step.command).replace("TEXT", shlex.quote(feedback or ""))
        self._print(*plain(block(f"$ {typed}")))
        await self._shown.decide(checkpoint)
        return Decision(STATE_OF[choice], feedback)

    def _print(self, *lines: str) -> None:
        if not self._as_json:
            self._writer.put("".join(f"{text}\n" for text in plain(map(line, lines))))


def _choice(checkpoint: Checkpoint) -> Choice:
    run = checkpoint.run
    if run.status is RunStatus.FAILED:
        return Choice.REJECT
    is_first = run.resumes is None and not checkpoint.task.deps
    asked_before = run.decision_state is DecisionState.CHANGES_REQUESTED
    return Choice.REQUEST_CHANGES if is_first and not asked_before else Choice.APPROVE_CONTINUE
