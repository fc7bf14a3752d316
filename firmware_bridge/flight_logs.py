"""The flight controller's own logs, listed and fetched.

The messages of ArduPilot's and PX4's log transfer. One request is under way at a time: PX4 drops
the old one for a new one, ArduPilot the new one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from firmware_bridge.exchange import persist, target_of
from firmware_bridge.hub import Received
from firmware_bridge.messages import dialect
from firmware_bridge.vehicle import Vehicle
from ghost.core.errors import LogError

CHUNK_BYTES = 90
WINDOW_CHUNKS = 512
"""So much is asked for at once: it fits the receive buffer of a socket, 46 kB."""
MERGED_CHUNKS = 16
"""Two gaps with no more between them are asked for as one: sooner than two round trips."""
QUIET_NS = 250_000_000
LIST_NS = 1_000_000_000
RETRIES = 8

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class FlightLog:
    """number is the flight controller's, and holds until its next boot. time_utc_s is 0 where it
    knows no date.
    """

    number: int
    size_bytes: int
    time_utc_s: int


class FlightLogs:
    def __init__(self, vehicle: Vehicle) -> None:
        self._vehicle = vehicle
        self._hub = vehicle.hub
        self._is_listed = False

    def list(self) -> tuple[FlightLog, ...]:
        """What is there. PX4 v1.18 says nothing at all where it has none: that is a stall."""
        logs: dict[int, FlightLog] = {}
        total: list[int] = []

        def on_entry(received: Received) -> None:
            if not self._vehicle.is_mine(received):
                return
            entry = received.message
            total[:] = [entry.num_logs]
            if entry.num_logs:
                logs[entry.id] = FlightLog(entry.id, entry.size, entry.time_utc)

        def what() -> str:
            if not total:
                return "listing the flight logs, of which PX4 may have none"
            return f"listing the flight logs: {len(logs)} of {total[0]} were told"

        message = dialect.MAVLink_log_request_list_message(*self._target, 0, 0xFFFF)
        cancel = self._hub.on("LOG_ENTRY", on_entry)
        try:
            persist(
                self._hub,
                lambda: self._vehicle.send(message),
                is_done=lambda: bool(total) and len(logs) >= total[0],
                progress=lambda: len(logs),
                quiet_ns=LIST_NS,
                retries=RETRIES // 2,
                what=what,
            )
        finally:
            cancel()
        self._is_listed = True
        return tuple(logs[number] for number in sorted(logs))

    def download(self, log: FlightLog, path: Path, on_progress: Progress = lambda *_: None) -> None:
        """To a file; what a shorter one holds already is taken as it is."""
        if not self._is_listed:  # PX4 sends nothing of a log before it was asked what it has
            self.list()
        path.touch()
        have = path.stat().st_size
        if have > log.size_bytes:
            raise LogError(
                f"{path} has {have} bytes, and log {log.number} only {log.size_bytes}; it is of "
                "another log: remove it"
            )
        if have == log.size_bytes:
            return
        with path.open("r+b") as file:
            fetch = _Fetch(self, log, file, have // CHUNK_BYTES, on_progress)
            cancel = self._hub.on("LOG_DATA", fetch.on_data)
            try:
                self._persist(fetch, log)
            finally:
                cancel()
                self.end()
                # Behind the first gap is nothing to rely on, and a shorter file can be resumed.
                file.truncate(fetch.whole_bytes)

    def end(self) -> None:
        """Let the flight controller get on with its own things."""
        self._vehicle.send(dialect.MAVLink_log_request_end_message(*self._target))

    def request(self, number: int, offset: int, count: int) -> None:
        self._vehicle.send(
            dialect.MAVLink_log_request_data_message(*self._target, number, offset, count)
        )

    def is_mine(self, received: Received) -> bool:
        return self._vehicle.is_mine(received)

    def _persist(self, fetch: "_Fetch", log: FlightLog) -> None:
        persist(
            self._hub,
            fetch.ask,
            is_done=lambda: fetch.is_done,
            progress=lambda: fetch.received,
            quiet_ns=QUIET_NS,
            retries=RETRIES,
            what=lambda: (
                f"downloading log {log.number}, at offset {fetch.whole_bytes} of {log.size_bytes}"
            ),
        )

    @property
    def _target(self) -> tuple[int, int]:
        return target_of(self._vehicle)


class _Fetch:
    """Chunks into their places. All before `first` are there; `ahead` are those behind a gap."""

    def __init__(
        self, logs: FlightLogs, log: FlightLog, file: BinaryIO, first: int, on_progress: Progress
    ) -> None:
        self.received = 0
        self._logs = logs
        self._log = log
        self._file = file
        self._first = first
        self._ahead: set[int] = set()
        self._total = -(-log.size_bytes // CHUNK_BYTES)
        self._window_end = first
        self._asked_end = first
        self._on_progress = on_progress

    @property
    def is_done(self) -> bool:
        return self._first >= self._total

    @property
    def whole_bytes(self) -> int:
        return min(self._first * CHUNK_BYTES, self._log.size_bytes)

    def ask(self) -> None:
        """For the first gap of this window, or for the next window."""
        if self._first >= self._window_end:
            self._window_end = min(self._first + WINDOW_CHUNKS, self._total)
        end = self._first + 1
        for chunk in range(end, self._window_end):
            if chunk not in self._ahead:
                end = chunk + 1
            elif chunk - end >= MERGED_CHUNKS:
                break
        self._asked_end = end
        offset = self._first * CHUNK_BYTES
        count = min(end * CHUNK_BYTES, self._log.size_bytes) - offset
        self._logs.request(self._log.number, offset, count)

    def on_data(self, received: Received) -> None:
        message = received.message
        if not self._logs.is_mine(received) or message.id != self._log.number:
            return
        chunk, rest = divmod(message.ofs, CHUNK_BYTES)
        size = min(self._log.size_bytes - message.ofs, CHUNK_BYTES)
        # PX4 gives the last chunk of a log that is still being written longer than it was listed.
        if rest or message.count < size or not self._first <= chunk < self._total:
            return
        if chunk in self._ahead:
            return
        self._file.seek(message.ofs)
        self._file.write(bytes(message.data[:size]))
        self._ahead.add(chunk)
        self.received += 1
        while self._first in self._ahead:
            self._ahead.remove(self._first)
            self._first += 1
        self._on_progress(self.whole_bytes, self._log.size_bytes)
        if chunk == self._asked_end - 1 and not self.is_done:
            self.ask()
