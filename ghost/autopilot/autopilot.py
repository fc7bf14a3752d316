"""The embedded flight controller: it stands where PX4 stands, and takes what PX4 takes."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ghost.autopilot import setpoint
from ghost.autopilot.config import AutopilotConfig
from ghost.autopilot.failsafe import Situation, judge
from ghost.autopilot.landed import LandDetector
from ghost.autopilot.manoeuvre import Manoeuvre
from ghost.autopilot.stuck_watch import StuckWatch
from ghost.control import Gains, allocate, derive, kernel
from ghost.control.gains import pack
from ghost.core.rotations import from_yaw, tilt_of, yaw_of
from ghost.estimation import Estimator
from ghost.hal import (
    AckStatus,
    Action,
    ActionAck,
    ActuatorSpec,
    BatterySample,
    Command,
    CommandAck,
    CommandLevel,
    ControlState,
    EstimateHealth,
    Failsafe,
    FlightMode,
    MotorCommand,
    RejectReason,
    SafetyEnvelope,
    Sample,
    VehicleState,
    VehicleStatus,
)
from ghost.hal.airframe import GRAVITY_MPS2, Airframe
from ghost.hal.commands import LEVELS
from ghost.hal.message import sealed

FloatArray = NDArray[np.float64]

LONGEST_BLIND_NS = 1_000_000_000
"""Without an IMU, until the rotors are stopped."""

_OLDEST_IMU_NS = 50_000_000
_RESET_M = 1.0
"""No vehicle moves as far between two looks for failsafes: its estimate was reset."""

_MODES = {
    Action.MANUAL: FlightMode.MANUAL,
    Action.HOLD: FlightMode.HOLD,
    Action.TAKEOFF: FlightMode.TAKEOFF,
    Action.LAND: FlightMode.LAND,
    Action.RETURN: FlightMode.RETURN,
    Action.OFFBOARD: FlightMode.OFFBOARD,
}
FAILSAFE_PERIOD_NS = 20_000_000
# A lookup in an enum is slow.
_DIRECT, _BODY_RATE, _ATTITUDE, _VELOCITY, _POSITION, _ = (float(level) for level in CommandLevel)
_TAKEOFF, _LAND = FlightMode.TAKEOFF, FlightMode.LAND
_GOOD, _LOST = EstimateHealth.GOOD, EstimateHealth.LOST
_NO_VECTOR, _NO_QUATERNION = sealed(np.full(3, np.nan)), sealed(np.full(4, np.nan))
_MANUAL_LEVELS = (CommandLevel.DIRECT_MOTOR, CommandLevel.BODY_RATE, CommandLevel.ATTITUDE)


@dataclass(slots=True)
class _Order:
    """The newest command in force, and when it came."""

    command: Command
    at_ns: int


class Autopilot:
    """Feed it samples, call update each control period, and give its motors to the vehicle."""

    def __init__(
        self,
        airframe: Airframe,
        envelope: SafetyEnvelope,
        estimator: Estimator,
        config: AutopilotConfig,
        *,
        gains: Gains | None = None,
    ) -> None:
        self.estimator = estimator
        self.spec = ActuatorSpec(tuple(CommandLevel), len(airframe.rotors))
        self.mode = FlightMode.HOLD
        self.failsafe = Failsafe.NONE
        self.armed = False
        self.killed = False
        self.motors = np.zeros(len(airframe.rotors))
        self._envelope = envelope
        self._config = config
        self._period_ns = config.control_period_ns
        self._full_v = airframe.battery.full_v
        self._curve = airframe.thrust_curve
        self._max_thrust_n = airframe.max_thrust_n
        self._hover = airframe.mass_kg * GRAVITY_MPS2 / airframe.max_thrust_n
        self._gains = pack(gains or derive(airframe, config.control_period_ns), airframe, envelope)
        self._allocation = allocate(airframe)
        self._limits = np.array([rotor.max_thrust_n for rotor in airframe.rotors])
        self._want = np.zeros(setpoint.SIZE)
        self._integral = np.zeros(6)
        self._demand = np.zeros(4)
        self._landed = LandDetector()
        self._battery: BatterySample | None = None
        self._stuck_watch = StuckWatch()
        self._place_m = [0.0, 0.0, 0.0]
        self._order: _Order | None = None
        self._manoeuvre: Manoeuvre | None = None
        self._home_m = [0.0, 0.0, 0.0]
        self._now_ns = 0
        self._counts = {VehicleState: 0, VehicleStatus: 0, ControlState: 0}
        self._acted = 0

    def sense(self, sample: Sample) -> None:
        if isinstance(sample, BatterySample):
            self._battery = sample
        elif not self._stuck_watch.is_stuck(sample):
            self.estimator.add(sample)

    def update(self, now_ns: int) -> FloatArray:
        """One control period: judge, choose the set-point, run the loops."""
        self._now_ns = now_ns
        self.estimator.advance_to(now_ns)  # nothing to do, but for an IMU that went silent
        if not self.armed:
            self.motors[:] = 0.0
            return self.motors
        if now_ns % FAILSAFE_PERIOD_NS == 0 and not self._act_on_failsafes(now_ns):
            return self.motors
        self._choose_setpoint()
        if self._want[0] == _DIRECT:
            self._notice_landing(now_ns, self._motor_thrust())
            return self.motors
        if self._landed.on_ground and self.mode is not _TAKEOFF and self._is_low():
            self._integral[:] = 0.0
        kernel.cascade(
            self.estimator.nominal,
            self.estimator.rate_flu_rps,
            self._want,
            self._integral,
            self._gains,
            self._demand,
            self._period_ns / 1e9,
        )
        kernel.mix(
            self._demand, self._allocation, self._limits, self.motors, self._curve, self._sag()
        )
        self._notice_landing(now_ns, self._demand.item(0) / self._max_thrust_n)
        return self.motors

    def send(self, command: Command) -> CommandAck:
        """Take a set-point that the gate let through."""
        refusal = self._refusal(command)
        if refusal:
            return self._ack(command, AckStatus.REJECTED, RejectReason.WRONG_MODE, refusal)
        self._order = _Order(command, self._now_ns)
        return self._ack(command, AckStatus.ACCEPTED, RejectReason.NONE, "")

    def request(self, action: Action, *, altitude_m: float = 0.0) -> ActionAck:
        detail = self._try(action, altitude_m)
        self._acted += 1
        return ActionAck(self._now_ns, self._acted - 1, action, not detail, detail)

    def reset_kill(self) -> None:
        self.killed = False

    def state(self) -> VehicleState:
        return self.estimator.state(self._next(VehicleState))

    def status(self) -> VehicleStatus:
        return VehicleStatus(
            self._now_ns,
            self._next(VehicleStatus),
            self.mode,
            self.armed,
            self.killed,
            self._landed.on_ground,
            self.failsafe,
            "" if self.armed else self.arming_blocked_by(),
            np.array(self._home_m),
        )

    def control(self) -> ControlState:
        want = sealed(self._want)
        level = want.item(0) if self.armed else 0.0
        return ControlState(
            self._now_ns,
            self._next(ControlState),
            want[1:4] if level >= _POSITION else _NO_VECTOR,
            want[4:7] if level >= _VELOCITY else _NO_VECTOR,
            want[10:14] if level >= _ATTITUDE else _NO_QUATERNION,
            want[14:17] if level >= _BODY_RATE else _NO_VECTOR,
            want.item(17) if level >= _BODY_RATE else math.nan,
            self.motors,
        )

    def arming_blocked_by(self) -> str:
        """Why arming would be refused, or nothing."""
        if self.killed:
            return "killed; reset first"
        if not self.estimator.ready:
            return "the estimator has not settled"
        if self.estimator.verdict is not EstimateHealth.GOOD:
            return f"the estimate is {self.estimator.verdict.name}"
        if self._battery is None:
            return "the battery was not heard yet"
        if self._battery.remaining < self._config.arm_above_charge:
            least = self._config.arm_above_charge
            return f"the battery has {self._battery.remaining:.0%}; {least:.0%} is needed"
        if tilt_of(self.estimator.nominal[6:10]) > self._config.arm_below_tilt_rad:
            return "the vehicle is tilted"
        return ""

    def _try(self, action: Action, altitude_m: float) -> str:
        """Do it, or say why not."""
        if action is Action.KILL:
            self.killed, self.armed = True, False
            self.motors[:] = 0.0
            return ""
        if action is Action.ARM:
            return self._arm()
        if action is Action.DISARM:
            if self.armed and not self._landed.on_ground:
                return "in the air; land first, or kill"
            self._disarm()
            return ""
        if action is Action.TAKEOFF and (refusal := self._wrong_altitude(altitude_m)):
            return refusal
        if refusal := self._mode_refusal(action):
            return refusal
        if self.failsafe is Failsafe.COMMAND_LOSS:
            self.failsafe = Failsafe.NONE  # whoever asks commands again, as with PX4
        self._enter(_MODES[action])
        if self._manoeuvre is not None:
            self._manoeuvre.target_height_m = altitude_m
        return ""

    def _mode_refusal(self, action: Action) -> str:
        if not self.armed:
            return "disarmed; arm first"
        if self.failsafe > Failsafe.COMMAND_LOSS and action not in {Action.LAND, Action.MANUAL}:
            return f"failsafe {self.failsafe.name} is in force"
        if action is not Action.MANUAL and self.estimator.verdict is EstimateHealth.LOST:
            return "the estimate is LOST"
        return ""

    def _wrong_altitude(self, altitude_m: float) -> str:
        ceiling_m = self._envelope.max_altitude_m - self._home_m[2]
        if 0.0 < altitude_m <= ceiling_m:
            return ""
        return f"altitude is {altitude_m} m; expected above 0, and up to {ceiling_m:.1f}"

    def _arm(self) -> str:
        if self.armed:
            return ""
        if blocked := self.arming_blocked_by():
            return blocked
        self.armed = True
        self.failsafe = Failsafe.NONE
        self._home_m = self._place_m = self.estimator.nominal[:3].tolist()
        self._landed = LandDetector()
        self._integral[:] = 0.0
        self._enter(FlightMode.HOLD)
        return ""

    def _disarm(self) -> None:
        self.armed = False
        self.motors[:] = 0.0
        self.mode = FlightMode.HOLD
        self._order = None

    def _enter(self, mode: FlightMode) -> None:
        self.mode = mode
        self._order = None
        self._entered_ns = self._now_ns
        self._manoeuvre = None
        if mode not in {FlightMode.MANUAL, FlightMode.OFFBOARD}:
            self._manoeuvre = Manoeuvre(mode, self.estimator.nominal, self._config, self._home_m)
        else:
            self._waiting = Manoeuvre(
                FlightMode.HOLD, self.estimator.nominal, self._config, self._home_m
            )

    def _follow_reset(self, place_m: list[float]) -> None:
        """An estimate that was reset is no way to go: the place that is kept moves with it."""
        east_m, north_m = place_m[0] - self._place_m[0], place_m[1] - self._place_m[1]
        self._place_m = place_m
        manoeuvre = self._manoeuvre or self._waiting
        if abs(east_m) + abs(north_m) > _RESET_M:
            manoeuvre.shift(east_m, north_m)

    def _act_on_failsafes(self, now_ns: int) -> bool:
        """Whether the flight goes on."""
        place_m = self.estimator.nominal[:3].tolist()
        self._follow_reset(place_m)
        since_ns = self._order.at_ns if self._order else self._entered_ns
        failsafe, mode = judge(
            Situation(
                self.mode,
                self.estimator.verdict,
                self._battery.remaining if self._battery else None,
                now_ns - since_ns,
                place_m,
            ),
            self._config,
            self._envelope,
        )
        # Once raised it stands until landing; only a graver one takes its place.
        if failsafe > self.failsafe:
            self.failsafe = failsafe
            if self._landed.on_ground:
                self._disarm()  # whatever was about to begin must not
            elif mode is not self.mode:
                self._enter(mode)
        if self.estimator.imu_age_ns > LONGEST_BLIND_NS:
            self._disarm()  # it tumbles by now, and still rotors do less harm
        return self.armed

    def _choose_setpoint(self) -> None:
        if self._manoeuvre is not None:
            if self.estimator.verdict is _LOST:
                self._sink(0.9)
                return
            if self.mode is _LAND and self._landed.touches:
                self._sink(0.5)  # on its legs a tilt moves nothing, and ends upside down
                return
            following = self._manoeuvre.write(
                self._want, self.estimator.nominal, self._period_ns / 1e9
            )
            if following is not self.mode:
                reference_m = self._manoeuvre.reference_m
                self._enter(following)
                if following is FlightMode.HOLD:
                    self._manoeuvre.hold_at(reference_m)
            return
        if self._order is None:
            self._waiting.write(self._want, self.estimator.nominal, self._period_ns / 1e9)
            return
        setpoint.fill(self._want, self._order.command)
        if isinstance(self._order.command, MotorCommand):
            self.motors[:] = self._order.command.motors

    def _sink(self, share: float) -> None:
        """Level, at a share of what hovering takes."""
        level = from_yaw(yaw_of(self.estimator.nominal[6:10])).tolist()
        setpoint.drift_down(self._want, level, share * self._hover)

    def _refusal(self, command: Command) -> str:
        if self.mode is FlightMode.OFFBOARD:
            return ""
        if self.mode is FlightMode.MANUAL:
            level = LEVELS[type(command)]
            return "" if level in _MANUAL_LEVELS else f"{level.name} needs OFFBOARD, not MANUAL"
        return f"in {self.mode.name}; request OFFBOARD or MANUAL first"

    def _notice_landing(self, now_ns: int, thrust: float) -> None:
        if self.estimator.imu_age_ns > _OLDEST_IMU_NS:
            return  # what is known of the climb is no news
        _, _, height_m, x, y, climb_mps = self.estimator.nominal[:6].tolist()
        thrust /= self._hover
        wanted_mps = self._want.item(6)
        if self._order is not None and self._want[0] < _VELOCITY:
            # Nobody says how fast to sink; at half of what hovering takes, only the ground holds.
            wanted_mps = -1.0 if thrust < 0.5 else 0.0
        was_flying = not self._landed.on_ground
        speed_mps = abs(x) + abs(y)
        if wanted_mps < 0.0 and self.estimator.verdict is not _GOOD:
            speed_mps = 0.0  # nobody knows without GPS; the climb is still the barometer's
        is_down = self._landed.update(
            now_ns,
            thrust=thrust,
            climb_mps=climb_mps,
            wanted_mps=wanted_mps,
            speed_mps=speed_mps,
            height_m=height_m - self._home_m[2],
        )
        if is_down and (was_flying or self.mode is _LAND):
            self._disarm()

    def _motor_thrust(self) -> float:
        """What the motors give, as a share of all there is."""
        thrust_n = total_n = 0.0
        for motor, limit_n in zip(self.motors.tolist(), self._limits.tolist(), strict=True):
            thrust_n += (self._curve * motor + (1.0 - self._curve)) * motor * limit_n
            total_n += limit_n
        return self._sag() * thrust_n / total_n

    def _is_low(self) -> bool:
        return self._want.item(17) < 0.9 * self._hover

    def _sag(self) -> float:
        if self._battery is None:
            return 1.0
        ratio = min(max(self._battery.voltage_v / self._full_v, 0.7), 1.0)
        return ratio * ratio

    def _next(self, kind: type) -> int:
        self._counts[kind] += 1
        return self._counts[kind] - 1

    def _ack(
        self, command: Command, status: AckStatus, reason: RejectReason, detail: str
    ) -> CommandAck:
        accepted = status is AckStatus.ACCEPTED
        return CommandAck(
            self._now_ns,
            command.stamp_ns,
            command.sequence,
            status,
            reason,
            detail,
            command if accepted else None,
        )
