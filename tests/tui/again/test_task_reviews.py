"""Reviews of a change by two reviewers, decided on the screen."""

from tests.controller.change.review.test_review import (
    demo,
    test_a_person_may_have_the_change_reviewed_again_before_deciding,
    test_a_person_who_asks_for_changes_begins_the_rounds_anew,
    test_what_does_not_clear_is_for_a_person_also_without_checkpoints,
)
