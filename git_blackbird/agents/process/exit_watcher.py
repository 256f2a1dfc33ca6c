"""Notice the end of a child without reaping it, so that its process id stays reserved."""

import os
import subprocess
import threading
import time
from collections.abc import Callable

from git_blackbird import trace


class ExitWatcher:
    """Wait for one child in a thread; set ``over`` and ``exit_code``, and call ``on_exit`` once.

    The child stays in the process table until ``reap``, if the system supports that: its process id and group
    cannot be reused while leftovers are sought.
    """

    def __init__(self, popen: subprocess.Popen[bytes], on_exit: Callable[[], None]) -> None:
        self._popen = popen
        self._on_exit = on_exit
        self._began = time.monotonic()
        self.over = False
        self.exit_code: int | None = None
        # A daemon: a child that even SIGKILL cannot end must not keep this program from ending.
        threading.Thread(target=self._wait, name=f"exit of {popen.pid}", daemon=True).start()

    def reap(self) -> None:
        """Remove the ended child from the process table."""
        if self.over:
            self._popen.wait()

    def _wait(self) -> None:
        self.exit_code = self._unreaped_code() if hasattr(os, "waitid") else self._popen.wait()
        self.over = True
        trace.event("exit", self._popen.pid, self.exit_code, time.monotonic() - self._began)
        self._on_exit()

    def _unreaped_code(self) -> int | None:
        try:
            result = os.waitid(os.P_PID, self._popen.pid, os.WEXITED | os.WNOWAIT)
        except ChildProcessError:
            # It was reaped already, as the system does if SIGCHLD is ignored: its status is lost.
            return None
        if result is None:
            return None
        return result.si_status if result.si_code == os.CLD_EXITED else -result.si_status
