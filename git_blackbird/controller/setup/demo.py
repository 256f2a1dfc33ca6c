"""A small repository with a plan for the embedded agent."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from git_blackbird.controller.core.environment import Environment
from git_blackbird.controller.core.workspace import open_workspace
from git_blackbird.controller.plan.edit import NewTask, add_task, init_plan
from git_blackbird.errors import RequestError, UnusableError
from git_blackbird.git.core.repository import commit_all, init_repository, without_git_env
from git_blackbird.model.config.config import KEYS

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


_WORDS = {"en": "Hello", "fr": "Bonjour", "de": "Hallo"}


def _greeting_program(*languages: str, line_end: str = "\\n") -> str:
    """Return the text of greet.py, with the line ends of a directive or others.

    Two that each add a language change one line differently.
    """
    words = (f'    "{language}": "{_WORDS[language]}",' for language in languages)
    first = f"# Speaks {', '.join(languages)}."
    return line_end.join((first, "GREETINGS = {", *words, "}", "print(*GREETINGS.values())"))


_SPEAKS_FRENCH, _SPEAKS_GERMAN = _greeting_program("en", "fr"), _greeting_program("en", "de")
_SPEAKS_ALL = _greeting_program(*_WORDS)
_SIDE_BY_SIDE_TASKS = (
    NewTask(
        "Greet in French",
        id="french",
        prompt="Add French.\n"
        "sleep 1\n"
        f"write greet.py {_SPEAKS_FRENCH}\n"
        "say greet.py speaks French.\n"
        f"on-feedback write greet.py {_SPEAKS_ALL}\n"
        "on-feedback say It speaks both new languages.",
    ),
    NewTask(
        "Greet in German",
        id="german",
        prompt="Add German, in the same place as another agent adds French.\n"
        "sleep 2\n"
        f"write greet.py {_SPEAKS_GERMAN}\n"
        "say greet.py speaks German.\n"
        f"on-feedback write greet.py {_SPEAKS_ALL}\n"
        "on-feedback say It speaks both new languages.",
    ),
    NewTask(
        "List the languages",
        id="list",
        prompt="List what greet.py speaks; the check compares them.\n"
        "sleep 3\n"
        "write languages.txt en\n"
        "say languages.txt names the languages.\n"
        "on-feedback write languages.txt en\\nfr\\nde\n"
        "on-feedback say languages.txt names the new languages as well.",
    ),
)
_CHECK = """\
# Fails where languages.txt, if there is one, does not name just what greet.py speaks.
[ ! -e languages.txt ] || sed -n 's/^    "\\(..\\)":.*/\\1/p' greet.py | diff languages.txt -
"""


@dataclass(frozen=True)
class _Demo:
    files: Mapping[str, str]
    tasks: Sequence[NewTask]
    settings: Mapping[str, str] = field(default_factory=dict)


_ONE_BY_ONE = _Demo(_FILES, _TASKS)


def _side_by_side(jobs: int) -> _Demo:
    files = {**_FILES, "greet.py": _greeting_program("en", line_end="\n") + "\n", "check.sh": _CHECK}
    settings = {
        "blackbird.execution.stopAfterEachTask": "false",
        "blackbird.reviews.mode": "off",
        "blackbird.execution.jobs": str(jobs),
        "blackbird.check.command": "sh check.sh",
    }
    return _Demo(files, _SIDE_BY_SIDE_TASKS, settings)


def make_demo(environment: Environment, folder: Path, jobs: int = 1) -> Environment:
    """Make the repository and its plan in ``folder``; return the environment to use it in.

    With several ``jobs`` it is one whose tasks are worked on side by side. Raises RequestError when something
    is there already, UnusableError when it cannot be made.
    """
    made = _ONE_BY_ONE if jobs == 1 else _side_by_side(jobs)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        is_taken = any(folder.iterdir())
    except OSError as error:
        raise UnusableError(
            f"cannot make {folder}: {error.strerror}", hint="--dir D names another"
        ) from error
    if is_taken:
        raise RequestError(f"{folder} is not empty", hint="--dir D names another place for the demo")
    # Nothing may tie it to another repository or agent.
    choosing = {key.row.environment for key in KEYS.values()}
    environ = {
        name: value for name, value in without_git_env(environment.environ).items() if name not in choosing
    }
    inside = environment._replace(cwd=folder, environ=environ)
    repo = init_repository(folder, inside.environ, {**_SETTINGS, **made.settings})
    for name, text in made.files.items():
        (folder / name).write_text(text, encoding="utf-8")
    workspace = open_workspace(inside)
    init_plan(workspace)
    for task in made.tasks:
        add_task(workspace, task)
    commit_all(repo, "A program that greets, and a plan for more", _NAME, _EMAIL)
    return inside
