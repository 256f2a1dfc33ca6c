"""``agent``: programs in every state they are found in, which one is chosen, and the real ones."""

import json
import shutil
from pathlib import Path

import pytest

from git_blackbird.agents.demo import demo_program
from tests.cli.golden_harness import Program, program
from tests.standin import install
from tests.standin.real import model_of, path_of, real
from tests.support import git, write

__all__ = ["program"]

CLAUDE = """#!/bin/sh
case "$*" in
--version) echo "2.1.329 (Claude Code)" ;;
*--help) echo "  -p, --print  -r, --resume [value]  --session-id <uuid>  --output-format <format>  --verbose
  --permission-mode <mode>  --model <model>  --json-schema <schema>  --tools <tools...>  --strict-mcp-config
  --setting-sources <sources>  --no-session-persistence
Commands:
  auth  Manage authentication" ;;
"auth status"*) echo '{"loggedIn": true, "authMethod": "claude.ai", "apiProvider": "firstParty"}' ;;
*) echo "asked to $*" >&2; exit 3 ;;
esac
"""
CLAUDE_LOGGED_OUT = CLAUDE.replace(
    '"loggedIn": true, "authMethod": "claude.ai"', '"loggedIn": false'
).replace("}' ;;", "}'; exit 1 ;;")
OLD_CLAUDE = CLAUDE.replace("2.1.329", "1.0.20").replace("--session-id <uuid>", "")
BROKEN_CLAUDE = "#!/bin/sh\necho 'cannot find module \x1b[31mcore\x1b[0m' >&2\nexit 1\n"
HOSTILE_CLAUDE = CLAUDE.replace("2.1.329", "2.1\x1b]0;owned\x07\x1b[31m.9").replace(
    "claude.ai", "\\u001b[2Jclaude\\u202e.ai"
)
CODEX = """#!/bin/sh
case "$*" in
--version) echo "codex-cli 0.169.0" ;;
"exec --help") echo "Commands:
  resume  Resume a previous session
Options:
  -c, --config <key=value>
  -m, --model <MODEL>
  -s, --sandbox <SANDBOX_MODE>
      --json  --ephemeral  --output-schema <FILE>" ;;
"login status") echo "Logged in using ChatGPT" >&2 ;;
*) echo "asked to $*" >&2; exit 3 ;;
esac
"""
GEMINI = """#!/bin/sh
case "$*" in
--version) echo "0.61.0" ;;
--help) echo "  -m, --model  --output-format  --approval-mode  --skip-trust  --session-id  -r, --resume
  --admin-policy  --include-directories" ;;
*) echo "asked to $*" >&2; exit 3 ;;
esac
"""
OPENCODE = """#!/bin/sh
case "$*" in
--version) echo "1.18.33" ;;
"run --help") echo "  --format  -s, --session  --title  --dir  --auto
  --agent  --print-logs  -m, --model" >&2 ;;
"auth list") printf '|  1 credentials\\n|  2 environment variables\\n' ;;
*) echo "asked to $*" >&2; exit 3 ;;
esac
"""
OLD_OPENCODE = OPENCODE.replace("--auto", "").replace("1.18.33", "0.3.0")
CODEX_LOGGED_OUT = CODEX.replace("Logged in using ChatGPT", "Not logged in").replace(
    ">&2 ;;\n*", ">&2; exit 1 ;;\n*"
)
OLD_CODEX = CODEX.replace("0.169.0", "0.9.0").replace("  resume  Resume a previous session\n", "")


@pytest.fixture
def folder(program: Program, repo: Path) -> Path:
    """The only folder on PATH: git, and the programs that a test puts there."""
    folder = repo.parent / "bin"
    folder.mkdir()
    (folder / "git").symlink_to(shutil.which("git") or "git")
    program.environ["PATH"] = str(folder)
    # Who runs the tests, and where, is not what they are about.
    as_root = "; as root, IS_SANDBOX=1 tells it that this is a sandbox"
    program.hidden = {**program.hidden, str(Path(demo_program.__file__).parent): "$PACKAGE", as_root: ""}
    return folder


def write_programs(folder: Path, **programs: str) -> None:
    for name, script in programs.items():
        write(folder, {name: script})
        (folder / name).chmod(0o755)


def test_nothing_is_installed(program: Program, folder: Path) -> None:
    program.run("agent")
    for name in ("claude", "codex", "command", "demo", "cluade", "gpt"):
        program.run("agent", name)
    program.run("agent", "codex", "--json")
    program.run("agent", "gpt", "--json")
    program.check("agents_missing")


def test_all_are_installed(program: Program, folder: Path, repo: Path) -> None:
    write_programs(folder, claude=CLAUDE, codex=CODEX, gemini=GEMINI, opencode=OPENCODE)
    git(repo, "config", "blackbird.command.run", "./my-agent.sh --fast")
    program.run("agent")
    for name in ("claude", "codex", "command", "demo", "gemini", "opencode"):
        program.run("agent", name)
    program.run("agent", "--json")
    program.remark("changes are reviewed")
    for key, value in {"mode": "parallel", "spec.agent": "codex", "spec.model": "gpt-5"}.items():
        git(repo, "config", f"blackbird.reviews.{key}", value)
    git(repo, "config", "blackbird.agent", "demo")
    program.run("agent")
    program.run("agent", "codex")
    program.run("agent", "demo")
    program.run("agent", "--json")
    program.check("agents_installed")


def test_what_is_in_the_way(program: Program, folder: Path) -> None:
    for says, scripts in {
        "nobody is logged in": {"claude": CLAUDE_LOGGED_OUT, "codex": CODEX_LOGGED_OUT},
        "both are too old": {"claude": OLD_CLAUDE, "codex": OLD_CODEX},
        "claude is broken": {"claude": BROKEN_CLAUDE},
        "claude writes to the terminal": {"claude": HOSTILE_CLAUDE},
    }.items():
        program.remark(says)
        write_programs(folder, **scripts)
        program.run("agent")
        for name in scripts:
            program.run("agent", name)
    program.remark("opencode is too old")
    write_programs(folder, opencode=OLD_OPENCODE)
    program.run("agent", "opencode")
    program.remark("codex is given its sandbox twice")
    write_programs(folder, codex=CODEX)
    program.run("config", "codex.args", "-s read-only")
    program.run("agent", "codex")
    program.check("agents_in_the_way")


def test_why_one_is_chosen(program: Program, folder: Path, repo: Path) -> None:
    write_programs(folder, claude=CLAUDE, codex=CODEX)
    write(repo, {".blackbird/agent.json": '{"schemaVersion": 1, "selectedAgent": "codex"}'})
    program.run("agent")
    program.run("config", "agent", "demo", "--global")
    program.run("agent", "codex")
    program.run("config", "agent", "claude", "--project")
    program.run("agent", "demo")
    git(repo, "config", "blackbird.agent", "codex")
    program.run("agent")
    program.run("agent", BLACKBIRD_AGENT_PROVIDER="claude")
    program.run("agent", BLACKBIRD_AGENT_PROVIDER="claude", BLACKBIRD_AGENT_CMD="true")
    git(repo, "config", "blackbird.agent", "gpt")
    program.run("agent")
    program.remark("an agent may look")
    program.run("agent", "demo", BLACKBIRD_RUN_ID="x")
    program.check("agents_chosen")


def test_a_repository_is_needed_and_no_plan(program: Program, folder: Path, repo: Path) -> None:
    (repo / "blackbird.plan.json").write_text("no plan")
    assert program.run("agent", "demo") == 0
    program.cwd = repo.parent
    assert program.run("agent") == 128


@pytest.mark.sampled(1)
@pytest.mark.parametrize("real_program", real(*install.PROGRAMS))
def test_a_real_program_is_asked_and_no_model(
    program: Program, tmp_path: Path, real_program: install.Program
) -> None:
    name = real_program.agent
    with model_of(real_program) as model:
        program.environ |= model.environ(tmp_path / "config")
        program.run("config", f"{name}.path", path_of(real_program))
        assert program.run("agent", name, "--json") == 0
        said = json.loads(program.transcript[-3])["data"]
    assert (said["version"], said["program"]) == (real_program.version, path_of(real_program))
    assert (said["canStart"], said["blockedReason"]) == (True, None)
    assert said["login"]
    assert model.requests == []
