"""Detect what an agent changed in configuration and plan, and its commits."""

import contextlib
import json
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from git_blackbird.controller.change.work.outside import Baseline, Thing, outside_of
from git_blackbird.controller.core.ui import UserInterface, warn
from git_blackbird.controller.core.workspace import Workspace, read_layers, shorten_path
from git_blackbird.errors import UnusableError
from git_blackbird.git.core.repository import Head
from git_blackbird.git.hooks.attribution import list_commits, mark_active, unmark_active
from git_blackbird.git.worktree.surroundings import take_surroundings
from git_blackbird.model.base.sanitize import clean_line
from git_blackbird.model.config.config import KEYS
from git_blackbird.model.config.layers import Layer, RawSetting
from git_blackbird.model.config.settings import merge_layers
from git_blackbird.model.run.outside import Outside, Subject, Surroundings
from git_blackbird.model.run.run import Run
from git_blackbird.storage.config_files import format_value, global_config_path
from git_blackbird.storage.files import write_private
from git_blackbird.storage.store import Transaction

MAX_CHANGES = 50
_LONGEST_VALUE = 60
# Values of one process only are left out: another one may have to compare.
_OF_A_PROCESS = frozenset({Layer.FLAG, Layer.ENVIRONMENT})
_ABSENT, _FILE = "absent", "a file"


class _Observed(NamedTuple):
    """The configuration at one moment: all values, and the kinds of its files; and what is to be compared."""

    given: tuple[RawSetting, ...]
    files: Mapping[str, str]
    outside: Baseline


@dataclass(frozen=True)
class WorkCheck:
    """Changes of plan and configuration while an agent worked.

    ``plan_fault`` says what was set aside; ``is_loosened``: what protects the user is looser than it was.
    """

    plan_changes: tuple[str, ...]
    plan_fault: str | None
    config_changes: tuple[str, ...]
    is_loosened: bool
    outside: Outside

    def add_notes_to(self, run: Run, earlier: tuple[str, ...] = ()) -> Run:
        """Return the record with these notes for a person; ``earlier`` edits of the plan wait as well."""
        fault = () if self.plan_fault is None else (self.plan_fault,)
        return run.noting(*fault).updated(
            plan_edits=(*earlier, *self.plan_changes),
            config_edits=self.config_changes,
            outside=run.outside.adding(self.outside),
        )

    def added_to(self, run: Run) -> Run:
        """Return the record of an earlier run with what changed outside, in plan and configuration added."""
        return run.updated(
            plan_edits=(*run.plan_edits, *self.plan_changes),
            config_edits=(*run.config_edits, *self.config_changes),
            outside=run.outside.adding(self.outside),
        )

    @property
    def needs_decision(self) -> bool:
        """Whether a person has to decide on the run, also with checkpoints off."""
        return self.is_loosened or bool(self.plan_changes)


@contextlib.contextmanager
def closing_run(workspace: Workspace, run: Run) -> Iterator[tuple[Transaction, WorkCheck]]:
    """Hold the store lock to save the end of a run, with its agent's other changes.

    The backup of the plan is to be renewed once the record is saved: then the plan file has what counts.
    Raises UnusableError when git's configuration cannot be read.
    """
    from git_blackbird.controller.change.work.plan_check import check_plan  # at the end of runs alone

    with workspace.transaction() as transaction:
        before, now = _load(workspace), _observe(workspace)
        config = _check_config(workspace, before, now)
        changes = () if before is None else before.outside.changes(now.outside.at)
        outside = outside_of(workspace, run, {run.id, *workspace.store.at_work}, changes)
        workspace.store.at_work.discard(run.id)
        plan = check_plan(workspace, transaction, run)
        yield transaction, WorkCheck(*plan, *config, outside)
        if workspace.store.at_work:
            # The next to end tells what changes from here on.
            writes = frozenset() if before is None else before.outside.writes
            _save(workspace, now._replace(outside=now.outside._replace(writes=writes)))
        else:
            remove_stored_config(workspace)


@contextlib.contextmanager
def own_writes(workspace: Workspace, *things: Thing) -> Iterator[None]:
    """Keep what a command of ours writes in the block from being told as seen while agents worked."""

    def update(change: Callable[[Baseline, Surroundings], Baseline]) -> None:
        with workspace.transaction():
            if (known := _load(workspace)) is not None:
                outside = change(known.outside, take_surroundings(workspace.home))
                _save(workspace, known._replace(outside=outside))

    if not workspace.paths.known_config.exists():
        yield
        return
    update(lambda baseline, now: baseline.before_writing(now, frozenset(things)))
    try:
        yield
    finally:
        update(lambda baseline, now: baseline.after_writing(now, frozenset(things)))


def moved_branch(at: Head) -> tuple[Thing, ...]:
    """Return the branch that a commit at HEAD moves, for ``own_writes``; none where HEAD is detached."""
    return () if at.branch is None else ((Subject.BRANCH, at.branch),)


def store_config(workspace: Workspace) -> None:
    """Store the configuration before an agent works, unless what is stored has yet to be compared.

    What a killed command left is removed before anything starts.
    """
    if not workspace.paths.known_config.exists():
        _save(workspace, _observe(workspace))


def _check_config(
    workspace: Workspace, before: _Observed | None, after: _Observed
) -> tuple[tuple[str, ...], bool]:
    """Name the differences from the stored configuration, and whether it protects less now."""
    if before is None or (after.given, after.files) == (before.given, before.files):
        return (), False
    changes = [*_file_changes(workspace, before, after), *_value_changes(workspace, before, after)]
    if len(changes) > MAX_CHANGES:
        changes[MAX_CHANGES:] = [f"and {len(changes) - MAX_CHANGES} more"]
    old, new = merge_layers(before.given).applied, merge_layers(after.given).applied
    is_looser = any(key.is_stricter(old[name].value, new[name].value) for name, key in KEYS.items())
    return tuple(changes), is_looser


def remove_stored_config(workspace: Workspace) -> None:
    """Remove the stored configuration, once its changes are recorded, or when no agent works."""
    workspace.paths.known_config.unlink(missing_ok=True)


def follow_own_change(workspace: Workspace, place: str, key: str) -> None:
    """Note that a person changed a key while an agent works, so that it does not count as the agent's."""
    before = _load(workspace)
    if before is None:
        return

    def is_changed(setting: RawSetting) -> bool:
        return setting.origin == place and setting.name.lower() == key

    now = _observe(workspace)
    given = [setting for setting in before.given if not is_changed(setting)] + [
        setting for setting in now.given if is_changed(setting)
    ]
    files = {**before.files, **{name: kind for name, kind in now.files.items() if name == place}}
    _save(workspace, before._replace(given=tuple(given), files=files))


def _observe(workspace: Workspace) -> _Observed:
    # Of the worktree whose plan it is: an agent may have removed its own.
    given, problems = read_layers(workspace.environment, workspace.home, workspace.paths)
    own = global_config_path(workspace.environment.environ)
    places = (workspace.paths.config, workspace.paths.agent_choice, *([] if own is None else [own]))
    files = {str(path): _kind(path) for path in places}
    files |= {
        problem.origin: f"unusable ({problem.what})"
        for problem in problems
        if files.get(problem.origin) == _FILE
    }
    lasting = tuple(setting for setting in given if setting.layer not in _OF_A_PROCESS)
    return _Observed(lasting, files, Baseline(take_surroundings(workspace.home)))


def _kind(path: Path) -> str:
    try:
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            return f"a link to {path.readlink()}"
    except OSError:
        return _ABSENT
    return _FILE if stat.S_ISREG(mode) else "a folder" if stat.S_ISDIR(mode) else "not a file"


def _file_changes(workspace: Workspace, before: _Observed, after: _Observed) -> Iterator[str]:
    for name, kind in after.files.items():
        old = before.files.get(name, _ABSENT)
        if kind != old and (old, kind) != (_ABSENT, _FILE):
            new = "deleted" if kind == _ABSENT else f"now {clean_line(kind)}"
            yield f"{_place(workspace, name)} was {clean_line(old)} and is {new}"


def _value_changes(workspace: Workspace, before: _Observed, after: _Observed) -> Iterator[str]:
    # Of one place and key the last one counts.
    old, new = (
        {(setting.origin, setting.name.lower()): setting for setting in at.given} for at in (before, after)
    )
    for place in dict.fromkeys((*old, *new)):
        old_setting, new_setting = old.get(place), new.get(place)
        named = new_setting or old_setting
        if named is None or (old_setting and new_setting and old_setting.raw == new_setting.raw):
            continue
        values = f"{_value(old_setting, '(unset)')} -> {_value(new_setting, 'removed')}"
        yield f"{clean_line(named.name)} {values} ({_place(workspace, place[0])})"


def _value(setting: RawSetting | None, absent: str) -> str:
    if setting is None:
        return absent
    raw = setting.raw
    return clean_line(raw if isinstance(raw, str) else format_value(raw), _LONGEST_VALUE)


def _place(workspace: Workspace, origin: str) -> str:
    return clean_line(shorten_path(workspace, origin))


def _save(workspace: Workspace, observed: _Observed) -> None:
    given = [[setting.name, setting.raw, int(setting.layer), setting.origin] for setting in observed.given]
    text = json.dumps({"given": given, "files": observed.files, "outside": observed.outside.to_json()})
    write_private(workspace.paths.known_config, text.encode())


def _load(workspace: Workspace) -> _Observed | None:
    """Return the stored configuration; None if no agent works or another program wrote the file."""
    try:
        content = json.loads(workspace.paths.known_config.read_bytes())
        given = tuple(
            RawSetting(name, raw, Layer(layer), origin) for name, raw, layer, origin in content["given"]
        )
        return _Observed(given, dict(content["files"]), Baseline.from_json(content["outside"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def watch_agent(workspace: Workspace, transaction: Transaction, run: Run) -> None:
    """Back the plan up, to compare it after this run's agent, unless another one is at work."""
    workspace.store.at_work.add(run.id)
    if not transaction.has_plan_backup:
        transaction.backup_plan()


def start_tracking(workspace: Workspace, ui: UserInterface, run: Run) -> None:
    """Have the hook note commits from now on; if that fails, warn and go on."""
    try:
        mark_active(workspace.repo)
    except OSError as error:
        warn(ui, f"commits of run {run.id} may be attributed to a person: {error.strerror}", run.task_id)


def list_tracked(workspace: Workspace, ui: UserInterface, run: Run) -> tuple[str, ...]:
    """Return the commits of a run, oldest first."""
    try:
        return list_commits(workspace.repo, run.id)
    except OSError as error:
        warn(ui, f"the commits of run {run.id} are not known: {error.strerror}", run.task_id)
        return ()


def stop_tracking(workspace: Workspace) -> None:
    """Stop the hook from noting commits, once the record is closed; also if it never began."""
    try:
        unmark_active(workspace.repo)
    except OSError as error:
        message = f"cannot clean up {workspace.repo.private_dir}: {error.strerror}"
        raise UnusableError(message, hint="make it writable, then repeat the command") from error
