"""The real program in a real terminal."""

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests import preloaded
from tests.cli.terminal import program_environ

PATIENCE_SECONDS = 30.0
AS_THE_SHELL_HAS_THEM = "0010"
STOPPED = 128 + min(signal.SIGSTOP, signal.SIGTSTP)


class Tmux:
    """A window of 80 columns and 24 lines, in a tmux server of its own."""

    def __init__(self, place: Path) -> None:
        self._socket = str(place / "tmux")
        self._program = place / "git-blackbird"

    def do(self, *args: str) -> str:
        command = ["tmux", "-f", "/dev/null", "-S", self._socket, *args]
        # The size comes from the terminal, whatever is exported.
        environ = program_environ({"COLUMNS": "80", "LINES": "24"})
        return subprocess.run(command, capture_output=True, text=True, check=True, env=environ).stdout

    def open(self, cwd: Path, *args: str) -> None:
        """Start the program from a shell, which gets the terminal back but does not control it."""
        preloaded.write_command(self._program, preloaded.SCREEN)
        self._open(cwd, str(self._program), *args)

    def open_controlled(self, cwd: Path) -> None:
        """Start the program in a new interpreter, as a job of the shell."""
        self.open_python(cwd, "-m", "git_blackbird")

    def open_below_git(self, cwd: Path) -> None:
        """Start it as ``git blackbird``: the shell waits for git, and git for the program."""
        self._open(
            cwd, "git", "-c", f"alias.opened=!{shlex.quote(sys.executable)} -m git_blackbird", "opened"
        )

    def open_python(self, cwd: Path, *args: str) -> None:
        """Start Python with these arguments from a shell."""
        self._open(cwd, sys.executable, *args)

    def _open(self, cwd: Path, *command: str) -> None:
        program = shlex.join(command)
        job = f"set -m; {program}; e=$?; while [ $e -ge {STOPPED} ]; do echo stopped; read on; fg; e=$?; done"
        shell = f'a=$(stty -g); {job}; echo "ended $e"; [ "$a" = "$(stty -g)" ] && echo as before; cat'
        self.do("new-session", "-d", "-x", "80", "-y", "24", "-c", str(cwd), "sh", "-c", shell)

    def kill_program(self, number: int) -> None:
        """Send a signal to the program, not to the shell that waits for it."""
        shell = self.do("display-message", "-p", "#{pane_pid}").strip()
        found = subprocess.run(["pgrep", "-P", shell], capture_output=True, text=True, check=True)
        os.kill(int(found.stdout.split()[0]), number)

    def press(self, *keys: str) -> None:
        self.do("send-keys", *keys)

    def execute(self) -> None:
        """Start what is due, as soon as it is shown."""
        self.press("e")
        self.wait_for("enter starts it")
        self.press("Enter")

    def resize(self, columns: int, lines: int) -> None:
        self.do("resize-window", "-x", str(columns), "-y", str(lines))

    def shown(self) -> str:
        return self.do("capture-pane", "-p")

    def wait_for(self, *texts: str, without: str | None = None) -> str:
        """Wait until all texts are on the screen, and none that must not be; return the screen.

        It is to be the same twice: what is being painted may lack anything.
        """
        deadline = time.monotonic() + PATIENCE_SECONDS
        before, shown = "", self.shown()
        while shown != before or not all(text in shown for text in texts) or (without or "\0") in shown:
            assert time.monotonic() < deadline, shown
            time.sleep(0.05)
            before, shown = shown, self.shown()
        return shown

    def wait_for_end(self, code: int) -> None:
        """Wait until the program has ended and the terminal is restored."""
        shown = self.wait_for(f"ended {code}\nas before")
        assert "Traceback" not in shown
        assert self.flags() == AS_THE_SHELL_HAS_THEM

    def flags(self) -> str:
        """Return the flags of alternate screen, mouse, cursor and keypad."""
        wanted = "#{alternate_on}#{mouse_any_flag}#{cursor_flag}#{keypad_cursor_flag}"
        return self.do("display-message", "-p", wanted).strip()
