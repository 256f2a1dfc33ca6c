"""pygit2, loaded without the certificates of the system, which take longer to read than all else of it.

Nothing here uses the network by it. Whatever needs pygit2 when it runs imports it from here.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager

# No certificates of this file, and none that anything is searched for in this folder.
_NO_CERTIFICATES = {"SSL_CERT_FILE": os.devnull, "SSL_CERT_DIR": os.sep}


@contextmanager
def _without_certificates() -> Iterator[None]:
    before = {name: os.environ.get(name) for name in _NO_CERTIFICATES}
    os.environ.update(_NO_CERTIFICATES)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


with _without_certificates():
    import pygit2

__all__ = ["pygit2"]
