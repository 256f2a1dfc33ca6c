"""Parents blocked until review feedback is sent to their children, on the screen."""

from tests.controller.reviews.test_parent import (
    demo,
    test_a_child_that_asks_while_it_carries_feedback_keeps_it,
    test_a_failing_review_stops_the_flow_until_the_child_was_resumed_in_its_session,
    test_a_parent_is_reviewed_before_it_counts_as_done_whoever_approves_its_last_child,
    test_a_plan_that_is_broken_during_a_review_loses_no_verdict,
    test_all_flagged_children_are_resumed_in_order,
    test_with_checkpoints_what_was_resumed_is_approved_before_it_is_reviewed_again,
)
