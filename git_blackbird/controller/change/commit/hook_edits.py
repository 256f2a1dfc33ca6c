"""What a hook that refused a commit, such as a formatter, made of the files that were to be committed.

It becomes part of the change: checkpoint and diff show it, and the next approval commits it.
"""

from collections.abc import Mapping

from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.place.snapshots import snapshot
from git_blackbird.errors import BlackbirdError
from git_blackbird.git.commit.plan import CommitPlan
from git_blackbird.git.core.process import GitStoppedError
from git_blackbird.git.core.trees import TreeEntry, TreeStore
from git_blackbird.git.worktree.summary import summarize
from git_blackbird.model.base.sanitize import clean_line
from git_blackbird.model.run.run import Run, RunChange
from git_blackbird.model.run.summary import Summary, Trees

HookEdits = Mapping[bytes, TreeEntry | None]
"""The files as the hook left them, by path; None where it removed one."""

_MAX_NAMED = 5


def find_hook_edits(workspace: Workspace, plan: CommitPlan, before: str) -> HookEdits:
    """Return what has changed, since the snapshot ``before``, of the files as they were to be committed."""
    try:
        now = snapshot(workspace, since=before).tree
    except GitStoppedError:
        raise
    except BlackbirdError:
        # The next approval finds the same edits, and names them as a person's.
        return {}
    trees = TreeStore(workspace.repo)
    return {
        path: trees.entry(now, path)
        for path, entry in plan.edits.items()
        if trees.entry(before, path) == entry != trees.entry(now, path)
    }


def hook_edits_text(run: Run, edits: HookEdits) -> str:
    """Say that a hook made edits, and who has not seen them."""
    judged = {"check": run.check or run.landing_check, "reviews": run.merged_review}
    unseen = " and ".join(name for name, verdict in judged.items() if verdict is not None)
    text = f"the hook that refused the commit changed {named_edits(edits)}: that is part of the change now"
    return f"{text}, and its {unseen} saw it before" if unseen else text


def named_edits(edits: HookEdits) -> str:
    """Name the paths of edits, the first few of them."""
    names = [clean_line(path.decode(errors="replace")) for path in sorted(edits)]
    more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
    return f"{', '.join(names[:_MAX_NAMED])}{more}"


def with_hook_edits(workspace: Workspace, run: Run, edits: HookEdits) -> Run:
    """Return the record of the run whose change was to be committed, with these edits in it.

    They are in the files of the user's worktree: as the run left them, or as its change has landed there.
    Raises UnusableError.
    """
    if not edits:
        return run
    trees, changed = TreeStore(workspace.repo), run.noting(hook_edits_text(run, edits))
    if run.landing_pair is not None:
        changed = changed.landed_as(trees.edited(run.landing_pair.head, edits))
    if run.is_in_place and run.base_tree is not None and run.head_tree is not None:
        pair = Trees(run.base_tree, trees.edited(run.head_tree, edits))
        summary = (run.review_summary or Summary()).with_fields(summarize(workspace.repo, pair))
        changed = changed.changed(RunChange(summary, pair.head))
    return changed
