"""``notify.command``: it runs when a person is needed, and whatever it does harms nothing."""

import time
from pathlib import Path

import pytest

from tests.support import git
from tests.trial.program import PATIENCE_SECONDS, Trial

TELL = (
    'printf \'%s|\' "$BLACKBIRD_EVENT" "$BLACKBIRD_TASK_ID" "${BLACKBIRD_NOTIFY_RUN:+run}" '
    '"$BLACKBIRD_TEXT" "$PWD" "${BLACKBIRD_RUN_ID-none}" "${GIT_DIR-none}" >"$HOME/told.$$.tmp"; '
    'echo >>"$HOME/told.$$.tmp"; mv "$HOME/told.$$.tmp" "$HOME/told.$$"; echo heard; echo heard >&2'
)
ASKS = """echo '{"questions": [{"id": "db", "prompt": "Which one?"}]}'"""


@pytest.fixture
def trial(repo: Path) -> Trial:
    trial = Trial(repo)
    trial.plan({"a": (), "b": ("a",)})
    trial.command("echo made >made")
    git(repo, "config", "blackbird.notify.command", TELL)
    return trial


def notifications(home: Path, count: int) -> list[str]:
    """What so many notifications said, less the folder; waits for them, for nobody else does."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while len(files := [path for path in home.glob("told.*") if path.suffix != ".tmp"]) < count:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return sorted(path.read_text() for path in files)


def test_a_decision_needs_a_person(trial: Trial, sealed: Path) -> None:
    output = trial.expect(3, "execute", "--stop-after-each", "--no-input")
    assert notifications(sealed, 1) == [f"decision|a|run|a decision is due on a: A|{trial.repo}|none|none|\n"]
    assert "heard" not in output
    assert "notify" not in output


def test_a_question_needs_a_person(trial: Trial, sealed: Path) -> None:
    trial.command(ASKS)
    trial.expect(4, "execute", "--no-input")
    assert notifications(sealed, 1) == [f"question|a|run|a asks: Which one?|{trial.repo}|none|none|\n"]


def test_a_failure_is_told_at_the_end(trial: Trial, sealed: Path) -> None:
    trial.command("exit 3")
    trial.expect(1, "execute", "--no-input")
    assert notifications(sealed, 1) == [f"failed|||failed: a|{trial.repo}|none|none|\n"]


@pytest.mark.exhaustive
def test_a_review_that_fails_needs_a_person(trial: Trial, sealed: Path) -> None:
    trial.expect(0, "add", "--id", "p", "--title", "P", "--prompt", "require a well | kid | Do it well.")
    trial.expect(0, "add", "--id", "kid", "--title", "Kid", "--parent", "p", "--prompt", "write a bad")
    git(trial.repo, "config", "blackbird.agent", "demo")
    trial.expect(5, "execute", "--no-input")
    said = "parent_review_required|p||parent review failed for p"
    assert notifications(sealed, 1) == [f"{said}|{trial.repo}|none|none|\n"]


def test_what_waits_is_told_at_the_end(trial: Trial, sealed: Path) -> None:
    trial.command(ASKS)
    trial.expect(4, "execute", "--no-input")
    trial.plan({"a": (), "b": ("a",), "c": ()})
    trial.command("echo made >made")
    trial.expect(0, "execute", "c", "--no-input")
    trial.expect(0, "execute", "--no-input")
    assert notifications(sealed, 2)[1] == f"waiting|||a waits for you|{trial.repo}|none|none|\n"


def test_nothing_is_told_where_nothing_is_needed(trial: Trial, sealed: Path) -> None:
    trial.expect(0, "execute", "--no-input")
    git(trial.repo, "config", "blackbird.notify.command", f": >'{sealed}/told.marker'; exit 1")
    trial.expect(0, "execute", "--no-input")
    assert not list(sealed.glob("told.*"))


def test_a_decision_taken_here_is_told_once(trial: Trial, sealed: Path) -> None:
    trial.expect(0, "execute", "--stop-after-each", stdin="1\n1\n")
    assert [line.partition(":")[0] for line in notifications(sealed, 2)] == [
        "decision|a|run|a decision is due on a",
        "decision|b|run|a decision is due on b",
    ]


def test_a_failing_command_is_said_once_and_harms_nothing(trial: Trial) -> None:
    git(trial.repo, "config", "blackbird.notify.command", "exit 7")
    output = trial.expect(0, "execute", "--stop-after-each", stdin="1\n1\n")
    warning = "warning: notify.command failed: exit status 7\n"
    assert output.count("notify.command") == output.count(warning) + 1 == 2, output
    assert trial.statuses() == {"a": "done", "b": "done"}


def test_a_hanging_command_is_not_waited_for(trial: Trial, sealed: Path) -> None:
    git(trial.repo, "config", "blackbird.notify.command", 'mkfifo "$HOME/gate"; read -r _ <"$HOME/gate"')
    output = trial.expect(3, "execute", "--stop-after-each", "--no-input")
    assert "notify.command" not in output
    with (sealed / "gate").open("w") as gate:
        gate.write("go\n")


def test_it_never_counts_from_the_project_file(trial: Trial, sealed: Path) -> None:
    git(trial.repo, "config", "--unset", "blackbird.notify.command")
    (trial.repo / ".blackbird").mkdir()
    (trial.repo / ".blackbird/config.json").write_text('{"notify": {"command": ": >\\"$HOME/told.bad\\""}}')
    output = trial.expect(3, "execute", "--stop-after-each", "--no-input")
    assert "notify.command: ignored: a repository's own file must not choose" in output
    assert not list(sealed.glob("told.*"))


def by_hand(repo: Path, task: str, *options: str) -> None:
    message = ("-m", f"Do {task}", "-m", f"Blackbird-Task: {task}")
    git(repo, "commit", "-q", "--allow-empty", *message, *options)


@pytest.mark.exhaustive
def test_a_commit_by_hand_that_waits_for_a_decision_needs_a_person_once(trial: Trial, sealed: Path) -> None:
    trial.expect(0, "hooks", "install")
    git(trial.repo, "config", "blackbird.execution.stopAfterEachTask", "true")
    by_hand(trial.repo, "a")
    line = f"decision|a|run|a decision is due on a: A|{trial.repo}|none|none|\n"
    assert notifications(sealed, 1) == [line]
    by_hand(trial.repo, "a", "--amend")
    trial.expect(0, "decide", "a", "--approve")
    git(trial.repo, "config", "blackbird.execution.stopAfterEachTask", "false")
    by_hand(trial.repo, "b")
    assert notifications(sealed, 1) == [line]


@pytest.mark.exhaustive
def test_a_commit_by_hand_waits_for_no_notification_and_never_fails_for_it(
    trial: Trial, sealed: Path
) -> None:
    trial.expect(0, "hooks", "install")
    git(trial.repo, "config", "blackbird.execution.stopAfterEachTask", "true")
    slow = f"while [ ! -e '{sealed}/go' ]; do sleep 0.05; done; {TELL}; exit 7"
    git(trial.repo, "config", "blackbird.notify.command", slow)
    by_hand(trial.repo, "a")
    assert not list(sealed.glob("told.*"))
    (sealed / "go").touch()
    assert len(notifications(sealed, 1)) == 1
