from pathlib import Path

from git_blackbird.model.base.ids import TaskId
from git_blackbird.storage.drafts import (
    DraftFile,
    create_draft,
    drafts_of,
    drop_draft,
    load_base,
    load_draft,
    save_draft,
    text_drafts,
)
from git_blackbird.storage.paths import Paths
from git_blackbird.storage.removal import list_own_files


def test_only_folders_of_texts_are_listed(tmp_path: Path) -> None:
    paths = Paths(tmp_path, tmp_path / "private")
    assert text_drafts(paths) == []
    DraftFile(paths, TaskId("a"), "message").save("louder")
    (paths.text_drafts / "b").write_text("no folder")
    (paths.text_drafts / "c").symlink_to("gone")
    (paths.text_drafts / "a" / "other.txt").write_text("no text for an agent")
    assert text_drafts(paths) == [(TaskId("a"), paths.text_drafts / "a" / "message.md")]


def test_drafts_of_two_tasks_never_share_a_file(tmp_path: Path) -> None:
    paths = Paths(tmp_path, tmp_path / "private")
    texts = {TaskId("a"): ("one", "two", "three"), TaskId("a.2"): ("other", "another")}
    for task_id, forms in texts.items():
        for form in forms:
            create_draft(paths, task_id, form)
    for task_id, forms in texts.items():
        assert tuple(map(load_draft, drafts_of(paths, task_id))) == forms[::-1]
        assert tuple(map(load_base, drafts_of(paths, task_id))) == forms[::-1]
    drop_draft(paths.drafts / "a.md")
    assert tuple(map(load_draft, drafts_of(paths, "a"))) == ("three", "two")
    save_draft(paths.drafts / "2" / "a.md", "two again")
    assert tuple(map(load_draft, drafts_of(paths, "a"))) == ("two again", "three")
    create_draft(paths, "a", "one")
    assert list_own_files(paths, frozenset()) == [
        paths.drafts / name for name in ("a.2.md", "a.md", "2/a.2.md", "2/a.md", "3/a.md")
    ]


def test_a_text_is_found_though_an_earlier_one_is_gone(tmp_path: Path) -> None:
    paths = Paths(tmp_path, tmp_path / "private")
    first, second = (DraftFile(paths, TaskId("a"), "message") for _ in range(2))
    first.save("one")
    second.save("two")
    first.save("")
    later = DraftFile(paths, TaskId("a"), "message")
    assert (later.load(), later.path) == ("two", second.path)
