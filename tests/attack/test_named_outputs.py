"""What a user names to be written is written into; only a plain file is replaced."""

import os
import stat
import subprocess
from pathlib import Path

import pytest

from tests.support import commit
from tests.trial.program import Trial


@pytest.fixture
def trial(repo: Path) -> Trial:
    commit(repo, {"x": "1\n"})
    trial = Trial(repo)
    trial.plan({"a": ()})
    return trial


def test_a_device_stays_one(trial: Trial) -> None:
    """As root, a rename would make a plain file of it."""
    before = Path("/dev/full").stat()
    assert "cannot write /dev/full: No space left on device" in trial.expect(
        128, "report", "--html", "/dev/full"
    )
    after = Path("/dev/full").stat()
    assert stat.S_ISCHR(after.st_mode)
    assert (after.st_rdev, after.st_ino) == (before.st_rdev, before.st_ino)
    trial.expect(0, "report", "--html", "/dev/null")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_who_may_read_a_file_stays(trial: Trial) -> None:
    page = trial.repo / "page.html"
    page.write_text("old\n")
    page.chmod(0o600)
    trial.expect(0, "report", "--html", str(page))
    assert page.read_text() != "old\n"
    assert page.stat().st_mode & 0o777 == 0o600


def test_a_page_can_go_down_a_pipe(trial: Trial) -> None:
    assert "<!DOCTYPE html>" in trial.expect(0, "report", "--html", "/dev/stdout")
    pipe = trial.repo.parent / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE, text=True) as reader:
        trial.expect(0, "report", "--html", str(pipe))
        assert "<!DOCTYPE html>" in reader.communicate()[0]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_link_stays_one_and_a_folder_is_refused(trial: Trial) -> None:
    target, link = trial.repo.parent / "page.html", trial.repo.parent / "link.html"
    target.write_text("old")
    link.symlink_to(target)
    trial.expect(0, "report", "--html", str(link))
    assert link.is_symlink()
    assert target.read_text().startswith("<!DOCTYPE html>")
    folder = trial.repo.parent / "folder"
    folder.mkdir()
    trial.expect(2, "report", "--html", str(folder))
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("name", ["/dev/full", "/dev/null"])
def test_a_trace_goes_into_a_device(trial: Trial, name: str) -> None:
    trial.environ["BLACKBIRD_TRACE"] = name
    trial.expect(0, "status")
    assert stat.S_ISCHR(Path(name).stat().st_mode)


def test_what_is_restored_takes_the_place_of_nothing(trial: Trial) -> None:
    trial.command("echo 2 >x")
    trial.configure({"execution.stopAfterEachTask": "true"})
    trial.expect(3, "execute", "--no-input")
    run = trial.records("a")[0]["id"]
    place = trial.repo.parent / "there"
    place.mkdir()
    (place / "mine").write_text("mine\n")
    for name in ("/dev/full", str(place)):
        assert trial.run("restore", run, name)[0] != 0
    assert (place / "mine").read_text() == "mine\n"
    assert stat.S_ISCHR(Path("/dev/full").stat().st_mode)
