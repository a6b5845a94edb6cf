"""A program in a terminal: what it shows, and what is typed."""
import contextlib
import fcntl
import os
import pty
import select
import struct
import termios
import time

from server import PATIENCE, environment


class Talker:
    """Runs the command in a pseudo-terminal of its own, of that many columns and rows."""

    def __init__(self, command, columns=80, rows=24, **env):
        begin, told = os.pipe()
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.close(told)
            os.read(begin, 1)  # its end: the terminal's modes are seen
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            os.execvpe(command[0], [str(word) for word in command], environment(**{"TERM": "xterm", **env}))
        self.before = self.modes()
        os.close(told)
        os.close(begin)
        self.text = ""
        self.code = None

    def shows(self, awaited, patience=PATIENCE):
        """Reads until that is there: what has come since the last call, up to and with it."""
        end = time.monotonic() + patience
        while awaited not in self.text:
            if time.monotonic() > end:
                raise AssertionError(f"not shown: {awaited!r} in {self.text[-2000:]!r}")
            if not self._read(0.1):
                raise AssertionError(f"ended without {awaited!r}: {self.text[-2000:]!r}")
        end = self.text.index(awaited) + len(awaited)
        text, self.text = self.text[:end], self.text[end:]
        return text

    def _read(self, seconds):
        if not select.select([self.terminal], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self.terminal, 65536)
        except OSError:
            return False
        self.text += data.decode(errors="replace")
        return bool(data)

    def types(self, text):
        os.write(self.terminal, text.encode())

    def resize(self, columns, rows):
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def modes(self):
        return termios.tcgetattr(self.terminal)[:4]

    def ends(self):
        """(exit code or minus its signal, what it has shown since)."""
        end = time.monotonic() + PATIENCE
        while self._read(0.1) and time.monotonic() < end:
            pass
        if self.code is None:
            self.code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
            with contextlib.suppress(OSError):
                os.close(self.terminal)
        return self.code, self.text

    def says(self, awaited, typed):
        """Types that when it is asked, and waits for the end: (exit code, all that was shown)."""
        shown = self.shows(awaited)
        self.types(typed)
        code, rest = self.ends()
        return code, shown + rest
