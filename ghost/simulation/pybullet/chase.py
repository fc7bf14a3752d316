"""Pictures of a vehicle in its world from behind, made after the flight from what the log holds."""

import numpy as np
from numpy.typing import NDArray

from ghost.core.rotations import from_euler_zyx, from_yaw
from ghost.hal import Lens, Mount, Scene
from ghost.hal.airframe import Airframe, Vector
from ghost.simulation.models.sensors import Camera
from ghost.simulation.pybullet.camera import take_picture
from ghost.simulation.pybullet.client import Client
from ghost.simulation.pybullet.shapes import add_ground, add_solid, add_vehicle, rotor_radius_m
from ghost.simulation.scenery import GRASS, Scenery, of_scene

FloatArray = NDArray[np.float64]
Image = NDArray[np.uint8]

_FAR_M = 300.0
_DOWN_RAD = 0.35
_WIDE = 0.9  # the focal length, in widths of the image


class ChaseCamera:
    """Behind and above the vehicle, at some distance for its size, turning with it."""

    def __init__(
        self,
        airframe: Airframe,
        scene: Scene | None,
        *,
        width_px: int,
        height_px: int,
        ground_rgb: Vector = GRASS,
    ) -> None:
        self._client = Client()
        bare = Scenery(ground_rgb=ground_rgb)
        scenery = of_scene(scene, ground_rgb) if scene is not None else bare
        add_ground(self._client, scenery)
        for solid in scenery.solids:
            add_solid(self._client, solid, scenery.friction)
        self._vehicle = add_vehicle(self._client, airframe, [0.0, 0.0, 0.0], (0.0, 0.0, 0.0, 1.0))
        back_m = 13.0 * rotor_radius_m(airframe)
        tilt = from_euler_zyx(0.0, _DOWN_RAD, 0.0).tolist()
        focal_px = _WIDE * width_px
        middle = (0.5 * (width_px - 1), 0.5 * (height_px - 1))
        self._camera = Camera(
            Mount((-back_m, 0.0, 0.4 * back_m), tuple(tilt)),
            Lens(width_px, height_px, focal_px, focal_px, *middle),
            0.05 * back_m,
            _FAR_M,
        )

    def picture(self, position_enu_m: FloatArray, attitude: FloatArray, yaw_rad: float) -> Image:
        """yaw_rad is where the camera looks: it need not turn as fast as the vehicle."""
        w, x, y, z = attitude.tolist()
        self._client.resetBasePositionAndOrientation(
            self._vehicle, position_enu_m.tolist(), (x, y, z, w)
        )
        stand = np.zeros(13)
        stand[:3] = position_enu_m
        stand[6:10] = from_yaw(yaw_rad)
        return take_picture(self._client, stand, self._camera).rgb

    def close(self) -> None:
        self._client.close()
