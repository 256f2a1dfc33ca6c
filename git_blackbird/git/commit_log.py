"""Looking commits up: what a name means, what they say, which of them names a run."""

from collections.abc import Iterable

from git_blackbird.git.program import name_lines, operands, revisions
from git_blackbird.git.repository import Repository
from git_blackbird.model.commits import Commit
from git_blackbird.model.trailers import RUN_TRAILER, TASK_TRAILER

_FIELDS = 4
_FORMAT = "%H%x00%s" + "".join(
    f"%x00%(trailers:key={key},valueonly,separator=%x1f)" for key in (TASK_TRAILER, RUN_TRAILER)
)


def find_commit(repo: Repository, name: str) -> str | None:
    """Give the id of the commit that ``name`` means to git; None when it means none."""
    # In two steps: the text of a search (`:/TEXT`) reaches to the end of the name.
    found = name
    for asked in ("{}", "{}^{{commit}}"):
        asked_for = revisions(asked.format(found))
        found = repo.git("rev-parse", "--quiet", "--verify", *asked_for, check=False).out.decode().strip()
        if not found:
            return None
    return found


def read_commits(repo: Repository, oids: Iterable[str]) -> dict[str, Commit]:
    """Read these commits, in one process; what is not there any more is left out."""
    wanted = list(dict.fromkeys(oids))
    if not wanted:
        return {}
    listed = repo.git(
        "log",
        "-z",
        "--no-walk=unsorted",
        "--ignore-missing",
        "--no-show-signature",
        "--encoding=UTF-8",
        f"--format={_FORMAT}",
        "--stdin",
        stdin=name_lines(wanted),
    )
    fields = listed.out.decode(errors="replace").split("\0")
    found: dict[str, Commit] = {}
    for at in range(0, len(fields) - 1, _FIELDS):
        oid, subject, tasks, runs = fields[at : at + _FIELDS]
        found[oid] = Commit(oid, subject, _values(tasks), _values(runs))
    return found


def in_history(repo: Repository, oids: Iterable[str]) -> frozenset[str]:
    """Give those of these commits, which must be there, that HEAD or a reference leads to, of any worktree.

    Raises GitError.
    """
    wanted = frozenset(oids)
    if not wanted:
        return wanted
    asked = ("rev-list", "--stdin", "--not", "--exclude=refs/blackbird/*", "--all")
    left = repo.git(*asked, stdin=name_lines(sorted(wanted)))
    return wanted - frozenset(left.out.decode().split())


def commits_in_head(
    repo: Repository, oids: Iterable[str], since: str | None
) -> list[tuple[str, tuple[str, ...]]]:
    """Give those of these commits that HEAD leads to, newest first, each with its parents.

    They are looked for after the commit ``since``; in all history when there is no such commit.
    """
    wanted = frozenset(oids)
    if not wanted:
        return []
    within = revisions("HEAD", *_fence(repo, since))
    said = repo.git("rev-list", "--topo-order", "--parents", *within, *operands(), check=False).out.decode()
    found = (line.split() for line in said.splitlines())
    return [(oid, tuple(above)) for oid, *above in found if oid in wanted]


def _fence(repo: Repository, since: str | None) -> tuple[str, ...]:
    """Write the revision that keeps ``since`` and all before it out; none when there is no such commit."""
    return () if since is None or find_commit(repo, since) is None else (f"^{since}",)


def commits_between(repo: Repository, old: str | None, new: str) -> frozenset[str]:
    """Give the commits that ``new`` leads to and ``old`` does not; none where one of them is gone."""
    fence = () if old is None else (f"^{old}",)
    said = repo.git("rev-list", *revisions(new, *fence), *operands(), check=False)
    return frozenset(said.out.decode().split()) if said.code == 0 else frozenset()


def _values(text: str) -> tuple[str, ...]:
    return tuple(value.strip() for value in text.split("\x1f") if value.strip())


def commit_of_run(repo: Repository, run_id: str, since: str | None) -> str | None:
    """Find the newest commit in HEAD that names a run in its trailers.

    It is looked for after the commit ``since``; in all history when there is no such commit.
    """
    grep = f"--grep={RUN_TRAILER}: {run_id}"
    within = revisions("HEAD", *_fence(repo, since))
    done = repo.git("rev-list", "--fixed-strings", grep, *within, *operands(), check=False)
    for commit in read_commits(repo, done.out.decode().split()).values():
        if run_id in commit.runs:
            return commit.oid
    return None
