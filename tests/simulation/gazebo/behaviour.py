"""What ArduPilot's plugin does in lockstep, as a client sees it. The same is asked of the stand-in
and of a real server, so that the one can be trusted for the other.
"""

from collections.abc import Callable

from tests.simulation.gazebo.client import MAGIC_32, Client, time_ns

STEP_NS = 1_000_000
RESEND_S = 0.06
Meet = Callable[[], Client]
"""A new client, on a port of its own."""


def greeted(client: Client, count: int = 1000) -> int:
    """Frames until one is a step: the count before may be what somebody else's last one was."""
    before_ns = time_ns(client.ask(count))
    while time_ns(client.ask(count + 1)) == before_ns:
        count += 1
    return count + 1


def one_frame_is_one_step(meet: Meet) -> None:
    with meet() as client:
        count = greeted(client)
        times_ns = [time_ns(client.ask(count + ahead)) for ahead in range(1, 51)]
    assert times_ns == [times_ns[0] + STEP_NS * step for step in range(50)]


def a_count_again_is_answered_again_without_a_step(meet: Meet) -> None:
    with meet() as client:
        count = greeted(client)
        first = client.ask(count + 1)
        assert [client.ask(count + 1) for _ in range(3)] == [first] * 3
        assert time_ns(client.ask(count + 2)) == time_ns(first) + STEP_NS


def sixteen_bits_of_the_count_are_compared(meet: Meet) -> None:
    with meet() as client:
        count = greeted(client)
        first = client.ask(count)
        assert client.ask(count + 65536) == first
        assert client.ask(count + 3 * 65536) == first


def a_count_may_skip_and_go_back(meet: Meet) -> None:
    with meet() as client:
        count = greeted(client)
        began_ns = time_ns(client.ask(count + 1))
        times_ns = [time_ns(client.ask(next_)) for next_ in (count + 400, 7, 65535, 0)]
    assert times_ns == [began_ns + STEP_NS * step for step in range(1, 5)]


def strange_packets_are_no_frames(meet: Meet) -> None:
    with meet() as client:
        count = greeted(client)
        before = client.ask(count + 1)
        client.send(count + 2, magic=4711)
        client.send(count + 2, magic=MAGIC_32)
        client.send(count + 2, magic=MAGIC_32, channels=32)
        assert {answer for _, answer in client.during(3.0 * RESEND_S)} <= {before}
        assert time_ns(client.ask_beyond(before, count + 2)) == time_ns(before) + STEP_NS


def silence_freezes_time_and_the_state_is_said_again(meet: Meet) -> None:
    with meet() as client:
        count = greeted(client)
        before = client.ask(count + 1)
        client.drain()
        said = client.during(8.0 * RESEND_S)
        assert {answer for _, answer in said} == {before}
        # A busy machine says it later; nobody says it sooner.
        assert 2 <= len(said) <= 9
        assert time_ns(client.ask_beyond(before, count + 2)) == time_ns(before) + STEP_NS


def who_spoke_last_is_answered(meet: Meet) -> None:
    with meet() as first, meet() as second:
        count = greeted(first)
        assert time_ns(second.ask(count + 1)) == time_ns(second.ask(count + 2)) - STEP_NS
        first.drain()
        assert second.drain(2.0 * RESEND_S)
        assert first.drain() == []


BEHAVIOUR = (
    one_frame_is_one_step,
    a_count_again_is_answered_again_without_a_step,
    sixteen_bits_of_the_count_are_compared,
    a_count_may_skip_and_go_back,
    strange_packets_are_no_frames,
    silence_freezes_time_and_the_state_is_said_again,
    who_spoke_last_is_answered,
)
