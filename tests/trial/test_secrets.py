"""What an agent prints of secrets is in no file of ours and in no object of git."""

import json
import os
import signal
from pathlib import Path

import pytest

from tests.git.support import script
from tests.planted_secrets import hidden_part, leaks, make_secrets
from tests.records import fact
from tests.support import commit, git, wait_until
from tests.trial.program import Trial

OF_ENVIRONMENT = {"DEPLOY_PASSWORD": 'tr0ub4dor&3 "quoted"', "SIGNING_KEY": "first line 1\nsecond line 2"}
SECRETS = make_secrets(7)
PARTS = [*map(hidden_part, SECRETS.values()), "tr0ub4dor", "second line 2"]
PRINTED = [*SECRETS.values(), *OF_ENVIRONMENT.values()]


@pytest.fixture
def trial(repo: Path) -> Trial:
    commit(repo, {".gitignore": ".blackbird\nblackbird.plan.json\n"}, "start")
    trial = Trial(repo, {**OF_ENVIRONMENT, "BLACKBIRD_TRACE": str(repo.parent / "trace")})
    (repo.parent / "all").write_text("".join(f"{secret}\n" for secret in PRINTED))
    keys = [SECRETS["github"], make_secrets(8)["github"]]
    question = {"id": "q", "prompt": f"Which of {keys[0]} and {keys[1]}?", "options": keys}
    (repo.parent / "question").write_text(json.dumps({"questions": [question]}))
    events = [{"type": "text", "text": f"see {secret}"} for secret in PRINTED]
    (repo.parent / "events").write_text("".join(f"{json.dumps(event)}\n" for event in events))
    return trial


def test_no_secret_that_is_printed_is_kept(trial: Trial) -> None:
    trial.plan({"a": ()})
    trial.configure({"execution.stopAfterEachTask": "true", "execution.commit": "approved"})
    printed = trial.repo.parent / "all"
    trial.configure({"check.command": f"cat {printed}; cat {printed} >&2; exit 1", "check.mode": "gate"})
    trial.command(
        "cat >../told; cat ../all ../events; cat ../all ../events >&2; echo x >>x.txt;"
        ' test -n "$BLACKBIRD_RESUME" && cat ../all || cat ../question'
    )
    said = trial.expect(4, "execute", "--no-input")
    (asked,) = trial.records("a")
    (question,) = fact(asked, "questions")
    assert [option.rstrip("*]") for option in question["options"]] == [
        "[redacted:github-token",
        "[redacted:github-token:3",
    ]
    assert not any(part in said for part in PARTS)
    assert "warning: masked in its questions: github-token\n" in said
    trial.expect(3, "resume", "a", "--no-input", "-m", "2")
    answer = json.loads((trial.repo.parent / "told").read_text())
    assert question["options"][1] in json.dumps(answer)
    shown = trial.expect(0, "show", "a")
    assert " secrets in its output: $DEPLOY_PASSWORD, $SIGNING_KEY, 1password" in shown
    script(trial.repo / ".git/hooks/pre-commit", "cat ../all; test -e ../fixed")
    trial.expect(1, "decide", "a", "--approve")
    assert "[redacted:github-token" in fact(trial.records("a")[-1], "hook_output")
    (trial.repo.parent / "fixed").touch()
    trial.expect(0, "decide", "a", "--approve")
    assert "x.txt" in git(trial.repo, "show", "--stat", "HEAD")
    told = trial.expect(0, "runs", "a", "--json")
    assert not any(part in told for part in PARTS)
    assert list(leaks(trial.repo, PARTS)) == []


def test_no_secret_is_kept_of_a_run_that_was_killed(trial: Trial) -> None:
    trial.plan({"a": ()})
    trial.command("cat >/dev/null; cat ../all; cat ../all ../all >&2; printf '%s' 'no end'; sleep 600")
    process = trial.start("execute")
    folder = trial.repo / ".git" / "blackbird" / "streams"
    wait_until(lambda: any(path.read_bytes().endswith(b"no end") for path in folder.glob("*.stdout")))
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    trial.command("exit 1")
    trial.run("execute", "--no-input")
    assert list(leaks(trial.repo, PARTS)) == []


def test_no_secret_is_kept_that_a_review_has_for_a_task(trial: Trial) -> None:
    trial.plan({"p": (), "a": ()})
    trial.expect(0, "move", "a", "--parent", "p")
    trial.configure({"command.schema": "true", "execution.parentReviewEnabled": "true"})
    verdict = {"passed": False, "resumeTaskIds": ["a"], "feedbackForResume": "see " + "\n".join(PRINTED)}
    (trial.repo.parent / "verdict").write_text(json.dumps(verdict))
    answer = f"cat {trial.repo.parent}/verdict"
    trial.command(f'cat >/dev/null; test -z "$BLACKBIRD_RESPONSE_SCHEMA" || {answer}')
    _, said = trial.run("execute", "--no-input")
    assert (
        "warning: masked in the reviewer's answer: the value of $DEPLOY_PASSWORD, the value of $SIGNING_KEY, "
        in said
    )
    (feedback,) = trial.repo.glob(".git/blackbird/parent-review-feedback/*.json")
    assert "[redacted:github-token" in feedback.read_text()
    assert list(leaks(trial.repo, PARTS)) == []


def test_a_plan_is_saved_as_it_was_proposed_or_not_at_all(trial: Trial) -> None:
    trial.init()
    trial.configure({"command.schema": "true"})
    trial.environ |= {"COOKIE_DOMAIN": "example.com", "SORT_KEY": "created_at", "SALT_KEY": "zQ8wkL4tRv2x"}
    top, call = trial.repo.parent, ("plan", "generate", "-m", "Sort.", "--yes", "--no-input")
    trial.command(f"cat >>{top}/told; cat {top}/answer")

    def propose(prompt: str) -> str:
        task = {"title": "Sort", "prompt": prompt, "criteria": ["it is sorted"]}
        (top / "answer").write_text(json.dumps({"tasks": [task]}))
        return f'"prompt": "{prompt}"'

    def plan() -> str:
        return (trial.repo / "blackbird.plan.json").read_text()

    ordinary = propose("Sort example.com by created_at; see [redacted:$SALT_KEY*]")
    trial.expect(0, *call)
    assert ordinary in plan()
    before, salted = plan(), propose("Salt it with zQ8wkL4tRv2x")
    said = trial.expect(1, *call)
    fault = "masked in Sort: the value of $SALT_KEY; write instead: $SALT_KEY"
    assert f"this cannot be accepted:\n  {fault}\n" in said
    assert fault in (top / "told").read_text()
    assert plan() == before
    (top / "answer").write_text(
        json.dumps({"tasks": [], "questions": [{"id": "q", "prompt": "zQ8wkL4tRv2x?"}]})
    )
    assert "masked in the question q: the value of $SALT_KEY" in trial.expect(1, *call)
    salted = propose("Salt it with zQ8wkL4tRv2x")
    way = "git -c blackbird.records.redact=false blackbird plan generate"
    assert f"next step: {way}    # masks nothing in that call; or -m TEXT\n" in said
    trial.environ |= {"GIT_CONFIG_PARAMETERS": "'blackbird.records.redact'='false'"}
    trial.expect(0, *call)
    assert salted in plan()


def test_a_project_cannot_switch_it_off_and_its_user_can(trial: Trial) -> None:
    trial.plan({"a": ()})
    trial.command("cat >/dev/null; cat ../all")
    (trial.repo / ".blackbird").mkdir(exist_ok=True)
    (trial.repo / ".blackbird/config.json").write_text('{"records": {"redact": false}}')
    said = trial.expect(0, "execute", "--no-input")
    assert "records.redact: ignored: a repository's own file must not take protection away" in said
    assert list(leaks(trial.repo, PARTS)) == []
    trial.configure({"records.redact": "false"})
    trial.expect(0, "set-status", "a", "todo")
    trial.expect(0, "execute", "--no-input")
    assert {part for _, part in leaks(trial.repo, PARTS)} == set(PARTS)
