import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from git_blackbird import __version__
from git_blackbird.agents.demo.agent import DemoAgent
from git_blackbird.agents.protocol import JsonObject
from git_blackbird.model.run.agent_io import Progress, ProgressKind
from git_blackbird.model.run.ended import Ended
from git_blackbird.model.run.parts import Question, Usage
from tests.agents.running import RUN_ID, Stage, as_read, assign
from tests.support import git

SESSION = "5e551011-0000-4000-8000-000000000001"
DEMO = DemoAgent()


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path / "stage")


def run(stage: Stage, prompt: str, *, resume: bool = False, **context: object) -> Ended:
    pack: JsonObject = dict(context)
    return stage.run_agent(DEMO, assign(prompt, resume=resume, context=pack))


def files(stage: Stage) -> dict[str, str]:
    return {
        str(path.relative_to(stage.tree)): path.read_text()
        for path in stage.tree.rglob("*")
        if path.is_file()
    }


def test_it_is_always_there() -> None:
    assert DEMO.probe({}) == __version__


def test_it_does_what_the_lines_say(stage: Stage) -> None:
    prompt = "Please:\nwrite a/b.txt one\\ntwo\nappend a/b.txt three\nwrite c gone\ndelete c\nsay All done."
    reading = run(stage, prompt)
    assert files(stage) == {"a/b.txt": "one\ntwo\nthree\n"}
    assert (reading.succeeded, reading.session, reading.final_text) == (True, SESSION, "All done.")
    assert (reading.cost_usd, reading.error, reading.questions) == (0.0, None, ())
    assert isinstance(reading.usage, Usage)
    assert stage.progress == [
        Progress(ProgressKind.EDITS, "a/b.txt"),
        Progress(ProgressKind.EDITS, "a/b.txt"),
        Progress(ProgressKind.EDITS, "c"),
        Progress(ProgressKind.EDITS, "c"),
        Progress(ProgressKind.SAYS, "All done."),
    ]


def test_doing_it_again_changes_nothing(stage: Stage) -> None:
    prompt = "write a one\nappend b two"
    first = run(stage, prompt)
    assert as_read(run(stage, prompt)) == as_read(first)
    assert files(stage) == {"a": "one\n", "b": "two\n"}


def test_it_asks_and_goes_on_with_the_answers(stage: Stage) -> None:
    asks = "ask db Which one? | sqlite | postgres\nask name What name?"
    prompt = f"write a one\n{asks}\nanswered db db.txt\nwrite z end"
    reading = run(stage, prompt)
    assert reading.questions == (
        Question(id="db", prompt="Which one?", options=("sqlite", "postgres")),
        Question(id="name", prompt="What name?"),
    )
    assert (reading.succeeded, reading.error) == (False, None)
    assert files(stage) == {"a": "one\n"}
    answers = [{"id": "db", "value": "sqlite"}, {"id": "name", "value": "x"}]
    assert run(stage, prompt, resume=True, answers=answers).succeeded
    assert files(stage) == {"a": "one\n", "db.txt": "sqlite\n", "z": "end\n"}


def test_feedback_is_shown_in_the_first_file_it_writes(stage: Stage) -> None:
    run(stage, "write a.md one")
    (stage.tree / "a.md").write_text("edited by a person\n")
    assert run(stage, "write a.md one", resume=True, feedback="Use\tcapitals -->\nplease").succeeded
    assert run(stage, "write a.md one", resume=True, feedback="And colours").succeeded
    notes = ["<!-- changed as asked: Use capitals -->", "<!-- changed as asked: And colours -->"]
    assert files(stage) == {"a.md": "\n".join(["edited by a person", *notes, ""])}


def test_feedback_has_lines_of_its_own(stage: Stage) -> None:
    prompt = "write a one\non-feedback append a two\non-feedback say Changed."
    assert run(stage, prompt).final_text == "Done."
    assert files(stage) == {"a": "one\n"}
    assert run(stage, prompt, resume=True, feedback="two, please").final_text == "Changed."
    assert files(stage) == {"a": "one\ntwo\n"}


def test_a_new_session_with_feedback_does_everything(stage: Stage) -> None:
    assert run(stage, "write a one", feedback="louder").succeeded
    assert files(stage) == {"a": "one\n<!-- changed as asked: louder -->\n"}


def test_it_fails_as_told(stage: Stage) -> None:
    ended = stage.run_agent(DEMO, assign("write a one\nfail 7\nwrite b two"))
    assert ended.exit_code == 7
    assert (ended.succeeded, ended.error) == (False, "told to fail with status 7")
    assert files(stage) == {"a": "one\n"}


def test_it_fails_once(stage: Stage) -> None:
    records = stage.tree / ".blackbird/runs/t1"
    records.mkdir(parents=True)
    (records / f"{RUN_ID}.json").write_text("{}")
    assert not run(stage, "fail-once 3").succeeded
    (records / "0000000000000000.json").write_text("{}")
    assert run(stage, "fail-once 3").succeeded


def test_it_commits(stage: Stage) -> None:
    git(stage.tree, "init", "-q")
    assert run(stage, "write a one\ncommit Add a").succeeded
    assert git(stage.tree, "log", "--format=%s", "--name-only") == "Add a\n\na"
    assert (
        run(stage, "commit Nothing").error
        == "git commit: On branch master\nnothing to commit, working tree clean"
    )


@pytest.mark.sampled(5)
@pytest.mark.parametrize("path", ["../out", "/tmp/out", "link/out", ".git/config", "."])
@pytest.mark.parametrize("line", ["write {} text", "append {} text", "delete {}", "answered x {}"])
def test_it_stays_in_its_worktree(stage: Stage, line: str, path: str) -> None:
    (stage.root / "elsewhere").mkdir(parents=True)
    (stage.tree / "link").symlink_to(stage.root / "elsewhere")
    reading = run(stage, line.format(path))
    assert reading.error is not None
    assert reading.error.startswith("refusing to touch")
    assert list((stage.root / "elsewhere").iterdir()) == []
    assert not (stage.root / "out").exists()


def test_no_module_of_the_worktree_takes_its_place(stage: Stage) -> None:
    for name in ("json.py", "subprocess.py", "git_blackbird.py", "sitecustomize.py"):
        (stage.tree / name).write_text("raise SystemExit('taken over')\n")
    launch = DEMO.launch(assign("write a one"))
    child = stage.hold(launch, PYTHONPATH=str(stage.tree))
    child.abandon()
    assert stage.run_agent(DEMO, assign("write a one"), PYTHONPATH=str(stage.tree)).succeeded


def test_a_broken_context_is_a_failure(stage: Stage) -> None:
    launch = DEMO.launch(assign())
    ended = stage.run_shell(shlex.join(launch.argv), DEMO.parser(assign()), stdin=b"{")
    assert ended.exit_code == 1
    assert ended.error is not None
    assert ended.error.startswith("JSONDecodeError: ")


def test_what_a_parents_review_wants_is_feedback(stage: Stage) -> None:
    prompt = "write a one\non-feedback append a two"
    owed = {"parentTaskId": "p", "reviewRunId": "r", "feedback": "two, please"}
    assert run(stage, prompt, parentReviewFeedback=owed).succeeded
    assert files(stage) == {"a": "one\ntwo\n"}
    (stage.tree / "a").write_text("changed\n")
    assert run(stage, prompt, resume=True, parentReviewFeedback=owed).succeeded
    assert files(stage) == {"a": "changed\ntwo\n"}


def test_what_a_person_and_a_review_want_is_heard_together(stage: Stage) -> None:
    owed = {"parentTaskId": "p", "reviewRunId": "r", "feedback": "from the review"}
    assert run(stage, "write a.md one", resume=True, parentReviewFeedback=owed, feedback="mine").succeeded
    assert run(stage, "write a.md one", resume=True, parentReviewFeedback=owed).succeeded
    assert files(stage)["a.md"].endswith(
        "<!-- changed as asked: mine -->\n<!-- changed as asked: from the review -->\n"
    )


def review(stage: Stage, prompt: str, **more: str) -> Ended:
    children = [{"childId": "a"}, {"childId": "b"}]
    assignment = assign(
        prompt,
        context={"parentReview": {"parentTaskId": "t1", "children": children, **more}},
        schema={"type": "object"},
        read_only=True,
    )
    return stage.run_agent(DEMO, assignment)


def verdict(stage: Stage, prompt: str) -> dict[str, Any]:
    reading = review(stage, prompt)
    assert reading.succeeded, reading.error
    said: dict[str, Any] = json.loads(reading.final_text)
    return said


REQUIRES = (
    "Look.\nwrite no never\nrequire a.md two words | a | Say two words\nrequire b.md B | b\nrequire c.md"
)


def test_as_a_reviewer_it_passes_what_has_the_texts_required(stage: Stage) -> None:
    for path, text in {"a.md": "has two words", "b.md": "ABC", "c.md": ""}.items():
        (stage.tree / path).write_text(text)
    assert verdict(stage, REQUIRES) == {
        "passed": True,
        "resumeTaskIds": [],
        "feedbackForResume": "",
        "reviewResults": [
            {"taskId": "a", "status": "passed", "feedback": None},
            {"taskId": "b", "status": "passed", "feedback": None},
        ],
    }
    assert sorted(files(stage)) == ["a.md", "b.md", "c.md"]
    assert stage.progress == [Progress(ProgressKind.READS, path) for path in ("a.md", "b.md", "c.md")]


def test_as_a_reviewer_it_flags_the_child_that_is_named(stage: Stage) -> None:
    (stage.tree / "b.md").write_text("B")
    (stage.tree / "c.md").mkdir()
    found = verdict(stage, REQUIRES.replace("require c.md", "require c.md x | a | And c"))
    assert found == {
        "passed": False,
        "resumeTaskIds": ["a"],
        "feedbackForResume": "Say two words\nAnd c",
        "reviewResults": [
            {"taskId": "a", "status": "failed", "feedback": "Say two words\nAnd c"},
            {"taskId": "b", "status": "passed", "feedback": None},
        ],
    }


def test_as_a_reviewer_it_flags_every_child_where_none_is_named(stage: Stage) -> None:
    found = verdict(stage, "require c.md colour")
    assert (found["resumeTaskIds"], found["feedbackForResume"]) == (
        ["a", "b"],
        "c.md has to contain: colour",
    )
    found = verdict(stage, "require c.md colour | b | Two\\nlines | more")
    assert (found["resumeTaskIds"], found["feedbackForResume"]) == (["b"], "Two\nlines | more")


def test_as_a_reviewer_it_talks_asks_answers_otherwise_and_fails_as_told(stage: Stage) -> None:
    assert review(stage, "review-say I looked.\nrequire c x | a").final_text.startswith(
        'I looked.\n{"passed": false, "resumeTaskIds": ["a"]'
    )
    asked = review(stage, "ask db Which one?\nrequire c x | a")
    assert (asked.succeeded, asked.questions) == (False, (Question(id="db", prompt="Which one?"),))
    assert review(stage, "review-answer I like it.").final_text == "I like it."
    once = "review-answer-once Hm."
    assert review(stage, once).final_text == "Hm."
    assert review(stage, once, faultOfLastAnswer="no JSON").final_text.startswith('{"passed": true')
    assert review(stage, "fail 3").error == "told to fail with status 3"
    assert review(stage, "require ../out x | a").error == (
        "refusing to touch ../out: it is not a file of this worktree"
    )
