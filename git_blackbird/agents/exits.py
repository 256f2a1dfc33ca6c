"""Learns that a child has ended while leaving it unreaped, so that its number stays its own."""

import os
import subprocess
import threading
from collections.abc import Callable


class ExitWatch:
    """Waits for one child in a thread; ``over`` and ``exit_code`` tell, ``on_exit`` is called once.

    Until ``reap`` the child stays in the process table where the system can do that: neither its
    number nor its group's can come to mean other processes while leftovers are looked for.
    """

    def __init__(self, popen: subprocess.Popen[bytes], on_exit: Callable[[], None]) -> None:
        self._popen = popen
        self._on_exit = on_exit
        self.over = False
        self.exit_code: int | None = None
        # A daemon: a child that even SIGKILL cannot end must not keep this program from ending.
        threading.Thread(target=self._wait, name=f"exit of {popen.pid}", daemon=True).start()

    def reap(self) -> None:
        """Take the ended child out of the process table."""
        if self.over:
            self._popen.wait()

    def _wait(self) -> None:
        self.exit_code = self._unreaped_code() if hasattr(os, "waitid") else self._popen.wait()
        self.over = True
        self._on_exit()

    def _unreaped_code(self) -> int | None:
        try:
            result = os.waitid(os.P_PID, self._popen.pid, os.WEXITED | os.WNOWAIT)
        except ChildProcessError:
            # Someone else took it, as the system does where SIGCHLD is ignored: its code is lost.
            return None
        if result is None:
            return None
        return result.si_status if result.si_code == os.CLD_EXITED else -result.si_status
