"""Decisions as annotated tags, below a reference of ours: written with the person's git, read from any clone.

What is read may be anybody's: it is bounded, and what is no decision counts as none.
"""

import json
import re
from pathlib import Path

from pydantic import ValidationError

from git_blackbird.clean import one_line
from git_blackbird.errors import RequestError, UnusableError
from git_blackbird.git.commit.create import error_output
from git_blackbird.git.core.output import Completed
from git_blackbird.git.core.process import operands, revisions
from git_blackbird.git.core.repository import Repository, using_objects
from git_blackbird.git.core.trees import DIRECTORY, MissingObjectError, TreeEntry, TreeStore
from git_blackbird.git.core.user_programs import run_user_program
from git_blackbird.git.worktree.index import writing
from git_blackbird.git.worktree.saved_trees import publish
from git_blackbird.model.run.published import (
    DECISION_NAME,
    DECISION_REFS,
    Chain,
    DecisionText,
    PublishedDecision,
)
from git_blackbird.model.run.summary import Trees

_MOST_BYTES = 128 * 1024
_MOST_LETTERS = 200
_LISTED = "--format=%(objectname) %(objectsize) %(objecttype) %(refname)"
_NAME = re.compile(DECISION_NAME)
_TAG = re.compile(
    rb"object (?P<target>[0-9a-f]{40,64})\ntype tree\ntag blackbird/(?P<name>[^\n]+)\n"
    rb"tagger (?P<by>[^\n]*>) \d+ [-+]\d{4}\n\n[^\n]*\n\n(?P<text>.*)",
    re.DOTALL,
)
_SIGNATURE = re.compile(
    rb"^-----BEGIN (?:PGP SIGNATURE|SSH SIGNATURE|SIGNED MESSAGE)-----$.*", re.DOTALL | re.MULTILINE
)
_IS_SIGNED = ("config", "--type=bool", "--default=false", "--get")
_GOOD = re.compile(
    r'Good "git" signature for (.+) with |^gpg(?:sm)?: Good signature from "(.+)"', re.MULTILINE
)


def read_decisions(repo: Repository) -> Chain:
    """Return the decisions that are published here. Raises UnusableError."""
    trees = TreeStore(repo)
    found, unread = [], []
    for line in repo.git("for-each-ref", _LISTED, *operands(DECISION_REFS)).lines(list):
        tag, size, kind, ref = line.decode(errors="replace").split(" ", 3)
        name = ref.removeprefix(DECISION_REFS)
        if not _NAME.fullmatch(name):
            continue
        decision = None
        if kind == "tag" and int(size) <= _MOST_BYTES:
            with using_objects(repo):
                _, data = trees.objects.read(tag)
            decision = _parsed(trees, name, tag, data)
        if decision is None:
            unread.append(name)
        else:
            found.append(decision)
    return Chain(found, unread)


def _parsed(trees: TreeStore, name: str, tag: str, data: bytes) -> PublishedDecision | None:
    """Return the decision of a tag; None for another tag, or the decision of another name."""
    found = _TAG.fullmatch(data)
    if found is None or found["name"] != name.encode():
        return None
    message = _SIGNATURE.sub(b"", found["text"])
    try:
        text = DecisionText.from_json(message)
        ends = trees.load(found["target"].decode())
    except MissingObjectError:
        raise
    except (ValidationError, UnusableError):
        return None
    base, head = ends.get(b"base"), ends.get(b"head")
    if name.partition("/")[0] != text.run or {entry.mode for entry in ends.values()} - {DIRECTORY}:
        return None
    pair = None if base is None or head is None else Trees(base.oid, head.oid)
    by = one_line(found["by"].decode(errors="replace"), _MOST_LETTERS)
    return PublishedDecision(name, tag, text, by, len(message) < len(found["text"]), pair)


def write_decision(repo: Repository, name: str, text: DecisionText, pair: Trees | None) -> PublishedDecision:
    """Publish a decision under a name that is free, signed where the person's git signs commits or tags.

    Raises RequestError with the words of git, UnusableError.
    """
    trees = TreeStore(repo)
    ends = {} if pair is None else {b"base": pair.base, b"head": pair.head}
    if pair is not None:
        changed = set(trees.changed_paths(*pair))
        entries = (trees.entry(tree, path) for tree in pair for path in changed)
        with writing(repo.common_dir / "objects"):
            publish(repo, (entry.oid for entry in entries if entry is not None))
    target = trees.save({end: TreeEntry(DIRECTORY, oid) for end, oid in ends.items()})
    body = json.dumps(text.to_json(), indent=2)
    message = f"{text.decided.words}: {text.task}\n\n{body}\n"
    # Git signs tags below refs/tags alone.
    passing = f"blackbird/{name}"
    signs = _signs(repo)
    options = ("-s" if signs else "-a", "--force", "--cleanup=verbatim", "--file=-")
    command = ["git", *repo.git_options, "tag", *options, *operands(passing, target)]
    done = run_user_program(command, cwd=repo.top, environ=repo.git_environ, stdin=message.encode())
    if done.code != 0:
        first, *more = error_output(done).split("\n")
        raise RequestError((f"git made no tag of the decision on {text.task}: {first}", *more))
    tag = repo.git("rev-parse", "--verify", *revisions(f"refs/tags/{passing}")).oid()
    _, data = trees.objects.read(tag)
    decision = _parsed(trees, name, tag, data)
    # Some versions of git make the tag where the program that signs has failed, and end with 0.
    is_sound = decision is not None and (decision.is_signed or not signs)
    moves = [f"create {DECISION_REFS}{name} {tag}"] if is_sound else []
    moves.append(f"delete refs/tags/{passing}\n")
    repo.git("update-ref", "--no-deref", "--stdin", stdin="\n".join(moves).encode())
    if decision is None:
        raise UnusableError(f"the tag of the decision on {text.task} cannot be read again")
    if not is_sound:
        first, *more = error_output(done).split("\n")
        raise RequestError((f"git did not sign the decision on {text.task}: {first}", *more))
    return decision


def _signs(repo: Repository) -> bool:
    said = (repo.git(*_IS_SIGNED, "tag.gpgSign"), repo.git(*_IS_SIGNED, "commit.gpgSign"))
    return "true" in {one.answer() for one in said}


def check_signature(repo: Repository, tag: str, signers: Path | None) -> tuple[str | None, str]:
    """Return who signed a tag, as git verifies it, and why that does not count; one of both is empty.

    Keys of SSH are those of ``signers``, or of ``gpg.ssh.allowedSignersFile``.
    """
    named = () if signers is None else ("-c", f"gpg.ssh.allowedSignersFile={signers}")
    done = repo.git(*named, "verify-tag", *revisions(tag), check=False)
    if done.code != 0:
        return None, _refusal(done)
    said = _GOOD.search(done.err.decode(errors="replace"))
    return one_line((said and (said[1] or said[2])) or "a known key", _MOST_LETTERS), ""


def _refusal(done: Completed) -> str:
    lines = [line.strip() for line in done.err.decode(errors="replace").splitlines() if line.strip()]
    return one_line(lines[-1] if lines else "git does not say why", _MOST_LETTERS)
