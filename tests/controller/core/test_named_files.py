"""Files that a person names: their texts are the same however an editor has saved them."""

from pathlib import Path

import pytest

from git_blackbird.controller.core.named_files import load_all
from git_blackbird.messages.forms.imports.read import TaskFile, read_tasks
from tests.messages.forms.imports.test_read import FORMS, files_of, sample

PAGE = "## One\nid: 1\n\nText\n\n## Two\nafter: 1\n"


@pytest.mark.parametrize("name", FORMS)
def test_a_byte_order_mark_and_other_line_ends_are_no_part_of_a_text(name: str, tmp_path: Path) -> None:
    for file in files_of(name):
        text = file.text.replace("\n", "\r\n")
        (tmp_path / file.name).write_text(text, encoding="utf-8-sig", newline="")
    texts, unread = load_all([str(tmp_path)] if len(files_of(name)) > 1 else [str(tmp_path / file.name)])
    assert not unread
    form, source = read_tasks([TaskFile(*text) for text in texts], None)
    assert (form, source.tasks, source.left_out) == (FORMS[name], *sample(name))


def test_a_page_begins_behind_its_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "page").write_text(PAGE, encoding="utf-8-sig")
    (tmp_path / "json").write_text('[{"title": "One"}]', encoding="utf-8-sig")
    texts, _ = load_all([str(tmp_path / name) for name in ("page", "json")])
    read = [read_tasks([TaskFile(*text)], None) for text in texts]
    assert [(form, source.tasks[0].title, len(source.tasks)) for form, source in read] == [
        ("page", "One", 2),
        ("page", "One", 1),
    ]
