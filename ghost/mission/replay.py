"""Fly a recorded mission again, on its messages and answers, and see the same commands."""

from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ghost.core.channels import Channel
from ghost.events import EVENTS, Bus
from ghost.hal import (
    AckStatus,
    Action,
    ActionAck,
    ActionRequest,
    ActuatorSpec,
    Command,
    CommandAck,
    CommandLevel,
    RejectReason,
    SafetyEnvelope,
    TrajectoryCommand,
)
from ghost.hal.channels import (
    BATTERY,
    CMD_ACK,
    CMD_ACTION,
    CMD_ACTION_ACK,
    CMD_TRAJECTORY,
    OBSTACLES,
    STATUS,
    VEHICLE,
)
from ghost.mission.mission import Mission
from ghost.mission.outcome import Outcome, Patience
from ghost.mission.runner import MissionRunner
from ghost.telemetry import LogReader, Replay

_INPUTS = (VEHICLE.name, STATUS.name, BATTERY.name, EVENTS.name, OBSTACLES.name)


@dataclass(frozen=True, slots=True)
class Rerun:
    """What the mission said this time."""

    outcome: Outcome
    commands: tuple[TrajectoryCommand, ...]
    requests: tuple[ActionRequest, ...]


def rerun_mission(
    log: LogReader | Path,
    mission: Mission,
    envelope: SafetyEnvelope,
    patience: Patience | None = None,
) -> Rerun:
    """Give a log's states to a fresh runner, which gets the log's answers to what it says."""
    path = log.path if isinstance(log, LogReader) else log
    reader = LogReader(path)
    answers = RecordedAnswers(reader)
    replay = Replay(reader, [name for name in _INPUTS if name in reader.channels])
    bus = Bus(replay.clock)
    said = _Said()
    bus.attach(said, name="said")
    runner = MissionRunner(
        mission,
        bus,
        actuators=answers,
        flight_controller=answers,
        envelope=envelope,
        patience=patience,
    )
    replay.run(bus)
    runner.close()
    return Rerun(runner.outcome, tuple(said.commands), tuple(said.requests))


class RecordedAnswers:
    """An actuator sink and a flight controller that answer as a log says they did."""

    def __init__(self, reader: LogReader) -> None:
        self.spec = ActuatorSpec((CommandLevel.TRAJECTORY,), rotor_count=1)
        self._acks: dict[tuple[int, int], CommandAck] = {}
        self._granted: deque[ActionAck] = deque()
        for record in reader.messages((CMD_ACK.name, CMD_ACTION_ACK.name)):
            answer = record.message
            if isinstance(answer, CommandAck):
                self._acks[answer.command_stamp_ns, answer.command_sequence] = answer
            else:
                self._granted.append(answer)

    def send(self, command: Command) -> CommandAck:
        ack = self._acks.get((command.stamp_ns, command.sequence))
        return ack or CommandAck(
            command.stamp_ns,
            command.stamp_ns,
            command.sequence,
            AckStatus.REJECTED,
            RejectReason.SINK_FAILED,
            "the log has no answer to this command",
            None,
        )

    def request(self, action: Action, *, altitude_m: float = 0.0) -> ActionAck:
        del altitude_m
        if self._granted and self._granted[0].action is action:
            return self._granted.popleft()
        wanted = self._granted[0].action.name if self._granted else "nothing"
        detail = f"the log has {wanted} asked here, not {action.name}"
        return ActionAck(0, 0, action, accepted=False, detail=detail)


class _Said:
    def __init__(self) -> None:
        self.commands: list[TrajectoryCommand] = []
        self.requests: list[ActionRequest] = []

    def write(self, channel: Channel[Any], message: Any, stamp_ns: int, sequence: int) -> None:
        del stamp_ns, sequence
        if channel.name == CMD_TRAJECTORY.name:
            self.commands.append(message)
        elif channel.name == CMD_ACTION.name:
            self.requests.append(message)
