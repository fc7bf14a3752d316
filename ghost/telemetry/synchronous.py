"""The log in simulation: written inside the publish, so that the same run gives the same bytes."""

from typing import IO, Any

from ghost.core.channels import Channel
from ghost.core.errors import LogError
from ghost.events import Bus
from ghost.telemetry.failure import tell_failure
from ghost.telemetry.log import LogWriter


class SynchronousLog:
    """A bus sink. A disk that fails is told once; what becomes of the flight is for others."""

    def __init__(self, stream: IO[bytes], bus: Bus) -> None:
        self.writer = LogWriter(stream)
        self._bus = bus
        self._error: OSError | None = None

    def write(self, channel: Channel[Any], message: Any, stamp_ns: int, sequence: int) -> None:
        if self._error is not None:
            return
        try:
            self.writer.write(channel, message, stamp_ns, sequence)
        except OSError as error:
            self._error = error
            tell_failure(self._bus, error)

    def close(self) -> None:
        if self._error is None:
            try:
                self.writer.close()
            except OSError as error:
                self._error = error
        if self._error is not None:
            raise LogError(f"the flight log stopped early: {self._error}") from self._error
