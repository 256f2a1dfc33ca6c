import subprocess
import sys
from pathlib import Path

import pytest

from git_blackbird.agents.command.agent import CommandParser
from git_blackbird.agents.demo.agent import DemoAgent
from git_blackbird.agents.process.logs import (
    LogFiles,
    LogReader,
    TailedLog,
    count_beyond,
    cut_saved,
    mask_saved,
    open_log,
    read_saved,
)
from git_blackbird.model.base.redaction import Redactor
from tests.agents.running import MEGABYTE, Stage, as_read, assign
from tests.planted_secrets import hidden_part, make_secrets


def test_the_saved_log_says_what_the_live_one_said(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "stage")
    demo = DemoAgent()
    assignment = assign("write a one\nsay Done with it.")
    live = stage.run_agent(demo, assignment)
    assert read_saved(demo.parser(assignment), stage.logs, 0) == as_read(live)
    unknown = read_saved(demo.parser(assignment), stage.logs, None)
    assert (unknown.succeeded, unknown.session, unknown.final_text) == (
        False,
        assignment.session,
        "Done with it.",
    )


def test_a_saved_log_that_is_gone_reads_as_an_empty_one(tmp_path: Path) -> None:
    files = LogFiles(tmp_path / "out", tmp_path / "err", 10, None)
    reading = read_saved(CommandParser(assign(), "cat"), files, 0)
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
    log = TailedLog(path, MEGABYTE)
    path.write_bytes(b"a" * 20 * MEGABYTE + b"the end")
    pieces = []
    while piece := log.read():
        pieces.append(piece)
    heard = b"".join(pieces)
    assert heard.startswith(b"\na")
    assert heard.endswith(b"athe end")
    assert len(heard) == MEGABYTE + 1
    with path.open("ab") as stream:
        stream.write(b"more")
    assert log.read() == b"more"
    log.close()
    assert (log.seen, log.dropped) == (20 * MEGABYTE + 11, 19 * MEGABYTE + 11)
    assert count_beyond(path, MEGABYTE) == log.dropped
    cut_saved(path, MEGABYTE)
    assert path.read_bytes() == b"a" * MEGABYTE


def test_where_the_end_is_enough_the_middle_is_passed_over_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"the start")
    log = TailedLog(path, 50 * MEGABYTE)
    with path.open("ab") as stream:
        stream.write(b"a" * 10 * MEGABYTE + b"the end")
    heard = [log.read(whole=False)]
    assert log.take_passed_over() == 9 * MEGABYTE + 7
    while heard[-1]:
        heard.append(log.read(whole=False))
    assert b"".join(heard) == b"\n" + b"a" * (MEGABYTE - 7) + b"the end"
    assert log.take_passed_over() == 0
    log.close()
    assert (log.seen, log.dropped) == (10 * MEGABYTE + 7, 0)
    assert path.stat().st_size == 10 * MEGABYTE + 16


def test_a_log_takes_no_more_room_than_its_bound_while_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.touch()
    log = TailedLog(path, MEGABYTE)
    with path.open("ab") as stream:
        for number in range(40):
            stream.write(b"%07d\n" % number * (MEGABYTE // 8))
            stream.flush()
            while log.read():
                pass
    found = path.stat()
    assert found.st_size == 40 * MEGABYTE
    assert found.st_blocks * 512 <= 4 * MEGABYTE
    # Whoever follows it from another process reads over what was given back.
    shown = b"".join(LogReader([path]).pieces())
    assert {b"0000000", b"0000039"} <= set(shown.split(b"\n"))
    assert b"\0" not in shown
    log.close()
    assert (log.seen, log.dropped) == (40 * MEGABYTE, 39 * MEGABYTE)


def test_after_a_crash_the_end_is_read_and_the_log_accounts_for_all_of_it(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.touch()
    log = TailedLog(path, MEGABYTE)
    with path.open("ab") as stream:
        for _ in range(20):
            stream.write(b"x" * (MEGABYTE - 1) + b"\n")
            stream.flush()
            while log.read():
                pass
        stream.write(b"the last words")
    # Nobody closes it. A bound that was raised meanwhile keeps nothing that is not there any more.
    files = LogFiles(path, tmp_path / "err", MEGABYTE, None)
    assert read_saved(CommandParser(assign(), "cat"), files, 0).final_text.endswith("the last words")
    assert count_beyond(path, 10 * MEGABYTE) == count_beyond(path, MEGABYTE) == 19 * MEGABYTE + 14
    cut_saved(path, 10 * MEGABYTE)
    assert path.stat().st_size == MEGABYTE
    assert b"\0" not in path.read_bytes()


def test_where_a_file_may_not_grow_the_log_is_cut_instead(tmp_path: Path) -> None:
    """As below ``ulimit -f``, in a process of its own."""
    script = """
import resource, sys
from pathlib import Path
from git_blackbird.agents.process.logs import TailedLog
resource.setrlimit(resource.RLIMIT_FSIZE, (8 << 20, 8 << 20))
path = Path(sys.argv[1])
path.touch()
log = TailedLog(path, 1 << 20)
for _ in range(40):
    with path.open("ab") as stream:
        stream.write(b"x" * (1 << 20))
    while log.read():
        pass
log.close()
print(log.seen, log.dropped, path.stat().st_size)
"""
    completed = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "log")], capture_output=True, text=True, check=True
    )
    seen, dropped, size = map(int, completed.stdout.split())
    assert (seen, dropped) == (40 << 20, 39 << 20)
    assert size <= 2 << 20


def read_in_pieces(path: Path, pieces: list[bytes]) -> bytes:
    path.touch()
    log, heard = TailedLog(path, MEGABYTE, Redactor({"X_TOKEN": "the first\nand a second line"})), b""
    for piece in pieces:
        with path.open("ab") as stream:
            stream.write(piece)
        heard += log.read()
    heard += log.release()
    log.close()
    return heard


@pytest.mark.sampled(1)
@pytest.mark.parametrize("step", [1, 7, 1000])
def test_a_secret_that_comes_in_pieces_is_masked(tmp_path: Path, step: int) -> None:
    secrets = {**make_secrets(3), "value": "the first\nand a second line"}
    text = "".join(f"{name}: {secret}\nthe next line, and {secret}\n" for name, secret in secrets.items())
    data = text.encode()
    path = tmp_path / "log"
    heard = read_in_pieces(path, [data[at : at + step] for at in range(0, len(data), step)])
    assert heard == path.read_bytes()
    assert len(heard) == len(data)
    assert not [name for name, secret in secrets.items() if hidden_part(secret).encode() in heard]
    assert b"the next line, and [redacted" in heard


def test_a_line_is_heard_as_soon_as_it_ends_and_all_is_heard_of_a_long_one(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.touch()
    log = TailedLog(path, MEGABYTE, Redactor({}))
    path.write_bytes(b'{"text": "-----BEGIN RSA PRIVATE KEY-----"}\nprogress')
    assert log.read() == b'{"text": "-----BEGIN RSA PRIVATE KEY-----"}\n'
    assert (log.read(), log.release(), log.read()) == (b"", b"progress", b"")
    with path.open("ab") as stream:
        stream.write(b"ghp_" + b"a" * 30_000)
    heard = log.read()
    assert len(heard) > 10_000
    assert len(heard + log.release()) == 30_004
    path.write_bytes(b"begun again by the child\n")
    assert log.read() == b"begun again by the child\n"
    log.close()
    assert path.read_bytes() == b"begun again by the child\n"


def test_what_was_passed_over_is_masked_in_the_end_and_counted_again(tmp_path: Path) -> None:
    path, secret = tmp_path / "log", make_secrets(4)["npm"].encode()
    path.write_bytes(b"%s\n%s\n" % (secret, b"x" * 300_000 + b" " + secret))
    first = Redactor({})
    mask_saved(path, first)
    masked = path.read_bytes()
    again = Redactor({})
    mask_saved(path, again)
    assert (path.read_bytes(), secret in masked) == (masked, False)
    assert first.counts == again.counts == {"npm-token": 1}
