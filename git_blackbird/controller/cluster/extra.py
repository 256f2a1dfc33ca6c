"""Dask, which is installed with the extra ``cluster`` only."""

import logging

from git_blackbird.errors import UnusableError

_MISSING = "a cluster needs Dask, which is not installed: pip install 'git-blackbird[cluster]'"


def require_extra() -> None:
    """Load Dask, without what it logs of its connections. Raises UnusableError where it is not installed."""
    try:
        import distributed  # noqa: F401, PLC0415 - an extra, and slow to load
    except ImportError as error:
        raise UnusableError(_MISSING) from error
    for name in [name for name in logging.root.manager.loggerDict if name.startswith("distributed")]:
        logging.getLogger(name).setLevel(logging.CRITICAL)
