"""The composition root: robots, scenarios, and the session that flies them."""

from ghost.deploy.drone import Drone
from ghost.deploy.hal import MissingHalError, build_hal
from ghost.deploy.layout import read_layout
from ghost.deploy.links import PortPlan
from ghost.deploy.real import RealFlight, RunOrder, recover_unfinished
from ghost.deploy.robot import RobotDescription, read_robot
from ghost.deploy.robots import find_robots, load_robot
from ghost.deploy.scenario import Scenario, load_scenario
from ghost.deploy.session import Flight, Order, SimulatedFlight
from ghost.deploy.shipped import find_shipped
from ghost.deploy.statistics import Summary
from ghost.deploy.swarm import Swarm
from ghost.deploy.swarm_file import load_swarm
from ghost.deploy.world import load_world
from ghost.mission import Result, load_mission
from ghost.mission.swarm import load_swarm_mission
from ghost.sitl.registry import Unlockstepped
from ghost.sitl.time import TimePlan, parse_time

__all__ = [
    "Drone",
    "Flight",
    "MissingHalError",
    "Order",
    "PortPlan",
    "RealFlight",
    "Result",
    "RobotDescription",
    "RunOrder",
    "Scenario",
    "SimulatedFlight",
    "Summary",
    "Swarm",
    "TimePlan",
    "Unlockstepped",
    "build_hal",
    "find_robots",
    "find_shipped",
    "load_mission",
    "load_robot",
    "load_scenario",
    "load_swarm",
    "load_swarm_mission",
    "load_world",
    "parse_time",
    "read_layout",
    "read_robot",
    "recover_unfinished",
]
