"""The flight controller's clock in run time, over a real socket and by arithmetic."""

import time
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_bridge.timesync import ENOUGH_ANSWERS, FAST_ANSWERS, JUMP_ANSWERS, TimeSync
from ghost.core.errors import StalledError
from tests.firmware_bridge.peer import BAD, Clock, Peer, flight

MS, S = 1_000_000, 1_000_000_000


def _true_offset_ns(clock: Clock) -> int:
    return clock.boot_ns


def test_the_offset_is_right_within_its_uncertainty() -> None:
    clock = Clock(boot_ns=time.monotonic_ns() - 77 * S)
    with flight(clock) as vehicle:
        sync = TimeSync(vehicle)
        sync.wait()
        assert abs(sync.offset_ns - _true_offset_ns(clock)) <= sync.uncertainty_ns < 20 * MS
        assert sync.to_run_ns(1_000_000) == sync.offset_ns + S
        assert sync.boot_ms_to_run_ns(1_000) == sync.offset_ns + S


def test_a_bad_link_and_odd_answers_do_not_mislead_it() -> None:
    clock = Clock(boot_ns=time.monotonic_ns() - 5 * S, odd_every=4)
    with flight(clock, loss=BAD) as vehicle:
        sync = TimeSync(vehicle)
        sync.wait()
        vehicle.hub.spin(vehicle.hub.now_ns() + S)
        assert abs(sync.offset_ns - _true_offset_ns(clock)) <= sync.uncertainty_ns
        assert sync.resets == 0


def test_the_flight_controllers_own_questions_are_answered() -> None:
    clock = Clock(boot_ns=time.monotonic_ns(), asks=True)
    with flight(clock) as vehicle:
        TimeSync(vehicle)
        before_ns = vehicle.hub.now_ns()
        vehicle.hub.spin_until(lambda: len(clock.answers) > 2, within_ns=5 * S, what="answers")
        assert before_ns <= clock.answers[0] <= vehicle.hub.now_ns()


def test_a_reboot_is_noticed() -> None:
    clock = Clock(boot_ns=time.monotonic_ns() - 1000 * S)
    with flight(clock) as vehicle:
        sync = TimeSync(vehicle)
        sync.wait()
        clock.boot_ns = time.monotonic_ns()
        vehicle.hub.spin_until(lambda: sync.resets == 1, within_ns=5 * S, what="the reset")
        sync.wait()
        assert abs(sync.offset_ns - _true_offset_ns(clock)) <= sync.uncertainty_ns


def test_a_flight_controller_that_never_answers_is_named() -> None:
    with flight() as vehicle:
        sync = TimeSync(vehicle)
        with pytest.raises(StalledError, match="TIMESYNC"):
            sync.wait(within_ns=200 * MS)
        with pytest.raises(StalledError, match="not told its time"):
            sync.to_run_ns(5)


class Bench:
    """Time by hand: what is asked is answered by a clock that runs as the test says."""

    def __init__(self) -> None:
        self.now_ns = 0
        self.sent: list[Any] = []
        hub = SimpleNamespace(
            now_ns=lambda: self.now_ns, on=lambda *_: lambda: None, every=lambda *_: lambda: None
        )
        vehicle = SimpleNamespace(hub=hub, system=1, send=self.sent.append, is_mine=lambda _: True)
        self.sync = TimeSync(cast("Any", vehicle))

    def step(self, remote_ns: int, out_ns: int, back_ns: int) -> bool:
        """One tick; if it asked, the answer comes after that trip. remote_ns is run time zero."""
        self.sent.clear()
        self.sync._tick(self.now_ns)
        if not self.sent:
            return False
        self.now_ns += out_ns
        message = SimpleNamespace(tc1=self.now_ns + remote_ns, ts1=self.sent[0].ts1)
        self.now_ns += back_ns
        self.sync._on_timesync(cast("Any", SimpleNamespace(message=message, at_ns=self.now_ns)))
        return True


trips = st.lists(
    st.tuples(st.integers(1, 400 * MS), st.integers(1, 400 * MS)), min_size=5, max_size=60
)


@given(st.integers(1 * S, 10**18), trips)
def test_the_truth_is_always_within_the_uncertainty(
    remote_ns: int, ways: list[tuple[int, int]]
) -> None:
    bench = Bench()
    for out_ns, back_ns in ways:
        bench.step(remote_ns, out_ns, back_ns)
        bench.now_ns += 100 * MS
        if bench.sync._answers:
            assert abs(bench.sync.offset_ns + remote_ns) <= bench.sync.uncertainty_ns
    assert bench.sync.resets == bench.sync.slips == 0


def test_it_asks_quickly_at_first_and_then_once_a_second() -> None:
    bench = Bench()
    asked_ns = []
    for _ in range(100):
        at_ns = bench.now_ns
        if bench.step(S, MS, MS):
            asked_ns.append(at_ns)
        bench.now_ns = at_ns + 100 * MS
    assert asked_ns[:FAST_ANSWERS] == [place * 100 * MS for place in range(FAST_ANSWERS)]
    late = asked_ns[FAST_ANSWERS + 1 :]
    assert {after - before for before, after in pairwise(late)} == {S}


def test_a_clock_of_another_speed_is_followed() -> None:
    """A simulated flight controller at 0.99 of real time: 10 ms in each second."""
    bench = Bench()
    for place in range(100):
        remote_ns = 50 * S - bench.now_ns // 100
        bench.step(remote_ns, MS // 10, MS // 10)
        if place >= ENOUGH_ANSWERS:
            assert abs(bench.sync.offset_ns + remote_ns) < 2 * MS
        bench.now_ns += 100 * MS
        if place >= ENOUGH_ANSWERS:
            now_off_ns = abs(bench.sync.offset_ns + 50 * S - bench.now_ns // 100)
            assert now_off_ns <= bench.sync.uncertainty_ns < 5 * MS
    assert bench.sync.slips > 0
    assert bench.sync.resets == 0


def test_a_clock_that_stood_still_has_jumped_and_was_not_restarted() -> None:
    """As a simulation's, on a machine that was busy for a third of a second."""
    bench = Bench()
    for place in range(30):
        bench.step(50 * S - (place >= 20) * 300 * MS, MS, MS)
        bench.now_ns += 400 * MS
    assert (bench.sync.resets, bench.sync.restarts) == (1, 0)
    assert bench.sync.jumped_ns == -300 * MS


def test_one_odd_answer_is_nothing_and_several_are_a_reboot() -> None:
    bench = Bench()
    for _ in range(FAST_ANSWERS + 5):
        bench.step(100 * S, MS, MS)
        bench.now_ns += S
    for _ in range(JUMP_ANSWERS - 1):
        assert bench.step(-5 * S, MS, MS), "an odd answer is looked into at once"
        assert bench.sync.offset_ns == -100 * S
        bench.now_ns += 100 * MS
    bench.step(-5 * S, MS, MS)
    assert bench.sync.offset_ns == 5 * S
    assert bench.sync.resets == bench.sync.restarts == 1


def test_silence_widens_the_uncertainty_and_ends_the_sync() -> None:
    bench = Bench()
    for _ in range(ENOUGH_ANSWERS):
        bench.step(S, MS, MS)
        bench.now_ns += 100 * MS
    narrow_ns, was_synced = bench.sync.uncertainty_ns, bench.sync.is_synced
    bench.now_ns += 30 * S
    assert (was_synced, bench.sync.is_synced) == (True, False)
    assert bench.sync.uncertainty_ns == narrow_ns + 30 * S // 10_000


def test_a_stranger_is_not_listened_to() -> None:
    def stranger(peer: Peer) -> None:
        Clock(boot_ns=0)(peer)
        peer.hub.component = 1

    with flight(stranger) as vehicle:
        vehicle.component = 42
        sync = TimeSync(vehicle)
        vehicle.hub.spin(vehicle.hub.now_ns() + 300 * MS)
        assert not sync.is_synced
