"""Checkpoints, requests and questions of an execute, on the screen."""

from tests.controller.engine.test_loop import (
    demo,
    gated,
    test_a_decision_left_open_is_asked_again_before_anything_starts,
    test_a_failed_run_is_a_checkpoint_and_approving_accepts_it_as_it_is,
    test_a_rejected_task_fails_and_stops_this_execute_and_no_file_changes,
    test_an_execute_asks_the_questions_that_come_up_in_it,
    test_approve_and_quit_ends_the_call,
    test_changes_cannot_be_requested_without_a_session_and_nothing_is_lost,
    test_nobody_here_leaves_the_decision_pending_and_starts_nothing_more,
    test_what_the_agent_changes_in_the_plan_is_shown_at_the_checkpoint,
    test_what_was_said_before_an_interruption_is_told_again,
)
