"""Logs of the flight controller, fetched over links good and bad."""

import random
from pathlib import Path

import pytest

from firmware_bridge.flight_logs import CHUNK_BYTES, FlightLog, FlightLogs
from ghost.core.errors import LogError, StalledError
from tests.firmware_bridge.peer import BAD, GOOD, MS, Loss, flight, hurry
from tests.firmware_bridge.transfers import LogStore

LOG = random.Random(5).randbytes(100_003)  # noqa: S311 - the same one each time
SHORT = LOG[: 10 * CHUNK_BYTES]


@pytest.mark.parametrize("loss", [GOOD, BAD])
def test_a_list_and_a_log_come_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loss: Loss
) -> None:
    hurry(monkeypatch, "flight_logs", QUIET_NS=60 * MS, LIST_NS=100 * MS)
    told: list[tuple[int, int]] = []
    path = tmp_path / "log.ulg"
    with flight(LogStore([SHORT, LOG]), loss=loss) as vehicle:
        logs = FlightLogs(vehicle)
        listed = logs.list()
        assert listed == (
            FlightLog(0, len(SHORT), 1_700_000_000),
            FlightLog(1, len(LOG), 1_700_000_000),
        )
        logs.download(listed[1], path, lambda done, total: told.append((done, total)))
    assert path.read_bytes() == LOG
    assert told[-1] == (len(LOG), len(LOG))
    assert told == sorted(told)


def test_no_logs_are_an_empty_list() -> None:
    with flight(LogStore([])) as vehicle:
        assert FlightLogs(vehicle).list() == ()


def test_a_short_file_is_resumed_and_a_full_one_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "log.ulg"
    path.write_bytes(LOG[:50_000])
    store = LogStore([LOG])
    with flight(store) as vehicle:
        logs = FlightLogs(vehicle)
        log = FlightLog(0, len(LOG), 0)
        logs.download(log, path)
        assert path.read_bytes() == LOG
        assert min(offset for offset, _ in store.requests) == 50_000 // CHUNK_BYTES * CHUNK_BYTES
        vehicle.hub.spin_until(lambda: store.ends == 1, within_ns=10**9, what="the end")
        asked = len(store.requests)
        logs.download(log, path)
        assert len(store.requests) == asked
        path.write_bytes(LOG + b"x")
        with pytest.raises(LogError, match="of another log"):
            logs.download(log, path)


def test_a_stall_names_its_offset_and_leaves_what_is_sure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("firmware_bridge.flight_logs.QUIET_NS", 30 * MS)
    path = tmp_path / "log.ulg"
    store = LogStore([LOG], stops_at=1800, hole_at=900)
    with flight(store) as vehicle:
        logs = FlightLogs(vehicle)
        with pytest.raises(StalledError, match="downloading log 0, at offset 900 of 100003"):
            logs.download(FlightLog(0, len(LOG), 0), path)
        assert path.read_bytes() == LOG[:900]
        store.stops_at = store.hole_at = None
        logs.download(FlightLog(0, len(LOG), 0), path)
    assert path.read_bytes() == LOG


def test_silence_is_a_stall(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("firmware_bridge.flight_logs.LIST_NS", 20 * MS)
    with flight() as vehicle, pytest.raises(StalledError, match="listing the flight logs"):
        FlightLogs(vehicle).list()
