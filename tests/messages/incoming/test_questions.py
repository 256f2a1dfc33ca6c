import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from git_blackbird.messages.incoming.questions import (
    MAX_OPTIONS,
    MAX_QUESTIONS,
    MAX_TEXT_BYTES,
    QUESTION_FORM,
    StandingForms,
    parse_questions,
    parse_rulings,
)
from git_blackbird.model.run.parts import Question

FORM = '{"questions": [{"id": "db", "prompt": "Which one?", "options": ["a", "b"]}]}'
ASKED = (Question(id="db", prompt="Which one?", options=("a", "b")),)


def as_form(*entries: Any) -> str:
    return json.dumps({"questions": entries})


@pytest.mark.parametrize(
    "message",
    [
        FORM,
        f"  {FORM}\n\n",
        f"I looked at both.\n\n{FORM}",
        f"I looked at both: {FORM}",
        f"```json\n{FORM}\n```",
        f"Text\n~~~\n{FORM}\n  ~~~~ \n",
        f"```json {FORM}```",
        f"```\nsome code\n```\n{FORM}",
        json.dumps(json.loads(FORM), indent=4),
        '{"status": "stuck", "questions": [{"id": "db", "prompt": "Which one?", "options": ["a", "b"]}]}',
    ],
)
def test_the_form_at_the_end_is_a_question(message: str) -> None:
    assert parse_questions(message) == ASKED


@pytest.mark.parametrize(
    "prose",
    ['a stray " quote', "a stray { brace", "} and ] {", '{"half": "an object', "\\", '\\"', "[[[{", '"{"'],
)
def test_stray_characters_in_prose_do_not_hide_a_question(prose: str) -> None:
    assert parse_questions(f"{prose}\n{FORM}") == ASKED
    assert parse_questions(f"{prose} {FORM}") == ASKED


@pytest.mark.parametrize(
    "message",
    [
        "",
        "Done.",
        "Is that right?",
        f"You said {FORM} but I went on. Done.",
        f"{FORM}\nDone.",
        f"```json\n{FORM}\n```\nThat is what I would ask.",
        f"{FORM}\n" + '{"ok": true}',
        '{"ok": true}',
        '{"questions": []}',
        '{"questions": "Which one?"}',
        '{"questions": {"id": "db", "prompt": "Which one?"}}',
        '{"questions": [{"id": "db"}, {"prompt": ""}, {"prompt": null}, {"prompt": ["x"]}, 7, null, true]}',
        '{"questions": [{"prompt": "Which one?"}]',
        '"questions": [{"prompt": "Which one?"}]}',
        "{'questions': [{'prompt': 'Which one?'}]}",
        '{"prompt": "Which one?"}',
        '{"tool": "Bash", "prompt": "Which one?"}',
        '{"tool": "AskUserQuestion"}',
        "[1]",
        "see [the list]",
    ],
)
def test_what_is_no_question_at_the_end_asks_nothing(message: str) -> None:
    assert parse_questions(message) == ()


@pytest.mark.parametrize(
    "message",
    [
        '{"tool": "AskUserQuestion", "id": "db", "prompt": "Which one?", "options": ["a", "b"]}',
        '{"name": "ask_user_question", "id": "db", "question": "Which one?", "options": ["a", "b"]}',
        '{"NAME": 1, "tool": "ASKUSERQUESTION", "id": "db", "prompt": "Which one?", "options": ["a", "b"]}',
        '{"name":"ask_user_question","id":"db","prompt":null,"question":"Which one?","options": ["a", "b"]}',
        '[{"tool": "AskUserQuestion", "id": "db", "prompt": "Which one?", "options": ["a", "b"]}]',
    ],
)
def test_the_go_form_is_read_too(message: str) -> None:
    assert parse_questions(f"Hm.\n{message}") == ASKED


def test_a_question_in_the_shape_of_the_real_tool_is_read() -> None:
    options = [{"label": "a", "description": "the first"}, {"label": "b"}, {"label": "b"}]
    asked = [{"question": "Which one?", "header": "DB", "options": options, "multiSelect": False}]
    call = {"type": "tool_use", "name": "AskUserQuestion", "input": {"questions": asked}}
    assert parse_questions(json.dumps(call)) == (Question(id="q1", prompt="Which one?", options=("a", "b")),)


@pytest.mark.parametrize(
    "envelope",
    [
        {"type": "result", "is_error": False, "result": f"I stopped.\n{FORM}"},
        {"result": json.loads(FORM)},
        {"content": json.loads(FORM)},
        {"result": {"content": json.dumps({"result": FORM})}},
    ],
)
def test_a_question_inside_an_envelope_is_found(envelope: dict[str, Any]) -> None:
    assert parse_questions(f"noise\n{json.dumps(envelope)}") == ASKED


def test_several_objects_in_a_row_ask_together() -> None:
    lines = [json.dumps({"tool": "AskUserQuestion", "prompt": prompt}) for prompt in ("One?", "Two?")]
    assert parse_questions("\n".join(["Text", *lines])) == (
        Question(id="q1", prompt="One?"),
        Question(id="q2", prompt="Two?"),
    )


def test_every_question_has_an_id_of_its_own() -> None:
    entries = [
        {"prompt": "1?"},
        {"id": "q1", "prompt": "2?"},
        {"id": "a", "prompt": "3?"},
        {"id": "a", "prompt": "4?"},
        {"id": "a-4", "prompt": "5?"},
        {"id": 7, "prompt": "6?"},
        {"id": "has=sign", "prompt": "7?"},
        {"id": "two words", "prompt": "8?"},
        {"id": "x" * 65, "prompt": "9?"},
        "10?",
    ]
    found = parse_questions(as_form(*entries))
    assert [question.prompt for question in found] == [f"{number}?" for number in range(1, 11)]
    ids = [question.id for question in found]
    assert ids == ["q1x", "q1", "a", "a-4x", "a-4", "7", "q7", "q8", "q9", "q10"]


def test_options_are_texts_or_labels() -> None:
    asked = as_form(
        {"prompt": "?", "options": ["a", " a ", 2, 1.5, True, None, ["x"], {"label": "b"}, {"x": 1}, ""]}
    )
    assert parse_questions(asked)[0].options == ("a", "2", "1.5", "b")


@pytest.mark.parametrize("said", [True, "false", 0, None, [], {}])
def test_only_false_says_that_a_question_is_harmless(said: Any) -> None:
    (other,), (harmless,) = (
        parse_questions(as_form({"id": "q", "prompt": "?", "destructive": each})) for each in (said, False)
    )
    assert (other.destructive, harmless.destructive) == (None, False)


def as_rulings(*entries: Any) -> str:
    return json.dumps({"rulings": entries})


RULED = {"id": "db", "decision": "sqlite", "reason": "one user"}


@pytest.mark.parametrize("message", [as_rulings(RULED), f"Done.\n```json\n{as_rulings(RULED)}\n```\n"])
def test_rulings_at_the_end_are_read(message: str) -> None:
    assert parse_rulings(message) == {"db": ("sqlite", "one user")}
    assert parse_questions(message) == ()


def test_rulings_may_come_before_further_questions() -> None:
    message = f"{as_rulings(RULED, {'id': 'port', 'decision': 80})}\n{FORM}"
    assert parse_rulings(message) == {"db": ("sqlite", "one user"), "port": ("80", None)}
    assert parse_questions(message) == ASKED


OTHER = '{"questions": [{"id": "port", "prompt": "Which port?"}]}'
BOTH = '{"questions": [{"id": "db", "prompt": "Which one?"}, {"id": "port", "prompt": "Which port?"}]}'
ON_DB = as_rulings(RULED)


@pytest.mark.parametrize(
    ("messages", "asked", "ruled"),
    [
        ([FORM], ["db"], []),
        ([FORM, "Lint is clean."], ["db"], []),
        (["I begin.", FORM, FORM, ""], ["db"], []),
        ([FORM, OTHER, "Done."], ["port"], []),
        ([FORM, ON_DB], [], ["db"]),
        ([FORM, f"{ON_DB} was it."], ["db"], []),
        ([BOTH, "Hm.", ON_DB], ["port"], ["db"]),
        ([ON_DB, "Lint is clean."], [], ["db"]),
        ([ON_DB, FORM], ["db"], []),
        ([f"{ON_DB}\n{OTHER}", "Done."], ["port"], ["db"]),
        ([f"{ON_DB}\n{FORM}"] * 2, ["db"], []),
        (["Done."], [], []),
    ],
)
def test_the_last_form_of_a_run_stands_in_whichever_message(
    messages: list[str], asked: list[str], ruled: list[str]
) -> None:
    forms = StandingForms()
    for message in messages:
        forms.take(message)
    assert ([question.id for question in forms.questions], list(forms.rulings)) == (asked, ruled)


@pytest.mark.parametrize(
    "message",
    [
        "",
        FORM,
        f"{as_rulings(RULED)} and more",
        as_rulings({"id": "db"}, {"decision": "x"}, "text", 1, None),
        '{"rulings": {"id": "db"}}',
        '{"rulings": [' * 50_000,
    ],
    ids=range(6),
)
def test_what_is_no_ruling_decides_nothing(message: str) -> None:
    assert parse_rulings(message) == {}


def test_everything_is_bounded() -> None:
    entry = {"prompt": "ü" * MAX_TEXT_BYTES, "options": ["x" * MAX_TEXT_BYTES + "y"]}
    (long,) = parse_questions(as_form(entry))
    assert (long.prompt, long.options) == ("ü" * (MAX_TEXT_BYTES // 2), ("x" * MAX_TEXT_BYTES,))
    many = parse_questions(as_form(*[{"prompt": "?", "options": list(range(100))}] * 100))
    assert (len(many), len(many[0].options)) == (MAX_QUESTIONS, MAX_OPTIONS)


def test_text_can_always_be_saved() -> None:
    (question,) = parse_questions('{"questions": [{"prompt": "half \\ud83d of it", "options": ["\\udc00"]}]}')
    assert (question.prompt, question.options) == ("half \ufffd of it", ("\ufffd",))
    assert json.dumps(question.to_json(), ensure_ascii=False).encode()


@pytest.mark.parametrize(
    "message",
    [
        "{" * 1_000_000,
        "}" * 1_000_000,
        "{}" * 500_000,
        '{"a":' * 200_000 + "}" * 200_000,
        "[" * 100_000 + "]" * 100_000,
        '"' * 1_000_000 + "}",
        "\\" * 1_000_000 + '"}',
        ('\\"' * 500_000) + '"}',
        '{"questions": [' + "1" * 100_000 + "]}",
        '{"questions": [{"prompt": "?", "n": ' + "9" * 5000 + "}]}",
        '{"result": ' * 500 + "1" + "}" * 500,
    ],
    ids=lambda message: message[:12],
)
def test_hostile_messages_ask_nothing_and_cost_little(message: str) -> None:
    assert parse_questions(message) == ()


@settings(deadline=None)
@given(st.text())
def test_any_text_is_survived(text: str) -> None:
    parse_questions(text)
    parse_questions(text + "}")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["questions", "prompt", "question", "id", "options", "tool", "input", "result", "content"]
            )
            | st.text(),
            inner | st.just("AskUserQuestion"),
            max_size=4,
        )
    ),
    max_leaves=20,
)


@settings(deadline=None)
@given(st.text(), json_values)
def test_any_value_is_survived_and_what_it_asks_can_be_answered(prose: str, value: Any) -> None:
    found = parse_questions(f"{prose}\n{json.dumps(value)}")
    parse_rulings(f"{prose}\n{json.dumps({'rulings': value})}")
    assert len({question.id for question in found}) == len(found)
    assert all(question.prompt and question.id and "=" not in question.id for question in found)


prompts = st.text(min_size=1).map(str.strip).filter(bool)


@settings(deadline=None)
@given(st.text(), st.lists(prompts, min_size=1, max_size=5), st.sampled_from(["", "\n```", "\n\n"]))
def test_whatever_the_prose_the_form_at_the_end_is_found(prose: str, texts: list[str], end: str) -> None:
    found = parse_questions(f"{prose}\n{as_form(*({'prompt': text} for text in texts))}{end}")
    assert [question.prompt for question in found][-len(texts) :] == texts


def test_the_instructions_show_a_form_that_is_read() -> None:
    shown = next(line for line in QUESTION_FORM.splitlines() if line.startswith("{"))
    assert parse_questions(shown) == (
        Question(id="short-name", prompt="What you need to know?", options=("one", "other")),
    )
