import asyncio
import json
import os
import signal
import sys
import time
from datetime import datetime
from pathlib import Path

import pytest

from git_blackbird.agents.process import signals
from git_blackbird.agents.process.launch import GatedProcess
from git_blackbird.agents.protocol import Agent, Assignment
from git_blackbird.agents.registry import load_agent
from git_blackbird.errors import AgentUnavailableError
from git_blackbird.model.run.agent_io import AgentFailure, ProgressKind
from git_blackbird.model.run.ended import Ended, ExitCause
from git_blackbird.model.run.parts import Usage
from tests.agents.running import RUN_ID, Stage, assign, until
from tests.standin.install import EVERY_CODEX, Program
from tests.standin.openai import CACHED_TOKENS, KEY_VARIABLE
from tests.standin.real import DIALECTS, SANDBOXES, load, load_installed, needs_sandbox, real
from tests.standin.server import INPUT_TOKENS, OUTPUT_TOKENS, Reply, StandIn, ToolCall
from tests.support import config_with, git

SPEECH = DIALECTS["codex"]
UNKNOWN = "01a1fd95-0000-7000-8000-000000000001"
ONE_REQUEST = Usage(input_tokens=INPUT_TOKENS, output_tokens=OUTPUT_TOKENS, cached_tokens=CACHED_TOKENS)
needs_proc = pytest.mark.skipif(sys.platform != "linux", reason="finds the tool's process through /proc")


@pytest.fixture(params=real(*EVERY_CODEX))
def program(request: pytest.FixtureRequest) -> Program:
    chosen: Program = request.param
    return chosen


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    stage = Stage(tmp_path / "stage")
    git(stage.tree, "init", "-q")
    return stage


def begin(prompt: str) -> Assignment:
    return assign(prompt, session=None)


def go_on(prompt: str, before: Ended) -> Assignment:
    return assign(prompt, session=before.session, resume=True, previous_totals=before.raw_totals)


def read(stage: Stage, agent: Agent, assignment: Assignment) -> Ended:
    return stage.run_agent(agent, assignment)


def files(stage: Stage) -> dict[str, str]:
    return {path.name: path.read_text() for path in stage.tree.iterdir() if path.is_file()}


def test_its_version_is_known(program: Program) -> None:
    assert (
        load_installed(program).probe({"PATH": os.environ["PATH"], "HOME": "/nonexistent"}) == program.version
    )


def test_what_it_is_asked_about_itself_leaves_nothing_behind(program: Program, tmp_path: Path) -> None:
    agent = load_installed(program)
    temporary = tmp_path / "t"
    temporary.mkdir()
    environ = {**os.environ, "TMPDIR": str(temporary)}
    found = agent.inspect(environ)
    assert (found.blocked_reason, found.version) == (None, agent.probe(environ))
    assert list(temporary.iterdir()) == []


def test_a_missing_program_is_named_before_anything_starts() -> None:
    agent = load_agent("codex", config_with(codex__path="no-such-codex"))
    with pytest.raises(AgentUnavailableError, match="cannot find the program 'no-such-codex'") as caught:
        agent.probe({"PATH": "/usr/bin:/bin"})
    assert caught.value.hint is not None


def test_a_run_edits_the_tree_and_says_what_it_does(model: StandIn, stage: Stage, agent: Agent) -> None:
    slowly = SPEECH.shell("sleep 0.5; echo $BLACKBIRD_RUN_ID > b.txt")
    model.tell(
        Reply("I write it.", (SPEECH.writes(stage.tree / "a.txt", "a\n"),)),
        Reply(tools=(slowly,)),
        "All done.",
    )
    ended = stage.run_agent(agent, begin("Make a.txt"))
    reading = ended
    assert (ended.exit_code, reading.error, reading.succeeded) == (0, None, True)
    assert (reading.final_text, reading.notes, reading.blocked) == ("All done.", (), None)
    assert reading.session is not None
    assert agent.accepts_session(reading.session)
    assert reading.usage == Usage(
        input_tokens=3 * INPUT_TOKENS, output_tokens=3 * OUTPUT_TOKENS, cached_tokens=3 * CACHED_TOKENS
    )
    assert reading.cost_usd is None
    assert files(stage) == {"a.txt": "a\n", "b.txt": f"{RUN_ID}\n"}
    assert [(step.kind, step.text) for step in stage.progress if step.text] == [
        (ProgressKind.SAYS, "I write it."),
        (ProgressKind.EDITS, "a.txt"),
        (ProgressKind.RUNS, "sleep 0.5; echo $BLACKBIRD_RUN_ID > b.txt"),
        (ProgressKind.SAYS, "All done."),
    ]
    assert model.prompts()[-1] == "Make a.txt"
    assert [model.dialect.schema_in(request) for request in model.requests] == [None] * 3


def test_a_resume_goes_on_in_the_same_session_with_the_same_powers(
    model: StandIn, stage: Stage, agent: Agent
) -> None:
    model.tell(Reply(tools=(SPEECH.writes(stage.tree / "a.txt", "a\n"),)), "Done.")
    first = read(stage, agent, begin("Make a.txt"))
    model.tell(Reply(tools=(SPEECH.shell("echo b > b.txt"),)), "Changed.", "Once more.")
    second = read(stage, agent, go_on("Use capitals", first))
    third = read(stage, agent, go_on("Again", second))
    assert (second.succeeded, second.session, second.final_text) == (True, first.session, "Changed.")
    assert model.prompts()[-3:] == ["Make a.txt", "Use capitals", "Again"]
    assert files(stage) == {"a.txt": "a\n", "b.txt": "b\n"}
    assert (third.session, third.usage) == (first.session, ONE_REQUEST)
    assert second.usage is not None
    assert second.usage.output_tokens == 2 * OUTPUT_TOKENS


@pytest.mark.exhaustive
@needs_sandbox
def test_without_write_access_nothing_is_written_also_on_resume(
    program: Program, model: StandIn, stage: Stage
) -> None:
    agent = load(program, codex__sandbox="read-only")
    model.tell(Reply(tools=(SPEECH.shell("echo a > a.txt"),)), "Tried.")
    first = read(stage, agent, begin("Make a.txt"))
    model.tell(Reply(tools=(SPEECH.shell("echo b > b.txt"),)), "Tried again.")
    second = read(stage, agent, go_on("Try again", first))
    assert (second.session, second.final_text) == (first.session, "Tried again.")
    assert files(stage) == {}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("prompt", ["review", "--help"])
def test_a_prompt_like_a_command_reaches_the_model(
    model: StandIn, stage: Stage, agent: Agent, prompt: str
) -> None:
    reading = read(stage, agent, begin(prompt))
    assert (reading.succeeded, reading.final_text) == (True, "Done.")
    assert model.prompts()[-1].strip() == prompt


UNSUPPORTED = {"detail": "The 'gpt-9' model is not supported when using Codex with a ChatGPT account."}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("reply", "refusal", "error"),
    [
        (Reply("bad key", status=401), AgentFailure.NOT_LOGGED_IN, "bad key"),
        (Reply("slow down", status=429), AgentFailure.USAGE_LIMIT, "429 Too Many Requests"),
        (
            Reply("The model `gpt-9` does not exist or you do not have access to it.", status=404),
            AgentFailure.UNKNOWN_MODEL,
            "gpt-9",
        ),
        (Reply(status=400, body=UNSUPPORTED), AgentFailure.UNKNOWN_MODEL, "not supported"),
        (Reply(failure=("insufficient_quota", "Used up")), AgentFailure.NO_CREDIT, "Quota exceeded"),
        (
            Reply(failure=("context_length_exceeded", "Too long")),
            AgentFailure.PROMPT_TOO_LONG,
            "ran out of room",
        ),
        (Reply("oops", status=500), AgentFailure.OUTAGE, "high demand"),
        (Reply(dropped=True), AgentFailure.OUTAGE, "stream disconnected"),
    ],
    ids=["login", "limit", "model", "unsupported", "quota", "room", "broken", "dropped"],
)
def test_what_the_server_refuses_is_known_and_no_failure_of_the_task(
    model: StandIn, stage: Stage, agent: Agent, reply: Reply, refusal: AgentFailure, error: str
) -> None:
    model.tell(*[reply] * 5)
    reading = read(stage, agent, begin("Go"))
    assert (reading.succeeded, reading.refusal) == (False, refusal)
    assert error in (reading.error or "")
    assert reading.way_out


def test_a_subscribers_limit_names_when_it_is_over(model: StandIn, stage: Stage, agent: Agent) -> None:
    at = int(time.time()) + 7200
    model.tell(*[SPEECH.usage_limit(at)] * 3)
    reading = read(stage, agent, begin("Go"))
    assert (reading.succeeded, reading.refusal) == (False, AgentFailure.USAGE_LIMIT)
    named = f"{datetime.fromtimestamp(at).astimezone():%I:%M %p}".lstrip("0")
    assert named in (reading.way_out or "") + (reading.error or "")


@pytest.mark.exhaustive
def test_a_server_that_is_not_there_is_waited_for_aloud(
    model: StandIn, stage: Stage, agent: Agent, tmp_path: Path
) -> None:
    config = tmp_path / "config" / "config.toml"
    config.write_text(config.read_text().replace(model.url, "http://127.0.0.1:9"))

    async def scenario() -> Ended:
        _, work = start(stage, agent, begin("Go"))
        await until(lambda: any("waiting for network" in step.text for step in stage.progress))
        work.cancel()
        return await work

    ended = asyncio.run(scenario())
    assert (ended.cause, ended.session is None) == (ExitCause.INTERRUPTED, False)


def test_an_agent_without_a_key_refuses(
    model: StandIn, stage: Stage, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(KEY_VARIABLE)
    reading = read(stage, agent, begin("Go"))
    assert (reading.succeeded, reading.refusal) == (False, AgentFailure.NOT_LOGGED_IN)
    assert KEY_VARIABLE in (reading.error or "")


@pytest.mark.exhaustive
def test_a_prompt_that_is_too_long_to_ask_at_all_is_a_refusal(
    model: StandIn, stage: Stage, agent: Agent
) -> None:
    reading = read(stage, agent, begin("x" * 1_048_577))
    assert (reading.succeeded, reading.refusal) == (False, AgentFailure.PROMPT_TOO_LONG)
    assert "exceeds the maximum length" in (reading.error or "")
    assert model.requests == []


def test_a_session_that_it_does_not_know_is_a_refusal(model: StandIn, stage: Stage, agent: Agent) -> None:
    reading = read(stage, agent, assign("Go on", session=UNKNOWN, resume=True))
    assert (reading.succeeded, reading.refusal) == (False, AgentFailure.SESSION_UNKNOWN)
    assert UNKNOWN in (reading.error or "")
    assert model.requests == []


def test_a_session_that_is_none_is_never_asked_for(agent: Agent) -> None:
    assert not agent.accepts_session("a title")
    assert agent.accepts_session(UNKNOWN)


def test_arguments_it_does_not_know_are_a_refusal(program: Program, model: StandIn, stage: Stage) -> None:
    reading = read(stage, load(program, codex__args=("--full-auto",)), begin("Go"))
    assert not reading.succeeded
    assert reading.refusal in {AgentFailure.REFUSED, AgentFailure.TOO_OLD}
    assert "unexpected argument '--full-auto'" in (reading.error or "")


@pytest.mark.exhaustive
@needs_sandbox
def test_an_edit_that_the_sandbox_keeps_it_from_is_noted(
    model: StandIn, stage: Stage, agent: Agent, sealed: Path
) -> None:
    model.tell(Reply(tools=(_outside(),)), "I could not.")
    reading = read(stage, agent, begin("Write elsewhere"))
    assert (reading.succeeded, reading.final_text) == (True, "I could not.")
    assert reading.blocked is not None
    assert files(stage) == {}


def _outside() -> ToolCall:
    return SPEECH.writes(Path("/usr/local/share/blackbird-was-here.txt"), "no\n")


@pytest.mark.exhaustive
def test_a_model_that_it_does_not_know_is_said(program: Program, model: StandIn, stage: Stage) -> None:
    reading = read(stage, load(program, codex__model="gpt-nonsense"), begin("Go"))
    assert reading.succeeded
    assert any("gpt-nonsense" in note for note in reading.notes)
    assert model.requests[-1]["model"] == "gpt-nonsense"


@pytest.mark.exhaustive
def test_a_session_that_works_elsewhere_is_a_refusal(
    model: StandIn, stage: Stage, agent: Agent, tmp_path: Path
) -> None:
    first = read(stage, agent, begin("Begin"))
    other = Stage(tmp_path / "other", run_id=f"{os.getpid() + 2**40:016x}")
    git(other.tree, "init", "-q")
    model.tell(Reply("Late.", delay=60))

    async def scenario() -> Ended:
        waiting = len(model.requests)
        _, work = start(stage, agent, go_on("Go on", first))
        await until(lambda: len(model.requests) > waiting)
        second = other.hold(agent.launch(go_on("Me too", first)))
        second.open_gate()
        ended = await other.follow(second, agent.parser(go_on("Me too", first)))
        work.cancel()
        await asyncio.wait([work])
        return ended

    reading = asyncio.run(scenario())
    assert (reading.succeeded, reading.refusal) == (False, AgentFailure.SESSION_BUSY)


def start(stage: Stage, agent: Agent, assignment: Assignment) -> tuple[GatedProcess, asyncio.Task[Ended]]:
    child = stage.hold(agent.launch(assignment))
    child.open_gate()
    return child, asyncio.create_task(stage.follow(child, agent.parser(assignment)))


@pytest.mark.sampled(1)
@needs_proc
@pytest.mark.parametrize("sandbox", SANDBOXES)
def test_an_interrupted_run_leaves_nothing_running_and_can_be_resumed(
    program: Program, model: StandIn, stage: Stage, sandbox: str
) -> None:
    agent = load_installed(program, codex__sandbox=sandbox)
    model.tell(Reply(tools=(SPEECH.shell("touch busy; setsid sleep 600 & sleep 600"),)))

    async def scenario() -> Ended:
        _, work = start(stage, agent, begin("Make it"))
        await until((stage.tree / "busy").exists)
        work.cancel()
        return await work

    ended = asyncio.run(scenario())
    assert (ended.cause, ended.succeeded) == (ExitCause.INTERRUPTED, False)
    assert ended.exit_code != -signal.SIGKILL
    assert signals.marked(RUN_ID) == []
    model.tell("Went on.")
    reading = read(stage, agent, go_on("Go on.", ended))
    assert (reading.succeeded, reading.session) == (True, ended.session)
    assert (reading.final_text, reading.session is not None) == ("Went on.", True)
    assert "Make it" in model.prompts()


@pytest.mark.sampled(1)
@needs_proc
@pytest.mark.parametrize("sandbox", SANDBOXES)
def test_a_killed_wrapper_leaves_nothing_running(
    program: Program, model: StandIn, stage: Stage, sandbox: str
) -> None:
    agent = load_installed(program, codex__sandbox=sandbox)
    model.tell(Reply(tools=(SPEECH.shell("touch busy; setsid sleep 600 & sleep 600"),)))

    async def scenario() -> Ended:
        child, work = start(stage, agent, begin("Make it"))
        await until((stage.tree / "busy").exists)
        os.kill(child.pid, signal.SIGKILL)
        return await work

    ended = asyncio.run(scenario())
    assert (ended.exit_code, ended.succeeded) == (-signal.SIGKILL, False)
    assert ended.leftovers_stopped > 0
    assert signals.marked(RUN_ID) == []
    first = json.loads(stage.logs.stdout.read_text().splitlines()[0])
    assert ended.session == first["thread_id"]
