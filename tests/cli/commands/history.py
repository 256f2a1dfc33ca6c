"""A repository with the history that tests of ``doctor`` and ``prune`` begin with."""

from pathlib import Path

from tests.support import Prepared, commit
from tests.trial.program import Trial


def bring_history(repo: Path, prepared: Prepared) -> Trial:
    """Have ``a`` done at the second attempt, ``b`` waiting for a decision, ``c`` to do, and the hook."""
    trial = Trial(repo)

    def make_history() -> None:
        _work(trial)

    prepared.bring(repo, make_history)
    return trial


def _work(trial: Trial) -> None:
    commit(trial.repo, {"old.txt": "old\n", ".gitignore": ".blackbird\nblackbird.plan.json\n"}, "start")
    trial.plan({"a": (), "b": (), "c": ()})
    trial.configure({"execution.stopAfterEachTask": "false", "check.command": "true"})
    trial.command("echo tried; exit 1")
    trial.expect(1, "execute", "a", "--no-input")
    trial.expect(0, "retry", "a")
    trial.command("echo done; echo $BLACKBIRD_TASK_ID >$BLACKBIRD_TASK_ID.txt")
    trial.expect(0, "execute", "a", "--no-input")
    trial.configure({"execution.stopAfterEachTask": "true"})
    trial.expect(3, "execute", "b", "--no-input")
    trial.expect(0, "hooks", "install")
