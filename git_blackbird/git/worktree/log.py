"""Find and read commits, and find those of a run."""

from collections.abc import Iterable

from git_blackbird.git.core.process import name_lines, operands, revisions
from git_blackbird.git.core.repository import Repository
from git_blackbird.model.entities.commits import RUN_TRAILER, TASK_TRAILER, Commit

_FIELDS = 4
_FORMAT = "%H%x00%s" + "".join(
    f"%x00%(trailers:key={key},valueonly,separator=%x1f)" for key in (TASK_TRAILER, RUN_TRAILER)
)


def find_commit(repo: Repository, name: str) -> str | None:
    """Return the id of the commit that ``name`` stands for in git, or None."""
    # In two steps, because the text of a search (`:/TEXT`) extends to the end of the name.
    found = name
    for asked in ("{}", "{}^{{commit}}"):
        asked_for = revisions(asked.format(found))
        found = repo.git("rev-parse", "--quiet", "--verify", *asked_for, check=False).out.decode().strip()
        if not found:
            return None
    return found


def read_commits(repo: Repository, oids: Iterable[str]) -> dict[str, Commit]:
    """Read these commits in one process; missing ones are left out."""
    wanted = list(dict.fromkeys(oids))
    if not wanted:
        return {}
    names = repo.git(
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
    fields = names.out.decode(errors="replace").split("\0")
    found: dict[str, Commit] = {}
    for at in range(0, len(fields) - 1, _FIELDS):
        oid, subject, tasks, runs = fields[at : at + _FIELDS]
        found[oid] = Commit(oid, subject, _values(tasks), _values(runs))
    return found


def reachable(repo: Repository, oids: Iterable[str]) -> frozenset[str]:
    """Return the commits among these existing ones that HEAD or a reference of any worktree reaches.

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
    """Return the commits among these that HEAD reaches, newest first, each with its parents.

    Search after the commit ``since``, or all history if there is no such commit.
    """
    wanted = frozenset(oids)
    if not wanted:
        return []
    within = revisions("HEAD", *_fence(repo, since))
    output = repo.git("rev-list", "--topo-order", "--parents", *within, *operands(), check=False).out.decode()
    found = (line.split() for line in output.splitlines())
    return [(oid, tuple(above)) for oid, *above in found if oid in wanted]


def _fence(repo: Repository, since: str | None) -> tuple[str, ...]:
    """Return the revision that excludes ``since`` and its history; none if there is no such commit."""
    return () if since is None or find_commit(repo, since) is None else (f"^{since}",)


def commits_between(repo: Repository, old: str | None, new: str) -> frozenset[str]:
    """Return the commits that ``new`` reaches and ``old`` does not; none if one of them is gone."""
    fence = () if old is None else (f"^{old}",)
    done = repo.git("rev-list", *revisions(new, *fence), *operands(), check=False)
    return frozenset(done.out.decode().split()) if done.code == 0 else frozenset()


def _values(text: str) -> tuple[str, ...]:
    return tuple(value.strip() for value in text.split("\x1f") if value.strip())


def commit_of_run(repo: Repository, run_id: str, since: str | None) -> str | None:
    """Find the newest commit in HEAD that names a run in its trailers.

    Search after the commit ``since``, or all history if there is no such commit.
    """
    grep = f"--grep={RUN_TRAILER}: {run_id}"
    within = revisions("HEAD", *_fence(repo, since))
    done = repo.git("rev-list", "--fixed-strings", grep, *within, *operands(), check=False)
    for commit in read_commits(repo, done.out.decode().split()).values():
        if run_id in commit.runs:
            return commit.oid
    return None
