"""What stands around the vehicle, as one sensor saw it."""

from ghost.core.channels import Channel, ChannelName
from ghost.hal.message import Points, Vector, message
from ghost.perception.sight import Sight


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


OBSTACLES = Channel(ChannelName.OBSTACLES, Obstacles)
