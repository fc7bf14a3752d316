"""Missions of a swarm: read, checked before take-off, flown together, with nobody too near."""

from ghost.mission.swarm.member import Member
from ghost.mission.swarm.mission import SwarmMission
from ghost.mission.swarm.monitor import Approach, SeparationMonitor
from ghost.mission.swarm.read import load_swarm_mission
from ghost.mission.swarm.runner import SwarmRunner

__all__ = [
    "Approach",
    "Member",
    "SeparationMonitor",
    "SwarmMission",
    "SwarmRunner",
    "load_swarm_mission",
]
