"""The agent of ``real_code_base.py``: reads its context pack and edits a real tree in many ways."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

MARK = "# touched by {task}\n"
TEXTS = 60
NOTE = "trial-notes.txt"


def main() -> int:
    context = json.loads(sys.stdin.readline())
    task = context["task"]["id"]
    action = {"edit": edit, "move": move, "binary": binary, "commit": commit, "ask": ask}[task]
    return action(context)


def edit(context: dict[str, object]) -> int:
    """Many files edited, added with odd names, deleted; a resume adds what was asked for."""
    if "feedback" in context:
        Path(NOTE).write_text(f"{context['feedback']}\n")
        print("The note is there.")
        return 0
    names = sorted(str(path) for path in Path("django").rglob("*.py") if path.stat().st_size > 200)
    for name in names[:TEXTS]:
        with Path(name).open("a") as file:
            file.write(MARK.format(task="edit"))
    for name in names[-10:]:
        Path(name).unlink()
    Path("a folder").mkdir()
    for odd in (b"with space", b"with\nnewline", b'with"quote', b"not utf-8 \xff", "übermäßig".encode()):
        Path(os.fsdecode(b"a folder/" + odd)).write_bytes(b"new\n")
    print(f"{TEXTS} files edited.")
    return 0


def move(context: dict[str, object]) -> int:
    """A folder renamed, a mode changed, a link made, a file that becomes a folder."""
    Path("docs/howto").rename("docs/how-to")
    Path("README.rst").chmod(0o755)
    Path("latest").symlink_to("docs/releases")
    Path("INSTALL").unlink()
    Path("INSTALL").mkdir()
    Path("INSTALL/steps.txt").write_text("see docs\n")
    print(f"Moved, with {len(context)} parts of context.")
    return 0


def binary(context: dict[str, object]) -> int:
    """A binary file changed, a large one added, one deleted; the second start does it differently."""
    images = sorted(Path("tests").rglob("*.png"))
    images[0].write_bytes(images[0].read_bytes() + os.urandom(100))
    images[-1].unlink()
    Path("blob.bin").write_bytes(b"\0" + os.urandom(3_000_000))
    if Path("first-time").exists():
        shutil.copy(images[1], "copied.png")
    Path("first-time").write_text(f"{os.environ['BLACKBIRD_RUN_ID']} {len(context)}\n")
    return 0


def commit(context: dict[str, object]) -> int:
    """Fails half-way the first time; the second time commits its own paths."""
    if not Path("half-way.txt").exists():
        Path("half-way.txt").write_text("half\n")
        print("I give up", file=sys.stderr)
        return 3
    Path("half-way.txt").write_text(f"whole, for {context['task']}\n")
    subprocess.run(["git", "add", "half-way.txt"], check=True)
    subprocess.run(["git", "commit", "-q", "-m", "The agent's own", "--", "half-way.txt"], check=True)
    Path("after-commit.txt").write_text("not committed\n")
    return 0


def ask(context: dict[str, object]) -> int:
    """Asks which licence; works when it is told."""
    if "answers" not in context:
        question = {"id": "licence", "prompt": "Which licence?", "options": ["BSD", "MIT"]}
        print("I must know one thing.\n" + json.dumps({"questions": [question]}))
        return 0
    answers = context["answers"]
    assert isinstance(answers, list)
    Path("LICENSE.choice").write_text(f"{answers[0]['value']}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
