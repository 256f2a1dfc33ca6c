"""Which actions are possible now."""

from collections.abc import Callable, Mapping

from git_blackbird.controller.decisions.approval_commit import is_committing
from git_blackbird.model.entities.plan import Task
from git_blackbird.tui.context import AppContext

_RECORDING = frozenset({"decide", "retry"})
"""These start no agent, and are possible while agents run."""
_COMMANDS = {
    "execute_task": ("execute",),
    "decide": ("decide",),
    "tell": ("resume -m",),
    "resume": ("resume", "resume --all"),
    "retry": ("retry",),
    "restart": ("restart",),
}
"""The commands that an action stands for; one of them must accept the task under the cursor."""


class Availability:
    """Answers which actions are possible, from the last state that was read."""

    def __init__(self, app: AppContext) -> None:
        self._app = app
        self._conditions: Mapping[str, Callable[[], bool]] = {
            # Its actions act on the plan, which another screen would hide.
            "command_palette": lambda: app.screen is app.main,
            "pause": lambda: app.is_busy or is_committing(),
            "answer": lambda: bool(app.main.required),
            "execute": lambda: app.can_execute,
            "review": lambda: app.accepts_current("review show"),
            "runs": lambda: app.current is not None,
            "set_status": lambda: app.current is not None and not self._is_running(app.current),
        }

    def is_possible(self, action: str) -> bool:
        """Whether an action can be done now."""
        condition = self._conditions.get(action)
        if condition is not None:
            return condition()
        commands = _COMMANDS.get(action)
        may_start = action in _RECORDING or self._app.can_execute
        return commands is None or (may_start and any(map(self._app.accepts_current, commands)))

    def _is_running(self, task: Task) -> bool:
        state = self._app.view_state
        running = () if state is None else state.overview.running
        return any(live.alive and live.run.task_id == task.id for live in running)
