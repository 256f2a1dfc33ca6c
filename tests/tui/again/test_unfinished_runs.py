"""Half-done work, requests that cannot be delivered, and approve and continue, on the screen."""

from tests.controller.change.work.test_unfinished_runs import (
    repo,
    requested,
    stopping,
    test_a_person_continues_a_run_that_a_limit_paused,
    test_a_person_leaves_a_run_that_a_limit_paused,
    test_a_person_restarts_a_run_that_a_limit_paused,
    test_a_request_made_at_the_prompt_that_cannot_be_delivered_stops_the_call,
    test_approve_and_continue_after_resume_starts_no_other,
)
