"""What is watched while agents work: configuration, plan, commits, and what happens outside their places."""

import contextlib
import json
import os
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from git_blackbird.clean import one_line
from git_blackbird.controller.core.ui import UserInterface, warn
from git_blackbird.controller.core.workspace import Workspace, read_layers, shorten_path
from git_blackbird.controller.launch.run_files import is_in_scratch
from git_blackbird.controller.place.worktrees import workspace_of
from git_blackbird.errors import UnusableError
from git_blackbird.git.core.repository import Head, Repository, other_worktrees
from git_blackbird.git.hooks.attribution import commits_elsewhere, mark_active, unmark_active
from git_blackbird.git.worktree.base_commits import begins_at
from git_blackbird.git.worktree.linked import owner_of
from git_blackbird.git.worktree.log import commits_between
from git_blackbird.git.worktree.surroundings import take_surroundings
from git_blackbird.messages.display.change import own_lines, seen_text, way_back
from git_blackbird.model.base.next_steps import TaskCommand
from git_blackbird.model.config.config import KEYS
from git_blackbird.model.config.layers import Layer, RawSetting
from git_blackbird.model.config.settings import merge_layers
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import RunType
from git_blackbird.model.run.summary import (
    Outside,
    OutsideChange,
    OutsideCommit,
    Subject,
    Surroundings,
    differences,
)
from git_blackbird.storage.config_files import format_value, global_config_path
from git_blackbird.storage.files import write_private
from git_blackbird.storage.store import Transaction

_MOST_NAMED = 20
MAX_CHANGES = 50
_LONGEST_VALUE = 60
# Values of one process only are left out: another one may have to compare.
_OF_A_PROCESS = frozenset({Layer.FLAG, Layer.ENVIRONMENT})
_ABSENT, _FILE = "absent", "a file"
Thing = tuple[Subject, str]
"""A subject, and a name in it, of which a command of ours writes."""


class Baseline(NamedTuple):
    """The surroundings that those at the end of a run are compared with.

    What a command of ours ``writes`` at present is not compared; ``pending`` is what had changed before it
    began.
    """

    at: Surroundings
    writes: frozenset[Thing] = frozenset()
    pending: tuple[OutsideChange, ...] = ()

    def changes(self, now: Surroundings) -> Iterator[OutsideChange]:
        yield from self.pending
        yield from (change for change in differences(self.at, now) if _thing(change) not in self.writes)

    def before_writing(self, now: Surroundings, things: frozenset[Thing]) -> "Baseline":
        """Return a copy that has noted what others changed of these things, which are now written."""
        found = (change for change in self.changes(now) if _thing(change) in things)
        pending = tuple(dict.fromkeys((*self.pending, *found)))
        return self._replace(writes=self.writes | things, pending=pending)

    def after_writing(self, now: Surroundings, things: frozenset[Thing]) -> "Baseline":
        """Return a copy to which these things are as they are now."""
        at = {subject: dict(names) for subject, names in self.at.items()}
        for subject, name in things:
            value = now.get(subject, {}).get(name)
            if value is None:
                at.get(subject, {}).pop(name, None)
            else:
                at.setdefault(subject, {})[name] = value
        return self._replace(at=at, writes=self.writes - things)

    def to_json(self) -> dict[str, Any]:
        pending = [change.to_json() for change in self.pending]
        return {"at": self.at, "writes": sorted(self.writes), "pending": pending}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "Baseline":
        """Return what has that form. Raises KeyError, TypeError, ValueError for any other."""
        at = {str(subject): dict(names) for subject, names in content["at"].items()}
        writes = frozenset((Subject(subject), str(name)) for subject, name in content["writes"])
        return cls(at, writes, tuple(map(OutsideChange.from_value, content["pending"])))


def _thing(change: OutsideChange) -> Thing:
    return change.subject, change.name


class Observed(NamedTuple):
    """The configuration at one moment: all values, and the kinds of its files; and what is to be compared."""

    given: tuple[RawSetting, ...]
    files: Mapping[str, str]
    outside: Baseline


@contextlib.contextmanager
def own_writes(workspace: Workspace, *things: Thing) -> Iterator[None]:
    """Keep what a command of ours writes in the block from being told as seen while agents worked."""

    def update(change: Callable[[Baseline, Surroundings], Baseline]) -> None:
        with workspace.transaction():
            if (known := load_observed(workspace)) is not None:
                outside = change(known.outside, take_surroundings(workspace.home))
                save_observed(workspace, known._replace(outside=outside))

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
        save_observed(workspace, observe(workspace))


def config_changes(
    workspace: Workspace, before: Observed | None, after: Observed
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


def remove_observed(workspace: Workspace) -> None:
    """Remove the stored configuration, once its changes are recorded, or when no agent works."""
    workspace.paths.known_config.unlink(missing_ok=True)


def follow_own_change(workspace: Workspace, place: str, key: str) -> None:
    """Note that a person changed a key while an agent works, so that it does not count as the agent's."""
    before = load_observed(workspace)
    if before is None:
        return

    def is_changed(setting: RawSetting) -> bool:
        return setting.origin == place and setting.name.lower() == key

    now = observe(workspace)
    given = [setting for setting in before.given if not is_changed(setting)] + [
        setting for setting in now.given if is_changed(setting)
    ]
    files = {**before.files, **{name: kind for name, kind in now.files.items() if name == place}}
    save_observed(workspace, before._replace(given=tuple(given), files=files))


def observe(workspace: Workspace) -> Observed:
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
    return Observed(lasting, files, Baseline(take_surroundings(workspace.home)))


def _kind(path: Path) -> str:
    try:
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            return f"a link to {path.readlink()}"
    except OSError:
        return _ABSENT
    return _FILE if stat.S_ISREG(mode) else "a folder" if stat.S_ISDIR(mode) else "not a file"


def _file_changes(workspace: Workspace, before: Observed, after: Observed) -> Iterator[str]:
    for name, kind in after.files.items():
        old = before.files.get(name, _ABSENT)
        if kind != old and (old, kind) != (_ABSENT, _FILE):
            new = "deleted" if kind == _ABSENT else f"now {one_line(kind)}"
            yield f"{_place(workspace, name)} was {one_line(old)} and is {new}"


def _value_changes(workspace: Workspace, before: Observed, after: Observed) -> Iterator[str]:
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
        yield f"{one_line(named.name)} {values} ({_place(workspace, place[0])})"


def _value(setting: RawSetting | None, absent: str) -> str:
    if setting is None:
        return absent
    raw = setting.raw
    return one_line(raw if isinstance(raw, str) else format_value(raw), _LONGEST_VALUE)


def _place(workspace: Workspace, origin: str) -> str:
    return one_line(shorten_path(workspace, origin))


def save_observed(workspace: Workspace, observed: Observed) -> None:
    given = [[setting.name, setting.raw, int(setting.layer), setting.origin] for setting in observed.given]
    text = json.dumps({"given": given, "files": observed.files, "outside": observed.outside.to_json()})
    write_private(workspace.paths.known_config, text.encode())


def load_observed(workspace: Workspace) -> Observed | None:
    """Return the stored configuration; None if no agent works or another program wrote the file."""
    try:
        content = json.loads(workspace.paths.known_config.read_bytes())
        given = tuple(
            RawSetting(name, raw, Layer(layer), origin) for name, raw, layer, origin in content["given"]
        )
        return Observed(given, dict(content["files"]), Baseline.from_json(content["outside"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def watch_agent(workspace: Workspace, transaction: Transaction, run: Run) -> None:
    """Back the plan up, to compare it after this run's agent, unless another one is at work."""
    workspace.store.at_work.add(run.id)
    if not workspace.store.backup.exists:
        transaction.backup_plan()


def start_tracking(workspace: Workspace, ui: UserInterface, run: Run) -> None:
    """Have the hook note commits from now on; if that fails, warn and go on."""
    try:
        mark_active(workspace.repo)
    except OSError as error:
        warn(ui, f"commits of run {run.id} may be attributed to a person: {error.strerror}", run.task_id)


def stop_tracking(workspace: Workspace) -> None:
    """Stop the hook from noting commits, once the record is closed; also if it never began."""
    try:
        unmark_active(workspace.repo)
    except OSError as error:
        message = f"cannot clean up {workspace.repo.private_dir}: {error.strerror}"
        raise UnusableError(message, hint="make it writable, then repeat the command") from error


def outside_of(
    workspace: Workspace, run: Run, at_work: Collection[str], changes: Iterable[OutsideChange]
) -> Outside:
    """Return a run's own commits outside its place, and of the changes there what it is not known to be.

    ``at_work`` are the runs that worked meanwhile, this one among them.
    """
    place = workspace_of(workspace.in_worktree(workspace.home), run)
    repo = workspace.home if place is None else place.repo
    own, noted = _commits(repo, run, at_work)
    told = [change for change in changes if not _is_known(repo, run, change, noted)]
    if place is None and not run.is_remote and not os.path.lexists(run.worktree_path or ""):
        told.insert(0, OutsideChange(subject=Subject.PLACE, name=run.worktree_path or "", before=run.task_id))
    seen = tuple(change for change in told if change.is_named)
    other = tuple(change for change in told if not change.is_named)
    return Outside().adding(Outside(commits=own, seen=seen, other=other))


def _commits(
    repo: Repository, run: Run, at_work: Collection[str]
) -> tuple[tuple[OutsideCommit, ...], frozenset[str]]:
    """Return a run's own commits in other worktrees, and all commits there by the runs at work."""
    own: list[OutsideCommit] = []
    noted: set[str] = set()
    try:
        for oid, elsewhere, owners in commits_elsewhere(repo):
            if owners == {run.id}:
                own.append(OutsideCommit(commit=oid, worktree=str(elsewhere.top)))
            # The HEAD of a task's worktree is on no branch.
            if owners <= {*at_work} and owner_of(elsewhere) is None:
                noted.add(oid)
    except OSError:
        # Where the commits of a run are listed, this is said.
        return (), frozenset()
    return tuple(own), frozenset(noted)


def _is_known(repo: Repository, run: Run, change: OutsideChange, noted: frozenset[str]) -> bool:
    """Whether a branch moved in the run's own place, or by commits alone that runs are told to have made."""
    if change.subject is not Subject.BRANCH:
        return False
    if (
        run.is_in_place
        and run.run_type is RunType.EXECUTE
        and change.name in {run.start_branch, run.end_branch}
    ):
        return True
    if change.before is None or change.after is None or change.after not in noted:
        return False
    try:
        # What it has lost is nobody's commit.
        has_all = begins_at(repo, change.after, change.before)
    except UnusableError:  # the commit before is gone
        return False
    return has_all and commits_between(repo, change.before, change.after) <= noted


def edited_outside(workspace: Workspace, run: Run, edited: Collection[str]) -> Outside:
    """Return the edited files that are not in a run's place, nor in its temporary folder.

    A file is in the innermost worktree around it. Links on the way are followed, as writing it did.
    """
    if not edited:
        return Outside()
    home = workspace.home
    place = os.path.realpath(run.worktree_path or home.top)
    tops = {
        place,
        *(os.path.realpath(top) for top in (home.top, *(each.top for each in other_worktrees(home)))),
    }

    def is_inside(path: str) -> bool:
        there = Path(os.path.realpath(path))
        around = [top for top in tops if there.is_relative_to(top)]
        return max(around, key=len, default="") == place or is_in_scratch(str(there))

    return Outside().adding(Outside(paths=tuple(path for path in edited if not is_inside(path))))


def warn_outside(ui: UserInterface, run: Run, known: Outside | None = None) -> None:
    """Say what happened outside the place of a run that has ended, and was not ``known`` before."""
    new = run.outside.beyond(known or Outside())
    own = [*own_lines(new)]
    for line in own[:_MOST_NAMED]:
        warn(ui, f"outside its place, run {run.id} {line}", run.task_id)
    for change in new.seen[:_MOST_NAMED]:
        warn(ui, f"seen while agents worked: {seen_text(change)}", run.task_id, way_back(change))
    if more := len(own[_MOST_NAMED:]) + len(new.seen[_MOST_NAMED:]):
        text = f"{more} more things happened outside the place of run {run.id}"
        warn(ui, text, run.task_id, TaskCommand("runs", run.task_id, f" {run.id}"))
