"""A new agent is a folder, its name, entry and keys: one is put into a copy of the program, and used."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pexpect
import pytest

import git_blackbird
from tests.support import NOT_INSTALLED, commit, set_config, write

NAMES = '["claude", "codex", "command", "demo", "gemini", "opencode"]'
PARROT = {
    "__init__.py": "",
    "agent.py": """
import shutil

from git_blackbird.agents.command.agent import CommandParser
from git_blackbird.agents.protocol import Capabilities, Launch, ProbeResult
from git_blackbird.errors import AgentUnavailableError
from git_blackbird.model.run.agent_io import Rights
from git_blackbird.model.base.next_steps import ShellLine

CALMER = ShellLine("git config blackbird.parrot.voice low")

class ParrotAgent:
    name = "parrot"
    abilities = Capabilities(resume=True, read_only=True, chooses_session=True)
    leftover_dirs = ()

    def __init__(self, settings):
        self._settings = settings

    @property
    def model(self):
        return self._settings.model

    @property
    def summary(self):
        return f"parrot, {self._settings.voice}"

    @property
    def rights(self):
        loud = Rights("shout", (self._settings.path,), CALMER)
        return loud if self._settings.voice == "loud" else None

    def probe(self, environ):
        if shutil.which(self._settings.path, path=environ.get("PATH")) is None:
            raise AgentUnavailableError("cannot find the parrot", hint="buy one")
        return "7"

    def inspect(self, environ):
        return ProbeResult(self._settings.path, self.probe(environ), powers="shout")

    def accepts_session(self, session):
        return bool(session)

    def launch(self, request):
        verb = "review" if request.read_only else "work"
        argv = (self._settings.path, verb, self._settings.voice, self._settings.model or "-")
        return Launch(argv, request.prompt.encode())

    def parser(self, request):
        return CommandParser(request, "parrot")
""",
}
KEYS = """
class ParrotConfig(NamedTuple):
    path: Annotated[str, Row("the Parrot program", own="machine")] = "parrot"
    voice: Annotated[Literal["loud", "low"], Row("how Parrot speaks", own="user")] = "loud"
    model: Annotated[str | None, Row("the model for Parrot", is_model=True)] = None
    song: Annotated[str | None, Row("its song", environment="PARROT", chooses="parrot")] = None


class Config(NamedTuple):
"""
DECLARED = '    "demo": Declaration("DemoAgent"),\n'
DECLARATION = '    "parrot": Declaration("ParrotAgent", session_variables=("PARROT_CAGE*",)),\n'
SECTION = "    opencode: PermittedConfig = "
APPROVAL = (
    "<spec-review><verdict>APPROVED</verdict><confidence>high</confidence><issues></issues>"
    "<summary>Squawk.</summary></spec-review>"
)
PROGRAM = f"""#!/bin/sh
cat >/dev/null
[ "$1" = work ] && echo "$2 $3 ${{PARROT_CAGE_KEY-free}}" >said.txt && exit
echo "$3" >>"$HOME/reviewed"
echo '{APPROVAL}'
"""


@dataclass(frozen=True)
class Copy:
    """The program with the new agent, used in a repository."""

    folder: Path
    repo: Path
    path: str

    def environ(self) -> dict[str, str]:
        return {**os.environ, "PYTHONPATH": str(self.folder), "PATH": self.path, "TERM": "xterm"}

    def python(self, *args: str, **more: str) -> tuple[int, str]:
        done = subprocess.run(
            (sys.executable, "-P", *args),
            cwd=self.repo,
            env=self.environ() | more,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout

    def run(self, *args: str, **more: str) -> tuple[int, str]:
        return self.python("-m", "git_blackbird", *args, **more)

    def says(self, *args: str, **more: str) -> str:
        code, said = self.run(*args, **more)
        assert code == 0, said
        return said

    def knows(self, expression: str) -> str:
        """Evaluate an expression with an open workspace."""
        opened = (
            "from git_blackbird.controller.core.environment import system_environment\n"
            "from git_blackbird.controller.core.workspace import open_workspace\n"
            "from git_blackbird.cluster.transfer import _portable_settings\n"
            "from git_blackbird.tui.plan_commands import _terms\n"
            "workspace = open_workspace(system_environment())\n"
        )
        code, said = self.python("-c", f"{opened}print({expression})")
        assert code == 0, said
        return said.strip()


def put_in(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert text.count(old) == 1
    file.write_text(text.replace(old, new))


@pytest.fixture
def copy(repo: Path, tmp_path: Path) -> Copy:
    folder = tmp_path / "program"
    package = folder / "git_blackbird"
    original = Path(git_blackbird.__file__).parent
    shutil.copytree(original, package, ignore=shutil.ignore_patterns("__pycache__"))
    write(package / "agents/parrot", PARROT)
    put_in(package / "agents/registry.py", DECLARED, DECLARED + DECLARATION)
    config = package / "model/config"
    put_in(config / "layers.py", NAMES, f'{NAMES[:-1]}, "parrot"]')
    put_in(config / "config.py", "class Config(NamedTuple):\n", KEYS)
    put_in(config / "config.py", SECTION, f"    parrot: ParrotConfig = ParrotConfig()\n{SECTION}")
    binaries = tmp_path / "bin"
    write(binaries, {"parrot": PROGRAM})
    (binaries / "parrot").chmod(0o755)
    commit(repo, {"a.txt": "one\n"})
    made = Copy(folder, repo, f"{binaries}:{os.environ['PATH']}")
    made.says("init")
    set_config(repo, {"execution.stopAfterEachTask": "false"})
    made.says("add", "--title", "Greet", "--prompt", "Say it.", "--id", "greet")
    return made


@pytest.mark.exhaustive
def test_it_is_chosen_configured_and_shown(copy: Copy) -> None:
    assert "[claude|codex|command|demo|gemini|opencode|parrot]" in copy.says("execute", "--help")
    copy.says("config", "agent", "parrot")
    copy.says("config", "parrot.model", "grey")
    assert copy.run("config", "parrot.voice", "odd") == (
        2,
        "error: parrot.voice: unknown value 'odd'\nhint: use one of: loud, low\n",
    )
    code, said = copy.run("config", "--project", "parrot.voice", "low")
    assert (code, said.splitlines()[0]) == (
        1,
        "error: parrot.voice cannot be set in a repository's own file",
    )
    shown = json.loads(copy.says("agent", "parrot", "--json"))["data"]
    assert (shown["chosen"], shown["version"], shown["canStart"]) == (True, "7", True)
    assert [(each["key"], each["value"]) for each in shown["settings"]] == [
        ("parrot.path", "parrot"),
        ("parrot.voice", "loud"),
        ("parrot.model", "grey"),
        ("parrot.song", None),
    ]
    assert copy.knows("dict(_terms(workspace, workspace.config, []))['Agent']") == "parrot, loud"


@pytest.mark.exhaustive
def test_a_variable_of_its_own_chooses_it(copy: Copy) -> None:
    chosen = json.loads(copy.says("agent", "--json", PARROT="1", BLACKBIRD_AGENT_PROVIDER="demo"))["data"]
    assert (chosen["chosen"], chosen["origin"]) == ("parrot", "PARROT")


@pytest.mark.exhaustive
def test_it_works_on_a_task_without_the_variables_of_an_outer_session(copy: Copy) -> None:
    set_config(copy.repo, {"agent": "parrot", "parrot.model": "grey"})
    said = copy.says("execute", "--no-input", PARROT_CAGE_KEY="brass")
    assert "parrot may shout." in said
    assert (copy.repo / "said.txt").read_text() == "loud grey free\n"
    (record,) = json.loads(copy.says("runs", "greet", "--json"))["data"]["runs"]
    assert (record["provider"], record["status"]) == ("parrot", "success")


@pytest.mark.exhaustive
def test_who_does_not_agree_is_told_how_it_is_calmer(copy: Copy) -> None:
    set_config(copy.repo, {"agent": "parrot"})
    arguments = ["-P", "-m", "git_blackbird", "execute"]
    terminal = pexpect.spawn(
        sys.executable, arguments, cwd=str(copy.repo), env=copy.environ(), encoding="utf-8", timeout=60
    )
    terminal.expect("parrot may shout")
    terminal.expect(r"\?")
    terminal.send("n\r")
    terminal.expect("next step: git config blackbird.parrot.voice low")
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert not (copy.repo / "said.txt").exists()


@pytest.mark.exhaustive
def test_its_program_is_not_named_to_other_machines(copy: Copy) -> None:
    set_config(copy.repo, {"agent": "parrot", "parrot.path": "/opt/parrot", "parrot.model": "grey"})
    assert copy.knows("list(_portable_settings(workspace))[:2]") == (
        "[('agent', 'parrot'), ('parrot.model', 'grey')]"
    )


@pytest.mark.exhaustive
def test_it_reviews_a_change_with_the_model_of_a_reviewer(copy: Copy, sealed: Path) -> None:
    set_config(
        copy.repo,
        {
            "agent": "demo",
            "reviews.mode": "parallel",
            "reviews.spec.agent": "parrot",
            "reviews.spec.model": "red",
        },
    )
    copy.says("edit", "greet", "--prompt", "write b.txt two")
    code, said = copy.run("execute", "--no-input")
    assert code == 0, said
    assert (sealed / "reviewed").read_text() == "red\n"
    assert "spec reviews are made by parrot (red)" in copy.says("agent")


@pytest.mark.exhaustive
def test_it_is_refused_where_a_reviewer_must_keep_to_a_schema(copy: Copy) -> None:
    set_config(copy.repo, {**NOT_INSTALLED, "agent": "parrot"})
    copy.says("add", "--title", "Part", "--prompt", "Say it.", "--id", "part", "--parent", "greet")
    code, said = copy.run("execute", "--no-input")
    assert (code, said.splitlines()) == (
        8,
        [
            "parrot cannot enforce the schema of a parent review",
            "next step, one of:",
            "  git config blackbird.execution.parentReviewEnabled false    # no parent is reviewed",
            "  git blackbird agent    # says which agents there are, and how to take another",
        ],
    )
