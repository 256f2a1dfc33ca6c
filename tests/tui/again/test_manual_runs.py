"""Commits by hand, decided on the screen."""

from tests.controller.change.work.test_manual_commits import (
    gated,
    test_a_checkpoint_on_the_screen_comes_again_when_its_commit_is_amended,
    test_an_execute_offers_no_changes_of_a_commit_by_hand,
)
