"""Kill an execute at random instants: nothing is lost (``python benchmarks/random_kills.py [KILLS]``).

Each round makes a repository with a plan of three tasks and checkpoints, starts ``execute``, kills it with
SIGKILL after a random time, and then looks and goes on as a user would. Prints what was met, and fails on
the first thing that is wrong.
"""

import json
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

PROGRAM = [sys.executable, "-m", "git_blackbird"]
ROOT = Path(__file__).resolve().parent.parent
AGENT = "cat >/dev/null; echo began >>agent.log; sleep {}; echo $BLACKBIRD_TASK_ID >>done.log"
SETTINGS = {
    "agent": "command",
    "execution.stopAfterEachTask": "true",
    "execution.stopGraceSeconds": "0",
}
REPLIES = b"3\nmake it louder\n\n1\n1\n1\n1\n1\n"
LONGEST_SECONDS = 3.0


def environment(home: Path) -> dict[str, str]:
    kept = {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": str(ROOT), "LANG": "C.UTF-8"}
    who = {f"GIT_{role}_{part}": "ada" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
    return {**kept, **who, "GIT_CONFIG_NOSYSTEM": "1"}


class Round:
    def __init__(self, place: Path, met: Counter[str]) -> None:
        self.repo = place / "repo"
        self.repo.mkdir(parents=True)
        self.environ = environment(place)
        self.met = met

    def run(self, *args: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [*PROGRAM, *args], cwd=self.repo, env=self.environ, input=stdin, capture_output=True, check=False
        )

    def git(self, *args: str) -> None:
        subprocess.run(["git", *args], cwd=self.repo, env=self.environ, check=True, capture_output=True)

    def prepare(self) -> None:
        self.git("init", "-q", "-b", "main")
        self.git("commit", "-q", "--allow-empty", "-m", "start")
        self.run("init")
        for name, deps in (("a", ()), ("b", ("--dep", "a")), ("c", ())):
            self.run("add", "--id", name, "--title", name, *deps)
        for key, value in SETTINGS.items():
            self.git("config", f"blackbird.{key}", value)
        self.let_agents_take(random.choice((0.01, 0.3, 6.0)))

    def let_agents_take(self, seconds: float) -> None:
        self.git("config", "blackbird.command.run", AGENT.format(seconds))

    def cut(self) -> None:
        process = subprocess.Popen(
            [*PROGRAM, "execute"],
            cwd=self.repo,
            env=self.environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        assert process.stdin is not None
        process.stdin.write(REPLIES)
        process.stdin.flush()
        time.sleep(random.uniform(0.05, LONGEST_SECONDS))
        process.kill()
        process.wait()
        process.stdin.close()

    def records(self) -> list[dict[str, object]]:
        return [
            json.loads(path.read_bytes()) for path in sorted(self.repo.glob(".git/blackbird/runs/*/*.json"))
        ]

    def decisions(self) -> set[tuple[object, ...]]:
        return {
            (record["id"], record["decision_state"], record.get("decision_feedback"))
            for record in self.records()
            if record.get("decision_state") not in {None, "pending"}
        }

    def agents(self) -> set[int]:
        found = set()
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    if os.fsencode(self.repo) in (entry / "environ").read_bytes():
                        found.add(int(entry.name))
                except OSError:
                    continue
        return found

    def look(self) -> None:
        """Plan and records parse; a live agent without its program is named by the next command."""
        json.loads((self.repo / "blackbird.plan.json").read_bytes())
        self.records()
        alive = self.alive_agents()
        said = self.run("status")
        assert said.returncode == 0, said.stderr
        self.met["agent alive at the kill" if alive else "no agent alive at the kill"] += 1

    def alive_agents(self) -> list[int]:
        running = [record for record in self.records() if record["status"] == "running"]
        self.met["a record said running"] += bool(running)
        return [int(str(record["pid"])) for record in running if Path(f"/proc/{record['pid']}").exists()]

    def finish(self) -> None:
        self.let_agents_take(0.01)
        kept = self.decisions()
        owed = [feedback for _, state, feedback in kept if state == "changes_requested"]
        alive = self.alive_agents()
        for turn in range(8):
            done = self.run("execute", stdin=b"1\n1\n1\n1\n")
            if turn == 0 and alive:
                named = any(str(pid).encode() in done.stderr + done.stdout for pid in alive)
                self.met["orphan named by the next command" if named else "orphan had ended by itself"] += 1
            state = json.loads(self.run("status", "--json").stdout)["data"]
            if state["counts"].get("done") == 3:
                break
            for due in state["due"]:
                if due["kind"] not in {"ready", "decision"}:
                    self.run(*shlex.split(due["command"])[2:], stdin=b"1\n1\n")
        else:
            raise AssertionError(done.stdout + done.stderr)
        assert kept <= self.decisions(), "a decision was lost"
        told = json.dumps([record.get("context") for record in self.records()])
        assert all(str(text) in told for text in owed), "an owed text was lost"
        self.check_statuses()

    def check_statuses(self) -> None:
        items = json.loads((self.repo / "blackbird.plan.json").read_bytes())["items"]
        assert {item["status"] for item in items.values()} == {"done"}
        left = [record for record in self.records() if record["status"] == "running"]
        assert not left, left
        for path in self.repo.glob(".git/blackbird/tmp/*.tmp"):
            raise AssertionError(f"left behind: {path}")


def main() -> None:
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    met: Counter[str] = Counter()
    began = time.monotonic()
    for _ in range(kills):
        place = Path(tempfile.mkdtemp(prefix="kills-"))
        one = Round(place, met)
        one.prepare()
        one.cut()
        one.look()
        one.finish()
        met["rounds finished"] += 1
        shutil.rmtree(place)
    for what, count in sorted(met.items()):
        print(f"{count:5}  {what}")
    print(f"{kills} kills in {time.monotonic() - began:.0f} s; nothing was lost")


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    main()
