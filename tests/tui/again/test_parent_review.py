"""Parents blocked until review feedback is sent to their children, on the screen."""

from tests.controller.reviews.test_parent import (
    demo,
    test_a_child_that_asks_while_it_carries_feedback_keeps_it,
    test_with_checkpoints_what_was_resumed_is_approved_before_it_is_reviewed_again,
)
