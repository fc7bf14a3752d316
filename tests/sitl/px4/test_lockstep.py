"""The conversation with PX4, whose part is scripted here, over a real TCP connection."""

import os
import time
from collections.abc import Iterator

import pytest

from ghost.core.errors import LinkError, StalledError
from ghost.px4 import Px4Instance
from ghost.sitl.px4 import Px4Firmware, SimulatorLink
from ghost.sitl.px4.ear import Ear
from tests.sitl.px4 import rig
from tests.sitl.px4.rig import ARMED, DISARMED, TICK_NS, ScriptedPx4

SOON_NS = 60_000_000


@pytest.fixture
def link() -> Iterator[SimulatorLink]:
    link = rig.free_link()
    yield link
    link.close()


@pytest.fixture
def firmware(link: SimulatorLink) -> Px4Firmware:
    return Px4Firmware(rig.seat(), link, answer_ns=SOON_NS, boot_ns=SOON_NS)


@pytest.fixture
def px4(link: SimulatorLink) -> Iterator[ScriptedPx4]:
    px4 = ScriptedPx4(link)
    px4.say_hello()
    yield px4
    px4.hang_up()


def test_from_the_first_words_to_motors(firmware: Px4Firmware, px4: ScriptedPx4) -> None:
    firmware.give(TICK_NS, [rig.imu()])
    assert [one.time_usec for one in px4.hear()] == [4000]
    assert firmware.take(TICK_NS) is None  # PX4 still boots
    was_ready = firmware.is_ready

    firmware.give(2 * TICK_NS, [rig.imu()])
    px4.answer(8000, 0.25, 0.5, 0.75, 1.5, 0.9)
    motors = firmware.take(2 * TICK_NS)
    assert motors is not None
    assert motors.tolist() == [0.25, 0.5, 0.75, 1.0]  # within limits, and for four rotors
    assert (was_ready, firmware.is_ready) == (False, True)
    assert firmware.is_armed


def test_old_answers_are_drained(firmware: Px4Firmware, px4: ScriptedPx4) -> None:
    firmware.give(TICK_NS, [rig.imu()])
    firmware.take(TICK_NS)
    firmware.give(2 * TICK_NS, [rig.imu()])
    px4.answer(4000, 0.1, 0.1, 0.1, 0.1)
    px4.answer(8000, 0.5, 0.5, float("nan"), 0.5)
    motors = firmware.take(2 * TICK_NS)
    assert motors is not None
    assert motors.tolist() == [0.5, 0.5, 0.0, 0.5]  # NaN is a motor that stands still


def test_truth_comes_every_20_ms_before_the_sensors(
    firmware: Px4Firmware, px4: ScriptedPx4
) -> None:
    heard = []
    for tick in range(1, 12):
        firmware.give(tick * TICK_NS, [rig.imu()])
        px4.answer(tick * 4000, mode=DISARMED)
        firmware.take(tick * TICK_NS)
        heard.append([one.get_type() for one in px4.hear()])
    state, sensor = "HIL_STATE_QUATERNION", "HIL_SENSOR"
    assert [index for index, kinds in enumerate(heard) if kinds == [state, sensor]] == [5, 10]


def test_an_armed_px4_that_stalls_is_an_error(firmware: Px4Firmware, px4: ScriptedPx4) -> None:
    firmware.give(TICK_NS, [rig.imu()])
    px4.answer(4000, mode=ARMED)
    firmware.take(TICK_NS)
    firmware.give(2 * TICK_NS, [rig.imu()])
    name = rf"PX4 instance {firmware.instance.number} \(system {firmware.instance.system}\)"
    with pytest.raises(StalledError, match=f"{name} is armed and gave no motors for 0.008 s .* "):
        firmware.take(2 * TICK_NS)


@pytest.fixture
def ear(link: SimulatorLink) -> Iterator[Ear]:
    ear = Ear(link.instance)
    yield ear
    ear.close()


@pytest.mark.parametrize("state", ["FLIGHT_TERMINATION", "ACTIVE"])
def test_one_that_has_terminated_its_flight_is_still_and_time_goes_on(
    link: SimulatorLink, px4: ScriptedPx4, ear: Ear, state: str
) -> None:
    firmware = Px4Firmware(rig.seat(), link, ear=ear, answer_ns=2 * SOON_NS, boot_ns=SOON_NS)
    px4.beat("ACTIVE")
    firmware.give(TICK_NS, [rig.imu()])
    px4.answer(4000, 0.5, 0.5, 0.5, 0.5)
    firmware.take(TICK_NS)
    heard = []

    def fly() -> None:
        for tick in range(2, 60):
            firmware.give(tick * TICK_NS, [rig.imu()])
            heard.append(firmware.take(tick * TICK_NS))
            px4.beat(state)

    if state == "ACTIVE":
        with pytest.raises(StalledError, match="is armed and gave no motors"):
            fly()
    else:
        fly()
    assert {tuple(motors) for motors in heard if motors is not None} == {(0.0,) * 4}
    assert all(motors is not None for motors in heard)


def test_a_disarmed_px4_may_fall_silent(firmware: Px4Firmware, px4: ScriptedPx4) -> None:
    firmware.give(TICK_NS, [rig.imu()])
    px4.answer(4000, mode=DISARMED)
    firmware.take(TICK_NS)
    began_s = time.monotonic()
    for tick in range(2, 32):  # OFFBOARD, chosen too early
        firmware.give(tick * TICK_NS, [rig.imu()])
        assert firmware.take(tick * TICK_NS) is None
    assert time.monotonic() - began_s < 1.0  # patient once, and then as fast as the clock
    firmware.give(32 * TICK_NS, [rig.imu()])
    px4.answer(32 * 4000, 0.5)
    assert firmware.take(32 * TICK_NS) is not None


def test_without_an_imu_no_answer_is_due(firmware: Px4Firmware, px4: ScriptedPx4) -> None:
    firmware.give(TICK_NS, [rig.imu()])
    px4.answer(4000, mode=ARMED)
    firmware.take(TICK_NS)
    firmware.give(2 * TICK_NS, [rig.barometer()])
    assert firmware.take(2 * TICK_NS) is None


def test_one_that_reads_nothing_is_an_error(firmware: Px4Firmware, px4: ScriptedPx4) -> None:
    del px4

    def give_for_minutes() -> None:
        for tick in range(1, 100_000):
            firmware.give(tick * TICK_NS, [rig.imu()])

    with pytest.raises(StalledError, match=r"has read no sensors for 0\.06 s"):
        give_for_minutes()


def test_one_that_hangs_up_is_an_error(firmware: Px4Firmware, px4: ScriptedPx4) -> None:
    firmware.give(TICK_NS, [rig.imu()])
    px4.hear()
    px4.hang_up()
    with pytest.raises(LinkError, match=r"PX4 instance .* hung up: it closed the connection"):
        firmware.take(TICK_NS)


def test_one_that_never_comes_is_an_error(firmware: Px4Firmware) -> None:
    with pytest.raises(StalledError, match=r"did not connect to TCP port 4\d{3} in 0\.\d s"):
        firmware.give(TICK_NS, [rig.imu()])


def test_a_taken_port_is_told_with_its_holder(link: SimulatorLink) -> None:
    port = link.instance.simulator_port
    with pytest.raises(LinkError, match=rf"TCP port {port}, .* held by .* \(pid {os.getpid()}\)"):
        SimulatorLink(Px4Instance(link.instance.number))
