from pathlib import Path

from git_blackbird.model.base.ids import TaskId
from git_blackbird.storage.drafts import DraftFile, text_drafts
from git_blackbird.storage.paths import Paths


def test_only_folders_of_texts_are_listed(tmp_path: Path) -> None:
    paths = Paths(tmp_path, tmp_path / "private")
    assert text_drafts(paths) == []
    DraftFile(paths, TaskId("a"), "message").save("louder")
    (paths.text_drafts / "b").write_text("no folder")
    (paths.text_drafts / "c").symlink_to("gone")
    (paths.text_drafts / "a" / "other.txt").write_text("no text for an agent")
    assert text_drafts(paths) == [(TaskId("a"), paths.text_drafts / "a" / "message.md")]
