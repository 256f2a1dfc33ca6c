"""Write which lines each test of a Go package runs, as lcov (``python go_lcov.py FILE``, in its folder)."""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

_BLOCK = re.compile(r"^(?P<file>.+):(?P<first>\d+)\.\d+,(?P<last>\d+)\.\d+ \d+ (?P<count>\d+)$")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        binary, profile = Path(folder, "tests"), Path(folder, "profile")
        subprocess.run(["go", "test", "-c", "-vet=off", "-cover", "-o", str(binary)], check=True)
        listed = subprocess.run([str(binary), "-test.list", "."], capture_output=True, text=True, check=True)
        lines = []
        for test in listed.stdout.split():
            command = [str(binary), f"-test.run=^{test}$", f"-test.coverprofile={profile}"]
            subprocess.run(command, capture_output=True, check=True)
            lines += [f"TN:{test}", *_records(profile.read_text())]
    Path(sys.argv[1]).write_text("\n".join([*lines, ""]))


def _records(profile: str) -> list[str]:
    """Return the records of lcov for a profile of Go, whose blocks are ranges of lines."""
    hits: dict[str, dict[int, int]] = {}
    for block in filter(None, map(_BLOCK.match, profile.splitlines())):
        of_file = hits.setdefault(Path(block["file"]).name, {})
        for number in range(int(block["first"]), int(block["last"]) + 1):
            of_file[number] = max(of_file.get(number, 0), int(block["count"]))
    records = []
    for file, counts in hits.items():
        data = (f"DA:{number},{count}" for number, count in sorted(counts.items()))
        records += [f"SF:{file}", *data, "end_of_record"]
    return records


if __name__ == "__main__":
    main()
