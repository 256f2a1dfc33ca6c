"""A repository with many commits and the decisions on them, as this program makes both, in little time."""

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pygit2

from git_blackbird.git.core.repository import Repository
from git_blackbird.git.core.trees import DIRECTORY, REGULAR, TreeEntry, TreeStore
from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.run.published import Decided, DecisionText, PublishedCheck
from git_blackbird.model.run.states import CheckOutcome
from git_blackbird.model.run.summary import Trees
from tests.support import git, repository_at

FILES = 50
AUTHOR = pygit2.Signature("Ann", "ann@example.com", 1_800_000_000, 0)
PLAN = b"blackbird.plan.json"
Signing = tuple[str, ...]
"""The command that prints the signature of what it is given."""


@dataclass(frozen=True)
class Made:
    """A commit of a task before it is made: what it changes, what it says, and the decision on it."""

    number: int
    edits: Mapping[bytes, bytes]
    tasks: tuple[str, ...]
    runs: tuple[str, ...]
    text: DecisionText
    signer: Signing | None = None

    @property
    def name(self) -> str:
        return f"{self.text.run}/1"


@dataclass
class Decisions:
    """The repository; ``refs`` are written at the end, with the branch."""

    path: Path
    tasks: int
    refs: dict[str, str] = field(default_factory=dict)
    signing: Signing | None = None
    title: str = "Task"

    def __post_init__(self) -> None:
        self.repo: Repository = repository_at(self.path, os.environ)
        self.trees = TreeStore(self.repo)
        self.objects = self.trees.objects
        self.lines = {number: [f"line {at}" for at in range(40)] for number in range(FILES)}
        files = {self.file(number): self.content(number) for number in range(FILES)}
        self.done: set[int] = set()
        self.tree = self.edited(self.trees.save({}), {**files, PLAN: self.plan()})
        self.root = self.tip = self.commit(self.tree, "start", ())
        self.last: dict[str, str] = {}

    @staticmethod
    def file(number: int) -> bytes:
        return b"src/part%d/file%02d.txt" % (number % 7, number)

    def content(self, number: int) -> bytes:
        return "\n".join([*self.lines[number], ""]).encode()

    def plan(self) -> bytes:
        items = {
            f"task-{at}": {"title": f"{self.title} {at}", "status": "done" if at in self.done else "todo"}
            for at in range(self.tasks)
        }
        return json.dumps({"items": items}, indent=1).encode()

    def edited(self, tree: str, files: Mapping[bytes, bytes]) -> str:
        blobs = {path: str(self.objects.create_blob(data)) for path, data in files.items()}
        return self.trees.edited(tree, {path: TreeEntry(REGULAR, oid) for path, oid in blobs.items()})

    def commit(self, tree: str, message: str, parents: tuple[str, ...]) -> str:
        return str(self.objects.create_commit(None, AUTHOR, AUTHOR, message, tree, list(parents)))

    def task(self, number: int) -> Made:
        """Return the commit of a task: a line of one file, and its status in the plan."""
        at = number % FILES
        self.lines[at][(number // FILES) * 2 % 36] = f"task {number}"
        self.done.add(number)
        text = DecisionText(
            root=self.root,
            task=TaskId(f"task-{number}"),
            run=RunId(f"run{number:05}"),
            decided=Decided.APPROVED,
            at=f"2026-01-01T00:{number // 60:02}:{number % 60:02}Z",
        )
        edits = {self.file(at): self.content(at), PLAN: self.plan()}
        return Made(number, edits, (text.task,), (text.run,), text)

    def publish(self, made: Made) -> str:
        """Publish the decision on a task, and return the tree that it leads to."""
        tree = self.edited(self.tree, made.edits)
        pair = Trees(*(self.trees.without(each, [PLAN]) for each in (self.tree, tree)))
        check = PublishedCheck(title="check", outcome=CheckOutcome.PASSED, tests=3, tree=pair.head)
        text = made.text if made.text.evidence else made.text.updated(evidence=(check,))
        self.decide(made.name, text, pair, made.signer)
        return tree

    def add(self, made: Made, extra: Mapping[bytes, bytes] | None = None) -> str:
        """Publish the decision, and make the commit, with ``extra`` that nobody decided on; return its id."""
        return self.write(self.edited(self.publish(made), extra or {}), made)

    def write(self, tree: str, made: Made) -> str:
        """Make a commit at the tip that names these tasks and runs."""
        named = [f"Blackbird-Task: {task}" for task in made.tasks] + [
            f"Blackbird-Run: {run}" for run in made.runs
        ]
        self.tip = self.commit(tree, "\n".join([f"Task {made.number}", "", *named, ""]), (self.tip,))
        self.tree = tree
        return self.tip

    def decide(
        self, name: str, text: DecisionText, pair: Trees | None, signer: Signing | None = None
    ) -> None:
        text = text.updated(before=self.last)
        tag = self.tag(name, text, pair, signer or self.signing)
        self.refs[f"refs/blackbird/decisions/{name}"] = tag
        self.last = {name: tag}

    def tag(self, name: str, text: DecisionText, pair: Trees | None, signer: Signing | None = None) -> str:
        ends = {} if pair is None else {b"base": pair.base, b"head": pair.head}
        target = self.trees.save({end: TreeEntry(DIRECTORY, oid) for end, oid in ends.items()})
        head = (
            f"object {target}\ntype tree\ntag blackbird/{name}\ntagger Ann <a@example.com> 1800000000 +0000\n"
        )
        data = f"{head}\n{text.decided}: {text.task}\n\n{json.dumps(text.to_json())}\n".encode()
        if signer is not None:
            data += subprocess.run(signer, input=data, capture_output=True, check=True).stdout
        return str(self.objects.write(pygit2.enums.ObjectType.TAG, data))

    def finish(self) -> None:
        """Write branch and references."""
        moves = {"refs/heads/main": self.tip, **self.refs}
        git(
            self.path,
            "update-ref",
            "--stdin",
            stdin="".join(f"update {ref} {oid}\n" for ref, oid in moves.items()).encode(),
        )
