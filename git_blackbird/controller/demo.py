"""A small repository with a plan for the embedded agent, and what its records must say afterwards."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from git_blackbird.controller.plan_edits import NewTask, add_task, init_plan
from git_blackbird.controller.workspace import Workspace, open_workspace
from git_blackbird.controller.world import World
from git_blackbird.errors import RequestError, UnusableError
from git_blackbird.git.program import scrubbed
from git_blackbird.git.starting import commit_everything, start_repository
from git_blackbird.model.findings import Action
from git_blackbird.model.history import History
from git_blackbird.model.plan import Status
from git_blackbird.model.run import DecisionState, Run, RunStatus, RunType
from git_blackbird.model.task_review import BY_REVIEWERS, merged_of

DEMO_FOLDER = "blackbird-demo"
CHANGE_REQUEST = "Greet the world when nobody is named.\nOnly @greet.py needs to change."

_NAME, _EMAIL = "git-blackbird demo", "demo@example.invalid"
_SETTINGS = {
    "user.name": _NAME,
    "user.email": _EMAIL,
    "commit.gpgSign": "false",
    "blackbird.agent": "demo",
    "blackbird.execution.stopAfterEachTask": "true",
    "blackbird.reviews.mode": "parallel",
    "blackbird.notify.command": "",
}
_AGENT_VARIABLES = frozenset({"BLACKBIRD_AGENT_CMD", "BLACKBIRD_AGENT_PROVIDER"})
_FILES = {
    "README.md": "# Greet\n\nA program that greets. Its plan is carried out by agents.\n",
    "greet.py": 'print("Hello!")\n',
}
_GREETING = (
    "import sys\\n\\n\\ndef greeting(name):\\n"
    '    return f"Hello, {name}!"\\n\\n\\n'
    'if __name__ == "__main__":\\n'
    "    print(greeting(%s))"
)
_FIRST_WORD = "sys.argv[1]"
_OR_THE_WORLD = 'sys.argv[1] if sys.argv[1:] else "world"'
_TASKS = (
    NewTask(
        "Greet by name",
        id="greet",
        description="greet.py greets whoever is named on its command line.",
        acceptance_criteria=("greet.py greets the name it is given",),
        prompt="Let greet.py greet whoever is named.\n"
        "sleep 1\n"
        f"write greet.py {_GREETING % _FIRST_WORD}\n"
        "say greet.py greets whoever is named.\n"
        f"on-feedback write greet.py {_GREETING % _OR_THE_WORLD}\n"
        "on-feedback say Without a name it greets the world now.",
    ),
    NewTask(
        "Explain the program",
        id="guide",
        description="What a user needs to read.",
        acceptance_criteria=("the pages name what happens when nobody is named",),
        prompt="When its pages are done, they are reviewed together.\n"
        "require docs/usage.md without a name | guide-usage | Say what happens without a name.",
    ),
    NewTask(
        "Answer what users ask",
        id="guide-faq",
        parent="guide",
        deps=("greet",),
        acceptance_criteria=("docs/faq.md is in the tone that was asked for",),
        prompt="Ask for the tone, then answer the usual questions.\n"
        "ask tone In which tone shall the answers be? | friendly | formal\n"
        "answered tone docs/tone.txt\n"
        "write docs/faq.md # Questions\\n\\nWhom does it greet? Whoever is named.\n"
        "say docs/faq.md answers in the tone that docs/tone.txt names.",
    ),
    NewTask(
        "Say how to use it",
        id="guide-usage",
        parent="guide",
        deps=("greet",),
        acceptance_criteria=("docs/usage.md shows a command line",),
        prompt="Show how to call it.\n"
        "write docs/usage.md # Usage\\n\\n    python greet.py Ada\n"
        "say docs/usage.md shows how to call it.\n"
        "on-feedback write docs/usage.md # Usage\\n\\n    python greet.py Ada\\n\\n"
        "Called without a name it greets the world.\n"
        "on-feedback say docs/usage.md also tells of a call without a name.",
    ),
    NewTask(
        "Test the greeting",
        id="check",
        deps=("greet",),
        acceptance_criteria=("test_greet.py tests greeting()",),
        prompt="Test it; the first attempt fails, as attempts do.\n"
        "fail-once 7\n"
        "write test_greet.py from greet import greeting\\n\\n\\n"
        'def test_greeting():\\n    assert greeting("Ada") == "Hello, Ada!"\n'
        "say test_greet.py tests the greeting.",
    ),
    NewTask(
        "Write down what is new",
        id="release",
        deps=("check", "guide"),
        acceptance_criteria=("CHANGELOG.md names all that is new",),
        prompt="Name what is new; what is missing is found by a reviewer.\n"
        "write CHANGELOG.md # 1.0\\n\\nGreets by name.\n"
        "say CHANGELOG.md names what is new.\n"
        "spec-wants CHANGELOG.md explained | important | The pages for users are new as well.\n"
        "on-feedback write CHANGELOG.md # 1.0\\n\\nGreets by name, tested and explained.\n"
        "on-feedback say CHANGELOG.md names the tests and the pages as well.",
    ),
)


def make_demo(world: World, folder: Path) -> World:
    """Make the repository and its plan in ``folder``; gives the world to use it in.

    Raises RequestError when something is there already, UnusableError when it cannot be made.
    """
    _claim(folder)
    inside = world._replace(cwd=folder, environ=_demo_environ(world.environ))
    repo = start_repository(folder, inside.environ, _SETTINGS)
    for name, text in _FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    workspace = open_workspace(inside)
    init_plan(workspace)
    for task in _TASKS:
        add_task(workspace, task)
    commit_everything(repo, "A program that greets, and a plan for more", _NAME, _EMAIL)
    return inside


def _claim(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        is_taken = any(folder.iterdir())
    except OSError as error:
        raise UnusableError(
            f"cannot make {folder}: {error.strerror}", hint="--dir D names another"
        ) from error
    if is_taken:
        raise RequestError(f"{folder} is not empty", hint="--dir D names another place for the demo")


def _demo_environ(environ: Mapping[str, str]) -> dict[str, str]:
    """Give the environment less what ties it to another repository or agent."""
    return {name: value for name, value in scrubbed(environ).items() if name not in _AGENT_VARIABLES}


_Find = Callable[[tuple[Run, ...]], Iterator[str]]


@dataclass(frozen=True)
class Finding:
    """Something the demo shows, as its records tell it, and whether they do."""

    text: str
    holds: bool


def read_findings(workspace: Workspace) -> tuple[Finding, ...]:
    """Read plan and records and say what was seen to happen."""
    image = workspace.store.image()
    done = [task for task in image.plan.tasks.values() if task.status is Status.DONE]
    histories = [image.histories[task_id] for task_id in sorted(image.histories)]
    runs = [run for history in histories for run in history.own]
    still_open = [run for run in runs if run.is_pending or run.status is RunStatus.RUNNING]
    decided = [run for run in runs if run.decision_resolved_at is not None]
    return (
        Finding(f"{len(done)} of {len(image.plan.tasks)} tasks are done", len(done) == len(image.plan.tasks)),
        _shown("a change was requested, and made in the same session", histories, _changed),
        _shown("reviewers found an issue, and it was mended in the same session", histories, _mended),
        _shown("a question was asked and answered", histories, _answered),
        _shown("a failed run was rejected, and the task done in a new session", histories, _retried),
        _shown("a review of a parent failed, its child was resumed, and it passed", histories, _reviewed),
        Finding(f"{len(decided)} decisions on {len(runs)} runs are recorded, none is open", not still_open),
    )


def _shown(what: str, histories: list[History], find: _Find) -> Finding:
    found = [text for history in histories for text in find(history.runs)]
    return Finding(f"{what}: {'; '.join(found) or 'not seen'}", bool(found))


def _changed(runs: tuple[Run, ...]) -> Iterator[str]:
    for run in runs:
        later = _resumed(runs, run)
        if run.decision_state is DecisionState.CHANGES_REQUESTED and later and run.requested_by is None:
            yield f"{run.task_id}, run {run.id} and then {later.id}"


def _mended(runs: tuple[Run, ...]) -> Iterator[str]:
    for run in runs:
        later = _resumed(runs, run)
        merged = None if later is None else merged_of(later)
        if run.requested_by == BY_REVIEWERS and later and merged and merged.action is Action.PROCEED:
            yield f"{run.task_id}, run {run.id} and then {later.id}"


def _answered(runs: tuple[Run, ...]) -> Iterator[str]:
    for run in runs:
        later = _resumed(runs, run)
        if run.status is RunStatus.WAITING_USER and later is not None and later.answers:
            answers = ", ".join(f"{answer.id}={answer.value}" for answer in later.answers)
            yield f"{run.task_id}, {answers}"


def _retried(runs: tuple[Run, ...]) -> Iterator[str]:
    for run in runs:
        last = runs[-1]
        if (
            run.status is RunStatus.FAILED
            and run.decision_state is DecisionState.REJECTED
            and last.status is RunStatus.SUCCESS
            and last.provider_session_ref != run.provider_session_ref
        ):
            yield f"{run.task_id}, run {run.id} and then {last.id}"


def _reviewed(runs: tuple[Run, ...]) -> Iterator[str]:
    reviews = [run for run in runs if run.run_type is RunType.REVIEW]
    for first, later in pairwise(reviews):
        if first.parent_review_passed is False and later.parent_review_passed:
            flagged = ", ".join(first.parent_review_resume_task_ids)
            yield f"{first.task_id}, run {first.id}, {flagged} and then {later.id}"


def _resumed(runs: tuple[Run, ...], run: Run) -> Run | None:
    """Give the run that went on in this one's session."""
    for later in runs:
        if later.resumes == run.id and later.provider_session_ref == run.provider_session_ref:
            return later
    return None
