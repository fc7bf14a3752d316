"""What a run knows of its surroundings: told once at the start for whoever looks at the log, and
turned into an alarm when the vehicle runs into them.
"""

from collections.abc import Iterable

import numpy as np

from ghost.core.channels import Channel
from ghost.core.rotations import multiply
from ghost.events import EVENTS, Bus, Event, EventKind, Severity
from ghost.hal import CameraCalibration, ContactSample, Lens, SensorSpec, Transform
from ghost.hal.channels import CONTACT, SCENE, TRANSFORMS
from ghost.simulation.scenery import Scenery

_OPTICAL = (0.5, -0.5, 0.5, -0.5)
"""From a lens' axes, as images have them (right, down, ahead), to the sensor's."""


def introduce(bus: Bus, sensors: Iterable[SensorSpec], scenery: Scenery) -> None:
    """Say where sensors sit, how cameras see, and what stands in the world."""
    now_ns = bus.now_ns()
    for spec in sensors:
        if spec.frame_id != "body":
            bus.publish(TRANSFORMS, _transform(spec, now_ns))
        if spec.lens is not None:
            channel = Channel(f"{spec.channel.name}/calibration", CameraCalibration)
            bus.publish(channel, _calibration(spec.frame_id, spec.lens, now_ns))
    if scenery.solids:
        bus.publish(SCENE, scenery.scene(now_ns))


def watch_contacts(bus: Bus) -> None:
    """A contact is a critical event, in the very step in which it comes."""

    def alarm(contact: ContactSample) -> None:
        text = f"hit {contact.other} at {contact.speed_mps:.1f} m/s"
        payload = {
            "other": contact.other,
            "speed_mps": contact.speed_mps,
            "position_enu_m": contact.position_enu_m.tolist(),
        }
        event = Event(
            contact.stamp_ns, Severity.CRITICAL, EventKind.COLLISION, "simulator", text, payload
        )
        bus.publish(EVENTS, event)

    bus.subscribe(CONTACT, alarm, name="contacts")


def _transform(spec: SensorSpec, now_ns: int) -> Transform:
    turn = np.array(spec.mount.attitude)
    if spec.lens is not None:
        turn = multiply(turn, _OPTICAL)
    return Transform(now_ns, "body", spec.frame_id, np.array(spec.mount.position_flu_m), turn)


def _calibration(frame_id: str, lens: Lens, now_ns: int) -> CameraCalibration:
    return CameraCalibration(
        now_ns,
        frame_id,
        lens.width_px,
        lens.height_px,
        lens.fx_px,
        lens.fy_px,
        lens.cx_px,
        lens.cy_px,
    )
