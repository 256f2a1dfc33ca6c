"""What programs are told of reviews."""

from typing import Any

from git_blackbird.model.recorded import plain
from git_blackbird.model.run import Run, RunType
from git_blackbird.model.task_review import readable_merged, result_of


def change_review_data(run: Run) -> dict[str, Any]:
    """Give how the change of a run was reviewed, and of a review what it is about and found."""
    merged, result = readable_merged(run), result_of(run)
    return {
        "reviewState": run.review_state,
        "reviewRound": run.review_round,
        "review": None if merged is None else plain(merged),
        "reviewedRun": run.reviewed_run,
        "reviewResult": None if result is None else plain(result),
    }


def review_data(run: Run) -> dict[str, Any] | None:
    """Give what a review came to; None for a run that is none."""
    if run.run_type is not RunType.REVIEW:
        return None
    dismissed = run.parent_review_dismissed
    return {
        "passed": run.parent_review_passed,
        "resume": list(run.parent_review_resume_task_ids),
        "feedback": run.parent_review_feedback,
        "results": [
            {"task": task_id, "status": one.status, "feedback": one.feedback}
            for task_id, one in sorted((run.parent_review_results or {}).items())
        ],
        "signature": run.parent_review_completion_signature,
        "dismissed": None
        if dismissed is None
        else {"reason": dismissed.reason, "at": dismissed.at, "by": dismissed.by},
    }
