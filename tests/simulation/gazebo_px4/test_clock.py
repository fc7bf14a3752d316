"""Run time follows PX4's, at whatever pace, and never goes back."""

import pytest

from ghost.simulation.gazebo_px4 import clock
from ghost.simulation.gazebo_px4.clock import AHEAD_NS, FollowingClock

MS = 1_000_000


class Wall:
    """Goes by when it is told to."""

    at_ns = 0

    def now_ns(self) -> int:
        return self.at_ns


@pytest.fixture
def wall(monkeypatch: pytest.MonkeyPatch) -> Wall:
    one = Wall()
    monkeypatch.setattr(clock, "SystemClock", lambda: one)
    return one


def test_it_follows_px4_however_fast_that_goes(wall: Wall) -> None:
    followed = FollowingClock()
    wall.at_ns = 500 * MS
    followed.tell(7_000_000)  # it booted seven seconds ago
    assert followed.now_ns() == 500 * MS
    for tick in range(1, 11):
        wall.at_ns += 2 * MS
        followed.tell(7_000_000 + tick * 10_000)
        assert followed.now_ns() == (500 + 10 * tick) * MS
    assert followed.of(7_050_000) == 550 * MS


def test_while_px4_is_slow_it_waits(wall: Wall) -> None:
    followed = FollowingClock()
    followed.tell(0)
    wall.at_ns = 200 * MS
    assert followed.now_ns() == AHEAD_NS
    followed.tell(4_000)  # time does not go back to 4 ms
    assert followed.now_ns() == 20 * MS
    wall.at_ns += 18 * MS
    assert followed.now_ns() == 22 * MS
    followed.tell(3_000)  # overtaken on its way
    assert followed.now_ns() == 22 * MS


def test_a_silence_lasts_as_long_as_by_the_wall_and_is_no_jump_afterwards(wall: Wall) -> None:
    followed = FollowingClock()
    followed.tell(0)
    wall.at_ns = 5_000 * MS
    assert followed.now_ns() == 5_000 * MS
    assert followed.silence_ns == 5_000 * MS
    followed.tell(10_000)  # it was paused
    assert followed.now_ns() == 5_000 * MS
    followed.tell(20_000)
    assert followed.now_ns() == 5_010 * MS
    assert followed.silence_ns == 0
