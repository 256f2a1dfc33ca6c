"""What an agent was given for a run, out of its record: what its saved output is read with."""

from git_blackbird.agents.protocol import Assignment
from git_blackbird.controller.workspace import Workspace
from git_blackbird.model.run import Run


def recorded_assignment(workspace: Workspace, run: Run) -> Assignment:
    """Give a run's assignment anew, with the totals of the run that it resumed."""
    resumed = workspace.store.records.history(run.task_id).find(run.resumes) if run.resumes else None
    return Assignment(
        task_id=run.task_id,
        run_id=run.id,
        session=run.provider_session_ref,
        prompt=run.prompt or "",
        context=run.context,
        resume=run.resumes is not None,
        previous_totals={} if resumed is None else resumed.raw_totals or {},
        # Where it worked then: the worktree may have been moved since.
        folder=run.repo_root or str(workspace.repo.top),
    )
