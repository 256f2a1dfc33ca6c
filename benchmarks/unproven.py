"""Whether ``prove`` finds what no test notices (``python -m benchmarks.unproven [PROJECT...]``).

Takes four public projects from their registries, each without twenty of its blocks, and has a task put these
back. Five of them no test notices, which was found out by running the tests without each (``--verify`` does
so again). Prints what was found, how often the check ran, and how many lines are read until all five were
seen, in our order and in that of paths. Exits 1 where a limit is not held.

``--keep FOLDER`` works there, and leaves what was fetched for the next time.
"""

import argparse
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from benchmarks.planted import PROJECTS, Block, Project
from benchmarks.trial_support import Place, Record, Table, environment

LEAST_FOUND = 0.9
_BY_NOTHING = {"unnoticed", "unrun", "unseen"}
_NOT_JUDGED = {"open", "inconclusive"}
_LIMIT_SECONDS = 3 * 3600


class Score(NamedTuple):
    """What was found of the blocks of a project: of those that nothing notices, and of the others."""

    planted: int
    found: int
    falsely: int
    verdicts: Mapping[str, int]
    runs: int
    most_runs: int
    seconds: float
    read: int
    read_by_paths: int

    @property
    def holds(self) -> bool:
        is_found = self.found >= LEAST_FOUND * self.planted and not self.falsely
        return is_found and not _NOT_JUDGED & self.verdicts.keys() and self.runs <= self.most_runs

    def row(self, name: str) -> str:
        verdicts = ", ".join(f"{count} {verdict}" for verdict, count in self.verdicts.items())
        return (
            f"{'ok' if self.holds else 'OVER':6}{name:8} found {self.found} of {self.planted}, "
            f"{self.falsely} falsely; {verdicts}; {self.runs} runs of at most {self.most_runs}, "
            f"{self.seconds:.0f} s; all seen after {self.read} lines, by paths {self.read_by_paths}"
        )


@dataclass(frozen=True)
class Planted:
    """A project in its repository, without its blocks, and the files that a task makes of them."""

    project: Project
    place: Place
    files: Path
    command: str

    @classmethod
    def prepare(cls, project: Project, folder: Path) -> "Planted":
        folder.mkdir(parents=True, exist_ok=True)
        tools, is_whole = folder / "tools", folder / "tools" / "is-whole"
        if not is_whole.exists():
            shutil.rmtree(tools, ignore_errors=True)
            project.install(tools)
            is_whole.touch()
        if not (files := folder / "files").exists():
            project.fetch(folder / "fetched", files)
        place = Place(folder / "repo", environment(folder / "home"), Table(), limit_seconds=_LIMIT_SECONDS)
        place.environ.update(project.environ)
        shutil.rmtree(place.repo, ignore_errors=True)
        shutil.copytree(files, place.repo)
        for path, text in project.without(files, project.blocks).items():
            (place.repo / path).write_text(text)
        place.git("init", "-q", "-b", "main")
        (place.repo / ".git" / "info" / "exclude").write_text(".blackbird\nblackbird.plan.json\n")
        place.git("add", "-A")
        place.git("commit", "-q", "-m", "Start")
        return cls(
            project, place, files, project.command.format(tools=tools, benchmarks=Path(__file__).parent)
        )

    def prove(self, *, by_test: bool) -> Score:
        project, place = self.project, self.place
        agent = f"cp -r {shlex.quote(str(self.files))}/. ."
        settings = {
            "agent": "command",
            "command.run": agent,
            "check.command": self.command,
            "check.results": project.results,
            "check.coverage": project.coverage if by_test else "",
            "check.timeoutSeconds": "3600",
            "execution.stopAfterEachTask": "true",
        }
        for key, value in settings.items():
            if value:
                place.git("config", f"blackbird.{key}", value)
        _run(place, 0, "init", "--no-hooks")
        _run(place, 0, "add", "--id", "a", "--title", "Put it back")
        _run(place, 3, "execute", "--no-input")
        began = time.monotonic()
        _run(place, 0, "prove", "a")
        seconds = time.monotonic() - began
        (record,) = place.records("a")
        part = _run(place, 0, "runs", "a", "--diff", "--unproven")
        return self._score(record, seconds, part, is_packed=by_test)

    def _score(self, record: Record, seconds: float, part: str, *, is_packed: bool) -> Score:
        project, proof = self.project, record["blackbird"]["evidence"]["proof"]
        found: dict[Block, set[str]] = {}
        for each in proof["parts"]:
            for hunk in each["hunks"]:
                lines = range(hunk["new"] + 1, hunk["new"] + hunk["new_count"] + 1)
                for block in project.blocks:
                    if block.path == hunk["path"] and set(lines) & set(block.lines):
                        found.setdefault(block, set()).add(each["verdict"])
        for block in project.blocks:
            is_found = bool(found.get(block, set()) & _BY_NOTHING)
            if is_found is block.is_noticed:
                print(f"      {project.name}: {block} is {', '.join(sorted(found.get(block, {'no hunk'})))}")
        count, unnoticed = sum(proof["counts"].values()), proof["counts"].get("unnoticed", 0)
        refs = (f"refs/blackbird/runs/{record['id']}:{name}" for name in ("base", "head"))
        return Score(
            planted=sum(not block.is_noticed for block in project.blocks),
            found=sum(bool(found.get(block, set()) & _BY_NOTHING) for block in project.untested),
            falsely=sum(bool(found.get(block, set()) & _BY_NOTHING) for block in project.tested),
            verdicts=proof["counts"],
            runs=proof["runs"],
            most_runs=count // 2 if is_packed else count + unnoticed + 1,
            seconds=seconds,
            read=self._lines_until_seen(part),
            read_by_paths=self._lines_until_seen(self.place.git("diff", *refs)),
        )

    def _lines_until_seen(self, patch: str) -> int:
        """Return how many lines of a patch are read until all blocks that nothing notices were seen."""
        left = {(block.path, self._first_line(block)) for block in self.project.untested}
        path = ""
        for count, line in enumerate(patch.splitlines(), 1):
            if line.startswith("+++ b/"):
                path = line.removeprefix("+++ b/")
            elif line.startswith("+"):
                left.discard((path, line[1:]))
            if not left:
                return count
        return -1

    def _first_line(self, block: Block) -> str:
        return (self.files / block.path).read_text().splitlines()[block.first - 1]

    def verify(self) -> bool:
        """Run the tests with all blocks, and without each: name those that are not as they are said to be."""
        is_right, folder = True, self.place.repo
        for left_out in ([], *([block] for block in self.project.blocks)):
            shutil.copytree(self.files, folder, dirs_exist_ok=True)
            for path, text in self.project.without(self.files, left_out).items():
                (folder / path).write_text(text)
            done = subprocess.run(
                ["sh", "-c", self.command],
                cwd=folder,
                env=self.place.environ,
                capture_output=True,
                check=False,
            )
            is_as_said = bool(done.returncode) is any(block.is_noticed for block in left_out)
            is_right = is_right and is_as_said
            named = ", ".join(map(str, left_out)) or "all blocks"
            print(f"{'ok' if is_as_said else 'WRONG':6}{self.project.name:8} {named}: exit {done.returncode}")
        return is_right


def _run(place: Place, code: int, *args: str) -> str:
    done = place.run(*args)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.unproven", description=__doc__)
    parser.add_argument("projects", metavar="PROJECT", nargs="*", help=f"one of {', '.join(PROJECTS)}")
    parser.add_argument("--verify", action="store_true", help="run the tests without each block instead")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="work here, and leave it")
    chosen = parser.parse_args()
    if unknown := [name for name in chosen.projects if name not in PROJECTS]:
        parser.error(f"no such project: {', '.join(unknown)}")
    work = chosen.keep.absolute() if chosen.keep else Path(tempfile.mkdtemp(prefix="unproven-"))
    try:
        results = [_measured(PROJECTS[name], work, chosen) for name in chosen.projects or PROJECTS]
    finally:
        if not chosen.keep:
            shutil.rmtree(work, ignore_errors=True)
    return int(not all(results))


def _measured(project: Project, work: Path, chosen: argparse.Namespace) -> bool:
    if chosen.verify:
        return Planted.prepare(project, work / project.name).verify()
    holds = True
    for by_test in (False, True) if project.coverage else (False,):
        score = Planted.prepare(project, work / project.name).prove(by_test=by_test)
        print(score.row(f"{project.name}{', by test' if by_test else ''}"), flush=True)
        holds = holds and score.holds
    return holds


if __name__ == "__main__":
    sys.exit(main())
