"""Polling the worktree in a thread, without delaying the screen."""

import gc
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from git_blackbird.controller.queries.watcher import ViewState
from git_blackbird.errors import BlackbirdError
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.system import gc_paused
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.rules.queue import PENDING
from git_blackbird.model.rules.spending import Spent, spent_in, total_of
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.run.history import History
from git_blackbird.tui.context import AppContext

if TYPE_CHECKING:
    from git_blackbird.tui.log_tail import LogTailer


class Poller:
    """Reads what changed in the worktree, whoever changed it; one poll at a time."""

    def __init__(self, app: AppContext) -> None:
        self._app = app
        self._is_polling = False
        self._last_error: str | None = None
        self._spent = _SpentCache()

    def poll(self) -> None:
        """Start a poll, unless one is under way."""
        if not self._is_polling:
            self._is_polling = True
            self._app.run_worker(self._poll, thread=True)

    def _poll(self) -> None:
        try:
            self._poll_worktree()
        finally:
            self._is_polling = False

    def _poll_worktree(self) -> None:
        # The next key may need it: it is loaded before the records, of which there may be many.
        import git_blackbird.tui.commands  # noqa: F401  # as above

        was_busy = self._app.is_busy
        try:
            view_state = self._read()
        except BlackbirdError as error:
            self._app.call_from_thread(self.show_error, error)
            return
        if view_state is not None:
            self._app.call_from_thread(self._show, view_state)
            if any(item.due in PENDING for item in view_state.overview.due):
                # A decision may be opened next, whose text can mention paths.
                self._app.call_from_thread(self._app.path_lister.prepare, self._app)
        self._tail_logs(was_busy=was_busy)
        self._show_spent()

    def _read(self) -> ViewState | None:
        with gc_paused():
            view_state = self._app.watcher.poll(self._app.ui_priority.yield_to_ui)
            if view_state is not None and self._app.view_state is None:
                # The records are many and long-lived: garbage collection need not scan them.
                gc.freeze()
        return view_state

    @cached_property
    def _log_tailer(self) -> "LogTailer":
        from git_blackbird.tui.log_tail import LogTailer  # the plan is shown before it is loaded

        return LogTailer(self._app.main.live)

    def _tail_logs(self, *, was_busy: bool) -> None:
        """Follow the runs of other processes; one of ours, also if it has just ended, sends events."""
        if was_busy or self._app.is_busy:
            self._log_tailer.stop()
        elif self._app.view_state is not None:
            self._log_tailer.poll(self._app.watcher.workspace, self._app.view_state)

    def _show_spent(self) -> None:
        """Read what was spent on the tasks in view; older records of a task may lie on disk."""
        if (view_state := self._app.view_state) is not None:
            # Only the screen's own thread may ask a widget: its size can make Textual create a scroll bar.
            tasks = self._app.call_from_thread(self._app.main.plan_tree.in_view)
            spent = self._spent.look_up(view_state.state, tasks)
            self._app.call_from_thread(self._app.main.show_spent, spent)

    def _show(self, view_state: ViewState) -> None:
        self._last_error = None
        self._app.apply_theme(self._app.watcher.workspace)
        self._app.main.show_state(view_state, self._app.environment.timestamp())
        self._answer_keys()

    def _answer_keys(self) -> None:
        """Take the keys that waited for the records."""
        if self._app.is_reading:
            self._app.is_reading = False
            self._app.take_waiting()

    def show_error(self, error: BlackbirdError) -> None:
        """Show what cannot be read, once."""
        text = " ".join(map(self._app.keys.as_key_hint, (*error.lines, *error.ways_out)))
        if text != self._last_error:
            self._last_error = text
            self._app.main.show_error(text)
        self._answer_keys()


class _SpentCache:
    """Adds up each history once."""

    def __init__(self) -> None:
        self._known: dict[TaskId, tuple[History, Spent]] = {}

    def look_up(self, state: PlanState, tasks: Iterable[Task]) -> Mapping[TaskId, Spent]:
        """Return what was spent on the tasks that have runs."""
        found = {}
        for task in tasks:
            history = state.history(task.id)
            if not history.recent:
                continue
            known = self._known.get(task.id)
            if known is None or known[0] is not history:
                known = self._known[task.id] = history, _spent_on(history)
            found[task.id] = known[1]
        return found


def _spent_on(history: History) -> Spent:
    """Add up the runs of a task that have ended; its reviews count for time and cost, and not as tries."""
    ended = [run for run in history.runs if run.completed_at is not None]
    tries = sum(not run.is_review for run in ended)
    return replace(total_of(spent_in(run, "") for run in ended), runs=tries)
