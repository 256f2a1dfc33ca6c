"""What a command is told, and what is kept and shown of what it prints."""

import json
from pathlib import Path

import pytest

from tests import preloaded
from tests.preloaded import PROGRAM
from tests.records import fact
from tests.support import commit, git, write
from tests.trial.program import PATIENCE_SECONDS, Trial


@pytest.fixture
def trial(repo: Path) -> Trial:
    commit(repo, {"old.txt": "old\n", ".gitignore": ".blackbird\nblackbird.plan.json\n"}, "start")
    trial = Trial(repo)
    trial.plan({"a": ()})
    trial.configure({"execution.stopAfterEachTask": "true"})
    return trial


def saved_context(trial: Trial) -> dict[str, object]:
    context: dict[str, object] = json.loads((trial.repo.parent / "told").read_text())
    return context


@pytest.mark.exhaustive
def test_a_change_request_tells_the_files_of_the_change(trial: Trial) -> None:
    trial.command("cat >../told; echo agent >new.txt; echo agent >old.txt")
    trial.expect(3, "execute", "--no-input")
    assert "changedFiles" not in saved_context(trial)
    trial.expect(0, "decide", "a", "--request-changes", "-m", "Again.\n\n  (2)")
    trial.expect(3, "execute", "--no-input")
    context = saved_context(trial)
    assert context["feedback"] == "Again.\n\n  (2)"
    assert (context["changedFiles"], context["changedFilesTotal"]) == (["new.txt", "old.txt"], 2)
    assert trial.records("a")[1]["context"] == context
    trial.expect(3, "resume", "a", "--no-input", "-m", "once more")
    trial.expect(0, "decide", "a", "--approve")
    trial.expect(3, "resume", "a", "--no-input", "-m", "later")
    assert "changedFiles" not in saved_context(trial)


def test_feedback_that_is_sent_once_more_is_marked_and_shown_as_sent(trial: Trial) -> None:
    trial.command("cat >../told; echo agent >new.txt")
    trial.expect(3, "execute", "--no-input")
    trial.expect(0, "decide", "a", "--request-changes", "-m", "Again.")
    assert "\nsent with the next start\n  Again.\n" in trial.expect(0, "show", "a")
    trial.command("cat >../told; exit 1")
    trial.expect(3, "execute", "--no-input")
    assert "repeatedFeedback" not in saved_context(trial)
    shown = trial.expect(0, "show", "a")
    assert "\nsent before, repeated until the task is done\n  Again.\n" in shown
    assert "sent with the next start" not in shown
    trial.expect(3, "restart", "a", "--no-input", "-m", "Now with tests.")
    context = saved_context(trial)
    assert context["feedback"] == "Again.\n\nNow with tests."
    assert context["repeatedFeedback"] == ["Again."]


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("command", "by"), [(("retry", "a"), "retry"), (("set-status", "a", "done"), "set-status:done")]
)
def test_a_run_that_was_superseded_undecided_is_not_listed_as_rejected(
    trial: Trial, command: tuple[str, ...], by: str
) -> None:
    trial.command("echo agent >new.txt")
    trial.expect(3, "execute", "--no-input")
    trial.expect(0, *command)
    (record,) = trial.records("a")
    _, row = trial.expect(0, "runs", "a").splitlines()
    assert (row.split()[0], row.split()[-1]) == (record["id"], "superseded")
    facts = trial.expect(0, "runs", "a", record["id"])
    assert "\n  decision    none: the run was superseded first\n" in facts
    assert f"\n  superseded  by {by}, " in facts
    assert "rejected" not in facts


def test_a_record_says_that_it_has_only_the_end_of_a_stream(trial: Trial) -> None:
    trial.command("seq 10000; echo short >&2")
    trial.expect(3, "execute", "--no-input")
    (record,) = trial.records("a")
    assert len(record["stdout"]) == 16 * 1024
    assert fact(record, "printed_bytes") == {"stdout": 48894, "stderr": 0}
    output = trial.expect(0, "runs", "a", record["id"])
    assert "the record has only the end of stdout, which had 48894 bytes; its log has more\n" in output
    assert "end of stderr" not in output


def test_no_variable_ties_an_agent_to_the_callers_repository(trial: Trial) -> None:
    trial.environ |= {"GIT_DIR": str(trial.repo / ".git"), "GIT_WORK_TREE": str(trial.repo)}
    trial.command("env | sed -n 's/^\\(GIT_[A-Z]*\\)=.*/\\1/p' | grep -E 'DIR|TREE|INDEX|CONFIG$' || true")
    trial.expect(3, "execute", "--no-input")
    (record,) = trial.records("a")
    assert "stdout" not in record


@pytest.mark.parametrize("name", ["BLACKBIRD_AGENT_STREAM", ""])
def test_each_stream_of_the_agent_goes_to_its_own(trial: Trial, name: str) -> None:
    trial.command("echo to $((1)) && echo to $((2)) >&2")
    completed = preloaded.run(
        [*PROGRAM, "execute", "--no-input", *([] if name else ["--stream"])],
        cwd=trial.repo,
        env=trial.all_variables() | ({name: "1"} if name else {}),
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert "to 1\n" in completed.stdout
    assert "to 2\n" in completed.stderr
    assert "to 2" not in completed.stdout
    assert "to 1" not in completed.stderr


def test_of_a_readme_only_the_first_section_is_told_and_it_is_named(trial: Trial) -> None:
    write(trial.repo, {"README.md": "# Thing\n\nIt does things.\n\n## Install\n\nrm -rf /\n"})
    trial.configure({"agent": "demo"})
    text = trial.expect(0, "show", "a", "--prompt")
    assert "It does things.\\n\\n[the beginning of README.md; the file has more]" in text
    assert "Install" not in text
    assert text.endswith("the agent is also told about the project, from the beginning of README.md\n")
    write(trial.repo, {"OVERVIEW.md": "# All\n\n## Of it\n\nis told"})
    said = json.loads(trial.expect(0, "show", "a", "--prompt", "--json").splitlines()[-1])["data"]
    assert said["projectFile"] == "OVERVIEW.md"
    assert said["context"]["projectSnapshot"] == "# All\n\n## Of it\n\nis told"
    git(trial.repo, "clean", "-q", "-f", "*.md")
    assert "project is" not in trial.expect(0, "show", "a", "--prompt")
