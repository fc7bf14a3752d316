from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ghost.core.channels import Channel
from ghost.core.clock import SimClock
from ghost.core.errors import ChannelError, ClockError, LogError
from ghost.events import EVENTS, Bus, Event, EventKind, Severity
from ghost.hal.channels import BAROMETER, CMD_VELOCITY, GROUNDTRUTH_POSE, IMU, TRANSFORMS
from ghost.hal.commands import VelocityCommand
from ghost.hal.samples import BarometerSample, ImuSample, Pose, Transform
from ghost.telemetry import LogReader, Manifest, Replay, RunRecorder, read_manifest
from ghost.telemetry.reader import Record

Imu = Callable[[int], ImuSample]
Make = Callable[..., Manifest]
Read = Callable[[Path], list[Record]]

STEPS = 300
LEVEL = np.array([1.0, 0.0, 0.0, 0.0])


class Heard:
    """A sink that keeps what the bus carried."""

    def __init__(self) -> None:
        self.entries: list[tuple[str, Any, int, int]] = []

    def write(self, channel: Channel[Any], message: Any, stamp_ns: int, sequence: int) -> None:
        self.entries.append((channel.name, message, stamp_ns, sequence))

    def on(self, *channels: str) -> list[tuple[str, Any, int]]:
        """Without the sequence, which counts what else went over the bus, too."""
        return [entry[:3] for entry in self.entries if entry[0] in channels]


def fly(folder: Path, imu: Imu, manifest: Manifest) -> Heard:
    """A run whose modules answer from inside callbacks, on time and late, and one of them fails."""
    clock = SimClock()
    bus = Bus(clock)
    heard = Heard()
    bus.attach(heard, name="heard")

    def answer(sample: ImuSample) -> None:
        bus.publish(BAROMETER, BarometerSample(sample.stamp_ns - 700, 0, 101_325.0, 20.0))
        bus.publish(CMD_VELOCITY, VelocityCommand(clock.now_ns(), sample.sequence, np.ones(3), 0.5))
        if sample.sequence % 100 == 0:
            bus.publish(EVENTS, Event(clock.now_ns(), Severity.WARN, "HIGH", "answer", "!"))

    def echo(sample: BarometerSample) -> None:
        pose = Pose(clock.now_ns(), np.array([0.0, sample.pressure_pa, 1.0]), LEVEL)
        bus.publish(GROUNDTRUTH_POSE, pose)

    def fail(event: Event) -> None:
        if event.kind == "HIGH":
            raise ValueError("cannot count that high")

    def safe(event: Event) -> None:
        bus.publish(EVENTS, Event(clock.now_ns(), Severity.INFO, "SAFE", "safety", event.kind))

    bus.subscribe(IMU, answer, name="answer")
    bus.subscribe(BAROMETER, echo, name="echo")
    bus.subscribe(EVENTS, fail, name="fail")
    bus.guard(safe)
    with RunRecorder(folder, bus, manifest):
        bus.publish(TRANSFORMS, Transform(0, "body", "imu", np.ones(3), LEVEL))
        clock.call_every(7_000_003, lambda: bus.publish(EVENTS, beat(clock.now_ns())))
        for step in range(STEPS):
            bus.publish(IMU, imu(step))
            if step == STEPS // 2:
                bus.publish(EVENTS, Event(clock.now_ns(), Severity.CRITICAL, "KILL", "test"))
            clock.advance(1_000_000)
    return heard


def beat(now_ns: int) -> Event:
    return Event(now_ns, Severity.DEBUG, "BEAT", "test", payload={"deep": [1, {"x": None}]})


@pytest.fixture
def flight(tmp_path: Path, imu: Imu, manifest: Make) -> tuple[Path, Heard]:
    heard = fly(tmp_path / "run", imu, manifest())
    assert {entry[1].kind for entry in heard.entries if entry[0] == EVENTS.name} == {
        "BEAT",
        "HIGH",
        "KILL",
        "SAFE",
        EventKind.SUBSCRIBER_FAILED,
    }
    return tmp_path / "run", heard


def play(replay: Replay, folder: Path, manifest: Manifest) -> tuple[int, Heard]:
    bus = Bus(replay.clock)
    heard = Heard()
    bus.attach(heard, name="heard")
    with RunRecorder(folder, bus, manifest):
        count = replay.run(bus)
    return count, heard


def test_a_replayed_run_is_the_run(
    flight: tuple[Path, Heard], tmp_path: Path, manifest: Make
) -> None:
    folder, original = flight
    count, replayed = play(Replay(folder), tmp_path / "again", manifest())
    assert count == len(original.entries)
    assert replayed.entries == original.entries
    log = (folder / "log.mcap").read_bytes()
    assert (tmp_path / "again" / "log.mcap").read_bytes() == log
    assert read_manifest(tmp_path / "again") == read_manifest(folder)


def test_a_replay_of_a_replay_changes_nothing(
    flight: tuple[Path, Heard], tmp_path: Path, manifest: Make
) -> None:
    folder, _ = flight
    play(Replay(folder / "log.mcap"), tmp_path / "second", manifest())
    play(Replay(LogReader(tmp_path / "second")), tmp_path / "third", manifest())
    log = (folder / "log.mcap").read_bytes()
    assert (tmp_path / "third" / "log.mcap").read_bytes() == log


@pytest.mark.parametrize(
    "chosen",
    [
        (IMU.name,),
        (EVENTS.name,),
        (BAROMETER.name, IMU.name),
        (CMD_VELOCITY.name, GROUNDTRUTH_POSE.name, EVENTS.name),
        (),
    ],
)
def test_chosen_channels_keep_their_order_and_times(
    flight: tuple[Path, Heard], tmp_path: Path, manifest: Make, chosen: tuple[str, ...]
) -> None:
    folder, original = flight
    count, replayed = play(Replay(folder, chosen), tmp_path / "part", manifest())
    assert replayed.on(*chosen) == original.on(*chosen)
    assert count == len(replayed.entries) == len(original.on(*chosen))
    assert [entry[3] for entry in replayed.entries] == list(range(count))


def test_derived_views_are_made_again_and_not_played(
    flight: tuple[Path, Heard], tmp_path: Path, manifest: Make
) -> None:
    folder, _ = flight
    _, replayed = play(Replay(folder), tmp_path / "again", manifest())
    views = {name for name, channel in LogReader(folder).channels.items() if channel.derived_from}
    assert views == {"/events/text", "/groundtruth/pose/tf"}
    assert views.isdisjoint(entry[0] for entry in replayed.entries)
    again = LogReader(tmp_path / "again").channels
    assert again == LogReader(folder).channels
    assert again["/events/text"].count == again["/events"].count


def test_a_derived_view_can_t_be_chosen(flight: tuple[Path, Heard]) -> None:
    folder, _ = flight
    with pytest.raises(LogError) as caught:
        Replay(folder, ["/events/text"])
    assert str(caught.value) == "/events/text is derived from /events; read that one instead"


def test_an_unknown_channel_is_refused_before_anything_is_played(
    flight: tuple[Path, Heard],
) -> None:
    folder, _ = flight
    with pytest.raises(LogError) as caught:
        Replay(folder, [IMU.name, "/sensors/inu"])
    known = "/tf, /sensors/imu, /sensors/barometer, /cmd/velocity, /events, /events/text"
    assert str(caught.value) == (
        f"{folder / 'log.mcap'} has no channel /sensors/inu; it has {known}, "
        "/groundtruth/pose, /groundtruth/pose/tf"
    )


def test_a_folder_without_a_log_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="no flight log at"):
        Replay(tmp_path)


def test_step_plays_one_message_at_its_time(flight: tuple[Path, Heard], read: Read) -> None:
    folder, _ = flight
    replay = Replay(folder, [IMU.name])
    bus = Bus(replay.clock)
    seen: list[tuple[int, ImuSample]] = []
    bus.subscribe(IMU, lambda sample: seen.append((replay.clock.now_ns(), sample)), name="test")
    records = [record for record in read(folder) if record.channel == IMU]
    assert replay.clock.now_ns() == 0
    for record in records[:3]:
        assert replay.step(bus) == record
        assert seen[-1] == (record.stamp_ns, record.message)
    assert replay.run(bus) == len(records) - 3
    assert replay.step(bus) is None
    assert replay.run(bus) == 0
    assert [sample for _, sample in seen] == [record.message for record in records]


def test_only_the_replay_moves_its_clock(flight: tuple[Path, Heard]) -> None:
    folder, _ = flight
    clock = Replay(folder).clock
    for move in (clock.advance, clock.advance_to):
        with pytest.raises(ClockError, match="the replay moves this clock"):
            move(5)
    assert clock.now_ns() == 0


def test_what_is_scheduled_on_the_clock_runs_on_the_way(flight: tuple[Path, Heard]) -> None:
    folder, _ = flight
    replay = Replay(folder, [IMU.name])
    bus = Bus(replay.clock)
    heard = Heard()
    bus.attach(heard, name="heard")
    replay.clock.call_every(1_500_000, lambda: bus.publish(EVENTS, beat(replay.clock.now_ns())))
    replay.run(bus)
    times = [entry[2] for entry in heard.entries]
    assert times == sorted(times)
    beats = [stamp_ns for _, _, stamp_ns in heard.on(EVENTS.name)]
    assert beats == list(range(1_500_000, (STEPS - 1) * 1_000_000 + 1, 1_500_000))


def test_a_module_of_today_answers_the_sensors_of_then(
    flight: tuple[Path, Heard], tmp_path: Path, manifest: Make
) -> None:
    folder, original = flight

    def again(name: str) -> bytes:
        replay = Replay(folder, [IMU.name])
        bus = Bus(replay.clock)

        def answer(sample: ImuSample) -> None:
            bus.publish(BAROMETER, BarometerSample(sample.stamp_ns - 700, 0, 101_325.0, 20.0))

        bus.subscribe(IMU, answer, name="answer")
        heard = Heard()
        bus.attach(heard, name="heard")
        with RunRecorder(tmp_path / name, bus, manifest()):
            replay.run(bus)
        both = (IMU.name, BAROMETER.name)
        assert heard.on(*both) == original.on(*both)
        return (tmp_path / name / "log.mcap").read_bytes()

    assert again("one") == again("two")


def test_a_log_with_another_type_on_a_channel_is_refused_by_the_bus(
    tmp_path: Path, imu: Imu, manifest: Make
) -> None:
    wrong = Channel(BAROMETER.name, ImuSample)
    bus = Bus(SimClock())
    with RunRecorder(tmp_path, bus, manifest()):
        bus.publish(wrong, imu(0))
    replay = Replay(tmp_path)
    today = Bus(replay.clock)
    today.subscribe(BAROMETER, lambda _: None, name="test")
    with pytest.raises(ChannelError) as caught:
        replay.run(today)
    assert str(caught.value) == (
        "ImuSample published on /sensors/barometer, which carries BarometerSample"
    )
