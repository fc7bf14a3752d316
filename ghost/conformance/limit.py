"""A limit on how long a check may take by the wall, for a backend that hangs."""

import sys
from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from traceback import walk_stack
from types import FrameType
from typing import TypeVar

from ghost.core.errors import GhostError

Result = TypeVar("Result")


class StalledError(GhostError):
    """Something didn't come to an end. It is still under way, so nothing else can be tried."""


def within(limit_ns: int, work: Callable[[], Result]) -> Result:
    """What work returns or raises, or StalledError.

    In a thread: an exception raised into the work could be swallowed by the backend. A backend that
    hangs in C without letting go of Python's lock stalls us, too.
    """
    future: Future[Result] = Future()

    def settle() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
            future.set_exception(error)

    thread = Thread(target=settle, name="conformance", daemon=True)  # doesn't keep us from exiting
    thread.start()
    thread.join(limit_ns / 1e9)
    if not future.done():
        raise StalledError(f"timed out after {limit_ns / 1e9:g} s{_place(thread)}")
    return future.result()


def _place(thread: Thread) -> str:
    """The backend's function that was called last, and how far that got."""
    innermost = sys._current_frames().get(thread.ident or 0)  # noqa: SLF001 - documented
    if innermost is None:
        return ""
    called = innermost
    for frame, _ in walk_stack(innermost):
        if _is_ours(frame):
            break
        called = frame
    code = innermost.f_code
    return f" in {called.f_code.co_qualname}(...), at {code.co_filename}:{innermost.f_lineno}"


def _is_ours(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).startswith("ghost.conformance.")
