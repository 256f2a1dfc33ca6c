"""The faces without a terminal: plain lines, and JSON for programs."""

import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from git_blackbird.model.run.states import DecisionState, RunStatus
from tests import preloaded
from tests.cli.terminal import PATIENCE_SECONDS, PROGRAM, program_environ
from tests.controller.support import agree_to_agent, configure, leaf, put_plan, runs_of
from tests.support import commit, git, wait_until

GREETING = "write src/one.py print(1)\\nprint(2)\nsay I wrote it."


@pytest.fixture
def demo_repo(repo: Path) -> Path:
    commit(repo, {"README.md": "# A project\n"})
    configure(repo, agent="demo", execution__stopAfterEachTask="true")
    return repo


def run(repo: Path, *args: str, told: str = "") -> subprocess.CompletedProcess[str]:
    return preloaded.run(
        [sys.executable, *PROGRAM, *args],
        cwd=repo,
        env=program_environ(),
        input=told,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_SECONDS,
    )


def settled(text: str) -> str:
    """The text with run ids, counts of tokens and spans of time made the same every time."""
    text = re.sub(r"\d+ tokens$", "99 tokens", text, flags=re.MULTILINE)
    return re.sub(r", \d+s$", ", 0s", re.sub(r"[0-9a-f]{16}", "0123456789abcdef", text), flags=re.MULTILINE)


CHECKPOINT = """\

Task review checkpoint
Task: a - Task a
Run status: success
Run 0123456789abcdef, demo
Agent says:
  I wrote it.
Review summary:
  Files:
    A src/one.py  +2 -0
  Snippets:
    src/one.py
      @@ -0,0 +1,2 @@
      +print(1)
      +print(2)

"""
OFFERS = """\
1) Approve
3) Request changes
4) Reject changes
5) View full diff
9) Reject and take back
"""


SECOND_CHECKPOINT = """\
Task: a - Task a
Acceptance criteria:
  - It has both lines.
  - It ends.
Run status: success
Run 0123456789abcdef, demo, 2 runs together, round 2
Agent says:
  Done.
Changes requested:
  > A second line,
  > please.
Changed since the request:
  M a.txt  +1 -0
Review summary:
  Files:
    A a.txt  +2 -0
  Snippets:
    a.txt
      @@ -0,0 +1,2 @@
      +one
      +two

1) Approve
3) Request changes
4) Reject changes
5) View full diff
8) View changes since the request
9) Reject and take back
Select option: 8
diff --git a/a.txt b/a.txt
index 5626abf..814f4a4 100644
--- a/a.txt
+++ b/a.txt
@@ -1 +1,2 @@
 one
+two
"""


def test_the_second_checkpoint_shows_what_changed_since_the_request(demo_repo: Path) -> None:
    task = leaf("a", "write a.txt one\non-feedback append a.txt two")
    put_plan(demo_repo, replace(task, acceptance_criteria=("It has both lines.", "It ends.")))
    text = settled(run(demo_repo, "execute", told="3\nA second line,\nplease.\n\n8\n").stdout)
    _, second = text.split("Task review checkpoint\n")[1:]
    assert second.startswith(SECOND_CHECKPOINT)
    # The input has ended: the choices are not for nobody.
    assert "1) Approve" not in second.removeprefix(SECOND_CHECKPOINT)
    completed = run(demo_repo, "runs", "a", "--diff", "--since-request")
    assert (completed.returncode, completed.stdout.splitlines()[-3:]) == (
        0,
        ["@@ -1 +1,2 @@", " one", "+two"],
    )
    left_open = run(demo_repo, "execute", "--no-input")
    assert "git blackbird runs a --diff --since-request" in left_open.stdout


def test_json_tells_what_changed_since_the_request(demo_repo: Path) -> None:
    task = leaf("a", "write a.txt one\non-feedback append a.txt two")
    put_plan(demo_repo, replace(task, acceptance_criteria=("It ends.",)))
    (first,) = checkpoints(run(demo_repo, "execute", "--json"))
    assert (first["acceptanceCriteria"], first["sinceRequest"]) == (["It ends."], None)
    (second,) = checkpoints(run(demo_repo, "resume", "a", "-m", "more", "--json"))
    since = second["sinceRequest"]
    assert since["request"] == "more"
    assert [(change["status"], change["additions"]) for change in since["summary"]["changes"]] == [("M", 1)]
    assert since["trees"]["head"] == second["trees"]["head"]
    assert since["comments"] == []
    assert second["choices"][-2]["command"] == "git blackbird runs a --diff --since-request"


def checkpoints(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    events = [json.loads(line) for line in done.stdout.splitlines()]
    return [event for event in events if event["event"] == "checkpoint"]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["a", "--diff", "--since-request"], "error: no change request was carried out on a"),
        (["a", "--since-request"], "error: --since-request goes with --diff of a task"),
        (["a", "0", "--diff", "--since-request"], "error: --since-request goes with --diff of a task"),
    ],
)
def test_what_changed_since_a_request_needs_a_request(demo_repo: Path, args: list[str], message: str) -> None:
    put_plan(demo_repo, leaf("a", GREETING))
    run(demo_repo, "execute", "--no-input")
    completed = run(demo_repo, "runs", *args)
    assert completed.returncode != 0
    assert completed.stderr.startswith(message)


def test_line_mode_reads_numbers_and_labels(demo_repo: Path) -> None:
    put_plan(demo_repo, leaf("a", GREETING))
    completed = run(demo_repo, "execute", told="6\nview FULL diff\napprove and CONTINUE\n")
    assert settled(completed.stdout) == (
        "starting a (run 0123456789abcdef, demo)\ncompleted a: 1 file, +2 -0, 0s\n"
        + CHECKPOINT
        + OFFERS
        + "Select option: 6\ninvalid selection; try again\nSelect option: view FULL diff\n"
        + "diff --git a/src/one.py b/src/one.py\nnew file mode 100644\nindex 0000000..f2db9da\n"
        + "--- /dev/null\n+++ b/src/one.py\n@@ -0,0 +1,2 @@\n+print(1)\n+print(2)\n"
        + OFFERS
        + "Select option: approve and CONTINUE\napproved a\nevery task is done\n"
    )
    assert (completed.stderr, completed.returncode) == ("", 0)


def test_line_mode_reads_a_change_request_to_the_blank_line(demo_repo: Path) -> None:
    put_plan(demo_repo, leaf("a", GREETING))
    told = "3\nno\n/cancel\n3\n\n  first line  \n\tsecond\n\n2\n"
    completed = run(demo_repo, "execute", told=told)
    request = "Change request (end with a blank line, /cancel to go back):\n"
    assert (
        OFFERS
        + f"Select option: 3\n{request}no\n/cancel\n"
        + OFFERS
        + f"Select option: 3\n{request}\nchange request cannot be empty\n{request}"
    ) in completed.stdout
    first, second = runs_of(demo_repo, "a")
    assert first.decision_feedback == "  first line  \n\tsecond"
    assert second.decision_state is DecisionState.APPROVED_CONTINUE
    assert completed.returncode == 0


def test_line_mode_rejects_and_takes_back(demo_repo: Path) -> None:
    put_plan(demo_repo, leaf("a", GREETING))
    completed = run(demo_repo, "execute", told="9\n")
    assert settled(completed.stdout) == (
        "starting a (run 0123456789abcdef, demo)\ncompleted a: 1 file, +2 -0, 0s\n"
        + CHECKPOINT
        + OFFERS
        + "Select option: 9\nRejected a.\nthe change of a is taken back\na was rejected\n"
        "next step, one of:\n"
        "  git blackbird retry a    # sets it back to todo; starts nothing\n"
        "  git blackbird restart a -e    # starts it again, with your text; or -m TEXT\n"
    )
    assert (completed.stderr, completed.returncode) == ("", 1)
    assert not (demo_repo / "src/one.py").exists()
    redone = run(demo_repo, "redo", "a")
    assert (redone.returncode, (demo_repo / "src/one.py").read_text()) == (0, "print(1)\nprint(2)\n")


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("told", "subject"), [("0\n", "A project"), ("1\n", "Task a")])
def test_line_mode_accepts_what_landed_with_its_commit_or_without(
    demo_repo: Path, told: str, subject: str
) -> None:
    git(demo_repo, "commit", "-q", "--amend", "-m", "A project")
    configure(demo_repo, execution__commit="approved")
    put_plan(demo_repo, leaf("a", GREETING))
    hook = demo_repo / ".git/hooks/pre-commit"
    hook.write_text("#!/bin/sh\necho no; exit 1\n")
    hook.chmod(0o755)
    run(demo_repo, "execute", "--worktrees", told="1\n")
    hook.unlink()
    completed = run(demo_repo, "execute", "--worktrees", told=told)
    assert (
        "1) Commit again\n5) View full diff\n9) Reject and take back\n0) Accept without a commit\n"
        f"Select option: {told}approved a"
    ) in completed.stdout
    assert completed.returncode == 0
    assert git(demo_repo, "log", "-1", "--format=%s") == subject
    assert (demo_repo / "src/one.py").exists()


def test_line_mode_asks_questions(demo_repo: Path) -> None:
    put_plan(demo_repo, leaf("a", "ask tongue Which? | English | Deutsch\nanswered tongue t.txt"))
    completed = run(demo_repo, "execute", "--no-stop", told="\n7\n2\n")
    assert settled(completed.stdout) == (
        "starting a (run 0123456789abcdef, demo)\n"
        "a is waiting for user input\n"
        "a - Task a asks:\n"
        "tongue: Which?\n1) English\n2) Deutsch\n3) Other...\n"
        'Answer: \nanswer required for question "tongue": Which?\n'
        'Answer: 7\ninvalid option 7 for question "tongue"\n'
        "Answer: 2\n"
        "resuming a (run 0123456789abcdef, demo)\n"
        "completed a: 1 file, +1 -0, 0s\n"
        "every task is done\n"
    )
    assert completed.returncode == 0


def test_questions_that_nobody_answers_are_shown_without_a_menu(demo_repo: Path) -> None:
    put_plan(demo_repo, leaf("a", "ask tongue Which? | English | Deutsch"))
    shown = "a - Task a asks:\n  tongue: Which? (English, Deutsch)\na waits for answers\n"
    assert shown in run(demo_repo, "execute").stdout
    assert shown in run(demo_repo, "resume", "a", "--no-input").stdout


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("told", "answer"),
    [("fr\n", "fr"), ("3\n2\n", "2"), ("3\n it is  English \n", "it is  English"), ("Deutsch\n", "Deutsch")],
)
def test_another_answer_than_the_options_is_told_as_it_is(demo_repo: Path, told: str, answer: str) -> None:
    put_plan(demo_repo, leaf("a", "ask tongue Which? | English | Deutsch\nanswered tongue t.txt"))
    completed = run(demo_repo, "execute", "--no-stop", told=told)
    assert completed.returncode == 0
    assert (demo_repo / "t.txt").read_text() == f"{answer}\n"
    assert [answer.value for answer in runs_of(demo_repo, "a")[-1].answers] == [answer]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("told", ["", "x", "5\n", "3\nunfinished", "3\n"])
def test_the_end_of_input_leaves_the_decision_open(demo_repo: Path, told: str) -> None:
    put_plan(demo_repo, leaf("a", GREETING), leaf("b"))
    completed = run(demo_repo, "execute", told=told)
    assert completed.returncode == 3
    assert len(completed.stdout) < 3000
    assert "a decision is due on a" in completed.stdout
    (only,) = runs_of(demo_repo, "a")
    assert only.decision_state is DecisionState.PENDING
    assert runs_of(demo_repo, "b") == ()


def test_endless_input_without_a_choice_counts_as_nobody(demo_repo: Path) -> None:
    put_plan(demo_repo, leaf("a", GREETING))
    with subprocess.Popen(["yes", "perhaps"], stdout=subprocess.PIPE) as endless:
        completed = preloaded.run(
            [sys.executable, *PROGRAM, "execute"],
            cwd=demo_repo,
            env=program_environ(),
            stdin=endless.stdout,
            capture_output=True,
            check=False,
            timeout=PATIENCE_SECONDS,
        )
        endless.kill()
    assert completed.returncode == 3
    assert len(completed.stdout) < 10_000


def test_the_end_of_input_at_a_question_stops_with_4(demo_repo: Path) -> None:
    put_plan(demo_repo, leaf("a", "ask name Whose name?"))
    completed = run(demo_repo, "execute")
    assert completed.returncode == 4
    assert runs_of(demo_repo, "a")[-1].status is RunStatus.WAITING_USER


def test_no_input_asks_nothing_even_if_there_is_input(demo_repo: Path) -> None:
    put_plan(demo_repo, leaf("a", GREETING))
    completed = run(demo_repo, "execute", "--no-input", told="1\n")
    assert completed.returncode == 3
    assert "Select option" not in completed.stdout


def test_a_decision_from_elsewhere_ends_a_question_that_waits_for_input(demo_repo: Path) -> None:
    put_plan(demo_repo, leaf("a", GREETING))
    with preloaded.Popen(
        [sys.executable, *PROGRAM, "execute"],
        cwd=demo_repo,
        env=program_environ(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as waiting:
        assert waiting.stdout is not None
        seen = ""
        while not seen.endswith("Select option: "):
            char = waiting.stdout.read(1)
            assert char, seen
            seen += char
        assert run(demo_repo, "decide", "a", "--approve").returncode == 0
        rest = waiting.stdout.read()
        assert waiting.wait(PATIENCE_SECONDS) == 0
    assert rest == "a: approved from another terminal\nevery task is done\n"


def test_json_tells_every_event_on_a_line_of_its_own(demo_repo: Path) -> None:
    put_plan(demo_repo, leaf("a", GREETING))
    completed = run(demo_repo, "execute", "--json")
    events = [json.loads(line) for line in completed.stdout.splitlines()]
    assert completed.returncode == 3
    assert [event["event"] for event in events] == [
        "run_started",
        "progress",
        "progress",
        "run_ended",
        "checkpoint",
        "stop",
    ]
    assert {event["schemaVersion"] for event in events} == {1}
    started, edits, _, ended, checkpoint, stop = events
    (record,) = runs_of(demo_repo, "a")
    assert started.items() >= {"task": "a", "title": "Task a", "run": record.id, "provider": "demo"}.items()
    assert edits.items() >= {"kind": "edits", "text": "src/one.py", "run": record.id}.items()
    assert ended["status"] == "success"
    assert ended["changes"] == {"files": 1, "additions": 2, "deletions": 0}
    assert checkpoint["trees"] == {"base": record.base_tree, "head": record.head_tree}
    assert [choice["label"] for choice in checkpoint["choices"]] == [
        "Approve",
        "Request changes",
        "Reject changes",
        "View full diff",
        "Reject and take back",
    ]
    assert stop.items() >= {"reason": "decision_required", "task": "a", "exitCode": 3}.items()


def test_json_streams_output_as_text(repo: Path) -> None:
    commit(repo, {"README.md": "# A project\n"})
    configure(repo, agent="command", command__run=r"cat >/dev/null; printf 'a\377b\n'; touch made")
    put_plan(repo, leaf("a"))
    completed = run(repo, "execute", "--json", "--stream")
    events = [json.loads(line) for line in completed.stdout.splitlines()]
    texts = [event["text"] for event in events if event["event"] == "output"]
    assert "".join(texts) == "a\ufffdb\n"
    assert completed.returncode == 0


def test_json_tells_the_questions(demo_repo: Path) -> None:
    put_plan(demo_repo, leaf("a", "ask tongue Which? | English | Deutsch"))
    completed = run(demo_repo, "execute", "--json")
    (asked,) = [
        event for event in map(json.loads, completed.stdout.splitlines()) if event["event"] == "questions"
    ]
    assert asked["questions"] == [{"id": "tongue", "prompt": "Which?", "options": ["English", "Deutsch"]}]
    assert completed.returncode == 4


def test_stream_shows_what_the_agent_prints_made_harmless(repo: Path) -> None:
    commit(repo, {"README.md": "# A project\n"})
    script = r"cat >/dev/null; printf '\033[31mred\033[0m \033]0;title\007end\r\n50%%\r100%%\r\nlast'"
    configure(repo, agent="command", command__run=f"{script}; touch made")
    agree_to_agent(repo)
    put_plan(repo, leaf("a"))
    completed = run(repo, "execute", "--stream")
    assert settled(completed.stdout) == (
        "starting a (run 0123456789abcdef, command)\n"
        "red end\n50%\n100%\nlast\n"
        "completed a: 1 file, +0 -0, 0s\n"
        "every task is done\n"
    )


def test_stream_shows_the_steps_of_an_agent_that_prints_events(demo_repo: Path) -> None:
    put_plan(demo_repo, leaf("a", GREETING + "\ncommit all of it"))
    completed = run(demo_repo, "execute", "--stream", "--no-stop")
    assert settled(completed.stdout) == (
        "starting a (run 0123456789abcdef, demo)\n"
        "  edits  src/one.py\n"
        "  says   I wrote it.\n"
        "  runs   git commit -m all of it\n"
        "  spent  99 tokens\n"
        "completed a: 1 file, +2 -0, 0s\n"
        "every task is done\n"
    )
    assert (completed.stderr, completed.returncode) == ("", 0)


def test_json_streams_events_as_they_were_printed_beside_the_steps(demo_repo: Path) -> None:
    put_plan(demo_repo, leaf("a", GREETING))
    completed = run(demo_repo, "execute", "--json", "--stream", "--no-stop")
    events = [json.loads(line) for line in completed.stdout.splitlines()]
    (record,) = runs_of(demo_repo, "a")
    log = demo_repo / f".blackbird/runs/a/logs/{record.id}.stdout"
    assert "".join(event["text"] for event in events if event["event"] == "output") == log.read_text()
    steps = [event for event in events if event["event"] == "progress"]
    assert steps[0] == {
        "schemaVersion": 1,
        "event": "progress",
        "task": "a",
        "run": record.id,
        "kind": "edits",
        "text": "src/one.py",
        "usage": None,
        "costUsd": None,
    }
    assert [step["text"] for step in steps] == ["src/one.py", "I wrote it."]


@pytest.mark.exhaustive
def test_a_screen_that_does_not_keep_up_holds_up_no_agent_and_is_told_what_it_missed(repo: Path) -> None:
    commit(repo, {"README.md": "# A project\n"})
    script = "cat >/dev/null; yes 0123456789abcdef | head -c 20000000; touch made"
    configure(repo, agent="command", command__run=script)
    put_plan(repo, leaf("a"))
    with preloaded.Popen(
        [sys.executable, *PROGRAM, "execute", "--stream"],
        cwd=repo,
        env=program_environ(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    ) as unread:
        wait_until_done(repo, "a")
        assert unread.stdout is not None
        shown = unread.stdout.read()
        assert unread.wait(PATIENCE_SECONDS) == 0
    assert len(shown) < 2_000_000
    missed = re.findall(r"^\[(\d+) bytes are not shown: the screen could not keep up\]$", shown, re.MULTILINE)
    assert sum(map(int, missed)) > 10_000_000
    assert shown.endswith("every task is done\n")


def wait_until_done(repo: Path, task_id: str) -> None:
    wait_until(lambda: any(run.status is RunStatus.SUCCESS for run in runs_of(repo, task_id)))


def test_a_reader_that_goes_away_does_not_end_the_work(demo_repo: Path) -> None:
    put_plan(demo_repo, leaf("a", GREETING))
    with preloaded.Popen(
        [sys.executable, *PROGRAM, "execute", "--no-stop"],
        cwd=demo_repo,
        env=program_environ(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as unheard:
        assert unheard.stdout is not None
        assert unheard.stderr is not None
        unheard.stdout.close()
        complaints = unheard.stderr.read()
        unheard.wait(PATIENCE_SECONDS)
    assert complaints == b""
    assert runs_of(demo_repo, "a")[-1].status is RunStatus.SUCCESS


def test_an_interrupted_question_waits_for_no_input(demo_repo: Path) -> None:
    put_plan(demo_repo, leaf("a", GREETING))
    with preloaded.Popen(
        [sys.executable, *PROGRAM, "execute"],
        cwd=demo_repo,
        env=program_environ(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as waiting:
        assert waiting.stdout is not None
        while "Request changes" not in waiting.stdout.readline():
            pass
        os.kill(waiting.pid, signal.SIGINT)
        assert waiting.wait(PATIENCE_SECONDS) == 130
    assert runs_of(demo_repo, "a")[-1].decision_state is DecisionState.PENDING


@pytest.mark.sampled(1)
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_standard_streams_that_are_closed_lead_nowhere(demo_repo: Path, closed: str) -> None:
    put_plan(demo_repo, leaf("a", GREETING))
    command = f'exec "$0" -m git_blackbird execute --stream {closed}'
    completed = subprocess.run(
        ["/bin/sh", "-c", command, sys.executable],
        cwd=demo_repo,
        env=program_environ(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=PATIENCE_SECONDS,
    )
    assert (completed.returncode, completed.stderr) == (3, b"")
    assert runs_of(demo_repo, "a")[-1].decision_state is DecisionState.PENDING
