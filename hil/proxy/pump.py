"""The loop of a proxy: two ends, a lane each way, and faults that begin and end by the clock."""

import select
from collections.abc import Collection
from dataclasses import dataclass

from ghost.core.random import RandomSource
from hil.proxy.ends import End
from hil.proxy.faults import Direction, Fault, Schedule, Side, Unplug
from hil.proxy.journal import Counts, Entry, Journal
from hil.proxy.lane import Lane

LONGEST_WAIT_NS = 50_000_000
_READS_A_TURN = 32


@dataclass(slots=True)
class _Planned:
    number: int
    fault: Fault
    random: RandomSource
    begins_ns: int
    ends_ns: int | None
    has_begun: bool = False


class Pump:
    def __init__(self, unit: End, vehicle: End, *, seed: int, journal: Journal) -> None:
        self._ends = {Side.UNIT: unit, Side.VEHICLE: vehicle}
        self._lanes = {
            Side.UNIT: Lane(Direction.TO_VEHICLE, journal),
            Side.VEHICLE: Lane(Direction.TO_UNIT, journal),
        }
        """By the side where they begin."""
        self._random = RandomSource(seed)
        self._journal = journal
        self._planned: list[_Planned] = []
        self._applied = 0
        self._opened = dict.fromkeys(self._ends, 0)
        self._were_up = dict.fromkeys(self._ends, False)

    # Orders

    def play(self, schedule: Schedule, now_ns: int) -> tuple[int, ...]:
        numbers: list[int] = []
        for fault in schedule.faults:
            number = self._applied
            self._applied += 1
            begins_ns = now_ns + fault.at_ns
            ends_ns = None if fault.duration_ns is None else begins_ns + fault.duration_ns
            random = self._random.child(f"fault/{number}")
            self._planned.append(_Planned(number, fault, random, begins_ns, ends_ns))
            numbers.append(number)
        self._keep_time(now_ns)
        return tuple(numbers)

    def clear(self, numbers: Collection[int] | None, now_ns: int) -> None:
        for planned in list(self._planned):
            if numbers is None or planned.number in numbers:
                self._end(planned, now_ns)

    def unfinished(self, numbers: Collection[int]) -> int:
        return sum(planned.number in numbers for planned in self._planned)

    def recorded(self, direction: Direction, patterns: tuple[str, ...]) -> tuple[bytes, ...]:
        return self._lane(direction).recorded(patterns)

    @property
    def counts(self) -> Counts:
        return Counts(self._lanes[Side.UNIT].counts, self._lanes[Side.VEHICLE].counts)

    # The loop

    def turn(self, now_ns: int) -> None:
        """What is due: faults, packets that waited, ports to open."""
        self._keep_time(now_ns)
        for side, end in self._ends.items():
            end.upkeep(now_ns)
            self._tell_of(side, now_ns)
        for side, lane in self._lanes.items():
            self._send(lane, _other(side), now_ns)

    def wait(self, now_ns: int, others: list[int]) -> list[int]:
        """Until something is to be done; gives the file descriptors to read from."""
        reading = [number for end in self._ends.values() for number in end.read_numbers]
        writing = [number for end in self._ends.values() for number in end.write_numbers]
        timeout_ns = min(max(self._due_ns(now_ns) - now_ns, 0), LONGEST_WAIT_NS)
        ready, _, _ = select.select(reading + others, writing, [], timeout_ns / 1e9)
        return ready

    def read(self, ready: Collection[int], now_ns: int) -> None:
        for side, end in self._ends.items():
            if not any(number in ready for number in end.read_numbers):
                continue
            lane = self._lanes[side]
            for _ in range(_READS_A_TURN):
                data = end.read(now_ns)
                self._tell_of(side, now_ns)
                if not data:
                    break
                lane.take(data, now_ns, is_stream=end.is_stream)

    def close(self) -> None:
        for end in self._ends.values():
            end.close()

    def _keep_time(self, now_ns: int) -> None:
        for planned in list(self._planned):
            if not planned.has_begun and planned.begins_ns <= now_ns:
                self._begin(planned, now_ns)
            if planned.ends_ns is not None and planned.ends_ns <= now_ns:
                self._end(planned, now_ns)

    def _begin(self, planned: _Planned, now_ns: int) -> None:
        planned.has_begun = True
        fault = planned.fault
        self._tell("began", fault.direction, planned.number, repr(fault.effect)[:200], now_ns)
        if isinstance(fault.effect, Unplug):
            self._ends[fault.effect.side].unplug()
            return
        for direction in fault.direction.lanes:
            random = planned.random.child(direction)
            self._lane(direction).begin(planned.number, fault, random, now_ns)

    def _end(self, planned: _Planned, now_ns: int) -> None:
        self._planned.remove(planned)
        if not planned.has_begun:
            return
        fault = planned.fault
        for direction in fault.direction.lanes:
            self._lane(direction).end(planned.number, now_ns)
        if isinstance(fault.effect, Unplug) and not self._is_unplugged(fault.effect.side):
            self._ends[fault.effect.side].plug(now_ns)
        self._tell("ended", fault.direction, planned.number, fault.effect.kind, now_ns)

    def _is_unplugged(self, side: Side) -> bool:
        effects = [planned.fault.effect for planned in self._planned if planned.has_begun]
        return any(isinstance(effect, Unplug) and effect.side is side for effect in effects)

    def _send(self, lane: Lane, side: Side, now_ns: int) -> None:
        end = self._ends[side]
        for raw in lane.give_due(now_ns):
            if end.write(raw, now_ns):
                lane.counts.sent_bytes += len(raw)
            else:
                lane.counts.unsent += 1

    def _due_ns(self, now_ns: int) -> int:
        dues = [
            *(lane.due_ns for lane in self._lanes.values()),
            *(end.due_ns for end in self._ends.values()),
            *(one.ends_ns if one.has_begun else one.begins_ns for one in self._planned),
        ]
        return min((due for due in dues if due is not None), default=now_ns + LONGEST_WAIT_NS)

    def _lane(self, direction: Direction) -> Lane:
        return self._lanes[Side.UNIT if direction is Direction.TO_VEHICLE else Side.VEHICLE]

    def _tell_of(self, side: Side, now_ns: int) -> None:
        end = self._ends[side]
        if end.opened != self._opened[side]:
            self._opened[side] = end.opened
            self._lanes[side].forget()
        if end.is_up != self._were_up[side]:
            self._were_up[side] = end.is_up
            self._tell("up" if end.is_up else "down", "", -1, side, now_ns)

    def _tell(self, action: str, direction: str, fault: int, detail: str, now_ns: int) -> None:
        self._journal.add(Entry(now_ns, action, direction, fault, detail=detail))


def _other(side: Side) -> Side:
    return Side.VEHICLE if side is Side.UNIT else Side.UNIT
