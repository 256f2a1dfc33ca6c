"""pygit2 without certificates: what an environment names for those is neither read nor changed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

_LOADS = "import json, os; import git_blackbird.git.core.libgit2; print(json.dumps({**os.environ}))"


def test_certificates_are_not_read(tmp_path: Path) -> None:
    broken = tmp_path / "broken.pem"
    broken.write_text("no certificate")
    environ = {**os.environ, "SSL_CERT_FILE": str(broken)}
    environ.pop("SSL_CERT_DIR", None)
    plain = [sys.executable, "-c", "import pygit2"]
    if subprocess.run(plain, env=environ, capture_output=True, check=False).returncode == 0:
        pytest.skip("this libgit2 reads no certificates when it is loaded")
    loaded = subprocess.run([sys.executable, "-c", _LOADS], env=environ, capture_output=True, check=True)
    after = json.loads(loaded.stdout)
    assert after["SSL_CERT_FILE"] == str(broken)
    assert "SSL_CERT_DIR" not in after
