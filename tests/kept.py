"""Files that keep what the program says: golden files, schemas and tables of the documents."""

import os
from difflib import unified_diff
from pathlib import Path

import pytest

UPDATE = bool(os.environ.get("BLACKBIRD_GOLDEN_UPDATE"))


def assert_kept(path: Path, text: str) -> None:
    """Hold a text against the file that keeps it, or write it there; a failure says what differs."""
    kept = path.read_text() if path.exists() else ""
    if text == kept:
        return
    if UPDATE:
        path.write_text(text)
        return
    lines = unified_diff(kept.splitlines(), text.splitlines(), str(path), "what it is now", lineterm="", n=1)
    pytest.fail("\n".join((*lines, "", how_to_update())), pytrace=False)


def how_to_update() -> str:
    test = os.environ.get("PYTEST_CURRENT_TEST", "").partition("::")[0]
    return f"If this is wanted: BLACKBIRD_GOLDEN_UPDATE=1 pytest {test}"
