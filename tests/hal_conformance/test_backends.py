"""Every check, on every robot that can be simulated, in every simulator that is installed."""

from dataclasses import replace

import pytest

from ghost.conformance import CHECKS, Check, Factory, Verdict, judge
from ghost.core.errors import ConfigError
from ghost.deploy import RobotDescription
from ghost.deploy.robots import load_robot
from ghost.simulation.adapter import load_adapter, simulators
from ghost.simulation.models.suite import CAMERAS
from ghost.simulation.models.vision import DepthCameraModel, RgbCameraModel

ROBOTS = ("x500", "crazyflie", "hexa", "x500_lidar", "x500_depth")
ELSEWHERE = ("gazebo",)
"""Programs of their own, which a machine may lack; they have tests of their own, too."""
ENOUGH = {"jsbsim": ("x500",)}
"""Where fewer robots show as much."""
BACKENDS = [
    *(
        (simulator, robot)
        for simulator in sorted(simulators())
        for robot in ENOUGH.get(simulator, ROBOTS)
        if simulator not in ELSEWHERE
    ),
    ("jsbsim@F450", "f450"),
]


@pytest.fixture(scope="module", params=BACKENDS, ids="-".join)
def factory(request: pytest.FixtureRequest) -> Factory:
    simulator, name = request.param
    robot = _with_small_pictures(load_robot(name))
    try:
        known = load_adapter(simulator).capabilities
    except ConfigError as error:
        pytest.skip(str(error))
    if not known.cameras and any(model.kind in CAMERAS for model in robot.sensors):
        pytest.skip(f"{simulator} has no pictures")
    return Factory(robot, simulator)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_backend_conforms(factory: Factory, check: Check) -> None:
    outcome = judge(check, factory)
    assert outcome.verdict is not Verdict.FAIL, outcome.figure
    if outcome.verdict is Verdict.SKIP:
        assert not check.mandatory, outcome.figure
        pytest.skip(outcome.figure)


def _with_small_pictures(robot: RobotDescription) -> RobotDescription:
    """The promises are the same, and are kept in a third of the time."""
    sensors = [
        replace(model, width_px=32, height_px=24, fx_px=17.0)
        if isinstance(model, DepthCameraModel | RgbCameraModel)
        else model
        for model in robot.sensors
    ]
    return replace(robot, sensors=tuple(sensors))
