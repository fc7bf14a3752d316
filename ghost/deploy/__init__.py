"""The composition root: robots, scenarios, and the session that flies them."""

from ghost.deploy.hal import MissingHalError, build_hal
from ghost.deploy.real import RealFlight, RunOrder, recover_unfinished
from ghost.deploy.robot import RobotDescription, read_robot
from ghost.deploy.robots import find_robots, load_robot
from ghost.deploy.scenario import Scenario, load_scenario
from ghost.deploy.session import Flight, Order, SimulatedFlight
from ghost.deploy.shipped import find_shipped
from ghost.deploy.statistics import Summary
from ghost.deploy.world import load_world
from ghost.mission import Result, load_mission

__all__ = [
    "Flight",
    "MissingHalError",
    "Order",
    "RealFlight",
    "Result",
    "RobotDescription",
    "RunOrder",
    "Scenario",
    "SimulatedFlight",
    "Summary",
    "build_hal",
    "find_robots",
    "find_shipped",
    "load_mission",
    "load_robot",
    "load_scenario",
    "load_world",
    "read_robot",
    "recover_unfinished",
]
