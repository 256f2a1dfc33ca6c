"""The hook's script in real commits, by every shell that is here."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from git_blackbird.git.hooks.script import HookCommand, Location, hook_interpreter, render_hook
from tests.support import commit, git, write

RUN = "0123456789abcdef"
SHELLS = {
    "sh": "/bin/sh",
    **{name: path for name in ("dash", "bash") if (path := shutil.which(name))},
    **({"busybox": f"{path} ash"} if (path := shutil.which("busybox")) else {}),
}


@dataclass
class Hooked:
    """A repository with the hook; its Python is a script that keeps what it is given."""

    repo: Path
    shell: str

    @property
    def calls_file(self) -> Path:
        return self.repo.parent / "calls"

    def install(self, name: str = "post-commit", place: Location | None = None) -> Path:
        python, entry = self.repo.parent / "a python", self.repo.parent / "the entry"
        python.write_text(
            f'#!/bin/sh\necho "$*" >>\'{self.calls_file}\'\nread -r line && echo "$line"\nexit 3\n'
        )
        python.chmod(0o755)
        entry.touch()
        text = render_hook(HookCommand(python, entry), place or Location())
        path = self.repo / ".git" / "hooks" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text.replace("#!/bin/sh", f"#!{self.shell}", 1))
        path.chmod(0o755)
        return path

    def activate(self) -> None:
        (self.repo / ".git" / "blackbird" / "active").mkdir(parents=True)

    def notes(self, git_dir: Path | None = None) -> list[tuple[str, str]]:
        """Owner and commit of every line of the list."""
        path = (git_dir or self.repo / ".git") / "blackbird" / "commits"
        if not path.exists():
            return []
        return [(words[0], words[1]) for words in map(str.split, path.read_text().splitlines())]

    def deferred(self) -> list[str]:
        """The entries of commits that are to be recorded; no Python that would is here."""
        return sorted(path.name for path in (self.repo / ".git").glob("blackbird/deferred-commit-*"))

    def calls(self) -> list[str]:
        return self.calls_file.read_text().splitlines() if self.calls_file.exists() else []


@pytest.fixture(params=SHELLS)
def hooked(repo: Path, request: pytest.FixtureRequest) -> Hooked:
    commit(repo, {"a": "1"})
    hooked = Hooked(repo, SHELLS[request.param])
    hooked.install()
    write(repo, {"blackbird.plan.json": "{}"})
    return hooked


@pytest.fixture
def agent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLACKBIRD_RUN_ID", RUN)


def head_of(path: Path) -> str:
    return git(path, "rev-parse", "HEAD")


def output_of(path: Path, *args: str, environ: Mapping[str, str] | None = None) -> str:
    """Everything that git and the hook print."""
    completed = subprocess.run(
        ["git", *args],
        cwd=path,
        env={**os.environ, **(environ or {})},
        capture_output=True,
        text=True,
        check=True,
    )
    return completed.stdout + completed.stderr


def test_a_commit_without_anyone_at_work_leaves_nothing(hooked: Hooked) -> None:
    assert output_of(hooked.repo, "commit", "-q", "--allow-empty", "-m", "x") == ""
    assert not (hooked.repo / ".git" / "blackbird").exists()
    assert hooked.calls() == []


@pytest.mark.usefixtures("agent")
def test_an_agents_commit_is_noted(hooked: Hooked) -> None:
    assert output_of(hooked.repo, "commit", "-q", "--allow-empty", "-m", "Add x") == ""
    assert (hooked.repo / ".git" / "blackbird" / "commits").read_text() == f"{RUN} {head_of(hooked.repo)}\n"


def test_a_persons_commit_is_noted_while_agents_work(hooked: Hooked) -> None:
    hooked.activate()
    git(hooked.repo, "commit", "-q", "--allow-empty", "-m", "x")
    assert hooked.notes() == [("-", head_of(hooked.repo))]


@pytest.mark.parametrize(
    "run_id", ["x", "0123456789abcde", "0123456789abcdefa", "0123456789ABCDEF", "../../../../../x"]
)
def test_what_is_no_run_id_is_not_noted(hooked: Hooked, run_id: str) -> None:
    hooked.activate()
    environ = {"BLACKBIRD_RUN_ID": run_id}
    output_of(hooked.repo, "commit", "-q", "--allow-empty", "-m", "Blackbird-Task: a", environ=environ)
    assert (hooked.notes(), hooked.calls()) == ([], [])


@pytest.mark.usefixtures("agent")
def test_every_way_to_commit_is_noted(hooked: Hooked) -> None:
    repo = hooked.repo
    git(repo, "branch", "other")
    seen: list[str] = []

    def act(*args: str, at: Path = repo) -> None:
        git(at, *args)
        seen.append(head_of(repo))

    write(repo, {"a": "2", "sub/b": "1"})
    act("commit", "-qam", "all")
    git(repo, "add", "sub/b")
    act("commit", "-q", "-m", "paths", "b", at=repo / "sub")
    act("commit", "-q", "--amend", "-m", "amended")
    act("commit", "-q", "--amend", "--no-edit", "--date=2026-02-02T00:00:00Z")
    act("revert", "--no-edit", "HEAD")
    git(repo, "checkout", "-q", "other")
    act("cherry-pick", "main~1")
    git(repo, "checkout", "-q", "--detach")
    act("commit", "-q", "--allow-empty", "-m", "detached")
    git(repo, "checkout", "-q", "-b", "feature/one")
    act("commit", "-q", "--allow-empty", "-m", "on a branch with a slash")
    git(repo, "checkout", "-q", "--orphan", "orphan")
    act("commit", "-q", "-m", "without a parent")
    assert hooked.notes() == [(RUN, oid) for oid in seen]


@pytest.mark.usefixtures("agent")
def test_each_commit_of_a_rebase_is_noted(hooked: Hooked) -> None:
    repo = hooked.repo
    git(repo, "checkout", "-q", "-b", "side")
    for name in ("x", "y"):
        commit(repo, {name: name})
    git(repo, "checkout", "-q", "main")
    commit(repo, {"z": "z"})
    git(repo, "checkout", "-q", "side")
    before = len(hooked.notes())
    git(repo, "rebase", "-q", "main")
    assert hooked.notes()[before:] == [(RUN, git(repo, "rev-parse", f"side~{back}")) for back in (1, 0)]


@pytest.mark.usefixtures("agent")
def test_linked_worktrees_have_lists_of_their_own(hooked: Hooked) -> None:
    linked = hooked.repo.parent / "a linked one"
    git(hooked.repo, "worktree", "add", "-q", "-b", "linked", str(linked))
    (linked / "sub").mkdir()
    git(linked / "sub", "commit", "-q", "--allow-empty", "-m", "x")
    git_dir = Path(git(linked, "rev-parse", "--absolute-git-dir"))
    assert hooked.notes(git_dir) == [(RUN, head_of(linked))]
    assert hooked.notes() == []


def test_linked_worktrees_know_that_agents_work_in_another(hooked: Hooked) -> None:
    linked = hooked.repo.parent / "linked"
    git(hooked.repo, "worktree", "add", "-q", str(linked))
    hooked.activate()
    git(linked, "commit", "-q", "--allow-empty", "-m", "x")
    git_dir = Path(git(linked, "rev-parse", "--absolute-git-dir"))
    assert hooked.notes(git_dir) == [("-", head_of(linked))]


@pytest.mark.usefixtures("agent")
@pytest.mark.parametrize("places", [("GIT_DIR", "GIT_WORK_TREE"), ("GIT_DIR",)])
@pytest.mark.parametrize("relative", [False, True])
def test_a_repository_given_by_variables_is_found(
    hooked: Hooked, places: tuple[str, ...], *, relative: bool
) -> None:
    repo = hooked.repo
    start = repo.parent if "GIT_WORK_TREE" in places else repo / "sub"
    start.mkdir(exist_ok=True)
    values = {"GIT_DIR": repo / ".git", "GIT_WORK_TREE": repo}
    environ = {
        name: os.path.relpath(values[name], start) if relative else str(values[name]) for name in places
    }
    output_of(start, "commit", "-q", "--allow-empty", "-m", "x", environ=environ)
    assert hooked.notes() == [(RUN, head_of(repo))]


@pytest.mark.usefixtures("agent")
def test_a_git_directory_elsewhere_is_found(hooked: Hooked) -> None:
    repo = hooked.repo
    git(repo, "init", "-q", "--separate-git-dir", "../the git dir")
    git(repo, "commit", "-q", "--allow-empty", "-m", "x")
    assert hooked.notes(repo.parent / "the git dir") == [(RUN, head_of(repo))]


@pytest.mark.usefixtures("agent")
def test_a_reference_that_is_in_no_file_of_its_own_is_asked_of_git(hooked: Hooked) -> None:
    repo = hooked.repo
    git(repo, "pack-refs", "--all")
    subprocess.run([repo / ".git" / "hooks" / "post-commit"], cwd=repo, check=True)
    git(repo, "symbolic-ref", "refs/heads/alias", "refs/heads/main")
    git(repo, "symbolic-ref", "HEAD", "refs/heads/alias")
    git(repo, "commit", "-q", "--allow-empty", "-m", "x")
    assert hooked.notes() == [(RUN, git(repo, "rev-parse", "HEAD~1")), (RUN, head_of(repo))]


@pytest.mark.usefixtures("agent")
def test_the_hook_of_a_bare_repository_does_nothing(hooked: Hooked) -> None:
    bare = hooked.repo.parent / "bare"
    git(hooked.repo, "clone", "-q", "--bare", ".", str(bare))
    completed = subprocess.run([hooked.install()], cwd=bare, capture_output=True, check=True)
    assert (completed.stdout, completed.stderr, hooked.calls()) == (b"", b"", [])
    assert not (bare / "blackbird").exists()


MESSAGES = {
    "Title\n\nBlackbird-Task: a\n": True,
    "blackbird-task: a": True,
    "Title\n\nBlackbird-Task : a": True,
    "Title\n\nBlackbird-Task: a\nBlackbird-Run: 0123456789abcdef\n": False,
    "Title\n\nBlackbird-Run: 0123456789abcdef\nBlackbird-Task: a\n": False,
    "Title\n\n  Blackbird-Task: a": False,
    "About Blackbird-Task: a": False,
    "# Blackbird-Task: a\nTitle": False,
    "Title" + "\n\n" * 90 + "x\n\nBlackbird-Task: a": True,
    "Title\n" + "line\n" * 250 + "\nBlackbird-Task: a": True,
}


@pytest.mark.parametrize("message", MESSAGES)
def test_python_is_started_when_a_person_names_a_task(hooked: Hooked, message: str) -> None:
    write(hooked.repo, {"../message": message})
    output = output_of(hooked.repo, "commit", "-q", "--cleanup=verbatim", "--allow-empty", "-F", "../message")
    entry = hooked.repo.parent / "the entry"
    deferred = f"deferred-commit-{head_of(hooked.repo)}"
    assert hooked.calls() == ([f"-I {entry} .git {deferred}"] if MESSAGES[message] else [])
    assert hooked.deferred() == ([deferred] if MESSAGES[message] else [])
    assert output == ""


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="the system tells no command")
def test_python_is_started_when_a_person_replaces_a_message(hooked: Hooked) -> None:
    git(hooked.repo, "commit", "-q", "--amend", "--allow-empty", "-m", "names none")
    assert len(hooked.calls()) == 1
    (hooked.repo / "blackbird.plan.json").unlink()
    git(hooked.repo, "commit", "-q", "--amend", "--allow-empty", "-m", "still none")
    assert len(hooked.calls()) == 1


@pytest.mark.parametrize(("status", "said"), [(0, "told\n"), (1, "")])
def test_only_what_a_whole_python_says_is_passed_on(hooked: Hooked, status: int, said: str) -> None:
    (hooked.repo.parent / "a python").write_text(f"#!/bin/sh\necho told >&2\nexit {status}\n")
    assert output_of(hooked.repo, "commit", "-q", "--allow-empty", "-m", "Blackbird-Task: a") == said


@pytest.mark.usefixtures("agent")
def test_an_agent_starts_no_python(hooked: Hooked) -> None:
    git(hooked.repo, "commit", "-q", "--allow-empty", "-m", "Blackbird-Task: a")
    assert hooked.calls() == []
    assert len(hooked.notes()) == 1


@pytest.mark.parametrize(
    "step", ["rebase-merge", "rebase-apply", "sequencer", "CHERRY_PICK_HEAD", "REVERT_HEAD", "no plan"]
)
def test_in_the_middle_of_several_steps_or_without_a_plan_nothing_is_written_down(
    hooked: Hooked, step: str
) -> None:
    git(hooked.repo, "commit", "-q", "--allow-empty", "-m", "X\n\nBlackbird-Task: a")
    (entry,) = (hooked.repo / ".git" / "blackbird").glob("deferred-commit-*")
    entry.unlink()
    hooked.calls_file.unlink()
    if step == "no plan":
        (hooked.repo / "blackbird.plan.json").unlink()
    else:
        (hooked.repo / ".git" / step).mkdir()
    subprocess.run([hooked.repo / ".git" / "hooks" / "post-commit"], cwd=hooked.repo, check=True)
    assert (hooked.deferred(), hooked.calls()) == ([], [])


def test_a_bisection_is_written_down_with_the_commit(hooked: Hooked) -> None:
    (hooked.repo / ".git" / "BISECT_LOG").touch()
    git(hooked.repo, "commit", "-q", "--allow-empty", "-m", "X\n\nBlackbird-Task: a")
    assert hooked.deferred() == [f"deferred-commit-{head_of(hooked.repo)}-bisect"]


def test_steps_of_a_rebase_start_no_python(hooked: Hooked) -> None:
    repo = hooked.repo
    git(repo, "checkout", "-q", "-b", "side")
    commit(repo, {"x": "x"}, "X\n\nBlackbird-Task: a")
    git(repo, "checkout", "-q", "main")
    commit(repo, {"z": "z"}, "Z\n\nBlackbird-Task: a")
    hooked.calls_file.unlink()
    git(repo, "checkout", "-q", "side")
    git(repo, "rebase", "-q", "main")
    assert git(repo, "log", "-1", "--format=%s") == "X"
    assert hooked.calls() == []


@pytest.mark.parametrize("gone", ["a python", "the entry"])
def test_without_the_program_the_hook_does_nothing(hooked: Hooked, gone: str) -> None:
    (hooked.repo.parent / gone).unlink()
    output = output_of(hooked.repo, "commit", "-q", "--allow-empty", "-m", "Blackbird-Task: a")
    assert (output, hooked.calls()) == ("", [])
    assert not (hooked.repo / ".git" / "blackbird").exists()


def test_a_repository_that_was_moved_goes_on(hooked: Hooked) -> None:
    hooked.activate()
    moved = hooked.repo.with_name("moved to here")
    hooked.repo.rename(moved)
    git(moved, "commit", "-q", "--allow-empty", "-m", "Blackbird-Task: a")
    assert Hooked(moved, "").notes() == [("-", head_of(moved))]
    assert len(hooked.calls()) == 1


def test_the_text_as_it_comes_is_a_hook_that_does_nothing(hooked: Hooked) -> None:
    text = Path(__file__).parents[3] / "hooks" / "post-commit"
    target = hooked.repo / ".git" / "hooks" / "post-commit"
    target.write_bytes(text.read_bytes())
    hooked.activate()
    assert output_of(hooked.repo, "commit", "-q", "--allow-empty", "-m", "Blackbird-Task: a") == ""
    assert hooked.notes() == []
    assert os.access(text, os.X_OK)


@pytest.mark.usefixtures("agent")
@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_what_an_agent_put_in_the_place_of_the_list_is_not_written_to(hooked: Hooked, kind: str) -> None:
    victim = hooked.repo.parent / "victim"
    victim.touch()
    path = hooked.repo / ".git" / "blackbird" / "commits"
    path.parent.mkdir()
    path.symlink_to(victim) if kind == "link" else os.mkfifo(path)
    assert output_of(hooked.repo, "commit", "-q", "--allow-empty", "-m", "x") == ""
    assert victim.read_bytes() == b""


@pytest.mark.usefixtures("agent")
@pytest.mark.parametrize("obstacle", ["blackbird", "blackbird/commits"])
def test_a_list_that_cannot_be_written_fails_no_commit(hooked: Hooked, obstacle: str) -> None:
    path = hooked.repo / ".git" / obstacle
    path.parent.mkdir(exist_ok=True)
    path.mkdir() if "/" in obstacle else path.touch()
    assert output_of(hooked.repo, "commit", "-q", "--allow-empty", "-m", "x") == ""


@pytest.mark.usefixtures("agent")
def test_no_program_is_started_for_a_note(hooked: Hooked) -> None:
    (hooked.repo / ".git" / "blackbird").mkdir()
    hook = hooked.repo / ".git" / "hooks" / "post-commit"
    environ = {"PATH": "/nowhere", "BLACKBIRD_RUN_ID": RUN}
    completed = subprocess.run([hook], cwd=hooked.repo, env=environ, capture_output=True, check=True)
    assert (completed.stdout, completed.stderr) == (b"", b"")
    assert hooked.notes() == [(RUN, head_of(hooked.repo))]


BEFORE = """#!/bin/sh
printf '%s|' "$#" "$@" "$(cat)" "${0##*/}"
grep -c . .git/blackbird/commits
exit 7
"""


@pytest.mark.usefixtures("agent")
def test_the_hook_from_before_has_arguments_input_and_status(hooked: Hooked) -> None:
    aside = hooked.repo / ".git" / "hooks" / "post-commit.before-blackbird"
    aside.write_text(BEFORE)
    aside.chmod(0o755)
    hook = hooked.repo / ".git" / "hooks" / "post-commit"
    completed = subprocess.run(
        [hook, "one", "and two"], cwd=hooked.repo, input=b"said", capture_output=True, check=False
    )
    assert completed.stdout.decode() == "2|one|and two|said|post-commit.before-blackbird|1\n"
    assert (completed.stderr, completed.returncode) == (b"", 7)


@pytest.mark.usefixtures("agent")
def test_a_hook_that_looks_at_its_name_finds_it(hooked: Hooked) -> None:
    aside = hooked.repo / ".git" / "hooks" / "post-commit.before-blackbird"
    aside.write_text(BEFORE)
    aside.chmod(0o755)
    hook = hooked.install(place=Location(shell=hook_interpreter(BEFORE)))
    completed = subprocess.run(
        [hook, "one", "and two"], cwd=hooked.repo, input=b"said", capture_output=True, check=False
    )
    assert completed.stdout.decode() == "2|one|and two|said|post-commit|1\n"
    assert (completed.stderr, completed.returncode) == (b"", 7)


def test_a_hook_from_before_that_cannot_run_does_not(hooked: Hooked) -> None:
    (hooked.repo / ".git" / "hooks" / "post-commit.before-blackbird").write_text("#!/bin/sh\nexit 1\n")
    hook = hooked.repo / ".git" / "hooks" / "post-commit"
    assert subprocess.run([hook], cwd=hooked.repo, check=False).returncode == 0


def test_it_runs_also_under_another_name(hooked: Hooked) -> None:
    """Other managers move it aside as it did with theirs."""
    hooked.activate()
    hook = hooked.repo / ".git" / "hooks" / "post-commit"
    hook.rename(hook.with_name("post-commit.legacy"))
    hook.write_text('#!/bin/sh\nexec "$0.legacy"\n')
    hook.chmod(0o755)
    git(hooked.repo, "commit", "-q", "--allow-empty", "-m", "x")
    assert hooked.notes() == [("-", head_of(hooked.repo))]


SCRIPTS = {
    '#!/bin/sh\n. "$(dirname "$0")/h"\n': "/bin/sh",
    "#!/bin/bash -e\ncd ${0%/*}\n": "/bin/bash -e",
    "#!/usr/bin/env bash\nexec run ${0##*/}\n": "/usr/bin/env bash",
    "#! /bin/dash\necho $0\n": "/bin/dash",
    "#!/bin/sh\necho nothing of that\n": "",
    "#!/usr/bin/python3\nprint('$0')\n": "",
    "#!/usr/bin/env ruby\nputs $0\n": "",
    "#!/bin/zsh -f\necho $0\n": "/bin/zsh -f +o functionargzero",
    '#!/bin/bash\n[ "$0" = "${BASH_SOURCE[0]}" ] && main\n': "",
    "echo $0\n": "/bin/sh",
    "\x7fELF\0$0\n": "",
    "": "",
}


@pytest.mark.parametrize("hook", SCRIPTS)
def test_only_a_shells_script_that_looks_at_its_name_is_read(hook: str) -> None:
    assert hook_interpreter(hook) == SCRIPTS[hook]
