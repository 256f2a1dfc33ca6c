"""What the rows share: a real installation, a sealed environment, repositories of any size."""

import os
import shutil
import subprocess
import sys
import venv
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from benchmarks.measuring import Ruler

ROOT = Path(__file__).resolve().parent.parent
_CONFIGURATION = "[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n[init]\n\tdefaultBranch = main\n"
_FILES_IN_FOLDER = 12
_FOLDERS_IN_FOLDER = 6
_LINE = "what this line says does not matter, but it is as long as lines are\n"
_LINES = 36


@dataclass(frozen=True)
class Bench:
    """Where the rows work: ``place`` is a folder of their own."""

    place: Path
    ruler: Ruler
    quick: bool
    huge: bool

    @cached_property
    def environ(self) -> dict[str, str]:
        """A sealed environment: its own HOME, nothing of the machine's configuration."""
        home = self.place / "home"
        home.mkdir(parents=True, exist_ok=True)
        (home / ".gitconfig").write_text(_CONFIGURATION)
        who = {f"GIT_{role}_{what}": "ada" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        path = f"{self.binaries}{os.pathsep}{os.environ['PATH']}"
        return {"PATH": path, "HOME": str(home), "LANG": "C.UTF-8", "GIT_CONFIG_NOSYSTEM": "1", **who}

    @property
    def binaries(self) -> Path:
        """The programs of the installation."""
        return self.place / "venv" / "bin"

    @property
    def python(self) -> str:
        """The interpreter of the installation."""
        return str(self.binaries / "python")

    @cached_property
    def program(self) -> str:
        """The program, installed as users have it: an editable install makes every start slower.

        Beside it lies ``pydantic``, which a reference imports.
        """
        folder = self.place / "venv"
        if not (folder / "bin" / "python").exists():
            venv.create(folder, with_pip=True)
            self.pip("install", f"{ROOT}[cluster]", "pydantic")
        else:
            self.pip("install", "--no-deps", "--force-reinstall", str(ROOT))
        return str(self.binaries / "git-blackbird")

    def pip(self, *args: str) -> None:
        command = [self.python, "-m", "pip", "-q", "--disable-pip-version-check", *args]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)

    def run(self, *argv: str, cwd: Path, stdin: str = "", code: int = 0) -> str:
        """Run a program that must end as it should; gives what it printed."""
        done = subprocess.run(
            argv, cwd=cwd, env=self.environ, input=stdin, capture_output=True, text=True, check=False
        )
        assert done.returncode == code, (argv, done.stdout, done.stderr)
        return done.stdout

    def git(self, repo: Path, *args: str) -> str:
        """Run git."""
        return self.run("git", *args, cwd=repo)

    def make_repository(self, name: str, files: int) -> Path:
        """Make a repository of so many committed text files of 2.5 KB, twelve in a folder."""
        repo = self.place / name
        shutil.rmtree(repo, ignore_errors=True)
        repo.mkdir(parents=True)
        self.git(repo, "init", "-q")
        for number in range(files):
            path = repo / file_name(number)
            if number % _FILES_IN_FOLDER == 0:
                path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"file {number}\n" + _LINE * _LINES)
        self.git(repo, "add", "-A")
        self.git(repo, "commit", "-q", "--allow-empty", "-m", "start")
        return repo

    def tidy(self) -> None:
        """Remove what the rows have made; the installation stays."""
        for path in self.place.iterdir():
            if path.is_file():
                path.unlink()
            elif path.name != "venv":
                shutil.rmtree(path, ignore_errors=True)


def file_name(number: int) -> str:
    """Return the path of one file: folders lie in folders, six in each."""
    steps: list[str] = []
    folder = number // _FILES_IN_FOLDER
    while folder:
        folder, step = divmod(folder - 1, _FOLDERS_IN_FOLDER)
        steps.append(f"d{step}")
    return "/".join([*reversed(steps), f"file-{number}.txt"])


def say(text: str) -> None:
    """Say what goes on, beside the table."""
    print(f"  ... {text}", file=sys.stderr, flush=True)
