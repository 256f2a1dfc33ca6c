from pathlib import Path

import pytest

from git_blackbird.agents.command import CommandReader
from git_blackbird.agents.demo import DemoAgent
from git_blackbird.agents.logs import FollowedLog, LogFiles, open_log, read_saved
from git_blackbird.agents.protocol import AgentSettings
from tests.agents.running import MEGABYTE, Stage, assign


def test_the_saved_log_says_what_the_live_one_said(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "stage")
    demo = DemoAgent(AgentSettings())
    assignment = assign("write a one\nsay Done with it.")
    live = stage.run_agent(demo, assignment)
    assert read_saved(demo.reader(assignment), stage.logs, 0) == live.reading
    unknown = read_saved(demo.reader(assignment), stage.logs, None)
    assert (unknown.succeeded, unknown.session, unknown.final_text) == (
        False,
        assignment.session,
        "Done with it.",
    )


def test_a_saved_log_that_is_gone_reads_as_an_empty_one(tmp_path: Path) -> None:
    files = LogFiles(tmp_path / "out", tmp_path / "err", 10)
    reading = read_saved(CommandReader(assign(), "cat"), files, 0)
    assert (reading.succeeded, reading.final_text) == (True, "")


def test_a_log_is_never_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("kept")
    (tmp_path / "log").symlink_to(tmp_path / "precious")
    with pytest.raises(OSError, match="symbolic links"):
        open_log(tmp_path / "log")
    assert (tmp_path / "precious").read_text() == "kept"


def test_what_is_far_behind_and_over_the_bound_is_passed_over_but_counted(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.touch()
    log = FollowedLog(path, MEGABYTE)
    path.write_bytes(b"a" * 20 * MEGABYTE + b"the end")
    pieces = []
    while piece := log.read():
        pieces.append(piece)
    heard = b"".join(pieces)
    assert heard.startswith(b"\na")
    assert heard.endswith(b"athe end")
    assert len(heard) == 4 * MEGABYTE + 1
    assert path.stat().st_size == MEGABYTE
    with path.open("ab") as stream:
        stream.write(b"more")
    assert log.read() == b"more"
    log.close()
    assert (log.seen, log.dropped) == (20 * MEGABYTE + 11, 19 * MEGABYTE + 11)
    assert path.read_bytes() == b"a" * MEGABYTE
