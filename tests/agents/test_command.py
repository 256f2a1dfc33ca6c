import json
from pathlib import Path

import pytest

from git_blackbird.agents.protocol import Agent
from git_blackbird.agents.registry import load_agent
from git_blackbird.errors import AgentUnavailableError
from git_blackbird.model.run.agent_io import AgentFailure, Progress, ProgressKind
from git_blackbird.model.run.ended import Ended
from git_blackbird.model.run.parts import Question
from tests.agents.running import Stage, as_read, assign
from tests.support import config_with

SESSION = "5e551011-0000-4000-8000-000000000001"


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path / "stage")


def command(text: str | None) -> Agent:
    return load_agent("command", config_with(command__run=text))


def run(stage: Stage, text: str, *, resume: bool = False) -> Ended:
    return stage.run_agent(command(text), assign("Wörk", resume=resume))


def test_it_gets_the_context_pack_as_one_line_of_json(stage: Stage) -> None:
    reading = run(stage, 'cat > got.json; echo "$BLACKBIRD_SESSION_ID ${BLACKBIRD_RESUME-none}"')
    assert as_read(reading) == Ended(
        succeeded=True, session=SESSION, final_text=f"{SESSION} none", worked=True
    )
    told = (stage.tree / "got.json").read_bytes()
    assert told.endswith(b"}\n")
    assert told.count(b"\n") == 1
    assert json.loads(told) == {"schemaVersion": 1, "task": {"id": "t1", "title": "T", "prompt": "Wörk"}}
    assert stage.progress == [Progress(ProgressKind.PRINTS, f"{SESSION} none")]


def test_a_resume_is_the_same_session_and_says_so(stage: Stage) -> None:
    reading = run(stage, 'echo "$BLACKBIRD_SESSION_ID $BLACKBIRD_RESUME"', resume=True)
    assert reading.final_text == f"{SESSION} 1"


def test_of_a_long_output_the_end_is_given_and_said_to_be_that(stage: Stage) -> None:
    lines = "".join(f"{number}\n" for number in range(1, 100_001))
    reading = run(stage, "seq 100000")
    kept = lines[-256 * 1024 :].partition("\n")[2].strip()
    assert reading.final_text == f"[the end of a longer output]\n{kept}"
    assert reading.is_cut


def test_nothing_is_added_to_the_command(stage: Stage) -> None:
    assert run(stage, 'echo "$0 $# $*"').final_text == "/bin/sh 0"


@pytest.mark.parametrize(
    ("script", "error"),
    [
        ("exit 7", "exit status 7"),
        ("echo no disk >&2; exit 7", "exit status 7: no disk"),
        ("printf '\\033[31mred\\033[0m\\n\\n' >&2; exit 1", "exit status 1: red"),
        ("kill -9 $$", "killed by signal 9"),
        ("exit 75", "exit status 75"),
        ("echo begun; no-such-program-here", "exit status 127: /bin/sh: 1: no-such-program-here: not found"),
    ],
)
def test_any_other_status_is_a_failure_with_its_last_words(stage: Stage, script: str, error: str) -> None:
    reading = run(stage, script)
    assert (reading.succeeded, reading.refusal) == (False, None)
    assert reading.error == error


def test_a_question_at_the_end_is_no_success_whatever_the_status(stage: Stage) -> None:
    asked = """echo 'The "odd { prose'; echo '{"questions":[{"id":"db","prompt":"Which?"}]}'; exit """
    for status in (0, 3):
        reading = run(stage, f"{asked}{status}")
        assert reading.questions == (Question(id="db", prompt="Which?"),)
        assert not reading.succeeded


def test_a_killed_command_asks_nothing(stage: Stage) -> None:
    reading = run(stage, """echo '{"questions":[{"id":"db","prompt":"Which?"}]}'; kill -9 $$""")
    assert reading.questions == ()


def test_a_program_that_is_not_there_is_a_refusal(stage: Stage) -> None:
    reading = run(stage, "no-such-program-here --now")
    assert (reading.succeeded, reading.refusal) == (False, AgentFailure.MISSING)
    assert reading.error == "cannot find the program 'no-such-program-here' of the agent's command"


@pytest.mark.parametrize("text", [None, "", "  "])
def test_no_command_is_refused_before_anything_starts(text: str | None) -> None:
    with pytest.raises(AgentUnavailableError, match="the agent 'command' has no command to run") as caught:
        command(text).probe({"PATH": "/bin"})
    assert caught.value.hint is not None


def test_a_missing_program_is_refused_before_anything_starts() -> None:
    with pytest.raises(AgentUnavailableError, match="cannot find the program 'no-such-program-here'"):
        command("no-such-program-here --now").probe({"PATH": "/bin:/usr/bin"})


def test_what_it_may_review_is_said() -> None:
    environ = {"PATH": "/bin:/usr/bin"}
    assert command("cat").inspect(environ).reviews == (
        "runs with your permissions, in a throwaway checkout of what is to be reviewed; "
        "cannot review parents: command.schema does not say that it honours BLACKBIRD_RESPONSE_SCHEMA"
    )
    honouring = load_agent("command", config_with(command__run="cat", command__schema=True))
    assert honouring.inspect(environ).reviews == (
        "runs with your permissions, in a throwaway checkout of what is to be reviewed"
    )


@pytest.mark.parametrize(
    "text",
    [
        "cat",
        "exec cat",
        "X=1 no-such",
        "./agent.sh",
        "if true; then :; fi",
        "(cd x && make)",
        "$AGENT run",
        "{ :; }",
    ],
)
def test_what_only_the_shell_can_tell_is_left_to_it(text: str) -> None:
    assert command(text).probe({"PATH": "/bin:/usr/bin"}) == ""
