"""The program on a real code base, through its command line (``python -m benchmarks.real_code_base``).

Takes a source distribution of Django from PyPI, thousands of files, commits it in a few hundred steps, and
does a plan of five tasks with a command and one of two with the real ``claude`` against a stand-in for its
model server. Prints a table: what was looked at, what was seen, whether it is right. Exits 1 when it is not.

``--keep FOLDER`` works there and leaves it; the code base is taken from there when it is there already.
"""

import argparse
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from benchmarks import trial_claude, trial_command
from benchmarks.trial_support import Place, Table, environment

PACKAGE = "django"
STEPS = 300


def fetch(folder: Path) -> Path:
    """Download and unpack the source distribution; gives its top folder."""
    folder.mkdir(parents=True, exist_ok=True)
    if not any(folder.glob("*.tar.gz")):
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "-q",
            "--no-deps",
            "--no-binary",
            PACKAGE,
            PACKAGE,
        ]
        subprocess.run([*command, "-d", str(folder)], check=True)
    with tarfile.open(next(folder.glob("*.tar.gz"))) as archive:
        archive.extractall(folder, filter="data")
    return next(path for path in folder.iterdir() if path.is_dir())


def commit_in_steps(place: Place) -> None:
    """Commit what lies there as a history of a few hundred commits."""
    files = sorted(str(path.relative_to(place.repo)) for path in place.repo.rglob("*") if path.is_file())
    place.git("init", "-q", "-b", "main")
    size = -(-len(files) // STEPS)
    for start in range(0, len(files), size):
        place.git("add", "-f", "--", *files[start : start + size])
        place.git("commit", "-q", "-m", f"Step {start // size}")
    commits = place.git("rev-list", "--count", "HEAD").strip()
    place.table.row("the code base", f"{len(files)} files in {commits} commits", ok=len(files) > 2000)


def prepare(work: Path, table: Table) -> Place:
    place = Place(work / "repo", environment(work / "home"), table)
    top = fetch(work / "download")
    shutil.rmtree(place.repo, ignore_errors=True)
    top.rename(place.repo)
    commit_in_steps(place)
    return place


def clone(place: Place, target: Path) -> Place:
    shutil.rmtree(target, ignore_errors=True)
    place.git("clone", "-q", str(place.repo), str(target))
    return Place(target, dict(place.environ), place.table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, help="work here, and leave it")
    chosen = parser.parse_args()
    work = chosen.keep.absolute() if chosen.keep else Path(tempfile.mkdtemp(prefix="real-code-base-"))
    table = Table()
    try:
        place = prepare(work, table)
        second = clone(place, work / "repo-claude")
        trial_command.run_trial(place)
        trial_claude.run_trial(second, work)
    finally:
        if not chosen.keep:
            shutil.rmtree(work, ignore_errors=True)
    print(f"\n{table.rows} looked at, {table.failed} wrong")
    sys.exit(bool(table.failed))


if __name__ == "__main__":
    main()
