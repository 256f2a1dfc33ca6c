"""Five tasks under a parent, done by the ``command`` agent in a tree with someone's unfinished edits."""

import hashlib
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks.trial_support import Place, Record, exact_path

AGENT = Path(__file__).with_name("trial_agent.py")
REQUEST = "Add trial-notes.txt.\n  It says who was here."


@dataclass(frozen=True)
class Unfinished:
    """What the user had begun: everything of it must be as before, bit for bit."""

    index: str
    listed: str
    stash: str
    staged: str
    files: dict[str, str]


def begin_edits(place: Place) -> None:
    """Leave staged, unstaged and untracked edits, and a stash, as a user in the middle of something."""
    repo = place.repo
    (repo / "AUTHORS").write_text("stashed\n")
    place.git("stash", "push", "-q", "-m", "mine")
    (repo / "AUTHORS").write_text("staged\n")
    (repo / "staged-new.txt").write_text("staged\n")
    place.git("add", "AUTHORS", "staged-new.txt")
    (repo / "AUTHORS").write_text("staged\nand then changed\n")
    (repo / "tox.ini").write_text("unstaged\n")
    (repo / "package.json").unlink()
    place.git("mv", "Gruntfile.js", "Gruntfile.mjs")
    place.git("rm", "-q", "--cached", "LICENSE.python")
    (repo / "untracked.txt").write_text("untracked\n")
    (repo / "intended.txt").write_text("intended\n")
    place.git("add", "-N", "intended.txt")


NAMES = (
    "AUTHORS",
    "staged-new.txt",
    "tox.ini",
    "package.json",
    "Gruntfile.mjs",
    "Gruntfile.js",
    "LICENSE.python",
    "untracked.txt",
    "intended.txt",
)


def look(place: Place) -> Unfinished:
    def digest(name: str) -> str:
        path = place.repo / name
        return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else "none"

    return Unfinished(
        index=digest(".git/index"),
        listed=place.git("ls-files", "--stage", "-z", "--", *NAMES),
        stash=place.git("stash", "list", "--format=%H %gs"),
        staged=place.git("diff", "--cached", "--raw", "--", *NAMES),
        files={name: digest(name) for name in NAMES},
    )


def run_trial(place: Place) -> None:
    place.table.title("Five tasks with the command agent")
    begin_edits(place)
    place.expect(0, "init")
    place.run("add", "--id", "port", "--title", "Port it")
    children = ("--parent", "port")
    for name, more in (
        ("edit", children),
        ("move", (*children, "--dep", "edit")),
        ("binary", (*children, "--dep", "move")),
        ("commit", ("--dep", "port")),
        ("ask", ("--dep", "commit")),
    ):
        place.expect(0, "add", "--id", name, "--title", f"The task {name}", *more)
    place.git("config", "blackbird.agent", "command")
    place.git("config", "blackbird.command.run", shlex.join([sys.executable, str(AGENT)]))
    place.git("config", "blackbird.execution.stopAfterEachTask", "true")
    before = look(place)
    drive(place, before)
    check_records(place)
    check_end(place, before)


def drive(place: Place, before: Unfinished) -> None:
    table = place.table
    place.expect(3, "execute", "--no-input")
    table.row("index, stash, edits bit for bit, after a run", "same", ok=look(place) == before)
    table.row("seconds of an execute with one run", f"{place.seconds['execute']:.1f}", ok=True)
    place.expect(0, "decide", "edit", "--request-changes", "-m", REQUEST)
    place.expect(1, "execute", stdin="1\n1\n4\n")
    table.row("index, stash, edits bit for bit, after a reject", "same", ok=look(place) == before)
    place.expect(0, "retry", "binary")
    place.expect(0, "execute", stdin="2\n")
    place.expect(3, "execute", "--no-input")
    table.row("index, stash, edits bit for bit, before its commit", "same", ok=look(place) == before)
    place.expect(0, "decide", "commit", "--reject")
    place.expect(3, "restart", "commit", "-m", "do it whole", "--no-input")
    place.expect(0, "decide", "commit", "--approve")
    place.expect(4, "execute", "--no-input")
    place.expect(1, "resume", "ask", "-m", "no answer", "--no-input")
    place.expect(3, "resume", "ask", "--answer", "licence=2", "--no-input")
    place.expect(0, "decide", "ask", "--approve")
    place.expect(0, "execute", "--no-input")


def check_records(place: Place) -> None:
    table = place.table
    edit = place.records("edit")
    seen = [(one["status"], one["decision_state"]) for one in edit]
    table.same("edit: records", seen, [("success", "changes_requested"), ("success", "approved_continue")])
    table.same("edit: the same session", len({one["provider_session_ref"] for one in edit}), 1)
    table.same("edit: the second resumes the first", edit[1].get("resumes"), edit[0]["id"])
    table.same("edit: the request, unchanged", edit[1]["context"]["feedback"], REQUEST)
    table.same(
        "edit: the request reached the tree", (place.repo / "trial-notes.txt").read_text(), f"{REQUEST}\n"
    )
    binary = place.records("binary")
    seen = [(one["decision_state"], bool(one.get("superseded_at"))) for one in binary]
    table.same("binary: rejected, retried, approved", seen, [("rejected", True), ("approved_quit", False)])
    table.same("binary: a new session after retry", len({one["provider_session_ref"] for one in binary}), 2)
    commit = place.records("commit")
    ended = [(one["status"], one.get("exitCode"), one.get("error")) for one in commit]
    table.same(
        "commit: failed, then done", ended, [("failed", 3, "exit status 3: I give up"), ("success", 0, None)]
    )
    ask = place.records("ask")
    seen = [(one["status"], one.get("decision_state")) for one in ask]
    table.same("ask: asked, then done", seen, [("waiting_user", None), ("success", "approved_continue")])
    table.same("ask: the same session", len({one["provider_session_ref"] for one in ask}), 1)
    table.same("ask: the option's own writing", (place.repo / "LICENSE.choice").read_text(), "MIT\n")
    for record in (*edit, *place.records("move"), *binary, *commit, *ask):
        place.check_summary(record)
        check_not_mine(place, record)


def check_not_mine(place: Place, record: Record) -> None:
    mine = {name.encode() for name in NAMES}
    touched = {exact_path(change) for change in record["review_summary"].get("changes", ())}
    if mine & touched:
        place.table.row(f"{record['taskId']}: nothing of the user's in it", sorted(mine & touched), ok=False)


def check_end(place: Place, before: Unfinished) -> None:
    table = place.table
    table.same("the plan", set(place.statuses().values()), {"done"})
    after = look(place)
    seen = [
        name
        for name in ("listed", "stash", "staged", "files")
        if getattr(after, name) != getattr(before, name)
    ]
    table.same("the user's entries, stash and edits differ in", seen, [])
    table.same(
        "the agent's commit holds",
        place.git("show", "--format=", "--name-only", "HEAD").split(),
        ["half-way.txt"],
    )
    table.same("git fsck", place.git("fsck", "--no-progress", "--no-dangling"), "")
    said = place.run("status").stdout
    table.row("status at the end", " / ".join(said.split("\n")[:3]), ok="done" in said)
    for command in (("status",), ("list", "--all"), ("show", "edit"), ("runs",), ("runs", "edit", "--diff")):
        done = place.run(*command)
        table.row(
            f"seconds of {' '.join(command)}", f"{place.seconds[command[0]]:.2f}", ok=done.returncode == 0
        )
