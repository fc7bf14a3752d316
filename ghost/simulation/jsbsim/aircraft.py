"""A robot's airframe as an aircraft in JSBSim's XML: mass, inertia, legs, and one force and one
moment that come from outside.
"""

import math

from ghost.hal.airframe import GRAVITY_MPS2, Airframe, Vector
from ghost.simulation.jsbsim.client import FT_M, LBF_N

FORCE = "external_reactions/rotors"
MOMENT = "external_reactions/twist"

_REST_DEPTH_M = 0.005
_DAMPING_RATIO = 0.7
_FRICTION = 0.7
_SLUG_KG = LBF_N / FT_M
_LB_PER_SLUG = 32.174049  # of JSBSim's own, which divides by it

_CONFIG = """<?xml version="1.0"?>
<fdm_config name="vehicle" version="2.0" release="BETA">
  <metrics>
    <wingarea unit="FT2">0</wingarea><wingspan unit="FT">1</wingspan><chord unit="FT">1</chord>
    <location name="AERORP" unit="IN"><x>0</x><y>0</y><z>0</z></location>
    <location name="EYEPOINT" unit="IN"><x>0</x><y>0</y><z>0</z></location>
    <location name="VRP" unit="IN"><x>0</x><y>0</y><z>0</z></location>
  </metrics>
  <mass_balance>
    <ixx unit="SLUG*FT2">{ixx!r}</ixx><iyy unit="SLUG*FT2">{iyy!r}</iyy>
    <izz unit="SLUG*FT2">{izz!r}</izz>
    <emptywt unit="LBS">{weight!r}</emptywt>
    <location name="CG" unit="IN"><x>0</x><y>0</y><z>0</z></location>
  </mass_balance>
  <ground_reactions>
{legs}
  </ground_reactions>
  <external_reactions>
    <force name="rotors" frame="BODY">
      <location unit="IN"><x>0</x><y>0</y><z>0</z></location>
      <direction><x>0</x><y>0</y><z>-1</z></direction>
    </force>
    <moment name="twist" frame="BODY">
      <direction><x>0</x><y>0</y><z>1</z></direction>
    </moment>
  </external_reactions>
  <propulsion/>
  <flight_control name="none"/>
  <aerodynamics><axis name="DRAG"/></aerodynamics>
</fdm_config>
"""

_LEG = """    <contact type="STRUCTURE" name="leg {number}">
      <location unit="FT"><x>{aft!r}</x><y>{right!r}</y><z>{up!r}</z></location>
      <static_friction>{friction!r}</static_friction>
      <dynamic_friction>{friction!r}</dynamic_friction>
      <spring_coeff unit="LBS/FT">{stiffness!r}</spring_coeff>
      <damping_coeff unit="LBS/FT/SEC">{damping!r}</damping_coeff>
    </contact>"""


def config_of(airframe: Airframe) -> str:
    """Without aerodynamics: drag comes with the rotors, from outside."""
    ixx, iyy, izz = (part / (_SLUG_KG * FT_M * FT_M) for part in airframe.inertia_kgm2)
    legs = [_leg(airframe, number, leg) for number, leg in enumerate(airframe.legs_flu_m)]
    weight = airframe.mass_kg / _SLUG_KG * _LB_PER_SLUG
    return _CONFIG.format(ixx=ixx, iyy=iyy, izz=izz, weight=weight, legs="\n".join(legs))


def standing_m(airframe: Airframe) -> float:
    """How high the centre of mass is when the vehicle stands on its legs."""
    return -min(leg[2] for leg in airframe.legs_flu_m) - _REST_DEPTH_M


def _leg(airframe: Airframe, number: int, leg_flu_m: Vector) -> str:
    """As soft as the lightweight simulator's. JSBSim's structural frame is aft, right, up."""
    share_kg = airframe.mass_kg / len(airframe.legs_flu_m)
    natural_rps = math.sqrt(GRAVITY_MPS2 / _REST_DEPTH_M)
    return _LEG.format(
        number=number,
        aft=-leg_flu_m[0] / FT_M,
        right=-leg_flu_m[1] / FT_M,
        up=leg_flu_m[2] / FT_M,
        friction=_FRICTION,
        stiffness=share_kg * GRAVITY_MPS2 / _REST_DEPTH_M / _SLUG_KG,
        damping=2.0 * _DAMPING_RATIO * natural_rps * share_kg / _SLUG_KG,
    )
