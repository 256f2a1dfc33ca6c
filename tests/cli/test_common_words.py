"""Words of other programs are answered with the command here, and never with one that starts an agent."""

from pathlib import Path

import pytest

from git_blackbird.cli.syntax.common_words import _WORDS, hint_for
from git_blackbird.cli.syntax.registry import COMMANDS, GROUPS
from tests.controller.support import leaf, put_plan
from tests.trial.program import Trial

WORDS = [word for words in _WORDS for word in words.split()]
STARTS = {"execute", "resume", "restart", "review", "demo"}


@pytest.fixture
def trial(repo: Path) -> Trial:
    put_plan(repo, leaf("a"))
    return Trial(repo)


@pytest.mark.parametrize("word", WORDS)
def test_no_word_is_a_command_or_leads_to_a_start(word: str) -> None:
    assert word not in COMMANDS
    for line in (hint_for([word, "a"]) or "").splitlines():
        verb, *rest = line.removeprefix("git blackbird ").split("    #")[0].split()
        assert verb in COMMANDS or verb == "--version"
        assert verb not in STARTS or "--dry-run" in rest


def test_the_commands_are_named_with_the_task_that_was_typed(trial: Trial) -> None:
    assert trial.expect(2, "approve", "a") == (
        "error: there is no command 'approve'\nhint: git blackbird decide a --approve\n"
    )
    assert trial.expect(2, "diff") == ("error: there is no command 'diff'\nhint: git blackbird runs -h\n")
    assert "hint: git blackbird execute --dry-run    # shows what" in trial.expect(2, "run")
    assert "No such command 'blub'" in trial.expect(2, "blub")


def test_help_takes_a_command_and_lists_each_once(trial: Trial) -> None:
    listed = trial.expect(0, "help")
    assert listed == trial.expect(0, "-h")
    assert sorted(" ".join(GROUPS.values()).split()) == sorted(COMMANDS)
    assert trial.expect(0, "help", "show") == trial.expect(0, "show", "-h")
    assert trial.expect(0, "help", "help") == listed
    assert "No such command" in trial.expect(2, "help", "blub")


def test_config_takes_the_verbs_of_git_and_jobs_a_letter(trial: Trial) -> None:
    trial.expect(0, "config", "set", "execution.jobs", "2")
    assert trial.expect(0, "config", "get", "execution.jobs").startswith("execution.jobs")
    assert "config get takes KEY" in trial.expect(2, "config", "get", "execution.jobs", "3")
    assert "config set takes KEY VALUE" in trial.expect(2, "config", "set", "execution.jobs")
    assert trial.expect(0, "execute", "-j", "2", "--dry-run").startswith("1. a")
