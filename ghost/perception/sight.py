"""Whether a sensor that measures distance can be believed, from its readings alone."""

import numpy as np

from ghost.hal.message import Ranges
from ghost.hal.obstacles import Sight
from ghost.hal.optics import Ranging
from ghost.hal.samples import Health

FROZEN_AFTER = 3
"""Noise makes one repetition unlikely; as many in a row it makes impossible."""


def judge(readings_m: Ranges, ranging: Ranging, *, health: Health, repeats: int) -> Sight:
    """Infinite is nothing in range, NaN is nothing to say. repeats is how many times in a row the
    same readings came again; with nothing in range they may, because there is nothing to differ.
    """
    if health is not Health.OK:
        return Sight.OFFLINE
    tells = readings_m >= ranging.min_m  # NaN fails it
    if 2 * np.count_nonzero(tells) < readings_m.size:
        return Sight.BLINDED
    if not (tells & (readings_m <= ranging.max_m)).any():
        return Sight.OUT_OF_RANGE
    return Sight.FROZEN if repeats >= FROZEN_AFTER else Sight.OK
