"""Import Dask, which only the extra ``cluster`` installs, and check its configuration."""

import logging
from pathlib import Path
from typing import Literal

from git_blackbird.errors import UnusableError

LOCAL = "local:"
"""Begins the address of a scheduler and workers that are started for one call."""
_MISSING = "a cluster needs Dask, which is not installed: pip install 'git-blackbird[cluster]'"
_TLS = "distributed.comm.tls"


def require_extra() -> None:
    """Load Dask and silence its connection logs. Raises UnusableError if it is not installed."""
    try:
        import distributed  # noqa: F401  # an extra, and slow to load
    except ImportError as error:
        raise UnusableError(_MISSING) from error
    for name in [name for name in logging.root.manager.loggerDict if name.startswith("distributed")]:
        logging.getLogger(name).setLevel(logging.CRITICAL)


def require_tls_files(address: str, role: Literal["client", "worker"]) -> None:
    """Raise UnusableError naming a missing TLS file of Dask's configuration."""
    import dask

    if not address.startswith("tls:"):
        return
    for key in (f"{_TLS}.ca-file", f"{_TLS}.{role}.cert", f"{_TLS}.{role}.key"):
        path = dask.config.get(key, None)
        if path and not Path(path).is_file():
            raise UnusableError(
                f"{key} in Dask's configuration names {path}, which does not exist",
                hint="a relative path begins at the folder where a command runs: write the whole one",
            )
