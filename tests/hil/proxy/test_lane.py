"""What faults make of thousands of frames, on a lane with a clock of its own."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_bridge.frame import Framer, is_checked
from ghost.core.random import RandomSource
from hil.proxy import (
    Bandwidth,
    Corrupt,
    Cut,
    Delay,
    Duplicate,
    Effect,
    Fault,
    Inject,
    Loss,
    Reorder,
    Replay,
    traffic,
)
from hil.proxy.faults import Direction
from hil.proxy.journal import Journal, read_journal
from hil.proxy.lane import UNFINISHED_NS, Lane
from tests.hil.proxy.wire import MS, LaneRig, S, acknowledgement, heartbeat

FRAMES = [heartbeat(number) for number in range(2000)]


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[LaneRig]:
    with LaneRig(tmp_path) as made:
        yield made


def fates(folder: Path, effect: Effect, seed: int) -> list[tuple[int, bytes]]:
    folder.mkdir()
    with LaneRig(folder) as rig:
        rig.begin(Fault(effect), seed)
        for frame in FRAMES[:300]:
            rig.send(frame)
            rig.step(MS)
        rig.step(S)
        return rig.left


def test_a_loss_of_a_fifth_loses_a_fifth(rig: LaneRig) -> None:
    rig.begin(Fault(Loss(0.2)))
    rig.send(*FRAMES)
    lost = rig.lane.counts.dropped
    assert abs(lost - 400) < 4 * 18  # four standard deviations of the binomial distribution
    assert len(rig.raws) == 2000 - lost


@pytest.mark.parametrize(
    "effect",
    [Loss(0.3), Duplicate(0.3), Corrupt(0.3), Reorder(0.3), Delay(jitter_ns=20 * MS)],
    ids=lambda effect: effect.kind,
)
def test_decisions_are_the_seeds(effect: Effect, tmp_path: Path) -> None:
    once = fates(tmp_path / "once", effect, seed=1)
    assert fates(tmp_path / "again", effect, seed=1) == once
    assert fates(tmp_path / "other", effect, seed=2) != once


@pytest.mark.parametrize("bits", [1, 2, 3])
def test_a_corrupt_frame_is_never_taken_for_a_sound_one(rig: LaneRig, bits: int) -> None:
    rig.begin(Fault(Corrupt(0.5, bits)))
    rig.send(*FRAMES)
    harmed = [raw for raw, sent in zip(rig.raws, FRAMES, strict=True) if raw != sent]
    assert len(harmed) == rig.lane.counts.corrupted > 800
    assert not [
        frame for raw in harmed for frame in Framer().feed_datagram(raw) if is_checked(frame)
    ]


def test_reordered_frames_are_late_by_no_more_than_the_depth_and_none_is_lost(
    rig: LaneRig,
) -> None:
    rig.begin(Fault(Reorder(0.2, depth=3)))
    rig.send(*FRAMES[:200])
    rig.step(S)
    assert sorted(rig.raws) == sorted(FRAMES[:200])
    places = [FRAMES.index(raw) for raw in rig.raws]
    overtakers = [sum(before > one for before in places[:at]) for at, one in enumerate(places)]
    assert max(overtakers) == 3
    # The last ones have nobody behind them.
    assert sum(count > 0 for count in overtakers) >= rig.lane.counts.reordered - 3 > 20


def test_a_frame_that_nothing_follows_is_held_for_a_while_only(rig: LaneRig) -> None:
    rig.begin(Fault(Reorder(1.0, hold_ns=30 * MS)))
    rig.send(FRAMES[0])
    rig.step(S)
    assert rig.left == [(30 * MS, FRAMES[0])]


def test_jitter_stays_in_its_range_and_keeps_the_order(rig: LaneRig) -> None:
    rig.begin(Fault(Delay(50 * MS, 20 * MS)))
    for frame in FRAMES[:200]:
        rig.send(frame)
        rig.step(5 * MS)
    rig.step(S)
    assert rig.raws == FRAMES[:200]
    late_ns = [left_ns - number * 5 * MS for number, (left_ns, _) in enumerate(rig.left)]
    assert min(late_ns) >= 50 * MS
    assert max(late_ns) <= 70 * MS
    assert max(late_ns) - min(late_ns) > 15 * MS


def test_nothing_overtakes_what_a_delay_that_is_over_still_holds(rig: LaneRig) -> None:
    number = rig.begin(Fault(Delay(100 * MS)))
    rig.send(FRAMES[0])
    rig.lane.end(number, rig.now_ns)
    rig.send(FRAMES[1])
    rig.step(S)
    rig.send(FRAMES[2])
    assert rig.left == [(100 * MS, FRAMES[0]), (100 * MS, FRAMES[1]), (S, FRAMES[2])]


def test_a_fault_of_some_messages_leaves_the_others_alone(rig: LaneRig) -> None:
    rig.begin(Fault(Delay(100 * MS), messages=("COMMAND_*",)))
    rig.begin(Fault(Cut(), messages=("ATTITUDE",)))
    rig.send(acknowledgement() + heartbeat(1))
    rig.step(S)
    assert rig.left == [(0, heartbeat(1)), (100 * MS, acknowledgement())]


def test_a_slow_wire_takes_its_time_and_loses_what_it_has_no_room_for(rig: LaneRig) -> None:
    size = len(FRAMES[0])
    rig.begin(Fault(Bandwidth(bytes_per_s=100 * size, queue_bytes=20 * size)))
    rig.send(*FRAMES[:50])
    rig.step(S)
    assert rig.raws == FRAMES[:20]
    assert rig.lane.counts.dropped == 30
    gaps_ns = [after - before for (before, _), (after, _) in pairwise(rig.left)]
    assert all(gap_ns == 10 * MS for gap_ns in gaps_ns)


def test_duplicates_come_at_once_and_are_the_same(rig: LaneRig) -> None:
    rig.begin(Fault(Duplicate(1.0, copies=2)))
    rig.send(FRAMES[0], FRAMES[1])
    assert rig.raws == [FRAMES[0]] * 3 + [FRAMES[1]] * 3


def test_others_heartbeats_have_a_rate_and_numbers_of_their_own(rig: LaneRig) -> None:
    rig.begin(Fault(Inject(traffic.foreign_autopilot(system=42), period_ns=100 * MS)))
    rig.send(FRAMES[0])
    rig.step(950 * MS)
    heard = [frame for raw in rig.raws for frame in Framer().feed(raw) if is_checked(frame)]
    theirs = [frame.sequence for frame in heard if frame.system == 42]
    assert theirs == list(range(10))
    assert rig.lane.counts.injected == 10


def test_a_replay_repeats_what_was_heard_before_byte_for_byte_and_ends(rig: LaneRig) -> None:
    rig.send(acknowledgement(1), heartbeat(2), acknowledgement(3), acknowledgement(4))
    rig.left.clear()
    rig.begin(Fault(Replay(count=2, period_ns=10 * MS), messages=("COMMAND_ACK",)))
    rig.step(S)
    assert rig.left == [(0, acknowledgement(3)), (10 * MS, acknowledgement(4))]


def test_faults_act_in_the_order_of_their_coming(rig: LaneRig) -> None:
    rig.begin(Fault(Inject(traffic.foreign_autopilot())))
    rig.begin(Fault(Cut()))
    rig.begin(Fault(Inject(traffic.foreign_autopilot(43))))
    rig.send(FRAMES[0])
    assert [frame.system for raw in rig.raws for frame in Framer().feed(raw)] == [43]


def test_the_journal_says_what_was_done_to_which_frame(rig: LaneRig, tmp_path: Path) -> None:
    rig.now_ns = 7 * MS
    rig.begin(Fault(Cut(), messages=("COMMAND_ACK",)))
    rig.send(heartbeat(1), acknowledgement(2))
    rig.journal.flush()
    (entry,) = read_journal(tmp_path / "journal.jsonl")
    assert (entry.at_ns, entry.action, entry.direction, entry.fault) == (
        7 * MS, "dropped", "to_vehicle", 0,
    )  # fmt: skip
    assert (entry.message, entry.system, entry.sequence) == ("COMMAND_ACK", 1, 2)


@given(
    st.lists(st.one_of(st.binary(max_size=40), st.just(heartbeat(3)), st.just(heartbeat(4)[:9]))),
    st.lists(st.integers(1, 30), min_size=1),
    st.booleans(),
)
def test_a_streams_bytes_go_on_as_they_came_whatever_they_are(
    parts: list[bytes], sizes: list[int], has_fault: bool
) -> None:
    journal = Journal(Path("/dev/null"))
    lane = Lane(Direction.TO_UNIT, journal)
    if has_fault:
        lane.begin(0, Fault(Loss(0.0)), RandomSource(1), 0)
    stream = b"".join(parts)
    sent, at, turn = b"", 0, 0
    while at < len(stream):
        size = sizes[turn % len(sizes)]
        lane.take(stream[at : at + size], turn, is_stream=True)
        sent += b"".join(lane.give_due(turn))
        at, turn = at + size, turn + 1
    sent += b"".join(lane.give_due(turn + UNFINISHED_NS))
    journal.close()
    assert sent == stream
