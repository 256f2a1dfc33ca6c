"""The checks of the doctor: each looks at one subject, and changes nothing."""

import contextlib
import os
import pwd
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from git_blackbird.controller.core.guards import HalfWrittenError, processes_at_work, require_whole
from git_blackbird.controller.core.workspace import Workspace, lock_holder
from git_blackbird.controller.doctor.prune import lost_records, stale_refs, unheld_runs
from git_blackbird.controller.engine.recovery import lost_runs
from git_blackbird.controller.launch.run_files import scratch_dirs
from git_blackbird.controller.place.listing import finished_places, missing_places
from git_blackbird.controller.place.worktrees import worktrees_folder
from git_blackbird.controller.queries.agents import AgentView, view_agents
from git_blackbird.controller.setup.install import HookState, merge_driver_fault, view_hook
from git_blackbird.errors import BlackbirdError, UnusableError
from git_blackbird.git.change.merging import require_merge_tree
from git_blackbird.git.worktree.index_lock import is_lock_leftover, lock_files
from git_blackbird.git.worktree.linked import (
    TaskWorktree,
    altered_worktrees,
    disk_bytes,
    half_added_worktrees,
    other_owner,
)
from git_blackbird.git.worktree.saved_trees import ObjectFaults, broken_refs, list_our_refs
from git_blackbird.git.worktree.surroundings import misleading_settings
from git_blackbird.messages.display.format import adoptable_counts
from git_blackbird.messages.display.quantities import counted
from git_blackbird.model.base.ids import PLANNING, TaskId
from git_blackbird.model.base.next_steps import ADOPT, SETTING_BACK, ShellLine, TaskCommand
from git_blackbird.model.base.sanitize import shell_word
from git_blackbird.model.change.stages import Band, Due
from git_blackbird.model.plan.status import IN_HAND
from git_blackbird.model.rules.queue import items_in
from git_blackbird.model.rules.scope import CallScope
from git_blackbird.model.run.history import RecordError
from git_blackbird.model.run.run import Run
from git_blackbird.model.views.doctor import DiskUse, Finding, Mend
from git_blackbird.storage.locks import approval_in_progress
from git_blackbird.storage.notes import load_pending_approval
from git_blackbird.storage.paths import Paths
from git_blackbird.storage.records import ENDING, record_path

Seen = Finding | AgentView | DiskUse
"""What a check sees: something that is wrong, or that is to be shown in any case."""


def finding_of(error: Exception, where: Path) -> Finding:
    """Return an error as a finding at a path, or at that which the system refuses."""
    ways_out: tuple[str, ...] = ()
    cause = error.__cause__ if isinstance(error, BlackbirdError) else error
    if isinstance(cause, OSError) and isinstance(cause.filename, str) and cause.filename.startswith("/"):
        where = Path(cause.filename)
    if isinstance(cause, PermissionError):
        ways_out = (opening_command(where),)
    if isinstance(error, BlackbirdError):
        return Finding(error.message, str(where), ways_out=error.ways_out or ways_out)
    what = error.strerror if isinstance(error, OSError) else f"this could not be looked at: {error!r}"
    return Finding(what or str(error), str(where), ways_out=ways_out)


def is_refused(path: Path) -> bool:
    """Whether the user may not read a file or folder that is there, as far as can be seen."""
    return _first_closed(path) is not None


def opening_command(path: Path) -> ShellLine:
    """Return the command that opens to the user what is closed on the way to a path, or its last part."""
    there = next(part for part in (path, *path.parents) if os.path.lexists(part))
    closed = _first_closed(path) or there
    word, user, owner = shell_word(str(closed)), os.geteuid(), closed.lstat().st_uid
    if owner == user:
        return ShellLine(f"chmod u+rwX {word}")
    return ShellLine(f"sudo chown -R {_user_name(user)} {word}", f"it belongs to {_user_name(owner)}")


def _first_closed(path: Path) -> Path | None:
    is_closed = os.path.lexists(path) and not os.access(path, os.R_OK)
    folders = (folder for folder in reversed(path.parents) if os.path.lexists(folder))
    return next((each for each in folders if not os.access(each, os.X_OK)), path if is_closed else None)


def _user_name(user: int) -> str:
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return str(user)


_ASIDE = ".set-aside"


def _set_aside(path: Path, folder: Path, remark: str) -> ShellLine:
    words = shell_word(str(path)), shell_word(str(folder / f"{path.name}{_ASIDE}"))
    return ShellLine(f"mv -i {' '.join(words)}", remark)


def _check_configuration(workspace: Workspace) -> Iterator[Finding]:
    for problem in workspace.settings.problems:
        yield Finding(f"{problem.key}: {problem.what}", problem.origin, ways_out=(problem.hint,))


def _check_git(workspace: Workspace) -> Iterator[Finding]:
    repo = workspace.repo
    for lock in lock_files(repo):
        what = f"git's {lock.relative_to(repo.common_dir).with_suffix('')} is locked"
        if lock == repo.index_lock and is_lock_leftover(repo):
            yield Finding(f"{what} by a killed command of git-blackbird", str(lock), Mend.INDEX_LOCK)
        else:
            remove = ShellLine(f"rm {shell_word(str(lock))}", "where no git is running")
            why = "by a program that is at work or was killed: which of the two, only you can know"
            yield Finding(f"{what} {why}", str(lock), ways_out=(remove,))
    common = repo.common_dir
    for key, value in misleading_settings(repo):
        what = f"{key} is {value}: git does not work in {common.parent}"
        yield Finding(what, str(common / "config"), ways_out=(SETTING_BACK[key],))
    if workspace.uses_worktrees:
        require_merge_tree(workspace.repo)


_GIT_FOLDERS = ("objects", "refs", "refs/blackbird", "refs/blackbird/runs")


def _check_folders(workspace: Workspace) -> Iterator[Finding]:
    paths, common = workspace.paths, workspace.repo.common_dir
    private = (paths.private, paths.runs, paths.feedback, paths.streams, paths.own_logs, paths.private_tmp)
    ours = dict.fromkeys((*private, *_links_in(paths), paths.state, paths.run_copies, paths.tmp))
    for folder in (*ours, *map(common.joinpath, _GIT_FOLDERS)):
        # Unlike those of pathlib, these raise nothing where the folder above is closed.
        is_link = os.path.islink(folder) and folder in ours  # noqa: PTH114
        is_folder = os.path.isdir(folder)  # noqa: PTH112
        if is_link or (os.path.lexists(folder) and not is_folder):
            way = _set_aside(folder, folder.parent, "keeps it; a folder is made in its place")
            yield Finding("this is in the place of a folder", str(folder), ways_out=(way,))
        elif is_folder and not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
            way = opening_command(folder)
            yield Finding("this folder cannot be read and written", str(folder), ways_out=(way,))


def _links_in(paths: Paths) -> Iterator[Path]:
    """Yield the links in our folder, and to folders below those of ours that no tree is checked out in."""
    with contextlib.suppress(OSError):
        yield from (place for place in paths.private.iterdir() if _is_in_the_way(place))
    for top in (paths.runs, paths.drafts):
        for folder, names, _ in os.walk(top):
            yield from (place for name in names if _is_in_the_way(place := Path(folder, name)))


def _is_in_the_way(place: Path) -> bool:
    return place.is_symlink() and place.suffix != _ASIDE


def _check_plan(workspace: Workspace) -> Iterator[Finding]:
    if os.path.lexists(workspace.paths.plan) or workspace.store.records.tasks():
        try:
            workspace.store.plan()
        except UnusableError as error:
            yield finding_of(error, workspace.paths.plan)


def _check_records(workspace: Workspace) -> Iterator[Finding]:
    store = workspace.store
    faults = list(store.feedback.load_all().faults)
    for task_id in (*store.records.tasks(), PLANNING):
        history = store.records.history(task_id)
        faults += [_named(task_id, one) for one in (*history.faults, *store.records.reviews(task_id).faults)]
    for fault in dict.fromkeys(faults):
        path = Path(fault.path)
        first = (opening_command(path),) if is_refused(path) else ()
        yield Finding(fault.what, fault.path, ways_out=(*first, fault.hint))
    if missing := list(store.copies.missing()):
        what = f"{counted(len(missing), 'record')} without a copy for other programs"
        yield Finding(what, str(workspace.paths.copy_of(missing[0])), Mend.COPIES)
    yield from _missing_records(workspace)


def _missing_records(workspace: Workspace) -> Iterator[Finding]:
    tasks: set[str] = set()
    for record in lost_records(workspace):
        tasks.add(record.parent.name)
        folder, copy = shell_word(str(record.parent)), shell_word(str(workspace.paths.copy_of(record)))
        way = ShellLine(f"mkdir -p {folder} && cp -i {copy} {folder}", "trusts the copy as it is")
        yield Finding("this record is gone, and its copy is left", str(record), ways_out=(way,))
    if not os.path.lexists(workspace.paths.plan):
        return
    state = workspace.plan_state()
    if adoptable := [item for item in workspace.store.unanswered(state) if item.task_id not in tasks]:
        what = f"what another program or clone did does not count here: {adoptable_counts(adoptable)}"
        yield Finding(what, str(workspace.paths.state), ways_out=(ADOPT,))
        tasks.update(item.task_id for item in adoptable)
    stuck_items = (item for item in items_in(Band.PERSON, state) if item.due is Due.STUCK)
    for stuck in stuck_items:
        if stuck.task.status in IN_HAND and stuck.task.id not in tasks:
            what = f"{stuck.task.id} is {stuck.words}"
            yield Finding(what, str(workspace.paths.task_runs(stuck.task.id)), ways_out=(stuck.command,))


def _named(task_id: str, fault: RecordError) -> RecordError:
    path = Path(fault.path)
    is_record = path.suffix == ENDING
    subject = f"the record of run {path.stem} of {task_id} cannot be used" if is_record else task_id
    return fault._replace(what=f"{subject}: {fault.what}")


def _check_objects(workspace: Workspace) -> Iterator[Finding]:
    histories = workspace.store.records.histories()
    runs = [run for history in histories.values() for run in history.runs if run.named_trees]
    faults = ObjectFaults(workspace.repo, {tree for run in runs for tree in run.named_trees})
    open_ones = {run.id for history in histories.open.values() for run in history.recent}
    # About each that is open there is something to do; the others are one finding.
    affected: dict[tuple[str, ...], list[Run]] = {}
    for run in runs:
        if lost := faults.below(run.named_trees):
            affected.setdefault((run.id if run.id in open_ones else "", *lost), []).append(run)
    for (is_open, first, *more), (run, *others) in affected.items():
        who = f"run {run.id} of {run.task_id}" + (f" and {counted(len(others), 'other')}" if others else "")
        what = f"{who}: {counted(1 + len(more), 'git object')} gone or damaged, {first}"
        look = ShellLine("git fsck --full", "says what else is; a backup may have it")
        give_up = TaskCommand("retry", run.task_id, remark="gives its change up")
        yield Finding(
            what, str(record_path(workspace.paths, run)), ways_out=(look, give_up) if is_open else (look,)
        )


def _check_runs(workspace: Workspace) -> Iterator[Finding]:
    paths, histories = workspace.paths, workspace.store.records.histories()
    if lock_holder(workspace) is None:
        for run in lost_runs(workspace, histories.open, CallScope()):
            alive = ", ".join(map(str, processes_at_work(paths, run)))
            agent = f"is still at work (process {alive})" if alive else "is gone"
            what = f"run {run.id} of {run.task_id} has lost its controller; its agent {agent}"
            yield Finding(what, str(record_path(workspace.paths, run)), Mend.RECOVERY)
        for folder in scratch_dirs(paths):
            yield Finding("a killed run left its temporary folder", str(folder), Mend.RECOVERY)
    for history in histories.open.values():
        try:
            require_whole(history)
        except HalfWrittenError as error:
            yield finding_of(error, record_path(workspace.paths, history.recent[-1]))
    note = load_pending_approval(paths)
    if note is not None and approval_in_progress(paths) is None:
        what, way = f"the approval of {note.task_id} was interrupted", TaskCommand("decide", note.task_id)
        yield Finding(what, str(paths.pending_approval), Mend.RECOVERY, (way,))


def _check_worktrees(workspace: Workspace) -> Iterator[Finding]:
    for altered in altered_worktrees(workspace.repo):
        what, ways = "is not as git made it", [ShellLine("git worktree repair")]
        if (owner := other_owner(altered.repo)) is not None:
            what = f"belongs to another repository, {owner}; one of the two is a copy"
            ways = [*_ways_with_owner(workspace, altered)]
        yield Finding(
            f"the worktree of {altered.task_id} {what}", str(altered.repo.top), ways_out=tuple(ways)
        )
    if lock_holder(workspace) is None and os.path.lexists(workspace.paths.plan):
        for half in half_added_worktrees(workspace.repo, worktrees_folder(workspace)):
            what = "a killed command left half of a worktree"
            yield Finding(what, str(half.top), Mend.WORKTREES)
        for place in finished_places(workspace):
            what = f"the worktree of {place.task_id} is done with: {place.state.words}"
            prune = ShellLine("git blackbird worktrees prune", "says why one stays")
            yield Finding(what, str(place.path), Mend.WORKTREES, (prune,))
        for run in missing_places(workspace):
            what = f"the worktree of {run.task_id} is gone, and its change has yet to land"
            give_up = TaskCommand("retry", run.task_id, remark="gives its change up")
            yield Finding(what, str(run.worktree_path), Mend.WORKTREES, (give_up,))


def _ways_with_owner(workspace: Workspace, altered: TaskWorktree) -> Iterator[ShellLine]:
    """Yield what to do about the worktree of another repository, which git's repair takes away from that."""
    run = workspace.store.records.history(TaskId(altered.task_id)).latest
    if run is not None and run.repo_root == str(workspace.paths.state_root):
        yield ShellLine("git worktree repair", "takes it from there, if that one is the copy")
    entry = shell_word(str(altered.repo.git_dir))
    yield ShellLine(f"rm -r {entry}", "forgets it here; its folder stays as it is")


def _check_references(workspace: Workspace) -> Iterator[Finding]:
    for name in broken_refs(workspace.repo):
        yield Finding("this reference names no object", name, Mend.REFERENCES)
    if unheld := list(unheld_runs(workspace)):
        what = f"no reference keeps the git trees of {counted(len(unheld), 'run')}"
        yield Finding(what, str(record_path(workspace.paths, unheld[0])), Mend.REFERENCES)
    if stale := stale_refs(workspace):
        what = f"{counted(len(stale), 'reference')} of runs that no worktree has a record of"
        look = ShellLine(f"git ls-tree -r {stale[0]}", "lists what it keeps")
        yield Finding(what, stale[0], ways_out=(look, ShellLine("git blackbird prune", "removes them")))


def _check_hooks(workspace: Workspace) -> Iterator[Finding]:
    hook, install = view_hook(workspace.environment), ShellLine("git blackbird hooks install")
    if hook.state in {HookState.EDITED, HookState.REPLACED}:
        way = ShellLine("git blackbird hooks status", "says more")
        yield Finding(hook.blocked_reason or hook.state, str(hook.path), ways_out=(way,))
    if hook.state is HookState.OUTDATED:
        what = "this hook is of another installation of git-blackbird"
        yield Finding(what, str(hook.path), Mend.HOOKS, (install,))
    if hook.state is HookState.DISABLED:
        what = "this hook is not executable: git does not run it"
        yield Finding(what, str(hook.path), Mend.HOOKS, (install,))
    if fault := merge_driver_fault(workspace.environment):
        what, config = f"the plan's merge driver: {fault}", str(workspace.repo.common_dir / "config")
        yield Finding(what, config, Mend.HOOKS, (install,))


def _check_agents(workspace: Workspace) -> Iterator[Seen]:
    for agent in view_agents(workspace).agents:
        yield agent
        if (agent.is_chosen or agent.reviews) and not agent.can_start:
            what = f"{agent.name} cannot start: {agent.inspection.blocked_reason}"
            ways = tuple(filter(None, [agent.inspection.hint]))
            yield Finding(what, agent.inspection.program or agent.name, ways_out=ways)


def _measure(workspace: Workspace) -> Iterator[Seen]:
    paths = workspace.paths
    room = sum(map(disk_bytes, (paths.runs, paths.run_copies, paths.streams, paths.own_logs)))
    records = sum(name.endswith(ENDING) for _, _, names in os.walk(paths.runs) for name in names)
    yield DiskUse(records, len(list_our_refs(workspace.repo)), room)


CHECKS: Mapping[str, Callable[[Workspace], Iterable[Seen]]] = {
    "configuration": _check_configuration,
    "git": _check_git,
    "folders": _check_folders,
    "plan": _check_plan,
    "records": _check_records,
    "objects": _check_objects,
    "runs": _check_runs,
    "worktrees": _check_worktrees,
    "references": _check_references,
    "hooks": _check_hooks,
    "agents": _check_agents,
    "disk": _measure,
}
"""By subject."""
