"""What is found out about the programs, with stand-ins of a few lines of shell."""

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from git_blackbird.agents.program import run_query
from git_blackbird.agents.protocol import Agent
from git_blackbird.agents.registry import load_agent
from git_blackbird.errors import AgentUnavailableError
from git_blackbird.model.config.config import Config
from tests.agents.running import until
from tests.support import config_with

CLAUDE_FLAGS = (
    "-p, --print --output-format <f> --verbose --session-id <u> -r, --resume [v] --permission-mode <m>"
)
CLAUDE_REVIEW_FLAGS = (
    "--json-schema <s> --tools <t...> --setting-sources <s> --strict-mcp-config --no-session-persistence"
)
CLAUDE_HELP = (
    f"Usage: claude\n\nOptions:\n  {CLAUDE_FLAGS} {CLAUDE_REVIEW_FLAGS}\n\n"
    "Commands:\n  auth    Manage authentication\n"
)
CODEX_HELP = (
    "Commands:\n  resume  Resume a session\n\nOptions:\n"
    "  --json -s, --sandbox <M> -c, --config <c> --output-schema <F> --ephemeral\n"
)
CLAUDE_INSTALL = (
    "install it: npm install -g @anthropic-ai/claude-code; "
    "if it is elsewhere, set the key claude.path to its path"
)
CLAUDE_REMARK = "it follows the settings, hooks and CLAUDE.md of the repository that it works in"


@pytest.fixture
def bin_dir(tmp_path: Path) -> Path:
    path = tmp_path / "bin"
    path.mkdir()
    return path


def program(bin_dir: Path, name: str, answers: Mapping[str, str] | None = None) -> dict[str, str]:
    """Put a program there with a script for each of its arguments; gives the environment to find it."""
    scripts = {"--version": f"echo '{name}-cli 2.1.0 (x)'", **(answers or {})}
    cases = "".join(f'"{args}") {script} ;;\n' for args, script in scripts.items())
    (bin_dir / name).write_text(
        f'#!/bin/sh\necho "$*" >> {bin_dir}/asked\n'
        f'case "$*" in\n{cases}*) echo Error: odd >&2; exit 2 ;;\nesac\n'
    )
    (bin_dir / name).chmod(0o755)
    return {"PATH": f"{bin_dir}:/usr/bin:/bin", "HOME": str(bin_dir)}


def calls_of(bin_dir: Path) -> list[str]:
    return (bin_dir / "asked").read_text().splitlines()


def printing(text: str, exit_code: int = 0) -> str:
    return f"cat <<'END'\n{text}\nEND\nexit {exit_code}"


def test_claude_is_found_with_its_login(bin_dir: Path) -> None:
    status = '{"loggedIn": true, "authMethod": "claude.ai", "apiProvider": "firstParty"}'
    environ = program(bin_dir, "claude", {"--help": printing(CLAUDE_HELP), "auth status": printing(status)})
    agent = load_agent("claude", config_with(claude__permission_mode="acceptEdits"))
    found = agent.inspect(environ | {"ANTHROPIC_API_KEY": "secret"})
    assert (found.program, found.version, found.blocked_reason, found.hint) == (
        str(bin_dir / "claude"),
        "2.1.0",
        None,
        None,
    )
    assert found.login == "logged in by claude.ai; ANTHROPIC_API_KEY is set"
    assert found.powers == "edit files in the worktree, but run no tests: other commands are denied"
    assert found.reviews == (
        "read, run commands that only read, and do what your own settings allow; claude.args and the"
        " repository's settings are ignored, and no session is kept"
    )
    assert found.remarks == (CLAUDE_REMARK,)
    assert calls_of(bin_dir) == ["--version", "--help", "auth status"]


@pytest.mark.parametrize(
    ("status", "login"),
    [
        ('{"loggedIn": false, "authMethod": "none"}', "not logged in"),
        ('{"loggedIn": true}', "logged in"),
        ('{"loggedIn": 1}', "unknown"),
        ("[]", "unknown"),
        ("Please see the manual\nmore", "Please see the manual"),
    ],
)
def test_what_claude_says_of_its_login(bin_dir: Path, status: str, login: str) -> None:
    environ = program(
        bin_dir, "claude", {"--help": printing(CLAUDE_HELP), "auth status": printing(status, 1)}
    )
    assert load_agent("claude", config_with()).inspect(environ).login == login


def test_an_old_claude_is_never_given_a_command_that_it_would_take_for_a_prompt(bin_dir: Path) -> None:
    old = CLAUDE_HELP.replace("--session-id <u> ", "").replace("  auth ", "  other ")
    environ = program(bin_dir, "claude", {"--help": printing(old)})
    found = load_agent("claude", config_with()).inspect(environ)
    assert found.blocked_reason == "claude 2.1.0 does not know --session-id"
    assert found.hint == "update it: claude update, or npm install -g @anthropic-ai/claude-code@latest"
    assert (found.version, found.login) == ("2.1.0", "unknown")
    assert calls_of(bin_dir) == ["--version", "--help"]


def test_a_program_that_is_too_old_to_review_can_do_all_else(bin_dir: Path) -> None:
    claude = CLAUDE_HELP.replace("--tools ", "--toolset ").replace("--strict-mcp-config ", "")
    environ = program(bin_dir, "claude", {"--help": printing(claude)})
    found = load_agent("claude", config_with()).inspect(environ)
    assert found.blocked_reason is None
    assert found.remarks[1] == (
        "it cannot review: claude 2.1.0 does not know --tools, --strict-mcp-config; "
        "update it: claude update, or npm install -g @anthropic-ai/claude-code@latest"
    )
    codex = CODEX_HELP.replace(" --ephemeral", "")
    found = load_agent("codex", config_with()).inspect(
        program(bin_dir, "codex", {"exec --help": printing(codex), "login status": "true"})
    )
    assert found.blocked_reason is None
    assert found.remarks[-1] == (
        "it cannot review: codex 2.1.0 does not know --ephemeral; "
        "update it: npm install -g @openai/codex@latest"
    )


def test_the_model_flag_is_needed_where_a_model_is_set(bin_dir: Path) -> None:
    environ = program(bin_dir, "claude", {"--help": printing(CLAUDE_HELP)})
    found = load_agent("claude", config_with(claude__model="opus")).inspect(environ)
    assert found.blocked_reason == "claude 2.1.0 does not know --model"


def test_codex_is_found_with_its_login(bin_dir: Path) -> None:
    environ = program(
        bin_dir,
        "codex",
        {"exec --help": printing(CODEX_HELP), "login status": "echo Not logged in >&2; exit 1"},
    )
    found = load_agent("codex", config_with()).inspect(environ | {"CODEX_API_KEY": "secret"})
    assert (found.program, found.version, found.blocked_reason) == (str(bin_dir / "codex"), "2.1.0", None)
    assert found.login == "Not logged in; CODEX_API_KEY is set"
    assert found.powers == (
        "write in the worktree, but not in its .git, and in a temporary folder; no network"
    )
    assert found.reviews == (
        "read everything and write nothing; codex.args and the repository's own settings are ignored,"
        " and no session is kept"
    )
    assert len(found.remarks) == 2
    assert calls_of(bin_dir) == ["--version", "exec --help", "login status"]


@pytest.mark.parametrize(
    ("settings", "help_text", "obstacle"),
    [
        (config_with(), CODEX_HELP.replace("--json ", "--json-lines "), "codex 2.1.0 does not know --json"),
        (config_with(), CODEX_HELP.replace("  resume ", "  other "), "codex 2.1.0 cannot resume a session"),
        (config_with(codex__model="m"), CODEX_HELP, "codex 2.1.0 does not know --model"),
        (
            config_with(codex__args=("--sandbox=read-only",)),
            CODEX_HELP,
            "codex.args sets a sandbox, but codex.sandbox always sets one",
        ),
    ],
)
def test_what_keeps_codex_from_being_started(
    bin_dir: Path, settings: Config, help_text: str, obstacle: str
) -> None:
    environ = program(bin_dir, "codex", {"exec --help": printing(help_text)})
    found = load_agent("codex", settings).inspect(environ)
    assert (found.blocked_reason, found.login) == (obstacle, "unknown")
    assert found.hint


def test_a_sandbox_given_twice_is_refused_before_anything_starts(bin_dir: Path) -> None:
    environ = program(bin_dir, "codex")
    assert load_agent("codex", config_with()).probe(environ) == "2.1.0"
    for args in (("-s", "read-only"), ("--sandbox", "read-only"), ("-sread-only",)):
        with pytest.raises(AgentUnavailableError) as caught:
            load_agent("codex", config_with(codex__args=args)).probe(environ)
        assert caught.value.hint == (
            "remove it from codex.args, and set it: git config blackbird.codex.sandbox MODE"
        )


@pytest.mark.parametrize("agent", [load_agent("claude", config_with()), load_agent("codex", config_with())])
def test_a_program_that_is_not_there_has_an_obstacle_and_no_login(agent: Agent, bin_dir: Path) -> None:
    found = agent.inspect({"PATH": str(bin_dir)})
    assert (found.program, found.version, found.login) == (None, "", None)
    assert found.blocked_reason == f"cannot find the program '{agent.name}'"
    assert found.hint is not None
    assert found.powers
    with pytest.raises(AgentUnavailableError, match=f"cannot find the program '{agent.name}'"):
        agent.probe({"PATH": str(bin_dir)})


def test_a_program_that_fails_says_why(bin_dir: Path) -> None:
    environ = program(bin_dir, "claude")
    (bin_dir / "claude").write_text("#!/bin/sh\necho noise >&2\necho 'Error: no GLIBC' >&2\nexit 1\n")
    found = load_agent("claude", config_with()).inspect(environ)
    assert (found.blocked_reason, found.hint) == (
        "'claude --version' failed: Error: no GLIBC",
        CLAUDE_INSTALL,
    )
    (bin_dir / "claude").write_text("no program")
    assert "failed" in (load_agent("claude", config_with()).inspect(environ).blocked_reason or "")


def test_a_program_is_asked_with_nothing_of_ours(bin_dir: Path) -> None:
    script = bin_dir / "tell"
    script.write_text('#!/bin/sh\ncat; pwd; echo "$CLAUDECODE$CODEX_SANDBOX $CODEX_HOME"\n')
    script.chmod(0o755)
    outer = {"CLAUDECODE": "1", "CODEX_SANDBOX": "x", "CODEX_HOME": "/kept", "PATH": os.environ["PATH"]}
    assert run_query(str(script), environ=outer).stdout.splitlines() == ["/", " /kept"]


def test_a_program_that_does_not_end_is_ended_with_what_it_started(bin_dir: Path) -> None:
    script = bin_dir / "sleeper"
    script.write_text(f"#!/bin/sh\nsleep 600 &\necho $! > {bin_dir}/child\nwait\n")
    script.chmod(0o755)
    with pytest.raises(AgentUnavailableError, match=r"'sleeper --version' did not end in 1 seconds"):
        run_query(str(script), "--version", environ=dict(os.environ), seconds=1)
    child = int((bin_dir / "child").read_text())
    asyncio.run(until(lambda: not is_running(child)))


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/status")
    return not (status.exists() and "\nState:\tZ" in status.read_text())
