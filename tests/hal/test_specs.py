from typing import Any

import pytest

from ghost.core.errors import ConfigError
from ghost.hal import (
    HAL_PROTOCOL_VERSION,
    SAMPLE_TYPES,
    ActuatorSpec,
    Capabilities,
    CommandLevel,
    SafetyEnvelope,
    ScenarioSpec,
    SensorKind,
    SensorSpec,
)
from ghost.hal import channels as hal_channels

NAN = float("nan")
SCENARIO: dict[str, Any] = {"name": "hover", "seed": 1, "step_ns": 10, "duration_ns": 100}
SENSOR: dict[str, Any] = {"name": "imu", "kind": SensorKind.IMU, "period_ns": 5_000_000}
ACTUATOR: dict[str, Any] = {"levels": (CommandLevel.VELOCITY,), "rotor_count": 4}
SQUARE = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]


@pytest.mark.parametrize(
    ("spec", "valid", "key", "value"),
    [
        *((SensorSpec, SENSOR, "period_ns", value) for value in (0, -1, NAN, 5e6, True)),
        *((SensorSpec, SENSOR, "latency_ns", value) for value in (-1, NAN, 0.5)),
        *((SensorSpec, SENSOR, "name", value) for value in ("", "front camera", "/imu", "a/")),
        *((ActuatorSpec, ACTUATOR, "rotor_count", value) for value in (0, -4, NAN, 4.0)),
        *(
            (ActuatorSpec, ACTUATOR, key, value)
            for key in ("max_rate_rps", "max_speed_mps", "max_acceleration_mps2", "max_distance_m")
            for value in (0.0, -1.0, NAN)
        ),
        *((ScenarioSpec, SCENARIO, "seed", value) for value in (-1, 2**64, 1.0, True, None)),
        *((ScenarioSpec, SCENARIO, "step_ns", value) for value in (0, -1, 0.5)),
        *((ScenarioSpec, SCENARIO, "duration_ns", value) for value in (9, 1e9)),
        *(
            (SafetyEnvelope, {}, key, value)
            for key in ("max_speed_mps", "max_climb_mps", "max_tilt_rad", "max_rate_rps")
            for value in (0.0, -1.0, NAN)
        ),
        *(
            (SafetyEnvelope, {}, key, value)
            for key in ("max_command_age_ns", "command_timeout_ns")
            for value in (0, -1, NAN, 1e9)
        ),
        *((SafetyEnvelope, {}, "lookahead_ns", value) for value in (-1, NAN, 1e9)),
        *((SafetyEnvelope, {}, "max_altitude_m", value) for value in (0.0, -5.0, NAN)),
        *((SafetyEnvelope, {}, "min_altitude_m", value) for value in (120.0, NAN)),
        *(
            (SafetyEnvelope, {}, "geofence_enu_m", value)
            for value in (
                [],
                [[0.0, 0.0], [1.0, 1.0]],
                [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]],
                [[0.0, 0.0], [1.0, 0.0], [NAN, 1.0]],
                [[0.0, 0.0, 7.0]] * 3,
                "round the house",
            )
        ),
    ],
)
def test_impossible_values_are_named(
    spec: Any, valid: dict[str, Any], key: str, value: Any
) -> None:
    spec(**valid)
    with pytest.raises(ConfigError) as caught:
        spec(**(valid | {key: value}))
    shown = repr(value) if isinstance(value, list | str) else str(value)
    assert shown in str(caught.value)


def test_two_sensors_need_two_names() -> None:
    twins = (SensorSpec(**SENSOR), SensorSpec(**SENSOR))
    with pytest.raises(ConfigError, match="'imu'"):
        Capabilities(twins, (), False, False, False, False)


def test_capabilities_carry_the_protocol_version_and_flag_extensions() -> None:
    capabilities = Capabilities(
        sensors=(SensorSpec(**SENSOR),),
        command_levels=(CommandLevel.VELOCITY,),
        ground_truth=True,
        synchronous_step=True,
        replay=False,
        deterministic=True,
        extensions=("gpu_buffers",),
    )
    major, minor = HAL_PROTOCOL_VERSION.split(".")
    assert major.isdigit()
    assert minor.isdigit()
    assert capabilities.protocol_version == HAL_PROTOCOL_VERSION
    assert capabilities.has_extension("gpu_buffers")
    assert not capabilities.has_extension("gpu")


@pytest.mark.parametrize("kind", SensorKind)
def test_a_sensor_named_after_its_kind_is_on_the_channel_of_its_kind(kind: SensorKind) -> None:
    spec = SensorSpec(kind.name.lower(), kind, 1)
    assert spec.channel == getattr(hal_channels, kind.name)
    assert spec.channel.message_type is SAMPLE_TYPES[kind]


def test_every_sensor_has_its_own_channel() -> None:
    front = SensorSpec("camera/front", SensorKind.RGB_CAMERA, 1)
    assert front.channel.name == "/sensors/camera/front"


def test_envelopes_with_equal_fences_are_equal() -> None:
    fenced = SafetyEnvelope(geofence_enu_m=SQUARE)
    assert fenced == SafetyEnvelope(geofence_enu_m=[*SQUARE])
    assert fenced != SafetyEnvelope(geofence_enu_m=SQUARE[::-1])
    assert len({fenced, SafetyEnvelope(geofence_enu_m=SQUARE)}) == 1
