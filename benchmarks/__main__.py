"""Every limit this program owes, measured: ``python -m benchmarks [ROW...]``.

Prints a row for each: what is measured, the medians of ours and of its reference, taken in turns in the same
rounds, their ratio, the limit, and whether it holds. ``--check`` leaves out what has no limit, names in the
end each row that is over its limit, and exits 1 if there is one. ``--cpu`` compares processor times instead,
which a busy machine changes less. ``--quick`` takes 10,000 files where 100,000 are meant, and one round of
row 13; ``--huge`` takes rows 9 and 10 with 10,000 tasks too, which is an hour's work. ``--keep FOLDER`` works
there and leaves the installation for the next time.

Measure where many files were removed six minutes ago at the least, as at the end of the last measurement: for
so long, ext4 without a journal passes over their inodes each time it makes a file.
"""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from benchmarks import (
    cluster_rows,
    history_rows,
    hook_rows,
    jobs_rows,
    orchestration_rows,
    plan_rows,
    review_rows,
    screen_rows,
    snapshot_rows,
    startup_rows,
    streaming_rows,
)
from benchmarks.bench import Bench, say
from benchmarks.measuring import HEADING, Row, Ruler, render_row

ROWS: Mapping[str, Callable[[Bench], Iterator[Row]]] = {
    "1": startup_rows.idle_hook,
    "2": startup_rows.help_and_version,
    "2b": startup_rows.readers,
    "2c": startup_rows.completion,
    "3": hook_rows.idle_commit,
    "4": hook_rows.agents_commit,
    "5": snapshot_rows.one_snapshot,
    "6": snapshot_rows.one_run,
    "7": snapshot_rows.with_stat,
    "8": snapshot_rows.stale_run,
    "9": orchestration_rows.per_task,
    "10": orchestration_rows.growth,
    "11": streaming_rows.streaming,
    "12": plan_rows.newest_runs,
    "13": review_rows.reviews,
    "14": plan_rows.loading,
    "15": jobs_rows.worktrees,
    "16": jobs_rows.speed_up,
    "16b": jobs_rows.waiting,
    "17": screen_rows.screen,
    "20": history_rows.long_history,
    "21": snapshot_rows.untracked,
    "22": cluster_rows.speed_up,
    "23": cluster_rows.per_run,
}
# What is printed for orientation alone.
_WITHOUT_LIMIT = frozenset({"21", "23"})


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("rows", metavar="ROW", nargs="*", help=f"one of {', '.join(ROWS)}; all without one")
    parser.add_argument("--rounds", type=int, default=15, help="how often each side is taken")
    parser.add_argument("--check", action="store_true", help="exit 1 if a row is over its limit, and name it")
    parser.add_argument("--cpu", action="store_true", help="compare processor times, not times on the wall")
    parser.add_argument("--quick", action="store_true", help="10,000 files where 100,000 are meant")
    parser.add_argument("--huge", action="store_true", help="rows 9 and 10 with 10,000 tasks too")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="work here, and keep the installation")
    chosen = parser.parse_args()
    unknown = [name for name in chosen.rows if name not in ROWS]
    if unknown:
        parser.error(f"no such row: {', '.join(unknown)}")
    names = chosen.rows or [name for name in ROWS if not chosen.check or name not in _WITHOUT_LIMIT]
    # Nothing else that is in the folder is touched.
    keep = chosen.keep and chosen.keep.absolute() / "benchmarks"
    place = keep or Path(tempfile.mkdtemp(prefix="benchmarks-"))
    bench = Bench(place, Ruler(chosen.rounds, chosen.cpu), chosen.quick, chosen.huge)
    try:
        over = [row for row in _measured(bench, names) if not row.holds]
    finally:
        bench.tidy()
        if not keep:
            shutil.rmtree(place, ignore_errors=True)
    if chosen.check and over:
        print("over the limit:", *(f"{row.name} {row.what}" for row in over), sep="\n  ")
    return int(chosen.check and bool(over))


def _measured(bench: Bench, names: list[str]) -> Iterator[Row]:
    say(f"installing {bench.program}")
    clock = "processor times" if bench.ruler.by_cpu else "times on the wall"
    print(f"medians of {bench.ruler.rounds} rounds, {clock}\n{HEADING}", flush=True)
    for name in names:
        for row in ROWS[name](bench):
            print(render_row(row), flush=True)
            yield row


if __name__ == "__main__":
    sys.exit(main())
