"""What PX4's simulation knows, from HIL_STATE_QUATERNION."""

from typing import Any

import numpy as np

from ghost.core.frames import Geodetic, LocalFrame, attitude_ned_to_enu, frd_to_flu, ned_to_enu
from ghost.hal import GroundTruth

MESSAGE = "HIL_STATE_QUATERNION"
RATE_HZ = 50.0

_UNKNOWN = np.full(3, np.nan)


def ground_truth(
    message: Any, stamp_ns: int, place: LocalFrame, rotor_count: int, *, is_calm: bool
) -> GroundTruth:
    """What isn't in it is NaN: the speeds of the rotors, the wind where a world has its own, and
    the acceleration, which PX4 (v1.18) cuts to whole m/s2.
    """
    where = Geodetic(message.lat / 1e7, message.lon / 1e7, message.alt / 1e3)
    return GroundTruth(
        stamp_ns,
        place.to_enu_m(where),
        ned_to_enu([message.vx / 100.0, message.vy / 100.0, message.vz / 100.0]),
        attitude_ned_to_enu(message.attitude_quaternion),
        frd_to_flu([message.rollspeed, message.pitchspeed, message.yawspeed]),
        _UNKNOWN,
        np.zeros(3) if is_calm else _UNKNOWN,
        np.full(rotor_count, np.nan),
    )
