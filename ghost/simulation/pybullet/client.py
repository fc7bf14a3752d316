"""The one door to the pybullet module: a physics client of our own, and every call bound to it."""

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any, TextIO
from weakref import finalize

from ghost.core.errors import ConfigError


@contextmanager
def _hushed(stream: TextIO, number: int) -> Iterator[None]:
    """Pybullet tells standard error when it was built, on every import, and standard output all
    about its window, from C.
    """
    stream.flush()
    kept, nowhere = os.dup(number), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, number)
    try:
        yield
    finally:
        os.dup2(kept, number)
        os.close(kept)
        os.close(nowhere)


with _hushed(sys.stderr, 2):
    import pybullet

__all__ = ["Client", "pybullet"]


class Client:
    """A world that no other client sees. Functions of pybullet are its methods. One that is
    forgotten is closed as well: each holds some 40 MB, and there is room for 1024.
    """

    def __init__(self, *, view: bool = False) -> None:
        if view and sys.platform == "linux" and not _has_display():
            raise ConfigError(
                "there is no display to open a window on; fly without --view, and `ghost render` "
                "makes pictures of the flight"
            )
        # Nothing is told without a window, and a client may be collected while others write.
        with _hushed(sys.stdout, 1) if view else nullcontext():
            self.number: int = pybullet.connect(pybullet.GUI if view else pybullet.DIRECT)
        if self.number < 0:
            raise ConfigError("pybullet gave no physics client; too many may be open")
        self._close = finalize(self, _close_window if view else pybullet.disconnect, self.number)

    def __getattr__(self, name: str) -> Any:
        """Bound once, and found without this from then on."""
        bound = partial(getattr(pybullet, name), physicsClientId=self.number)
        setattr(self, name, bound)
        return bound

    def close(self) -> None:
        self._close()  # does nothing the second time


def _has_display() -> bool:
    """Asked before pybullet is: where no X server answers, it ends the whole process."""
    try:
        x11 = ctypes.CDLL("libX11.so.6")
    except OSError:
        return False
    x11.XOpenDisplay.argtypes, x11.XOpenDisplay.restype = [ctypes.c_char_p], ctypes.c_void_p
    x11.XCloseDisplay.argtypes = [ctypes.c_void_p]
    display = x11.XOpenDisplay(None)
    if display:
        x11.XCloseDisplay(display)
    return bool(display)


def _close_window(number: int) -> None:
    with _hushed(sys.stdout, 1):
        pybullet.disconnect(number)
