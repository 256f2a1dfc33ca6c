"""Checkpoints, requests and questions of an execute, on the screen.

With ``BLACKBIRD_EVERY_STEP`` set, those stories are told as well whose screens, replies and ends are met in
others here.
"""

from tests.controller.killing import EVERY_STEP
from tests.controller.test_loop import (
    demo,
    gated,
    test_a_decision_from_elsewhere_is_taken_by_the_execute_that_waits,
    test_a_failed_run_is_a_checkpoint_and_approving_accepts_that_it_failed,
    test_a_pending_decision_that_is_overtaken_says_by_what,
    test_a_rejected_task_fails_and_stops_this_execute_and_no_file_changes,
    test_an_agent_that_was_kept_from_everything_has_not_succeeded,
    test_an_execute_asks_the_questions_that_come_up_in_it,
    test_approve_and_quit_ends_the_call,
    test_changes_go_to_the_same_session_and_the_checkpoint_comes_again,
    test_nobody_here_leaves_the_decision_pending_and_starts_nothing_more,
    test_questions_are_asked_and_answered_in_the_same_session,
    test_w6_a_decision_left_open_is_asked_again_before_anything_starts,
    test_w8_changes_cannot_be_requested_without_a_session_and_nothing_is_lost,
    test_w23_what_the_agent_changes_in_the_plan_is_shown_at_the_checkpoint,
    test_w27_the_exit_code_tells_what_happened,
)

if EVERY_STEP:
    from tests.controller.test_loop import (
        test_a_done_task_takes_a_further_word_in_its_session,
        test_a_request_that_was_heard_and_approved_is_not_owed_again,
        test_a_session_the_provider_lost_is_named_and_passed_by,
        test_a_task_with_a_change_request_is_executed_by_its_name,
        test_another_agent_that_begins_anew_is_named,
        test_retry_resets_and_restart_tells_everything_owed,
        test_w22_a_corrupt_record_is_named_and_the_others_are_read,
        test_w30_a_finished_task_is_not_run_again_by_resume,
        test_what_was_said_before_an_interruption_is_told_again,
    )
