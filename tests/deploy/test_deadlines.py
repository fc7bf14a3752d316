"""Missed deadlines are counted, told once a second, and made up for by none."""

from ghost.deploy.deadlines import Deadlines

MS = 1_000_000


def test_a_loop_in_time_has_nothing_to_tell() -> None:
    deadlines = Deadlines(20 * MS)
    assert [deadlines.judge(100 * MS, now) for now in (99 * MS, 100 * MS, 120 * MS - 1)] == [0] * 3
    assert deadlines.take_news(120 * MS) == ""
    assert deadlines.missed == 0


def test_whole_periods_are_left_out_and_counted() -> None:
    deadlines = Deadlines(20 * MS)
    assert deadlines.judge(100 * MS, 120 * MS) == 20 * MS
    assert deadlines.judge(200 * MS, 275 * MS) == 60 * MS
    assert str(deadlines) == "4 cycles missed, the worst 75.0 ms late"


def test_news_come_at_once_and_then_gathered() -> None:
    deadlines = Deadlines(20 * MS)
    deadlines.judge(0, 25 * MS)
    assert deadlines.take_news(25 * MS) == "1 cycle missed, the worst 25.0 ms late"
    deadlines.judge(100 * MS, 141 * MS)
    assert deadlines.take_news(141 * MS) == ""
    deadlines.judge(200 * MS, 230 * MS)
    assert deadlines.take_news(1024 * MS) == ""
    assert deadlines.take_news(1025 * MS) == "3 cycles missed, the worst 41.0 ms late"
    assert deadlines.take_news(9999 * MS) == ""
    assert str(deadlines) == "4 cycles missed, the worst 41.0 ms late"
