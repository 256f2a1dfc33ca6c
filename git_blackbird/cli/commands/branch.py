"""Commands that hand out what runs did, as branches and worktrees, and those about worktrees of tasks."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from git_blackbird.cli.output import CommandContext
from git_blackbird.controller.change.export import (
    DEFAULT_REMOTE,
    BranchResult,
    create_task_branch,
    publish_branch,
    require_no_remote,
    restore_run,
)
from git_blackbird.controller.core.workspace import Workspace, open_workspace
from git_blackbird.controller.place.listing import (
    PlaceOfTask,
    Pruned,
    find_place,
    list_places,
    prune_places,
)
from git_blackbird.controller.place.worktrees import kept_text
from git_blackbird.errors import ExitCode, MissingHereError, UnusableError, UsageError
from git_blackbird.messages.display.format import render_path
from git_blackbird.messages.display.quantities import format_seconds, render_bytes
from git_blackbird.messages.document import Table, line, table
from git_blackbird.model.base.sanitize import shell_word
from git_blackbird.model.base.timestamps import seconds_between


def branch(
    call: CommandContext,
    task_id: str,
    *,
    name: str | None,
    onto: str | None,
    push: bool,
    requests: bool,
    remote: str | None,
) -> ExitCode:
    if remote is not None and not (push or requests):
        raise UsageError("--remote goes with --push and --pr")
    workspace = open_workspace(call.environment)
    if name is not None:
        require_no_remote(workspace, task_id, name, onto, "--pr" if requests else "--push" if push else None)
    result = create_task_branch(workspace, task_id, name, onto)
    call.print(f"branch {result.name} has the change of {task_id}, as commit {result.commit[:12]}")
    call.lines(result.summary.diffstat.splitlines())
    if push or requests:
        page = _page_of(call, workspace, result) if requests else ""
        result = publish_branch(workspace, result, remote or DEFAULT_REMOTE, requests=requests, page=page)
        call.print(f"pushed {result.name} to {result.remote}")
    if result.request is not None:
        call.print(f"opened {result.request}")
    call.data(result)
    return ExitCode.OK


def _page_of(call: CommandContext, workspace: Workspace, result: BranchResult) -> str:
    """Return what published decisions say of the commit, for a request to merge it; "" without any."""
    from git_blackbird.controller.proof.verify import Asked, verify  # only requests are verified
    from git_blackbird.messages.display.verified import verification_page

    commits = result.commit if result.parent is None else f"{result.parent}..{result.commit}"
    try:
        return verification_page(verify(workspace.repo, Asked(commits)))
    except MissingHereError:
        pass
    except (UnusableError, UsageError) as error:
        call.warn(f"the request does not say what was decided on: {error.message}", error.hint)
    return ""


def restore(
    call: CommandContext, run_id: str, *, folder: str | None, branch: str | None, before: bool
) -> ExitCode:
    if (folder is None) == (branch is None):
        raise UsageError("say where to", hint="a folder for a new worktree, or --branch for a new branch")
    place = None if folder is None else call.environment.cwd / Path(folder)
    workspace = open_workspace(call.environment)
    result = restore_run(workspace, run_id, folder=place, branch=branch, before=before)
    what = f"the files {'before' if before else 'after'} run {result.run_id} of {result.task_id}"
    if result.kept is not None:
        what = "the files of a worktree that was removed"
    if folder is not None:
        call.print(f"{render_path(folder)} is a worktree with {what}")
        call.print(f"to remove it: git worktree remove {shell_word(folder)}")
    else:
        call.print(f"branch {branch} has {what}, as commit {result.commit[:12]}")
    call.data(result)
    return ExitCode.OK


def worktrees(call: CommandContext, action: str, task_id: str | None, *, dry_run: bool) -> ExitCode:
    if (action == "open") != (task_id is not None):
        raise UsageError("worktrees open needs a task" if task_id is None else "only open takes a task")
    if dry_run and action != "prune":
        raise UsageError("--dry-run goes with prune")
    if action == "prune":
        pruned = prune_places(call.workspace, dry_run=dry_run)
        call.lines(_pruned_lines(pruned, "would remove" if dry_run else "removed"))
        if call.as_json:
            from git_blackbird.cli.printed.changes import PrunedWorktreesOutput

            call.data(PrunedWorktreesOutput(pruned))
        return ExitCode.OK
    if task_id is None:
        places = list_places(call.workspace)
        call.show([_table(call, places) if places else line("no worktrees of tasks")])
    else:
        places = [find_place(call.workspace, task_id)]
        call.print(str(places[0].path))
    if call.as_json:
        from git_blackbird.cli.printed.changes import WorktreesOutput

        call.data(WorktreesOutput(places))
    return ExitCode.OK


def _table(call: CommandContext, places: Sequence[PlaceOfTask]) -> Table:
    now = call.environment.timestamp()
    rows = [
        (
            place.task_id,
            place.state.words,
            format_seconds(None if place.since is None else seconds_between(place.since, now)),
            render_bytes(place.disk_bytes),
            str(place.path),
        )
        for place in places
    ]
    # A part of a path is of no use.
    return table(rows, None)


def _pruned_lines(pruned: Sequence[Pruned], verb: str) -> Iterator[str]:
    for place, reason, kept in pruned:
        why = "" if reason in {None, place.state.words} else f": {reason or ''}"
        path = str(place.path)
        yield f"{verb if reason is None else 'left'} {path}: {place.task_id}, {place.state.words}{why}"
        if kept is not None:
            yield f"  {kept_text(place.task_id, kept)}"
    if not pruned:
        yield "no worktrees of tasks"
