"""An agent decides itself what it asks, as far as that is not destructive; a person sees it first."""

import json
from pathlib import Path
from typing import Any

import pytest

from git_blackbird.model.run.parts import Question, Ruling
from tests.records import fact
from tests.support import commit, git, write
from tests.trial.program import Record, Trial

# It says what is in the next of its files, and keeps what it was sent.
AGENT = """
n=$(ls .git/sent-* 2>/dev/null | wc -l)
cat >.git/sent-$n.json
echo $n >work.txt
[ -e .git/say-$n ] && cat .git/say-$n || echo Done.
"""


def question(name: str, **fields: object) -> dict[str, object]:
    return {"id": name, "prompt": f"Which {name}?", "options": ["one", "two"], **fields}


def asks(*questions: dict[str, object]) -> str:
    return json.dumps({"questions": questions})


def rules(**decisions: str) -> str:
    said = [
        {"id": name, "decision": decision, "reason": "it is small"} for name, decision in decisions.items()
    ]
    return json.dumps({"rulings": said})


HARMLESS = question("db", destructive=False)


@pytest.fixture
def trial(repo: Path) -> Trial:
    commit(repo, {"old.txt": "old\n"})
    trial = Trial(repo)
    trial.init()
    trial.plan({"a": (), "b": ("a",)})
    trial.command(AGENT)
    trial.configure({"execution.stopAfterEachTask": "true", "execution.questions": "rule"})
    return trial


def will_say(trial: Trial, *texts: str) -> None:
    for number, text in enumerate(texts):
        (trial.repo / f".git/say-{number}").write_text(f"{text}\n")


def sent(trial: Trial, number: int) -> Any:
    return json.loads((trial.repo / f".git/sent-{number}.json").read_bytes())


def rulings(record: Record) -> list[tuple[str, str | None, str | None]]:
    found = fact(record, "rulings") or []
    return [(each["question"]["id"], each.get("decision"), each.get("reason")) for each in found]


def test_a_harmless_question_is_ruled_on_and_the_ruling_stands_first(trial: Trial) -> None:
    will_say(trial, asks(HARMLESS, question("port", destructive=False)), rules(db="SQLite", port="80"))
    output = trial.expect(3, "execute")
    assert "a decides itself: db: Which db? (one, two)\n" in output
    panel = output[output.index("Task review checkpoint\n") :]
    assert panel.startswith(
        "Task review checkpoint\n2 rulings by the agent:\n"
        "  db: SQLite (it is small)\n    asked: Which db? (one, two)\n"
        "  port: 80 (it is small)\n    asked: Which port? (one, two)\n"
        "  git blackbird decide a --request-changes -e    # asks for another; or --overrule ID=TEXT\n"
        "Task: a - A\n"
    )
    first, second = trial.records("a")
    assert (first["status"], second["status"]) == ("waiting_user", "success")
    assert second["provider_session_ref"] == first["provider_session_ref"]
    assert rulings(second) == [("db", "SQLite", "it is small"), ("port", "80", "it is small")]
    assert '"destructive": false' in sent(trial, 0)["systemPrompt"]
    assert [each["id"] for each in sent(trial, 1)["answers"]] == ["db", "port"]
    shown = trial.expect(0, "show", "a")
    assert "2 rulings\n  db: SQLite (it is small)\n    asked: Which db? (one, two)\n" in shown
    (newest, _) = json.loads(trial.expect(0, "show", "a", "--json"))["data"]["runs"]
    assert [each["decision"] for each in newest["rulings"]] == ["SQLite", "80"]
    assert "Rulings" in trial.expect(0, "report")
    (task,) = json.loads(trial.expect(0, "report", "--json"))["data"]["undone"]
    assert task["rulings"] == 2


def test_a_ruling_is_overruled_by_a_change_request_that_quotes_it(trial: Trial) -> None:
    will_say(trial, asks(HARMLESS), rules(db="SQLite"))
    bare = "> Which db?\n> You decided: SQLite\n"
    asked = trial.expect(3, "execute", stdin=f"3\n{bare}\n")
    assert "write your ruling below the quote of" in asked.partition("Change request (end with")[2], asked
    assert "its rulings are: db" in trial.expect(1, "decide", "a", "--overrule", "port=1")
    assert "decided nothing itself" in trial.expect(1, "decide", "b", "--overrule", "db=1")
    trial.expect(2, "decide", "a", "--overrule", "db")
    trial.expect(2, "decide", "a", "--approve", "--overrule", "db=x")
    trial.expect(2, "decide", "a", "--overrule", "db=x", "-e")
    assert "unknown id" in trial.expect(1, "decide", "../a", "--overrule", "db=x")
    for refused in (("--overrule", "db= "), ("--request-changes", "-m", bare)):
        assert 'write your ruling below the quote of "db"' in trial.expect(1, "decide", "a", *refused)
    trial.expect(0, "decide", "a", "--overrule", "db=PostgreSQL, as always", "-m", "And tabs.")
    output = trial.expect(3, "execute")
    quoted = "> Which db?\n> You decided: SQLite\n\nPostgreSQL, as always\n\nAnd tabs."
    assert quoted in sent(trial, 2)["feedback"]
    assert "  > > You decided: SQLite\n" in output
    assert "by the agent:" not in output
    assert [each for each in sent(trial, 1)["answers"] if each["id"] == "db"]
    assert sent(trial, 2).keys().isdisjoint({"questions", "answers"})
    assert "SQLite (it is small)" not in (shown := trial.expect(0, "show", "a"))
    assert "db: SQLite" not in shown


def test_a_ruling_is_overruled_by_its_whole_quotation_alone() -> None:
    short, long = (
        Ruling(question=Question(id="db", prompt="Which?"), told="Decide.", decision=decision)
        for decision in ("SQL", "SQLite")
    )
    request = f"Before.\n{long.quote}\n\nAnother."
    assert (long.is_overruled([request]), short.is_overruled([request])) == (True, False)
    bare = (f"{long.quote}\n \n", f"Before.\n{long.quote}\n\n{short.quote}\n\nAnother.")
    assert [long.is_bare_in(text) for text in (*bare, request, long.decision or "")] == [
        True,
        True,
        False,
        False,
    ]


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "asked", [(question("db"),), (HARMLESS, question("drop", destructive="false"))], ids=["one", "one of two"]
)
def test_a_person_is_asked_all_else(trial: Trial, asked: tuple[dict[str, object], ...]) -> None:
    will_say(trial, asks(*asked))
    trial.expect(4, "execute", "--no-input")
    (record,) = trial.records("a")
    assert record["status"] == "waiting_user"


def test_a_project_cannot_make_agents_decide(trial: Trial) -> None:
    git(trial.repo, "config", "--unset", "blackbird.execution.questions")
    write(trial.repo, {".blackbird/config.json": '{"execution": {"questions": "rule"}}'})
    will_say(trial, asks(HARMLESS))
    trial.expect(4, "execute", "--no-input")
    assert '"destructive"' not in sent(trial, 0)["systemPrompt"]


@pytest.mark.exhaustive
def test_an_agent_that_asks_again_and_again_comes_to_a_person(trial: Trial) -> None:
    asked = [asks(question(f"db{number}", destructive=False)) for number in range(4)]
    decided = ["", *(rules(**{f"db{number}": "one"}) for number in range(3))]
    will_say(trial, *map("{}\n{}".format, decided, asked))
    trial.expect(4, "execute", "--no-input")
    records = trial.records("a")
    assert [record["status"] for record in records] == ["waiting_user"] * 4
    assert [rulings(record) for record in records] == [
        [],
        *([(f"db{number}", "one", "it is small")] for number in range(3)),
    ]
    trial.expect(3, "resume", "a", "--answer", "db3=mine", "--no-input")


@pytest.mark.exhaustive
def test_what_an_agent_asks_once_more_it_has_not_decided(trial: Trial) -> None:
    will_say(trial, *(f"{rules(db=str(number))}\n{asks(HARMLESS)}" for number in range(4)))
    trial.expect(4, "execute", "--no-input")
    assert [rulings(record) for record in trial.records("a")] == [[], *[[("db", None, None)]] * 3]
    trial.expect(3, "resume", "a", "--answer", "db=mine", "--no-input")
    assert "ruling" not in trial.expect(0, "show", "a")


def test_a_decision_that_is_not_said_is_asked_for_again(trial: Trial) -> None:
    will_say(trial, asks(HARMLESS), rules(database="SQLite"), rules(db="SQLite"))
    output = trial.expect(3, "execute")
    assert "  db: it did not say what it decided\n" in output
    assert '  it decided "database" (SQLite), which it did not ask; its questions are: db\n' in output
    trial.expect(0, "decide", "a", "--request-changes", "-m", "Say it.")
    assert "1 ruling by the agent:\n  db: SQLite" in trial.expect(3, "execute")


def test_rulings_go_on_after_the_program_was_killed(trial: Trial) -> None:
    """The question was asked before its configuration let the agent decide."""
    will_say(trial, asks(HARMLESS), rules(db="SQLite"))
    trial.configure({"execution.questions": "ask"})
    trial.expect(4, "execute", "--no-input")
    trial.configure({"execution.questions": "rule"})
    trial.expect(3, "execute", "--no-input")
    assert rulings(trial.records("a")[-1]) == [("db", "SQLite", "it is small")]
