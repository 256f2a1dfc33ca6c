"""Stories of agents that refuse to work, in words that nobody listed: whose fault it is, and who goes on."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.controller.support import leaf, parent_of, put_plan
from tests.support import commit
from tests.trial.program import Record, Trial

# Each start is noted; what it does is in a file named after its task, or in ``any``.
_AGENT = """#!/bin/sh
case "$1" in --version) echo "{version}"; exit;; esac
cat >/dev/null; here={here}; before=; session=01a1b2c3-0000-7000-8000-0123456789ab
for word; do case $before in --session-id | --resume) session=$word;; esac; before=$word; done
echo $BLACKBIRD_TASK_ID >>$here/started
{functions}
[ -e $here/$BLACKBIRD_TASK_ID ] && . $here/$BLACKBIRD_TASK_ID || . $here/any
"""
_CLAUDE = r"""
init() { printf '{"type":"system","subtype":"init","session_id":"%s"}\n' "$session"; }
says() {
    printf '{"type":"assistant","message":{"id":"m1","model":"m-1","content":[{"type":"text",'
    printf '"text":"I begin."}],"usage":{"input_tokens":9,"output_tokens":3}}}\n'
}
refuses() {
    init
    printf '{"type":"result","subtype":"success","is_error":true,"result":"%s",' "$1"
    printf '"session_id":"%s","num_turns":1,"usage":{"input_tokens":0,"output_tokens":0}}\n' "$session"
    exit 1
}
works() {
    init; says; echo x >>$BLACKBIRD_TASK_ID.txt
    printf '{"type":"result","subtype":"success","is_error":false,"result":"Done.",'
    printf '"session_id":"%s"}\n' "$session"
}
"""
_CODEX = r"""
init() { printf '{"type":"thread.started","thread_id":"%s"}\n{"type":"turn.started"}\n' "$session"; }
refuses() { init; printf '{"type":"turn.failed","error":"%s"}\n' "$1"; exit 1; }
works() {
    init; echo x >>$BLACKBIRD_TASK_ID.txt
    printf '{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"Done."}}\n'
    printf '{"type":"turn.completed","usage":{"input_tokens":9,"output_tokens":3}}\n'
}
"""
_PROGRAMS = {"claude": ("2.1.329 (Claude Code)", _CLAUDE), "codex": ("codex-cli 0.169.0", _CODEX)}
ODD = 'refuses "The flux is out of phase, request req_01$$ of $BLACKBIRD_TASK_ID"'
WAYS = {
    "a result": ("claude", ODD),
    "a message in place of a model's": (
        "claude",
        r"""init; printf '{"type":"assistant","message":{"model":"<synthetic>","content":[{"type":"text",'
        printf '"text":"The flux is out of phase (%s)"}]},"error":"unknown"}\n' $$; exit 1""",
    ),
    "an error event": (
        "claude",
        r"""printf '{"type":"error","error":{"message":"The flux is out of phase (%s)"}}\n' $$; exit 1""",
    ),
    "a turn that failed": ("codex", ODD),
    "standard error": ("codex", 'init; echo "Error: The flux is out of phase ($$)" >&2; exit 1'),
}


@pytest.fixture
def trial(repo: Path) -> Trial:
    commit(repo, {"old.txt": "old\n", ".gitignore": ".blackbird\nblackbird.plan.json\n"})
    trial = Trial(repo)
    trial.configure({"execution.stopGraceSeconds": "1", "execution.acceptNoChange": "true"})
    trial.configure({"execution.stopAfterEachTask": "false"})
    return trial


def plan(trial: Trial, names: str) -> None:
    trial.plan(dict.fromkeys(names, ()))


def use(trial: Trial, answers: Mapping[str, str], name: str = "claude") -> None:
    """Let a program be the agent that does this for each task, and for ``any`` other."""
    folder = trial.repo.parent / name
    folder.mkdir(exist_ok=True)
    for task, script in answers.items():
        (folder / task).write_text(script)
    version, functions = _PROGRAMS[name]
    program = folder / "program"
    program.write_text(_AGENT.format(here=folder, version=version, functions=functions))
    program.chmod(0o755)
    trial.configure({"agent": name, f"{name}.path": str(program)})


def execute(trial: Trial, *args: str) -> tuple[int, str]:
    return trial.run("execute", "--no-input", *args)


def started(trial: Trial, name: str = "claude") -> list[str]:
    return (trial.repo.parent / name / "started").read_text().split()


def statuses(trial: Trial, names: str) -> list[str]:
    return [trial.statuses()[name] for name in names]


def only_record(trial: Trial, task: str) -> Record:
    (record,) = trial.records(task)
    return record


def without_times(trial: Trial) -> list[str]:
    lines = (trial.repo / "blackbird.plan.json").read_text().splitlines()
    return [line for line in lines if "updatedAt" not in line]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("way", WAYS)
def test_an_agent_that_refuses_every_task_is_started_for_two(trial: Trial, way: str) -> None:
    put_plan(trial.repo, *map(leaf, "abcde"))
    name, script = WAYS[way]
    use(trial, {"any": script}, name)
    plan_before = without_times(trial)
    code, said = execute(trial)
    assert (code, started(trial, name)) == (8, ["a", "b"]), said
    words = only_record(trial, "b")["error"]
    assert "The flux is out of phase" in words
    assert f"{name} refuses every task: {words}; a, b are unchanged and can be run again" in said
    assert f"next step: `git blackbird agent {name}` shows how it is started; fix that" in said
    assert "next step: git blackbird agent" in said
    assert (statuses(trial, "abcde"), without_times(trial)) == (["todo"] * 5, plan_before)
    # The next call begins with those that were not tried, and all are done once the agent works.
    use(trial, {"any": "works"}, name)
    assert execute(trial)[0] == 0
    assert started(trial, name)[2:] == ["c", "d", "e", "a", "b"]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("jobs", [2, 4])
def test_no_more_start_than_are_at_work_at_once(trial: Trial, jobs: int) -> None:
    plan(trial, "abcde")
    use(trial, {"any": ODD})
    code, said = execute(trial, "--jobs", str(jobs))
    assert (code, statuses(trial, "abcde")) == (8, ["todo"] * 5), said
    assert 2 <= len(started(trial)) <= jobs


@pytest.mark.sampled(1)
@pytest.mark.parametrize("jobs", ["2", "1"])
def test_what_one_task_alone_is_refused_is_its_failure(trial: Trial, jobs: str) -> None:
    plan(trial, "abc")
    use(trial, {"a": ODD, "any": "works"})
    code, said = execute(trial, "--jobs", jobs)
    assert (code, statuses(trial, "abc")) == (1, ["failed", "done", "done"]), said
    assert sorted(started(trial)) == ["a", "b", "c"]
    assert "a counts as failed: no other task was refused like it" in said
    record = only_record(trial, "a")
    assert record["status"] == "failed"
    assert record.keys().isdisjoint({"terminal_reason", "superseded_at", "superseded_by"})


def test_different_words_are_each_their_tasks_failure(trial: Trial) -> None:
    plan(trial, "abc")
    use(trial, {"a": ODD, "b": 'refuses "Something else entirely"', "c": "works"})
    code, said = execute(trial)
    assert (code, statuses(trial, "abc")) == (1, ["failed", "failed", "done"]), said


@pytest.mark.sampled(1)
@pytest.mark.parametrize("jobs", ["2", "1"])
def test_prompts_that_are_too_long_keep_no_other_task_from_running(trial: Trial, jobs: str) -> None:
    plan(trial, "abc")
    too_long = 'refuses "Prompt is too long"'
    use(trial, {"a": too_long, "b": too_long, "c": "works"})
    code, said = execute(trial, "--jobs", jobs)
    assert (code, statuses(trial, "abc")) == (1, ["failed", "failed", "done"]), said
    restart = "`git blackbird restart b`"
    assert f"next step: shorten the prompt of b; if the conversation is too long: {restart}" in said


def test_a_conversation_that_is_full_is_not_continued(trial: Trial) -> None:
    plan(trial, "a")
    full = 'init; says; refuses "It fills up again\\",\\"terminal_reason\\":\\"rapid_refill_breaker"'
    use(trial, {"any": full})
    code, said = execute(trial)
    assert (code, only_record(trial, "a")["error"]) == (1, "It fills up again")
    assert "start a new session: `git blackbird restart a`" in said
    execute(trial)
    assert started(trial) == ["a"]


@pytest.mark.exhaustive
def test_one_that_shows_work_lets_the_next_begin(trial: Trial) -> None:
    """The first works until the third has begun, for which it only has to say something."""
    plan(trial, "abc")
    waits = "until [ -e $here/{} ]; do sleep 0.01; done;"
    use(
        trial,
        {
            "a": f"init; {waits.format('b.refused')} sleep 0.3; says; {waits.format('c.begun')} works",
            "b": f"touch $here/b.refused; {ODD}",
            "c": "touch $here/c.begun; works",
        },
    )
    trial.configure({"execution.timeoutMinutes": "1"})
    code, said = execute(trial, "--jobs", "2")
    assert (code, statuses(trial, "abc")) == (1, ["done", "failed", "done"]), said


def test_sessions_of_another_agent_go_on(trial: Trial) -> None:
    plan(trial, "xabcd")
    trial.command("echo x >>$BLACKBIRD_TASK_ID.txt")
    trial.expect(3, "execute", "x", "--stop-after-each", "--worktrees", "--no-input")
    trial.expect(0, "decide", "x", "--request-changes", "-m", "once more")
    use(trial, {"any": ODD})
    code, said = execute(trial, "--jobs", "2")
    assert (code, statuses(trial, "xabcd")) == (3, ["waiting_user", *["todo"] * 4]), said
    assert "warning: claude refuses every task: The flux is out of phase" in said
    assert (len(trial.records("x")), len(started(trial))) == (2, 2)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_the_work_of_another_agent_goes_on_while_its_reviewers_refuse(trial: Trial, jobs: str) -> None:
    plan(trial, "abcd")
    use(trial, {"any": ODD})
    trial.command("echo x >>$BLACKBIRD_TASK_ID.txt")
    trial.configure(
        {"reviews.mode": "parallel", "reviews.spec.agent": "claude", "reviews.code.agent": "claude"}
    )
    code, said = execute(trial, "--jobs", jobs)
    assert (code, [len(trial.records(name)) for name in "abcd"]) == (8, [1] * 4), said
    # Both reviewers of two tasks; the reviews of all are still due.
    assert (len(started(trial)), statuses(trial, "abcd")) == (4, ["in_progress"] * 4)


@pytest.mark.exhaustive
def test_resumes_that_are_refused_leave_what_they_were_to_carry(trial: Trial) -> None:
    plan(trial, "abc")
    for name in "abc":
        use(trial, {"any": "works"})
        if name == "c":
            trial.command("echo x >>$BLACKBIRD_TASK_ID.txt")
        trial.expect(3, "execute", name, "--stop-after-each", "--no-input")
        trial.expect(0, "decide", name, "--request-changes", "-m", "louder")
    use(trial, {"any": ODD})
    code, said = execute(trial)
    # The session of another agent gets what it was to get.
    assert (code, started(trial)) == (3, ["a", "b", "a", "b"]), said
    assert "warning: claude refuses every task: The flux is out of phase" in said
    assert "a decision is due on c" in said
    assert trial.expect(0, "status").count("changes requested") == 2
    trial.expect(0, "decide", "c", "--approve")
    use(trial, {"any": "works"})
    assert execute(trial)[0] == 3
    assert started(trial)[4:] == ["a", "b"]


def test_nobody_is_asked_about_a_refusal_before_it_is_known_whose_fault_it_is(trial: Trial) -> None:
    plan(trial, "ab")
    use(trial, {"any": ODD})
    code, _ = execute(trial, "--stop-after-each")
    assert (code, statuses(trial, "ab")) == (8, ["todo"] * 2)
    code, said = execute(trial, "--stop-after-each", "a")
    assert (code, started(trial)) == (3, ["a", "b", "a"])
    assert "decision is due on a" in said


@pytest.mark.parametrize("code", [126, 127])
def test_a_command_that_the_shell_cannot_run_refuses(trial: Trial, code: int) -> None:
    plan(trial, "abc")
    trial.command(f"cat >/dev/null; exit {code}")
    assert execute(trial)[0] == 8
    assert [len(trial.records(name)) for name in "abc"] == [1, 1, 0]


@pytest.mark.exhaustive
def test_no_review_is_made_again_by_a_reviewer_that_refused(trial: Trial) -> None:
    plan(trial, "abc")
    reviews = f'case " $* " in *no-session-persistence*) {ODD};; *) works;; esac'
    use(trial, {"any": reviews})
    trial.configure({"reviews.mode": "parallel"})
    code, said = execute(trial)
    # The implementer and both reviewers of each of two tasks; the reviews of both are still due.
    assert (code, sorted(started(trial))) == (8, [*"aaabbb"]), said
    assert statuses(trial, "abc") == ["in_progress", "in_progress", "todo"]


def test_a_parent_whose_reviewer_refuses_is_asked_about_after_one_start(trial: Trial) -> None:
    put_plan(trial.repo, parent_of("p", "a"), leaf("a", parent="p"))
    use(trial, {"a": "works", "p": ODD})
    code, said = execute(trial)
    assert (code, started(trial)) == (5, ["a", "p"]), said
    assert "no verdict on p: The flux is out of phase" in said


ASKS = r"""init; says
printf '{"type":"result","subtype":"success","is_error":false,"session_id":"%s",' "$session"
printf '"result":"{\\"questions\\":[{\\"id\\":\\"q\\",\\"prompt\\":\\"Which?\\"}]}"}\n'"""


def test_answers_that_a_session_was_refused_to_get_are_not_asked_for_again(trial: Trial) -> None:
    plan(trial, "a")
    use(trial, {"a": ASKS})
    assert execute(trial)[0] == 4
    use(trial, {"a": 'refuses "You have hit your session limit"'})
    assert "step: git blackbird resume a" in trial.expect(
        8, "resume", "a", "--answer", "q=blue", "--no-input"
    )
    use(trial, {"a": "works"})
    trial.expect(0, "resume", "a", "--no-input")
    assert trial.statuses() == {"a": "done"}
    assert "blue" in str(trial.records("a")[-1]["context"])


@pytest.mark.exhaustive
def test_a_review_that_cannot_be_read_is_not_made_again_for_the_other_ones_limit(trial: Trial) -> None:
    plan(trial, "a")
    use(trial, {"any": 'refuses "You have hit your usage limit"'}, "codex")
    use(trial, {"any": "works"})
    trial.configure({"reviews.mode": "parallel", "reviews.spec.agent": "codex"})
    for _ in range(3):
        assert execute(trial)[0] == 8
    # The implementer, and two tries of its code reviewer.
    assert (started(trial), started(trial, "codex")) == (["a"] * 3, ["a"] * 3)
