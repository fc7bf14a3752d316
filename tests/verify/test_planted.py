"""Each property fails for its own defect, planted into a real flight, and for no other's."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ghost.core.channels import Channel
from ghost.deploy import load_robot
from ghost.events import EVENTS, Event, EventKind, Severity
from ghost.hal import (
    Action,
    AttitudeCommand,
    EstimateHealth,
    Failsafe,
    FlightMode,
    SafetyEnvelope,
    VelocityCommand,
)
from ghost.hal.channels import (
    CMD_ACK,
    CMD_ACTION,
    CMD_ACTION_ACK,
    CMD_ATTITUDE,
    CMD_VELOCITY,
    IMU,
    STATUS,
    VEHICLE,
)
from ghost.hal.vehicle import ActionAck, ActionRequest
from ghost.telemetry import Record
from ghost.verify import Result, terms_of
from tests.verify.rig import (
    accepted,
    asked,
    changed,
    failed,
    judged,
    told,
    where,
    with_rows,
)

MS = 1_000_000
MIDDLE = 60
"""The command in whose neighbourhood something is wrong."""

TERMS = terms_of({}, load_robot("crazyflie").envelope)

Sown = tuple[Iterable[Record], int]
"""The records, and the row of the first that offends."""
Sow = Callable[[list[Record]], Sown]


def swapped_commands(records: list[Record], command: Any, channel: Channel[Any]) -> Sown:
    """Another kind of command in the place of one that was accepted."""
    row = accepted(records)[MIDDLE]
    ack = records[row]
    sent = replace(records[row - 1], channel=channel, message=command)
    return with_rows(records, {row - 1: sent, row: changed(ack, applied=command)}), row


def stamped(records: list[Record]) -> tuple[int, int]:
    """What a command has that takes the place of the one in the middle."""
    message = records[accepted(records)[MIDDLE] - 1].message
    return message.stamp_ns, message.sequence


# Samples.


def a_sample_twice(records: list[Record]) -> Sown:
    row = where(records, IMU)[500]
    return [*records[: row + 1], records[row], *records[row + 1 :]], row + 1


def a_sample_older_than_the_one_before(records: list[Record]) -> Sown:
    row = where(records, VEHICLE)[100]
    stamp_ns = records[row].message.stamp_ns - 21 * MS
    return with_rows(records, {row: changed(records[row], stamp_ns=stamp_ns)}), row


# Answers.


def a_command_without_an_answer(records: list[Record]) -> Sown:
    row = accepted(records)[MIDDLE]
    return [*records[:row], *records[row + 1 :]], row - 1


def an_answer_to_no_command(records: list[Record]) -> Sown:
    row = accepted(records)[MIDDLE]
    return [*records[: row - 1], *records[row:]], row - 1


def something_else_applied(records: list[Record]) -> Sown:
    row = accepted(records)[MIDDLE]
    applied = replace(records[row].message.applied, yaw_rad=1.0)
    return with_rows(records, {row: changed(records[row], applied=applied)}), row


# Numbers and limits.


def a_command_of_nan(records: list[Record]) -> Sown:
    row = accepted(records)[MIDDLE]
    return with_rows(records, told(records, row, yaw_rad=float("nan"))), row


def a_command_of_two_numbers(records: list[Record]) -> Sown:
    row = accepted(records)[MIDDLE]
    return with_rows(records, told(records, row, acceleration_enu_mps2=np.zeros(2))), row


def more_than_full_thrust(records: list[Record]) -> Sown:
    level = np.array([1.0, 0.0, 0.0, 0.0])
    command = AttitudeCommand(*stamped(records), level, 1.01)
    return swapped_commands(records, command, CMD_ATTITUDE)


def above_the_altitude_band(records: list[Record]) -> Sown:
    row = accepted(records)[MIDDLE]
    high = np.array([0.0, 0.0, 1000.0])
    return with_rows(records, told(records, row, position_enu_m=high)), row


def faster_than_allowed(records: list[Record]) -> Sown:
    row = accepted(records)[MIDDLE]
    return with_rows(records, told(records, row, velocity_enu_mps=np.array([30.0, 0, 0]))), row


def steeper_than_allowed(records: list[Record]) -> Sown:
    on_its_side = np.array([0.5**0.5, 0.5**0.5, 0.0, 0.0])
    command = AttitudeCommand(*stamped(records), on_its_side, 0.5)
    return swapped_commands(records, command, CMD_ATTITUDE)


def into_the_ground(records: list[Record]) -> Sown:
    down = np.array([0.0, 0.0, -2.0])
    command = VelocityCommand(*stamped(records), down, 0.0)
    return swapped_commands(records, command, CMD_VELOCITY)


# Freshness.


def an_old_command(records: list[Record]) -> Sown:
    row = accepted(records)[0]
    stamp_ns = records[row].stamp_ns - 201 * MS
    return with_rows(records, told(records, row, stamp_ns=stamp_ns)), row


def an_old_command_with_a_backdated_ack(records: list[Record]) -> Sown:
    sown, row = an_old_command(records)
    backdated = list(sown)
    stamp_ns = backdated[row].message.command_stamp_ns
    return with_rows(backdated, {row: changed(backdated[row], stamp_ns=stamp_ns)}), row


def a_set_point_again(records: list[Record]) -> Sown:
    row = accepted(records)[MIDDLE]
    pair = records[row - 1 : row + 1]
    return [*records[: row + 1], *pair, *records[row + 1 :]], row + 2


def a_set_point_that_went_late(records: list[Record]) -> Sown:
    """Fresh at the gate, and the last: nothing comes after it that would be out of order."""
    row = accepted(records)[-1]
    ack = records[row]
    rest = [*records[:row], *records[row + 1 :]]
    place = next(
        index for index, record in enumerate(rest) if record.stamp_ns > ack.stamp_ns + 200 * MS
    )
    late = replace(ack, stamp_ns=rest[place].stamp_ns)
    follows = (CMD_ACTION, CMD_ACTION_ACK, STATUS)  # or the mission's leave had ended meanwhile
    kept = [record for record in rest[row:place] if record.channel not in follows]
    calm = [replace(record, stamp_ns=late.stamp_ns) for record in rest[row:place]]
    after = [record for record in calm if record.channel in follows]
    return [*rest[:row], *kept, late, *after, *rest[place:]], row + len(kept)


# Who flies it.


def commands_after_a_kill(records: list[Record]) -> Sown:
    row = accepted(records)[MIDDLE] - 1
    request = ActionRequest(records[row].stamp_ns, 99, Action.KILL)
    kill = replace(records[row], channel=CMD_ACTION, message=request)
    return [*records[:row], kill, *records[row:]], row + 2


def armed_after_a_kill(records: list[Record]) -> Sown:
    """At the end, when it has landed: nothing streams any more."""
    now_ns = records[-1].stamp_ns
    said = (
        (CMD_ACTION, ActionRequest(now_ns, 98, Action.KILL)),
        (CMD_ACTION_ACK, ActionAck(now_ns, 98, Action.KILL, True, "")),
        (CMD_ACTION_ACK, ActionAck(now_ns, 99, Action.ARM, True, "")),
    )
    more = [Record(channel, message, now_ns, 0) for channel, message in said]
    return [*records, *more], len(records) + 2


def commands_after_a_pilot_took_over(records: list[Record]) -> Sown:
    since_ns = records[accepted(records)[MIDDLE]].stamp_ns
    rows = [
        row
        for row in where(records, STATUS)
        if records[row].stamp_ns > since_ns and records[row].message.mode is FlightMode.OFFBOARD
    ]
    took = {row: changed(records[row], mode=FlightMode.MANUAL) for row in rows}
    after_ns = records[rows[0]].stamp_ns + 20 * MS
    first = next(row for row in accepted(records) if records[row].stamp_ns > after_ns)
    return with_rows(records, took), first


def commands_after_it_let_go(records: list[Record]) -> Sown:
    rows = accepted(records)
    before = records[rows[MIDDLE] + 1]
    event = Event(before.stamp_ns, Severity.INFO, EventKind.LET_GO, "session")
    row = rows[MIDDLE] + 1
    let_go = replace(before, channel=EVENTS, message=event)
    after_ns = before.stamp_ns + 20 * MS
    first = next(one for one in rows if records[one].stamp_ns > after_ns)
    return [*records[:row], let_go, *records[row:]], first + 1


def commands_that_nobody_asked_leave_for(records: list[Record]) -> Sown:
    row = asked(records, Action.OFFBOARD)
    return [*records[:row], *records[row + 1 :]], accepted(records)[0] - 1


# What the flight controller does, and knows.


def silence_and_no_failsafe(records: list[Record]) -> Sown:
    silent = accepted(records)[30:65]
    gone = [*silent, *(row - 1 for row in silent)]
    last_ns = records[accepted(records)[29]].stamp_ns
    late = next(row for row in where(records, STATUS) if records[row].stamp_ns > last_ns + 550 * MS)
    kept = [record for row, record in enumerate(records) if row not in gone]
    return kept, late - sum(row < late for row in gone)


def no_failsafe_for_a_bad_estimate(records: list[Record]) -> Sown:
    since_ns = records[accepted(records)[MIDDLE]].stamp_ns
    rows = [row for row in where(records, VEHICLE) if records[row].stamp_ns > since_ns][:10]
    bad = {row: changed(records[row], verdict=EstimateHealth.DEGRADED) for row in rows}
    after_ns = records[rows[0]].stamp_ns + 50 * MS
    late = next(
        row for row in sorted([*rows, *where(records, STATUS)]) if records[row].stamp_ns > after_ns
    )
    return with_rows(records, bad), late


def an_estimate_that_is_far_off(records: list[Record]) -> Sown:
    rows = where(records, VEHICLE)[100:102]
    off = np.array([0.0, 50.0, 0.0])
    wrong = {
        row: changed(records[row], position_enu_m=records[row].message.position_enu_m + off)
        for row in rows
    }
    return with_rows(records, wrong), rows[0]


def a_covariance_that_is_none(records: list[Record]) -> Sown:
    row = where(records, VEHICLE)[100]
    wrong = changed(records[row], velocity_covariance_m2ps2=-np.eye(3))
    return with_rows(records, {row: wrong}), row


PLANTS: dict[str, list[Sow]] = {
    "samples": [a_sample_twice, a_sample_older_than_the_one_before],
    "answers": [a_command_without_an_answer, an_answer_to_no_command, something_else_applied],
    "finite": [a_command_of_nan, a_command_of_two_numbers, more_than_full_thrust],
    "envelope": [
        above_the_altitude_band,
        faster_than_allowed,
        steeper_than_allowed,
        into_the_ground,
    ],
    "fresh": [an_old_command, an_old_command_with_a_backdated_ack],
    "streamed": [a_set_point_again, a_set_point_that_went_late],
    "kill": [commands_after_a_kill, armed_after_a_kill],
    "authority": [
        commands_after_a_pilot_took_over,
        commands_after_it_let_go,
        commands_that_nobody_asked_leave_for,
    ],
    "failsafe": [silence_and_no_failsafe, no_failsafe_for_a_bad_estimate],
    "estimate": [an_estimate_that_is_far_off, a_covariance_that_is_none],
}


@pytest.mark.parametrize(
    ("name", "sow"), [(name, sow) for name, sows in PLANTS.items() for sow in sows]
)
def test_what_is_planted_is_found_where_it_was_planted(
    name: str, sow: Sow, records: list[Record]
) -> None:
    sown, row = sow(records)
    grown = list(sown)
    found = failed(judged(grown, TERMS))
    assert list(found) == [name], [str(verdict) for verdict in found.values()]
    first, offender = found[name].first, grown[row]
    assert first is not None
    expected = (offender.channel.name, offender.stamp_ns, row)
    assert (first.channel, first.log_ns, first.sequence) == expected


@pytest.mark.parametrize("factor", [1e-3, 1e4])
@pytest.mark.parametrize(
    "name", ["position_covariance_m2", "velocity_covariance_m2ps2", "attitude_covariance_rad2"]
)
def test_a_covariance_may_be_neither_too_small_nor_too_large(
    name: str, factor: float, records: list[Record]
) -> None:
    scaled = {
        row: changed(records[row], **{name: factor * getattr(records[row].message, name)})
        for row in where(records, VEHICLE)
    }
    found = failed(judged(with_rows(records, scaled), TERMS))
    assert list(found) == ["estimate"]
    assert name.partition("_")[0] in found["estimate"].figure


def test_a_lost_estimate_excuses_only_who_acts_on_it(records: list[Record]) -> None:
    # While it lands. A failsafe is told with the estimate that raised it, so from a status on.
    since_ns = records[where(records, STATUS)[-15]].stamp_ns
    off = np.array([0.0, 50.0, 0.0])

    def lost(failsafe: Failsafe) -> Iterator[Record]:
        for record in records:
            if record.stamp_ns >= since_ns and record.channel == VEHICLE:
                place = record.message.position_enu_m + off
                yield changed(record, position_enu_m=place, verdict=EstimateHealth.LOST)
            elif record.stamp_ns >= since_ns and record.channel == STATUS:
                yield changed(record, failsafe=failsafe)
            else:
                yield record

    assert failed(judged(lost(Failsafe.ESTIMATE_LOST), TERMS)) == {}
    assert sorted(failed(judged(lost(Failsafe.NONE), TERMS))) == ["estimate", "failsafe"]


def test_a_failsafe_that_came_in_time_passes_and_a_suppressed_one_does_not(
    silent: list[Record],
) -> None:
    real = judged(silent, TERMS)
    assert failed(real) == {}
    assert "COMMAND_LOSS after 0.5" in real["failsafe"].figure
    suppressed = [
        changed(record, failsafe=Failsafe.NONE, mode=FlightMode.OFFBOARD)
        if record.channel == STATUS and record.message.failsafe is not Failsafe.NONE
        else record
        for record in silent
    ]
    assert list(failed(judged(suppressed, TERMS))) == ["failsafe"]


def test_a_failsafe_behind_a_cut_link_came_when_nobody_could_see_it(silent: list[Record]) -> None:
    raised_ns = next(
        record.stamp_ns
        for record in silent
        if record.channel == STATUS and record.message.failsafe is not Failsafe.NONE
    )
    cut_ns = raised_ns - 300_000_000
    heard = [
        record
        for record in silent
        if record.channel != STATUS or not cut_ns < record.stamp_ns < raised_ns + 2_000_000_000
    ]
    assert "failsafe" not in failed(judged(heard, TERMS))


def test_who_was_stopped_reads_of_the_failsafe_late(silent: list[Record]) -> None:
    raised_ns = next(
        record.stamp_ns
        for record in silent
        if record.channel == STATUS and record.message.failsafe is not Failsafe.NONE
    )
    stopped_ns = raised_ns - 450_000_000
    late = [
        replace(record, stamp_ns=max(record.stamp_ns, raised_ns + 3_000_000_000))
        if record.stamp_ns > stopped_ns
        else record
        for record in silent
        if record.stamp_ns < raised_ns + 3_000_000_000
    ]
    assert "failsafe" not in failed(judged(late, TERMS))


def test_a_kill_that_held_passes_and_arming_after_it_fails(killed: list[Record]) -> None:
    real = judged(killed, TERMS)
    assert failed(real) == {}
    assert real["kill"].result is Result.PASS
    assert "disarmed" in real["kill"].figure
    last = where(killed, STATUS)[-1]
    armed = with_rows(killed, {last: changed(killed[last], armed=True)})
    assert list(failed(judged(armed, TERMS))) == ["kill"]


def test_a_fence_holds_for_where_commands_lead(records: list[Record]) -> None:
    corners = ((50.0, 50.0), (60.0, 50.0), (60.0, 60.0), (50.0, 60.0))
    elsewhere = terms_of({}, SafetyEnvelope(geofence_enu_m=corners))
    found = failed(judged(records, elsewhere))
    assert list(found) == ["envelope"]
    assert "m outside the fence" in found["envelope"].figure


def test_drops_that_were_reported_leave_commands_unanswered(records: list[Record]) -> None:
    row = accepted(records)[MIDDLE]
    dropped = [*records[:row], *records[row + 1 :]]
    report = Event(
        dropped[-1].stamp_ns,
        Severity.WARN,
        EventKind.TELEMETRY_BACKPRESSURE,
        "log",
        payload={"dropped": {CMD_ACK.name: 1}},
    )
    told_of = replace(dropped[-1], channel=EVENTS, message=report)
    assert failed(judged([*dropped, told_of], TERMS)) == {}
