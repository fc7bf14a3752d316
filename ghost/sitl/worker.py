"""Calls into what may never answer, in a thread that can be given up."""

import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue

from ghost.core.errors import GhostError, StalledError


class Worker:
    """One call at a time: begin() it, do something else, and finish()."""

    def __init__(self, name: str) -> None:
        self._calls: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._results: SimpleQueue[BaseException | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def begin(self, call: Callable[[], None]) -> None:
        self._calls.put(call)

    def finish(self, timeout_ns: int, what: str) -> None:
        """Raise what the call raised; a StalledError when it doesn't end."""
        try:
            raised = self._results.get(timeout=timeout_ns / 1e9)
        except Empty:
            raise StalledError(f"{what} did not end in {timeout_ns / 1e9:g} s") from None
        if raised is not None:
            raise raised

    def close(self) -> None:
        """A call that hangs is left to itself, and ends with the program."""
        self._calls.put(None)

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            try:
                call()
            except Exception as error:  # noqa: BLE001 - handed to whoever finishes
                self._results.put(error)
            except BaseException:
                self._results.put(GhostError("its thread was ended"))
                raise
            else:
                self._results.put(None)
