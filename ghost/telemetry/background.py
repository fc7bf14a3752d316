"""The log on hardware: a thread of its own keeps the disk away from the flight loop."""

import os
import time
from threading import Event as Signal
from threading import Thread
from typing import IO, Any

from ghost.core.channels import Channel
from ghost.core.errors import LogError
from ghost.events import Bus
from ghost.telemetry.buffer import BufferedSink, DropPolicy
from ghost.telemetry.failure import tell_failure
from ghost.telemetry.log import LogWriter

CHUNK_BYTES = 32 * 1024
FLUSH_PERIOD_NS = 100_000_000
SYNC_PERIOD_NS = 500_000_000
JOIN_TIMEOUT_S = 10.0


class BackgroundLog:
    """A bus sink that never waits for the disk. Flushed and synced well within a second, so a
    killed process or a power cut loses less than the last one.
    """

    def __init__(
        self,
        stream: IO[bytes],
        bus: Bus,
        *,
        capacity: int = 50_000,
        policy: DropPolicy = DropPolicy.DROP_OLDEST,
    ) -> None:
        self._stream = stream
        self._bus = bus
        self.writer = LogWriter(stream, chunk_bytes=CHUNK_BYTES)
        self.buffer = BufferedSink(self.writer, bus, name="log", capacity=capacity, policy=policy)
        self._stop = Signal()
        self._error: BaseException | None = None
        self._reported = False
        self._thread = Thread(target=self._run, name="ghost-log", daemon=True)
        self._thread.start()

    def write(self, channel: Channel[Any], message: Any, stamp_ns: int, sequence: int) -> None:
        if self._error is None:
            self.buffer.write(channel, message, stamp_ns, sequence)
        elif not self._reported:
            self._reported = True
            tell_failure(self._bus, self._error)

    def close(self) -> None:
        """Tell what was dropped, write what is left and the summary. The stream stays open."""
        self.buffer.report()
        self._stop.set()
        self._thread.join(JOIN_TIMEOUT_S)
        if self._thread.is_alive():
            raise LogError(
                f"the log writer did not finish in {JOIN_TIMEOUT_S:.0f} s: the disk stalls with "
                f"{len(self.buffer)} messages waiting; run `ghost log recover` on the log"
            )
        if self._error is not None:
            raise LogError(f"the flight log stopped early: {self._error}") from self._error

    def _run(self) -> None:
        try:
            sync_due_ns = 0
            while not self._stop.wait(FLUSH_PERIOD_NS / 1e9):
                if self.buffer.drain():
                    self.writer.flush()
                now_ns = time.monotonic_ns()  # determinism: allow GD101 disk pacing on hardware
                if now_ns >= sync_due_ns:
                    os.fsync(self._stream.fileno())
                    sync_due_ns = now_ns + SYNC_PERIOD_NS
            self.buffer.drain()
            self.writer.close()
            self._stream.flush()
            os.fsync(self._stream.fileno())
        except Exception as error:  # noqa: BLE001 - told by write() in the flight thread
            self._error = error
