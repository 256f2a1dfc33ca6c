import asyncio
import signal
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from git_blackbird.agents import processes
from git_blackbird.agents.claude import ClaudeAgent
from git_blackbird.agents.protocol import AgentSettings
from git_blackbird.agents.runner import EndCause, Ended
from git_blackbird.errors import AgentUnavailableError
from git_blackbird.model.conversation import Progress, ProgressKind, Question, Refusal, Usage
from tests.agents.running import RUN_ID, Stage, assign, until
from tests.standin.anthropic import Reply, StandIn, ToolCall, serve
from tests.standin.install import PATH_VARIABLE, find_claude

CLAUDE = find_claude()
pytestmark = [
    pytest.mark.real_agents,
    pytest.mark.skipif(
        CLAUDE is None,
        reason=f"no claude: run python tests/standin/install.py, or set {PATH_VARIABLE}",
    ),
]
FIRST = "5e551011-0000-4000-8000-000000000001"
OTHER = "5e551011-0000-4000-8000-000000000002"


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIn]:
    with serve() as standin:
        for name, value in standin.environ(tmp_path / "config").items():
            monkeypatch.setenv(name, value)
        yield standin


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path / "stage")


@pytest.fixture
def agent() -> ClaudeAgent:
    return ClaudeAgent(AgentSettings(claude_path=CLAUDE or "claude"))


def wrote(stage: Stage, name: str) -> ToolCall:
    return ToolCall("Write", {"file_path": str(stage.tree / name), "content": f"{name}\n"})


def test_its_version_is_known(agent: ClaudeAgent) -> None:
    version = agent.probe({"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"})
    assert version.count(".") == 2
    assert version.replace(".", "").isdigit()


def test_a_missing_program_is_named_before_anything_starts() -> None:
    with pytest.raises(AgentUnavailableError, match="cannot find the program 'no-such-claude'") as caught:
        ClaudeAgent(AgentSettings(claude_path="no-such-claude")).probe({"PATH": "/usr/bin:/bin"})
    assert caught.value.hint is not None


def test_a_run_edits_the_tree_and_says_what_it_does(model: StandIn, stage: Stage, agent: ClaudeAgent) -> None:
    script = ToolCall("Bash", {"command": "echo $BLACKBIRD_RUN_ID > b.txt", "description": "x"})
    model.tell(Reply("I write it.", (wrote(stage, "a.txt"), script)), "All done.")
    ended = stage.run_agent(agent, assign("Make a.txt"))
    reading = ended.reading
    assert (ended.exit_code, reading.error, reading.succeeded) == (0, None, True)
    assert (reading.session, reading.final_text) == (FIRST, "All done.")
    assert reading.usage == Usage(input_tokens=200, output_tokens=40, cached_tokens=0)
    assert reading.cost_usd is not None
    assert reading.cost_usd > 0
    assert {path.name: path.read_text() for path in stage.tree.iterdir()} == {
        "a.txt": "a.txt\n",
        "b.txt": f"{RUN_ID}\n",
    }
    assert stage.progress == [
        Progress(ProgressKind.SAYS, "I write it."),
        Progress(ProgressKind.EDITS, "a.txt"),
        Progress(ProgressKind.RUNS, "echo $BLACKBIRD_RUN_ID > b.txt"),
        Progress(ProgressKind.SAYS, "All done."),
    ]
    assert model.prompts()[-1] == "Make a.txt"


def test_a_resume_goes_on_in_the_same_session_and_costs_what_it_cost(
    model: StandIn, stage: Stage, agent: ClaudeAgent
) -> None:
    model.tell(Reply("", (wrote(stage, "a.txt"),)), "Done.", "Changed.")
    first = stage.run_agent(agent, assign("Make a.txt")).reading
    again = assign("Use capitals", resume=True, previous_totals=first.raw_totals)
    second = stage.run_agent(agent, again).reading
    assert (second.succeeded, second.session, second.final_text) == (True, FIRST, "Changed.")
    assert model.prompts()[-2:] == ["Make a.txt", "Use capitals"]
    assert second.usage == Usage(input_tokens=100, output_tokens=20, cached_tokens=0)
    assert first.cost_usd is not None
    assert second.cost_usd == pytest.approx(first.cost_usd / 2)


def test_a_question_ends_the_run_without_success(model: StandIn, stage: Stage, agent: ClaudeAgent) -> None:
    model.tell(
        'Two ways.\n```json\n{"questions": [{"id": "db", "prompt": "Which?", "options": ["a", "b"]}]}\n```'
    )
    reading = stage.run_agent(agent, assign("Choose")).reading
    assert (reading.succeeded, reading.error, reading.session) == (False, None, FIRST)
    assert reading.questions == (Question(id="db", prompt="Which?", options=("a", "b")),)


def test_a_prompt_like_a_command_of_its_own_reaches_the_model(
    model: StandIn, stage: Stage, agent: ClaudeAgent
) -> None:
    reading = stage.run_agent(agent, assign("/cost is what I mean")).reading
    assert (reading.succeeded, reading.final_text) == (True, "Done.")
    assert model.prompts()[-1].strip() == "/cost is what I mean"


@pytest.mark.parametrize(
    ("reply", "refusal", "error"),
    [
        (
            Reply("bad key", status=401),
            Refusal.NOT_LOGGED_IN,
            "Failed to authenticate. API Error: 401 bad key",
        ),
        (
            Reply("slow down", status=429),
            Refusal.USAGE_LIMIT,
            "API Error: Request rejected (429) · slow down",
        ),
        (Reply("no such thing", status=404), None, None),
    ],
)
def test_an_api_error_is_no_success_whatever_else_is_said(
    model: StandIn, stage: Stage, agent: ClaudeAgent, reply: Reply, refusal: Refusal | None, error: str | None
) -> None:
    model.tell(reply, reply, reply)
    ended = stage.run_agent(agent, assign("Go"))
    assert (ended.reading.succeeded, ended.reading.refusal) == (False, refusal)
    assert ended.reading.error is not None
    assert error is None or ended.reading.error == error


def test_an_agent_that_is_not_logged_in_refuses(
    model: StandIn, stage: Stage, agent: ClaudeAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    reading = stage.run_agent(agent, assign("Go")).reading
    assert (reading.succeeded, reading.refusal) == (False, Refusal.NOT_LOGGED_IN)
    assert reading.error == "Not logged in · Please run /login"
    assert model.requests == []


def test_a_session_that_it_does_not_know_is_a_refusal(
    model: StandIn, stage: Stage, agent: ClaudeAgent
) -> None:
    reading = stage.run_agent(agent, assign("Go on", resume=True)).reading
    assert (reading.succeeded, reading.refusal) == (False, Refusal.SESSION_UNKNOWN)
    assert reading.error == f"No conversation found with session ID: {FIRST}"


def test_arguments_it_does_not_know_are_a_refusal(model: StandIn, stage: Stage) -> None:
    agent = ClaudeAgent(AgentSettings(claude_path=CLAUDE or "claude", claude_args=("--nonsense",)))
    reading = stage.run_agent(agent, assign("Go")).reading
    assert (reading.succeeded, reading.refusal) == (False, Refusal.REFUSED)
    assert reading.refusal_hint == "error: unknown option '--nonsense'"


def test_tools_denied_are_noted(model: StandIn, stage: Stage) -> None:
    settings = AgentSettings(claude_path=CLAUDE or "claude", claude_permission_mode="dontAsk")
    model.tell(Reply("", (wrote(stage, "a.txt"),)), "I could not.")
    reading = stage.run_agent(ClaudeAgent(settings), assign("Make a.txt")).reading
    assert (reading.succeeded, reading.notes) == (True, ("1 tool call was denied: Write",))
    assert list(stage.tree.iterdir()) == []


def test_bypassing_as_root_without_a_sandbox_is_named(
    model: StandIn, stage: Stage, agent: ClaudeAgent
) -> None:
    launch = agent.launch(assign("Go"), {})
    child = stage.hold(replace(launch, environ={**launch.environ, "IS_SANDBOX": "0"}))
    child.open_gate()
    ended = asyncio.run(stage.follow(child, agent.reader(assign("Go"))))
    if "IS_SANDBOX" in launch.environ:
        assert ended.reading.refusal is Refusal.FORBIDDEN
    else:
        assert ended.reading.succeeded


@pytest.mark.skipif(sys.platform != "linux", reason="finds the tool's process through /proc")
def test_an_interrupted_run_leaves_nothing_running_and_can_be_resumed(
    model: StandIn, stage: Stage, agent: ClaudeAgent
) -> None:
    busy = ToolCall("Bash", {"command": "touch busy; sleep 600", "description": "x"})
    model.tell(Reply("", (busy,)))
    ended = interrupted(stage, agent)
    assert ended.cause is EndCause.INTERRUPTED
    assert (ended.reading.succeeded, ended.reading.session) == (False, FIRST)
    assert ended.exit_code != -signal.SIGKILL
    assert processes.marked(RUN_ID) == []
    model.tell("Went on.")
    reading = stage.run_agent(agent, assign("Go on.", resume=True)).reading
    assert (reading.succeeded, reading.session, reading.final_text) == (True, FIRST, "Went on.")
    assert "Make it" in model.prompts()


def interrupted(stage: Stage, agent: ClaudeAgent) -> Ended:
    async def scenario() -> Ended | None:
        child = stage.hold(agent.launch(assign("Make it"), {}))
        child.open_gate()
        task = asyncio.create_task(stage.follow(child, agent.reader(assign("Make it"))))
        await until((stage.tree / "busy").exists)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        return child.ended

    ended = asyncio.run(scenario())
    assert ended is not None
    return ended
