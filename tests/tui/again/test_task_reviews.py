"""Reviews of a change by two reviewers, decided on the screen."""

from tests.controller.reviews.test_change import (
    demo,
    test_a_pending_change_is_reviewed_by_hand_and_decided_by_the_rule,
    test_a_person_may_have_the_change_reviewed_again_before_deciding,
    test_a_person_who_asks_for_changes_begins_the_rounds_anew,
    test_a_task_that_is_edited_meanwhile_is_reviewed_again_as_it_is_now,
    test_what_does_not_clear_is_for_a_person_also_without_checkpoints,
    test_with_checkpoints_the_checkpoint_comes_after_the_rounds,
)
