"""Approvals that commit, on the screen."""

from tests.controller.decisions.test_approval_commit import (
    gated,
    test_a_failed_run_that_is_accepted_is_committed_too,
    test_an_overlap_is_foreseen_named_and_asked_again,
    test_each_approval_is_a_commit_of_its_task_and_run,
    test_who_records_elsewhere_commits_and_the_waiting_execute_goes_on,
)
