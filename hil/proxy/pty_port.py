"""A pty for a serial port that can be pulled out: its master here, its slave under a fixed path."""

import contextlib
import errno
import os
import select
import tty
from pathlib import Path

from ghost.core.errors import LinkError

BAUD = 921_600
"""A pty has no rate; Bandwidth makes one."""
_READ_BYTES = 4096


class PtyPort:
    """A firmware_bridge Transport. Who has the slave open when it closes reads an end of file and
    writes into EIO, as with an adapter that was pulled out.
    """

    has_room = True

    def __init__(self, link: Path) -> None:
        self._link = link
        self._number, slave = os.openpty()
        try:
            tty.setraw(slave)  # a terminal would send back what it is sent
            os.set_blocking(self._number, False)
            _point(link, os.ttyname(slave))
        except OSError as error:
            os.close(self._number)
            raise LinkError(f"no pty at {link}: {error.strerror}") from None
        finally:
            os.close(slave)
        self._poll = select.poll()
        self._poll.register(self._number, select.POLLIN)

    @property
    def is_ready(self) -> bool:
        return not self._events() & select.POLLHUP

    @property
    def numbers(self) -> tuple[int, ...]:
        """None while nobody has it open and nothing is left to read: the master of such a pty is
        always readable.
        """
        return (self._number,) if self._events() != select.POLLHUP else ()

    def settle(self) -> None:
        pass

    def read(self) -> bytes:
        try:
            return os.read(self._number, _READ_BYTES)
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.EIO):  # EIO: nobody has it open
                return b""
            raise

    def write(self, data: bytes) -> int:
        try:
            return os.write(self._number, data)
        except BlockingIOError:
            return 0

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._link.unlink()
        os.close(self._number)

    def _events(self) -> int:
        ready = self._poll.poll(0)
        return ready[0][1] if ready else 0


def _point(link: Path, device: str) -> None:
    """At once: whoever opens the path finds the old port or the new one."""
    fresh = link.with_name(f"{link.name}.new")
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(device)
    fresh.replace(link)
