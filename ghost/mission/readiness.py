"""Whether a vehicle stands there, ready to be armed."""

import math

from ghost.hal import EstimateHealth, Failsafe, VehicleState, VehicleStatus


def not_ready(state: VehicleState | None, status: VehicleStatus | None) -> str:
    """What keeps it from being armed; empty when nothing does."""
    if status is not None and status.armed:
        return "the vehicle was armed by somebody else"
    if state is None:
        return "no vehicle state was heard"
    if status is None:
        return "no vehicle status was heard"
    if state.verdict is not EstimateHealth.GOOD:
        return f"the estimate is {state.verdict.name}"
    if not all(map(math.isfinite, state.position_enu_m.tolist())):
        return f"the position is {state.position_enu_m.tolist()}"
    if not status.on_ground:
        return "the vehicle is in the air; land it first"
    if status.failsafe is not Failsafe.NONE:
        return f"failsafe {status.failsafe.name}"
    return status.blocked
