"""Create the commit of a change with git itself, and update the user's index.

This happens in a separate process, because the user's hooks may take long. Killing this program meanwhile
kills neither git nor that worker, which holds the approval lock until the index is updated.
"""

import json
import os
import re
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from git_blackbird.errors import UnusableError
from git_blackbird.git.commit.plan import CommitPlan
from git_blackbird.git.core.output import Completed, grouped
from git_blackbird.git.core.process import operands, revisions, run_git
from git_blackbird.git.core.repository import Head, Repository
from git_blackbird.git.core.trees import EXECUTABLE, REGULAR, TreeEntry, TreeStore
from git_blackbird.git.core.user_programs import FOREGROUND, run_user_program
from git_blackbird.git.worktree.index import (
    private_index,
    read_entry,
    read_index_state,
    replace_index,
    writing,
)
from git_blackbird.git.worktree.log import commit_of_run, commit_parts, tree_of
from git_blackbird.git.worktree.saved_trees import publish

MAX_WORDS_LINES = 20
MAX_OUTPUT_LINES = 200
# Git exits with 128 when the identity, the signature or the repository is at fault.
_REFUSED_BY_HOOK = 1
_TAKEN_BACK = "blackbird: take back a commit made beside another"
_SUMMARY = re.compile(rb"\[[^\n]* ([0-9a-f]{4,40})\] ")
_DIFFERENCES = ("diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", "--ignore-submodules=none")
_PLACES = ("rev-parse", "--path-format=absolute", "--absolute-git-dir", "--show-toplevel")
# Titles may begin with `#`, and the message is UTF-8 whatever encoding the user's commits have.
_COMMIT = (
    # The file system monitor does not cover the private index.
    *("-c", "core.fsmonitor=false"),
    *("-c", "i18n.commitEncoding=UTF-8"),
    *("commit", "--cleanup=whitespace"),
)


class CommitRefusedError(UnusableError):
    """Git, a hook or the signing program refused the commit; the message is their error output."""

    def __init__(self, output: str) -> None:
        super().__init__(tuple(output.split("\n")))


class HookRefusedError(CommitRefusedError):
    """A user's hook refused the commit; ``output`` holds more lines of its output than the message."""

    def __init__(self, message: str, output: str) -> None:
        super().__init__(message)
        self.output = output


class IndexUpdateError(UnusableError):
    """The user's index cannot follow a commit without changes to other entries."""


@dataclass(frozen=True)
class CreatedCommit:
    """A new commit, its tree, the number of paths it changes, and the paths where hooks changed the plan.

    ``left_behind`` says why the index was not updated for it, None if it was; with ``is_final`` it cannot be
    updated later either. ``cut_short`` says what ended git after it had made the commit, such as Ctrl+C in a
    post-commit hook.
    """

    oid: str
    tree: str
    paths: int
    differs: tuple[str, ...] = ()
    left_behind: str | None = None
    is_final: bool = False
    cut_short: str | None = None


def make_commit(repo: Repository, plan: CommitPlan, message: str) -> CreatedCommit:
    """Commit ``plan`` with ``git commit``, with the user's hooks, identity and signing.

    Hooks see a private index; the user's index and worktree are not touched. Raises CommitRefusedError; a
    commit can exist then only if git was killed after making it.
    """
    with private_index(repo, "commit") as index:
        variables = {"GIT_INDEX_FILE": os.fspath(index)}
        # Equal entries stay: hooks miss no file outside a sparse checkout, and git need not read files again.
        staged = read_index_state(repo, index)
        if staged.tree is None:
            raise CommitRefusedError("the index is in conflict")
        wanted = {path: after for path, (_, after) in _differences(repo, staged.tree, plan.tree).items()}
        _set_entries(repo, index, dict.fromkeys(staged.intended) | wanted)
        if repo.git("write-tree", variables=variables).oid() != plan.tree:
            # As with names that differ in case only.
            raise CommitRefusedError("the index cannot hold the files of HEAD and those of the change")
        with writing(repo.common_dir / "objects"):
            publish(repo, (entry.oid for entry in plan.edits.values() if entry is not None))
        text = index.with_name("message")
        with writing(text):
            text.write_text(message, encoding="utf-8")
        # Where git finds the repository without help, hooks get the environment they are used to.
        found = run_git(_PLACES, cwd=repo.top, environ=repo.git_environ, check=False).lines(list)
        is_found = found == [os.fsencode(repo.git_dir), os.fsencode(repo.top)]
        options = () if is_found else repo.git_options
        command = ["git", *options, *_COMMIT, f"--file={text}"]
        completed = run_user_program(command, cwd=repo.top, environ={**repo.git_environ, **variables})
    summary = _SUMMARY.match(completed.out)
    if completed.code == _REFUSED_BY_HOOK:
        raise HookRefusedError(error_output(completed), error_output(completed, MAX_OUTPUT_LINES))
    if completed.code != 0 or summary is None:
        raise CommitRefusedError(error_output(completed))
    oid = repo.git("rev-parse", "--verify", *revisions(summary[1].decode())).oid()
    tree, parents = commit_parts(repo, oid)
    if parents != (() if plan.head.commit is None else (plan.head.commit,)):
        # It would revert the commits in between. Git itself refuses if HEAD moves while it works; this covers
        # the instant before.
        repo.git("update-ref", "-m", _TAKEN_BACK, *operands("HEAD", parents[0], oid))
        raise CommitRefusedError("someone else committed here at the same moment")
    return inspect_commit(repo, plan, oid, tree)


def inspect_commit(repo: Repository, plan: CommitPlan, oid: str, tree: str) -> CreatedCommit:
    """Compare the commit ``oid`` and its tree with its ``plan``."""
    paths = len(_differences(repo, plan.base_tree, tree))
    differing = sorted(_differences(repo, plan.tree, tree))
    return CreatedCommit(oid, tree, paths, tuple(path.decode(errors="replace") for path in differing))


def _differences(
    repo: Repository, old: str, new: str
) -> dict[bytes, tuple[TreeEntry | None, TreeEntry | None]]:
    """Return the entries of two trees at each path where they differ.

    Git is asked, because libgit2 takes longer to load than all else in the process that makes commits.
    """
    if old == new:
        return {}
    return repo.git(*_DIFFERENCES, *revisions(old, new)).records(_sides)


def _sides(records: list[bytes]) -> dict[bytes, tuple[TreeEntry | None, TreeEntry | None]]:
    sides = {}
    # Each path follows its line: modes and objects of both, and a letter.
    for line, path in grouped(records, 2):
        before, after, was, now, _ = line.removeprefix(b":").decode().split()
        sides[path] = _entry(before, was), _entry(after, now)
    return sides


def _entry(mode: str, oid: str) -> TreeEntry | None:
    return TreeEntry(int(mode, 8), oid) if int(mode, 8) else None


def _set_entries(repo: Repository, index: Path, entries: Mapping[bytes, TreeEntry | None]) -> None:
    """Set entries of an index file, or remove those that are None; a file replaces what is in its place."""
    gone = [b"0 %s\t%s\0" % (b"0" * 40, path) for path, entry in entries.items() if entry is None]
    there = [
        b"%o %s\t%s\0" % (entry.mode, entry.oid.encode(), path)
        for path, entry in entries.items()
        if entry is not None
    ]
    variables = {"GIT_INDEX_FILE": os.fspath(index)}
    repo.git("update-index", "-z", "--index-info", stdin=b"".join([*gone, *there]), variables=variables)


def error_output(completed: Completed, max_lines: int = MAX_WORDS_LINES) -> str:
    """Return the end of the output of git and the hooks, or the name of the program that ran them."""
    lines = (completed.err + completed.out).decode(errors="replace").strip().splitlines()
    if completed.code < 0:
        lines.append(f"git was ended by signal {-completed.code}")
    if not lines:
        return f"a hook, or git itself, ended with status {completed.code} and said nothing"
    left_out = len(lines) - max_lines
    return "\n".join([f"({left_out} lines before)", *lines[left_out:]] if left_out > 0 else lines)


def update_index(repo: Repository, before: str, after: str) -> None:
    """Update the user's index from the tree ``before`` to the tree ``after``, path by path.

    Only entries equal to ``before`` change: what the user staged stays, as do all other entries and flags.
    Raises UnusableError, GitError, or IndexUpdateError if other entries would change; the index is
    untouched then.
    """

    def move_entries(index: Path) -> bool:
        staged = read_index_state(repo, index)
        moves = {
            path: now
            for path, (was, now) in _differences(repo, before, after).items()
            if path not in staged.unmerged and staged.entries.get(path) == was
        }
        if not moves:
            return False
        _set_entries(repo, index, moves)
        written = read_index_state(repo, index)
        for old, new in (
            (staged.entries, written.entries),
            (staged.intended, written.intended),
            (staged.tags, written.tags),
        ):
            strangers = {path for path, _ in old.items() ^ new.items()} - moves.keys()
            if strangers:
                names = ", ".join(sorted(path.decode(errors="replace") for path in strangers))
                raise IndexUpdateError(f"the index cannot hold {names} beside the change")
        # As git does after a commit of some paths: unchanged files need not be read again.
        variables = {"GIT_INDEX_FILE": os.fspath(index)}
        repo.git("update-index", "-q", "--refresh", check=False, variables=variables)
        return True

    replace_index(repo, move_entries)


_ROOT = Path(__file__).parents[3]
# Until the worker is ready, Ctrl+C ends it silently. Our own folder is last on the path, so that a folder of
# packages cannot shadow the standard library.
_START = (
    "import signal, sys; heard = signal.getsignal(signal.SIGINT) is not signal.SIG_IGN; "
    "heard and signal.signal(signal.SIGINT, signal.SIG_DFL); sys.path.append(sys.argv[1]); "
    "from git_blackbird.git.commit.create import main; sys.stdout.write(main(sys.stdin.read()))"
)
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class CommitWorkerKilled(CommitRefusedError):  # noqa: N818  # named for what happened
    """The commit process was killed; git may still be running."""


class CommitInterruptedError(CommitRefusedError):
    """Ctrl+C ended git before there was a commit."""


def commit_in_subprocess(
    repo: Repository, plan: CommitPlan, message: str, run_id: str, right: int
) -> CreatedCommit:
    """Make the commit and update the user's index in a process that outlives this one.

    The message names the run in a trailer. ``right`` is the descriptor of the approval lock, which the worker
    keeps. Raises CommitRefusedError if there is no commit, CommitInterruptedError if Ctrl+C was the reason,
    and CommitWorkerKilled.
    """
    order = {
        "repo": [str(path) for path in (repo.top, repo.git_dir, repo.common_dir)],
        "environ": FOREGROUND.environ(repo.environ),
        "call_configuration": dict(repo.call_configuration),
        "parent": plan.head.commit,
        "base_tree": plan.base_tree,
        "tree": plan.tree,
        "message": message,
        "run_id": run_id,
    }
    # -P keeps modules in the user's working directory from being imported.
    command = (sys.executable, "-P", "-c", _START, str(_ROOT))
    completed = run_user_program(
        command, cwd=repo.top, environ=repo.environ, stdin=json.dumps(order).encode(), descriptors=(right,)
    )
    try:
        reply = json.loads(completed.out)
    except ValueError:
        # Before the worker is ready, a signal ends it.
        reply = (
            {"refused": error_output(completed)}
            if -completed.code in _ENDING
            else {"lost": error_output(completed)}
        )
    if "lost" in reply:
        raise CommitWorkerKilled(reply["lost"])
    if "refused" in reply:
        if completed.interrupted:
            raise CommitInterruptedError(reply["refused"])
        if reply.get("hook_output") is not None:
            raise HookRefusedError(reply["refused"], reply["hook_output"])
        raise CommitRefusedError(reply["refused"])
    return CreatedCommit(**{**reply, "differs": tuple(reply["differs"])})


def main(order: str) -> str:
    """Make the commit of a request, in the worker process, and return the result."""
    for number in _ENDING:
        # Git gets the signal from the terminal or from here; the worker goes on until the index is updated.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda *_: None)
    request = json.loads(order)
    top, git_dir, common_dir = map(Path, request["repo"])
    repo = Repository(top, git_dir, common_dir, request["environ"], request["call_configuration"])
    plan = CommitPlan(Head(None, request["parent"]), request["base_tree"], request["tree"], {})
    try:
        created = make_commit(repo, plan, request["message"])
    except UnusableError as error:
        # Git makes the commit before its last hooks run, and these may be what was interrupted.
        oid = commit_of_run(repo, request["run_id"], request["parent"])
        if oid is None:
            output = error.output if isinstance(error, HookRefusedError) else None
            return json.dumps({"refused": error.message, "hook_output": output})
        created = replace(inspect_commit(repo, plan, oid, tree_of(repo, oid)), cut_short=error.message)
    try:
        update_index(repo, plan.base_tree, created.tree)
    except UnusableError as error:
        created = replace(created, left_behind=error.message, is_final=isinstance(error, IndexUpdateError))
    return json.dumps(asdict(created))


_MOST_BYTES = 64 * 1024 * 1024


def content_in_tree(repo: Repository, tree: str, name: str) -> bytes | None:
    """Return the content of a file at the top of a tree, if it is there and can be read."""
    trees = TreeStore(repo)
    return _content(trees, trees.entry(tree, os.fsencode(name)))


def is_ignored_by_flag(repo: Repository, name: str) -> bool:
    """Whether a flag in the user's index makes git ignore changes of a file."""
    _, tag = read_entry(repo, name)
    return tag.upper() == b"S" or tag.islower()


def with_content(repo: Repository, plan: CommitPlan, name: str, data: bytes) -> CommitPlan:
    """Return a commit plan that also gives this content to a file that HEAD has at the top."""
    trees, path = TreeStore(repo), os.fsencode(name)
    entry = trees.entry(plan.base_tree, path)
    edits = {} if entry is None else {path: entry._replace(oid=trees.save_file(data))}
    return replace(plan, tree=trees.edited(plan.tree, edits), edits={**plan.edits, **edits})


def edit_staged(repo: Repository, name: str, committed: str, edit: Callable[[bytes], bytes | None]) -> None:
    """Edit what the user staged of a file beyond ``committed``. Raises UnusableError before any change."""
    trees, path = TreeStore(repo), os.fsencode(name)
    entry, _ = read_entry(repo, name)
    content = None if entry == trees.entry(committed, path) else _content(trees, entry)
    edited = None if content is None else edit(content)
    if entry is not None and edited is not None and edited != content:
        both = entry, entry._replace(oid=trees.save_file(edited))
        update_index(repo, *(trees.save({path: each}) for each in both))


def _content(trees: TreeStore, entry: TreeEntry | None) -> bytes | None:
    if entry is not None and entry.mode in {REGULAR, EXECUTABLE}:
        # It may be too large, or not fetched.
        with suppress(UnusableError):
            return trees.content(entry.oid, _MOST_BYTES)
    return None
