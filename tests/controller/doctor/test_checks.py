"""The command that opens a path to the user, whoever owns it."""

import os
import pwd
from pathlib import Path

import pytest

from git_blackbird.controller.doctor.checks import opening_command

NOBODYS = 54_321


def test_what_is_ones_own_is_opened_and_what_is_not_there_is_so_above(tmp_path: Path) -> None:
    assert opening_command(tmp_path / "gone/too") == f"chmod u+rwX {tmp_path}"


@pytest.mark.skipif(os.geteuid() != 0, reason="nobody else can give a file away")
def test_the_owner_of_what_is_not_ones_own_is_named(tmp_path: Path) -> None:
    os.chown(tmp_path, NOBODYS, NOBODYS)
    user = pwd.getpwuid(0).pw_name
    assert opening_command(tmp_path) == f"sudo chown -R {user} {tmp_path}    # it belongs to {NOBODYS}"
