"""Every check, on every robot that can be simulated, in every simulator that is installed."""

import pytest

from ghost.conformance import CHECKS, Check, Factory, Verdict, judge
from ghost.core.errors import ConfigError
from ghost.deploy.robots import load_robot
from ghost.simulation.adapter import load_adapter, simulators

ROBOTS = ("x500", "crazyflie", "hexa")


@pytest.fixture(scope="module", params=sorted(simulators()))
def simulator(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    try:
        load_adapter(name)
    except ConfigError as error:
        pytest.skip(str(error))
    return name


@pytest.fixture(scope="module", params=ROBOTS)
def factory(request: pytest.FixtureRequest, simulator: str) -> Factory:
    return Factory(load_robot(request.param), simulator)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_backend_conforms(factory: Factory, check: Check) -> None:
    outcome = judge(check, factory)
    assert outcome.verdict is not Verdict.FAIL, outcome.figure
    if outcome.verdict is Verdict.SKIP:
        assert not check.mandatory, outcome.figure
        pytest.skip(outcome.figure)
