import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.controller.support import configure
from tests.support import commit
from tests.tui.tmux import Tmux


@pytest.fixture
def planned(repo: Path) -> Path:
    commit(repo, {"README.md": "# Here\n"})
    configure(repo, agent="demo", execution__acceptNoChange="true")
    return repo


@pytest.fixture
def tmux(temporary: Path) -> Iterator[Tmux]:
    window = Tmux(temporary)
    yield window
    # A test may have closed the terminal; tmux exits with its last one.
    with suppress(subprocess.CalledProcessError):
        window.do("kill-server")
