"""Which messages go out by themselves, and how often: PX4's defaults, until a client asks
otherwise.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from firmware_bridge.hub import Hub
from firmware_bridge.link import Link
from firmware_bridge.messages import Message, dialect, id_of, known_name
from ghost.hal import (
    BarometerSample,
    BatterySample,
    EstimateHealth,
    FlightMode,
    GpsSample,
    ImuSample,
    MagnetometerSample,
    RangefinderSample,
    VehicleState,
)
from ghost.sitl import reports
from ghost.sitl.identity import autopilot_version
from ghost.sitl.vehicle import SitlVehicle

GROUND_STATION_PORTS = range(14550, 14550 + 254)
"""One a vehicle."""
ONBOARD_HZ: Mapping[str, float] = {
    "ATTITUDE": 100.0,
    "ATTITUDE_QUATERNION": 50.0,
    "HIGHRES_IMU": 50.0,
    "GLOBAL_POSITION_INT": 50.0,
    "LOCAL_POSITION_NED": 30.0,
    "ODOMETRY": 30.0,
    "ALTITUDE": 10.0,
    "DISTANCE_SENSOR": 10.0,
    "SERVO_OUTPUT_RAW": 10.0,
    "VFR_HUD": 10.0,
    "GPS_RAW_INT": 8.0,
    "EXTENDED_SYS_STATE": 5.0,
    "SYS_STATUS": 5.0,
    "ESTIMATOR_STATUS": 1.0,
    "BATTERY_STATUS": 0.5,
    "HOME_POSITION": 0.5,
}
GROUND_STATION_HZ: Mapping[str, float] = {
    "ATTITUDE": 50.0,
    "ATTITUDE_QUATERNION": 50.0,
    "GLOBAL_POSITION_INT": 50.0,
    "LOCAL_POSITION_NED": 50.0,
    "SERVO_OUTPUT_RAW": 20.0,
    "VFR_HUD": 4.0,
    "ODOMETRY": 3.0,
    "ALTITUDE": 1.0,
    "EXTENDED_SYS_STATE": 1.0,
    "GPS_RAW_INT": 1.0,
    "SYS_STATUS": 1.0,
    "BATTERY_STATUS": 0.5,
    "DISTANCE_SENSOR": 0.5,
    "ESTIMATOR_STATUS": 0.5,
    "HOME_POSITION": 0.5,
}
"""PX4's rates in simulation: on two links of a computer, neither of which is slow."""

FASTEST_PERIOD_NS = 4_000_000
PHASE_NS = 100_000_000
PHASES = 3
"""Not everything of every vehicle is due in the same step: ten vehicles would stall it."""
SLOWEST_PERIOD_NS = 2_000_000_000_000
"""More microseconds than MESSAGE_INTERVAL holds are no use."""
_GOOD_FIX = 3
_SENSORS = (
    dialect.MAV_SYS_STATUS_SENSOR_3D_GYRO
    | dialect.MAV_SYS_STATUS_SENSOR_3D_ACCEL
    | dialect.MAV_SYS_STATUS_SENSOR_3D_MAG
    | dialect.MAV_SYS_STATUS_SENSOR_ABSOLUTE_PRESSURE
    | dialect.MAV_SYS_STATUS_SENSOR_BATTERY
    | dialect.MAV_SYS_STATUS_SENSOR_MOTOR_OUTPUTS
    | dialect.MAV_SYS_STATUS_AHRS
    | dialect.MAV_SYS_STATUS_PREARM_CHECK
    | dialect.MAV_SYS_STATUS_SENSOR_GPS
)


@dataclass(slots=True)
class _Stream:
    period_ns: int
    due_ns: int = 0


@dataclass(slots=True)
class _Outlet:
    link: Link
    streams: dict[int, _Stream] = field(default_factory=dict)


class Streams:
    """Rates are in simulated time, and each link has its own."""

    def __init__(self, hub: Hub, vehicle: SitlVehicle) -> None:
        self._hub = hub
        self._vehicle = vehicle
        self._outlets = {id(link): _Outlet(link) for link in hub.links}
        for link in hub.links:
            for index, (name, rate_hz) in enumerate(_default_hz(link).items()):
                period_ns = round(1e9 / rate_hz)
                phase_ns = (PHASES * hub.system + index) * FASTEST_PERIOD_NS % PHASE_NS % period_ns
                self._outlet(link).streams[id_of(name)] = _Stream(period_ns, phase_ns)

    def step(self, now_ns: int) -> None:
        """Send what is due."""
        built: dict[int, Message | None] = {}
        for outlet in self._outlets.values():
            for number, stream in outlet.streams.items():
                if now_ns < stream.due_ns:
                    continue
                missed = (now_ns - stream.due_ns) // stream.period_ns
                stream.due_ns += (missed + 1) * stream.period_ns
                if number not in built:
                    built[number] = self.build(number)
                message = built[number]
                if message is not None:
                    self._hub.send(message, outlet.link)

    def set_interval(self, link: Link, number: int, interval_us: float) -> bool:
        """As MAV_CMD_SET_MESSAGE_INTERVAL has it: 0 is the default, -1 stops it. Whether there is
        such a message.
        """
        name = known_name(number)
        if name not in _BUILDERS:
            return False
        streams = self._outlet(link).streams
        if interval_us == 0.0:
            rate_hz = _default_hz(link).get(name)
            interval_us = -1.0 if rate_hz is None else 1e6 / rate_hz
        if interval_us < 0.0:
            streams.pop(number, None)
        else:
            period_ns = min(max(round(interval_us * 1e3), FASTEST_PERIOD_NS), SLOWEST_PERIOD_NS)
            streams[number] = _Stream(period_ns, self._vehicle.now_ns)
        return True

    def interval_us(self, link: Link, number: int) -> int:
        """-1 where it is not streamed, 0 where it can't be."""
        if known_name(number) not in _BUILDERS:
            return 0
        stream = self._outlet(link).streams.get(number)
        return -1 if stream is None else stream.period_ns // 1000

    def build(self, number: int) -> Message | None:
        """The message as it would be sent now; None where there is nothing to say yet."""
        builder = _BUILDERS.get(known_name(number))
        return builder(self._vehicle) if builder is not None else None

    def _outlet(self, link: Link) -> _Outlet:
        return self._outlets.setdefault(id(link), _Outlet(link))


def _default_hz(link: Link) -> Mapping[str, float]:
    return GROUND_STATION_HZ if link.endpoint.number in GROUND_STATION_PORTS else ONBOARD_HZ


def _of_state(
    build: Callable[[VehicleState], Message],
) -> Callable[[SitlVehicle], Message | None]:
    def built(vehicle: SitlVehicle) -> Message | None:
        state = vehicle.state()
        return None if state is None else build(state)

    return built


def _global_position(vehicle: SitlVehicle) -> Message | None:
    state, home = vehicle.state(), vehicle.home_enu_m
    if state is None or home is None:
        return None
    return reports.global_position(state, vehicle.frame, home)


def _altitude(vehicle: SitlVehicle) -> Message | None:
    state, home = vehicle.state(), vehicle.home_enu_m
    if state is None or home is None:
        return None
    return reports.altitude(state, vehicle.frame, home)


def _highres_imu(vehicle: SitlVehicle) -> Message | None:
    imu = vehicle.newest(ImuSample)
    if imu is None:
        return None
    return reports.highres_imu(
        imu, vehicle.newest(MagnetometerSample), vehicle.newest(BarometerSample)
    )


def _gps(vehicle: SitlVehicle) -> Message | None:
    gps = vehicle.newest(GpsSample)
    return None if gps is None else reports.gps_raw(gps)


def _rangefinder(vehicle: SitlVehicle) -> Message | None:
    beam = vehicle.newest(RangefinderSample)
    return None if beam is None else reports.distance(beam)


def _vfr_hud(vehicle: SitlVehicle) -> Message | None:
    state = vehicle.state()
    return None if state is None else reports.vfr_hud(state, vehicle.frame, vehicle.motors)


def _battery(vehicle: SitlVehicle) -> Message | None:
    battery = vehicle.newest(BatterySample)
    config = vehicle.config
    if battery is None:
        return None
    return reports.battery_status(
        battery, low=config.return_below_charge, critical=config.land_below_charge
    )


def _servos(vehicle: SitlVehicle) -> Message:
    return reports.servo_output(vehicle.now_ns, vehicle.motors)


def _home(vehicle: SitlVehicle) -> Message | None:
    home = vehicle.home_enu_m
    return None if home is None else reports.home_position(vehicle.now_ns, vehicle.frame, home)


def _sys_status(vehicle: SitlVehicle) -> Message:
    """Health is what the autopilot's own checks say of it."""
    battery, gps = vehicle.newest(BatterySample), vehicle.newest(GpsSample)
    health = _SENSORS
    if vehicle.verdict is not EstimateHealth.GOOD:
        health &= ~dialect.MAV_SYS_STATUS_AHRS
    if gps is None or gps.fix < _GOOD_FIX or vehicle.verdict is not EstimateHealth.GOOD:
        health &= ~dialect.MAV_SYS_STATUS_SENSOR_GPS
    if not vehicle.armed and vehicle.blocked:
        health &= ~dialect.MAV_SYS_STATUS_PREARM_CHECK
    return dialect.MAVLink_sys_status_message(
        _SENSORS,
        _SENSORS,
        health,
        0,
        0xFFFF if battery is None else round(battery.voltage_v * 1e3),
        -1 if battery is None else round(battery.current_a * 100.0),
        -1 if battery is None else round(battery.remaining * 100.0),
        *[0] * 6,
    )


def extended_sys_state(vehicle: SitlVehicle) -> Message:
    landed = dialect.MAV_LANDED_STATE_IN_AIR
    if vehicle.on_ground:
        landed = dialect.MAV_LANDED_STATE_ON_GROUND
    elif vehicle.mode is FlightMode.TAKEOFF:
        landed = dialect.MAV_LANDED_STATE_TAKEOFF
    elif vehicle.mode is FlightMode.LAND:
        landed = dialect.MAV_LANDED_STATE_LANDING
    return dialect.MAVLink_extended_sys_state_message(dialect.MAV_VTOL_STATE_UNDEFINED, landed)


_BUILDERS: dict[str, Callable[[SitlVehicle], Message | None]] = {
    "ALTITUDE": _altitude,
    "ATTITUDE": _of_state(reports.attitude),
    "ATTITUDE_QUATERNION": _of_state(reports.attitude_quaternion),
    "AUTOPILOT_VERSION": lambda _: autopilot_version(),
    "BATTERY_STATUS": _battery,
    "DISTANCE_SENSOR": _rangefinder,
    "ESTIMATOR_STATUS": _of_state(reports.estimator_status),
    "EXTENDED_SYS_STATE": extended_sys_state,
    "GLOBAL_POSITION_INT": _global_position,
    "GPS_RAW_INT": _gps,
    "HIGHRES_IMU": _highres_imu,
    "HOME_POSITION": _home,
    "LOCAL_POSITION_NED": _of_state(reports.local_position),
    "ODOMETRY": _of_state(reports.odometry),
    "SERVO_OUTPUT_RAW": _servos,
    "SYS_STATUS": _sys_status,
    "VFR_HUD": _vfr_hud,
}
