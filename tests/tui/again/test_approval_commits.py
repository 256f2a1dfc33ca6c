"""Approvals that commit, on the screen."""

from tests.controller.change.commit.test_approval import (
    gated,
    test_an_overlap_is_foreseen_named_and_asked_again,
    test_who_records_elsewhere_commits_and_the_waiting_execute_goes_on,
)
