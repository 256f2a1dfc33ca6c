from git_blackbird.messages.prompts import render_prompt


def test_a_fresh_session_is_told_what_was_answered_before() -> None:
    context = {
        "task": {"id": "a", "title": "A"},
        "questions": [{"id": "db", "prompt": "Which database?"}, {"id": "odd"}],
        "answers": [{"id": "db", "value": "sqlite"}, {"id": "odd", "value": "yes"}],
    }
    assert render_prompt(context) == (
        "# Task a: A\n\n"
        "## Questions asked about this task before, and their answers\n\n"
        "- Which database?\n  sqlite\n- odd\n  yes\n"
    )
