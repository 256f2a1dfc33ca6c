"""What the trials on a real code base share: the table, the program at one place, what git says."""

import base64
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = [sys.executable, "-m", "git_blackbird"]
LIMIT_SECONDS = 300.0
Record = dict[str, Any]


@dataclass
class Table:
    """Rows of what was looked at, what was seen, and whether that is right."""

    failed: int = 0
    rows: int = 0

    def title(self, text: str) -> None:
        print(f"\n{text}\n{'-' * len(text)}", flush=True)

    def row(self, what: str, seen: object, *, ok: bool) -> None:
        self.rows += 1
        self.failed += not ok
        print(f"{'ok' if ok else 'WRONG':6}{what:58} {str(seen)[:300]!r:.300}", flush=True)

    def same(self, what: str, seen: object, wanted: object) -> None:
        text = seen if seen == wanted else f"{seen!r} instead of {wanted!r}"
        self.row(what, text, ok=seen == wanted)


@dataclass
class Place:
    """A repository, and the program used in it as from a shell."""

    repo: Path
    environ: dict[str, str]
    table: Table
    seconds: dict[str, float] = field(default_factory=dict)
    limit_seconds: float = LIMIT_SECONDS

    def git(self, *args: str) -> str:
        done = subprocess.run(
            ["git", *args], cwd=self.repo, env=self.environ, capture_output=True, check=False
        )
        assert done.returncode == 0, (args, done.stderr.decode())
        return done.stdout.decode(errors="surrogateescape")

    def run(self, *args: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        began = time.monotonic()
        done = subprocess.run(
            [*PROGRAM, *args],
            cwd=self.repo,
            env=self.environ,
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            timeout=self.limit_seconds,
        )
        self.seconds[args[0]] = time.monotonic() - began
        return done

    def expect(self, code: int, *args: str, stdin: str = "") -> str:
        """Run a command, put its exit code into the table and give what it said."""
        done = self.run(*args, stdin=stdin)
        said = done.stdout + done.stderr
        shown = " ".join(args) + (f" < {stdin!r}" if stdin else "")
        self.table.row(
            f"git blackbird {shown}"[:58], _last_words(said, done.returncode), ok=done.returncode == code
        )
        if done.returncode != code:
            print(said)
        return said

    def start(self, *args: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*PROGRAM, *args],
            cwd=self.repo,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def records(self, task: str) -> list[Record]:
        """The records of a task, oldest first."""
        folder = self.repo / ".git" / "blackbird" / "runs" / task
        return [json.loads(path.read_bytes()) for path in sorted(folder.glob("*.json"))]

    def statuses(self) -> dict[str, str]:
        plan = json.loads((self.repo / "blackbird.plan.json").read_bytes())
        return {task: item["status"] for task, item in sorted(plan["items"].items())}

    def check_summary(self, record: Record) -> None:
        """Compare a record's summary with what git says of the run's two trees."""
        run = f"refs/blackbird/runs/{record['id']}"
        listed = git_changes(self, f"{run}:base", f"{run}:head")
        summary = record["review_summary"]
        said = {exact_path(change): change["status"] for change in summary.get("changes", ())}
        what = f"{record['taskId']} {record['id']}: summary = git diff"
        self.table.row(what, f"{len(said)} paths {counted(said)}", ok=said == listed)
        if said != listed:
            print("  only in the summary:", sorted(said.items() - listed.items())[:5])
            print("  only in git's:", sorted(listed.items() - said.items())[:5])
        added, deleted = git_totals(self, f"{run}:base", f"{run}:head")
        seen = tuple(summary.get("totals", {}).get(name, 0) for name in ("files", "additions", "deletions"))
        self.table.same(
            f"{record['taskId']} {record['id']}: totals = git's", seen, (len(listed), added, deleted)
        )
        listed_files = min(len(listed), 25)
        self.table.same(
            f"{record['taskId']} {record['id']}: files listed", len(summary.get("files", ())), listed_files
        )


def exact_path(change: Mapping[str, Any]) -> bytes:
    if change.get("path_b64"):
        return base64.b64decode(change["path_b64"])
    return os.fsencode(str(change["path"]))


def git_changes(place: Place, base: str, head: str) -> dict[bytes, str]:
    """Paths of a diff with their letter; a rename by its new name."""
    out = place.git("-c", "diff.renameLimit=10000", "diff", "-M", "--name-status", "-z", base, head)
    parts = iter(os.fsencode(out).split(b"\0")[:-1])
    found = {}
    for letter in parts:
        path = next(parts)
        if letter[:1] == b"R":
            path = next(parts)
        found[path] = letter[:1].decode()
    return found


def git_totals(place: Place, base: str, head: str) -> tuple[int, int]:
    out = place.git("diff", "-M", "--numstat", base, head)
    rows = [line.split("\t")[:2] for line in out.splitlines()]
    numbers = [(int(plus), int(minus)) for plus, minus in rows if plus != "-"]
    return sum(plus for plus, _ in numbers), sum(minus for _, minus in numbers)


def counted(said: Mapping[bytes, str]) -> str:
    letters = list(said.values())
    return " ".join(f"{letter}:{letters.count(letter)}" for letter in sorted(set(letters)))


def _last_words(said: str, code: int) -> str:
    lines = [line for line in said.splitlines() if line.strip() and not line.startswith("hint:")]
    return f"exit {code}; {lines[-1].strip()}" if lines else f"exit {code}"


def environment(home: Path) -> dict[str, str]:
    """A sealed environment: its own HOME, no configuration of the machine's."""
    home.mkdir(parents=True, exist_ok=True)
    (home / ".gitconfig").write_text("[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n")
    kept = {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": str(ROOT), "LANG": "C.UTF-8"}
    who = {f"GIT_{role}_{part}": "ada" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
    return {**kept, **who, "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0"}
