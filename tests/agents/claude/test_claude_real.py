import asyncio
import os
import signal
import sys
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from git_blackbird.agents.process import signals
from git_blackbird.agents.protocol import Agent, Assignment
from git_blackbird.agents.registry import load_agent
from git_blackbird.errors import AgentUnavailableError
from git_blackbird.model.run.agent_io import AgentFailure, ProgressKind
from git_blackbird.model.run.ended import Ended, ExitCause
from git_blackbird.model.run.parts import Usage
from tests.agents.running import RUN_ID, Stage, assign, until
from tests.standin.install import CLAUDE, EARLIER_CLAUDE, EVERY_CLAUDE, OLD_CLAUDE, Program
from tests.standin.real import DIALECTS, load, real, short_folder
from tests.standin.server import Reply, StandIn
from tests.support import config_with

FIRST = "5e551011-0000-4000-8000-000000000001"
SPEECH = DIALECTS["claude"]


# The oldest version has the cells in which it differs, and one whole path: a run, its resumes, its end.
every = pytest.mark.parametrize("program", real(*EVERY_CLAUDE), indirect=True)


@pytest.fixture(params=real(CLAUDE, EARLIER_CLAUDE))
def program(request: pytest.FixtureRequest) -> Program:
    chosen: Program = request.param
    return chosen


@pytest.fixture
def stage() -> Iterator[Stage]:
    with short_folder() as folder:
        yield Stage(folder)


def read(stage: Stage, agent: Agent, assignment: Assignment) -> Ended:
    return stage.run_agent(agent, assignment)


@every
def test_its_version_is_known(program: Program, agent: Agent) -> None:
    assert agent.probe({"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"}) == program.version


@pytest.mark.exhaustive
@every
def test_what_it_is_asked_about_itself_leaves_nothing_behind(agent: Agent, tmp_path: Path) -> None:
    temporary = tmp_path / "t"
    temporary.mkdir()
    environ = {**os.environ, "TMPDIR": str(temporary)}
    found = agent.inspect(environ)
    assert (found.blocked_reason, found.version) == (None, agent.probe(environ))
    assert list(temporary.iterdir()) == []


def test_a_missing_program_is_named_before_anything_starts() -> None:
    with pytest.raises(AgentUnavailableError, match="cannot find the program 'no-such-claude'") as caught:
        load_agent("claude", config_with(claude__path="no-such-claude")).probe({"PATH": "/usr/bin:/bin"})
    assert caught.value.hint is not None


@pytest.mark.exhaustive
@every
def test_a_run_edits_the_tree_and_says_what_it_does(model: StandIn, stage: Stage, agent: Agent) -> None:
    script = SPEECH.shell("echo $BLACKBIRD_RUN_ID > b.txt")
    model.tell(Reply("I write it.", (SPEECH.writes(stage.tree / "a.txt", "a\n"), script)), "All done.")
    ended = stage.run_agent(agent, assign("Make a.txt"))
    reading = ended
    assert (ended.exit_code, reading.error, reading.succeeded) == (0, None, True)
    assert (reading.session, reading.final_text) == (FIRST, "All done.")
    assert reading.usage == Usage(input_tokens=200, output_tokens=40, cached_tokens=0)
    assert reading.cost_usd is not None
    assert reading.cost_usd > 0
    assert {path.name: path.read_text() for path in stage.tree.iterdir()} == {
        "a.txt": "a\n",
        "b.txt": f"{RUN_ID}\n",
    }
    assert [(step.kind, step.text) for step in stage.progress if step.text] == [
        (ProgressKind.SAYS, "I write it."),
        (ProgressKind.EDITS, "a.txt"),
        (ProgressKind.RUNS, "echo $BLACKBIRD_RUN_ID > b.txt"),
        (ProgressKind.SAYS, "All done."),
    ]
    assert model.prompts()[-1] == "Make a.txt"
    assert [model.dialect.schema_in(request) for request in model.requests] == [None] * 2


@pytest.mark.exhaustive
@every
def test_a_resume_goes_on_in_the_same_session_and_costs_what_it_cost(
    program: Program, model: StandIn, stage: Stage, agent: Agent
) -> None:
    model.tell(Reply(tools=(SPEECH.writes(stage.tree / "a.txt", "a\n"),)), "Done.", "Changed.", "Once more.")
    first = read(stage, agent, assign("Make a.txt"))
    second = read(stage, agent, assign("Use capitals", resume=True, previous_totals=first.raw_totals))
    third = read(stage, agent, assign("Again", resume=True, previous_totals=second.raw_totals))
    assert (second.succeeded, second.session, second.final_text) == (True, FIRST, "Changed.")
    assert model.prompts()[-3:] == ["Make a.txt", "Use capitals", "Again"]
    assert second.usage == third.usage == Usage(input_tokens=100, output_tokens=20, cached_tokens=0)
    assert first.cost_usd is not None
    assert second.cost_usd == pytest.approx(first.cost_usd / 2)
    assert third.cost_usd == pytest.approx(first.cost_usd / 2)
    # The newer version counts a session over its resumes, the older one a run.
    totals = [reading.raw_totals["total_cost_usd"] / first.cost_usd for reading in (first, second, third)]
    assert totals == pytest.approx([1, 1.5, 2] if program is not OLD_CLAUDE else [1, 0.5, 0.5])


@pytest.mark.exhaustive
def test_a_prompt_like_a_command_of_its_own_reaches_the_model(
    model: StandIn, stage: Stage, agent: Agent
) -> None:
    reading = read(stage, agent, assign("/cost is what I mean"))
    assert (reading.succeeded, reading.final_text) == (True, "Done.")
    assert model.prompts()[-1].strip() == "/cost is what I mean"


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("reply", "refusal", "error"),
    [
        (Reply("bad key", status=401), AgentFailure.NOT_LOGGED_IN, "401 bad key"),
        (Reply("slow down", status=429), AgentFailure.USAGE_LIMIT, "(429) · slow down"),
        (Reply("model: nope", status=404), AgentFailure.UNKNOWN_MODEL, "issue with the selected model"),
        (Reply("Overloaded", status=529), AgentFailure.OUTAGE, "Overloaded"),
        (
            Reply("prompt is too long: 210000 tokens > 200000 maximum", status=400),
            AgentFailure.PROMPT_TOO_LONG,
            "Prompt is too long",
        ),
    ],
    ids=["login", "limit", "model", "overloaded", "long"],
)
def test_what_the_server_refuses_is_known_and_no_failure_of_the_task(
    model: StandIn, stage: Stage, agent: Agent, reply: Reply, refusal: AgentFailure, error: str
) -> None:
    model.tell(*[reply] * 5)
    reading = read(stage, agent, assign("Go"))
    assert (reading.succeeded, reading.refusal) == (False, refusal)
    assert error in (reading.error or "")
    assert reading.way_out


@pytest.mark.exhaustive
def test_a_subscribers_limit_names_when_it_is_over(
    model: StandIn, stage: Stage, agent: Agent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in SPEECH.key:
        monkeypatch.delenv(name)
    for name, value in model.subscriber_environ(tmp_path / "config").items():
        monkeypatch.setenv(name, value)
    at = (int(time.time()) // 3600 + 3) * 3600
    model.tell(*[SPEECH.usage_limit(at)] * 3)
    reading = read(stage, agent, assign("Go"))
    assert (reading.succeeded, reading.refusal) == (False, AgentFailure.USAGE_LIMIT)
    named = f"{datetime.fromtimestamp(at).astimezone():%I%p}".lstrip("0").lower()
    assert f"resets {named}" in (reading.way_out or "") + (reading.error or "")


@pytest.mark.exhaustive
def test_a_stream_that_breaks_off_is_no_success(model: StandIn, stage: Stage, agent: Agent) -> None:
    model.tell(*[Reply("I beg", dropped=True)] * 9)
    reading = read(stage, agent, assign("Go"))
    assert not reading.succeeded
    assert reading.error


@pytest.mark.exhaustive
def test_a_prompt_that_is_too_long_to_ask_at_all_is_a_refusal(
    model: StandIn, stage: Stage, agent: Agent
) -> None:
    reading = read(stage, agent, assign("x " * 2_000_000))
    assert (reading.succeeded, reading.refusal) == (False, AgentFailure.PROMPT_TOO_LONG)
    assert model.requests == []


def test_a_prompt_that_is_too_long_to_read_is_a_refusal(model: StandIn, stage: Stage, agent: Agent) -> None:
    reading = read(stage, agent, assign("x " * 5_500_000))
    assert (reading.succeeded, reading.refusal) == (False, AgentFailure.PROMPT_TOO_LONG)
    assert "exceeds 10MB" in (reading.error or "")
    assert model.requests == []


@pytest.mark.exhaustive
def test_a_server_that_is_not_there_is_an_outage(
    model: StandIn, stage: Stage, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    reading = read(stage, agent, assign("Go"))
    assert (reading.succeeded, reading.refusal) == (False, AgentFailure.OUTAGE)


@pytest.mark.exhaustive
def test_an_agent_that_is_not_logged_in_refuses(
    model: StandIn, stage: Stage, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in SPEECH.key:
        monkeypatch.delenv(name)
    reading = read(stage, agent, assign("Go"))
    assert (reading.succeeded, reading.refusal) == (False, AgentFailure.NOT_LOGGED_IN)
    assert reading.error == "Not logged in · Please run /login"
    assert model.requests == []


@pytest.mark.exhaustive
def test_a_session_that_it_does_not_know_is_a_refusal(model: StandIn, stage: Stage, agent: Agent) -> None:
    reading = read(stage, agent, assign("Go on", resume=True))
    assert (reading.succeeded, reading.refusal) == (False, AgentFailure.SESSION_UNKNOWN)
    assert reading.error == f"No conversation found with session ID: {FIRST}"


@every
def test_arguments_it_does_not_know_are_a_refusal(program: Program, model: StandIn, stage: Stage) -> None:
    # It ends with a guess of what was meant.
    reading = read(stage, load(program, claude__args=("--session-idd",)), assign("Go"))
    assert not reading.succeeded
    assert reading.refusal in {AgentFailure.REFUSED, AgentFailure.TOO_OLD}
    assert "unknown option '--session-idd'" in (reading.error or "")


@pytest.mark.exhaustive
@every
def test_tools_denied_are_noted_and_the_run_was_kept_from_working(
    program: Program, model: StandIn, stage: Stage
) -> None:
    model.tell(Reply(tools=(SPEECH.writes(stage.tree / "a.txt", "a\n"),)), "I could not.")
    reading = read(stage, load(program, claude__permission_mode="dontAsk"), assign("Make a.txt"))
    assert (reading.succeeded, reading.notes) == (True, ("1 tool call was denied: Write",))
    assert reading.blocked is not None
    assert "Write" in reading.blocked
    assert list(stage.tree.iterdir()) == []


def test_bypassing_as_root_without_a_sandbox_is_named(model: StandIn, stage: Stage, agent: Agent) -> None:
    launch = agent.launch(assign("Go"))
    child = stage.hold(launch._replace(environ={**launch.environ, "IS_SANDBOX": "0"}))
    child.open_gate()
    ended = asyncio.run(stage.follow(child, agent.parser(assign("Go"))))
    if "IS_SANDBOX" in launch.environ:
        assert ended.refusal is AgentFailure.FORBIDDEN
    else:
        assert ended.succeeded


@pytest.mark.exhaustive
@pytest.mark.skipif(sys.platform != "linux", reason="finds the tool's process through /proc")
def test_an_interrupted_run_leaves_nothing_running_and_can_be_resumed(
    model: StandIn, stage: Stage, agent: Agent
) -> None:
    model.tell(Reply(tools=(SPEECH.shell("touch busy; sleep 600"),)))
    ended = interrupted(stage, agent)
    assert ended.cause is ExitCause.INTERRUPTED
    assert (ended.succeeded, ended.session) == (False, FIRST)
    assert ended.exit_code != -signal.SIGKILL
    assert signals.marked(RUN_ID) == []
    model.tell("Went on.")
    reading = read(stage, agent, assign("Go on.", resume=True))
    assert (reading.succeeded, reading.session, reading.final_text) == (True, FIRST, "Went on.")
    assert any("Make it" in prompt for prompt in model.prompts())


def interrupted(stage: Stage, agent: Agent) -> Ended:
    async def scenario() -> Ended:
        child = stage.hold(agent.launch(assign("Make it")))
        child.open_gate()
        task = asyncio.create_task(stage.follow(child, agent.parser(assign("Make it"))))
        await until((stage.tree / "busy").exists)
        task.cancel()
        return await task

    return asyncio.run(scenario())
