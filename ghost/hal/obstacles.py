"""What stands around the vehicle, as one sensor saw it, and whether that sensor can be believed."""

from enum import IntEnum

from ghost.hal.message import Points, Vector, message


class Sight(IntEnum):
    """OK: it sees something. OUT_OF_RANGE: it sees, and nothing is near. BLINDED: covered or
    dazzled. FROZEN: the same picture over and over. OFFLINE: it says itself that it is not well.
    """

    OK = 1
    OUT_OF_RANGE = 2
    BLINDED = 3
    FROZEN = 4
    OFFLINE = 5

    @property
    def trusted(self) -> bool:
        return self in (Sight.OK, Sight.OUT_OF_RANGE)


@message
class Obstacles:
    """Points in the world and a standard deviation for each, as placed by the vehicle's estimate
    of itself at stamp_ns, the moment of measurement. Only a sight that is OK has points.

    The deviation is of the point beside the vehicle: of the reading and of the attitude. Where the
    vehicle itself is may be less well known, and moves both alike.
    """

    stamp_ns: int
    sensor: str
    sight: Sight
    points_enu_m: Points
    std_m: Vector
