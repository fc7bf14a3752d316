"""Pictures by PyBullet's own renderer, which needs neither display nor GPU."""

import numpy as np
from numpy.typing import NDArray

from ghost.hal import Lens
from ghost.simulation.models.rays import in_body, in_world
from ghost.simulation.models.sensors import Camera, Picture
from ghost.simulation.pybullet.client import Client, pybullet

FloatArray = NDArray[np.float64]

_AHEAD_AND_UP = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
_LIGHT = (0.4, -0.6, 1.0)
_BEYOND = 1.01  # empty space is at the renderer's far plane but for rounding, so that is farther
_SKY_RGB = (196, 214, 232)


def take_picture(client: Client, body: FloatArray, camera: Camera) -> Picture:
    mount, lens, near_m, far_m = camera.mount, camera.lens, camera.near_m, camera.far_m * _BEYOND
    eye_enu_m, (ahead, up) = in_world(
        body, np.array(mount.position_flu_m), in_body(mount, _AHEAD_AND_UP)
    )
    view = pybullet.computeViewMatrix(eye_enu_m.tolist(), (eye_enu_m + ahead).tolist(), up.tolist())
    _, _, rgba, buffer, _ = client.getCameraImage(
        lens.width_px,
        lens.height_px,
        view,
        _projection(lens, near_m, far_m),
        lightDirection=_LIGHT,
        lightAmbientCoeff=0.75,
        lightDiffuseCoeff=0.45,
        lightSpecularCoeff=0.0,
        shadow=0,
        renderer=pybullet.ER_TINY_RENDERER,
        flags=pybullet.ER_NO_SEGMENTATION_MASK,
    )
    rgb = np.ascontiguousarray(np.reshape(rgba, (lens.height_px, lens.width_px, 4))[:, :, :3])
    depth = np.reshape(buffer, (lens.height_px, lens.width_px)).astype(np.float64)
    away_m = far_m * near_m / (far_m - (far_m - near_m) * depth)
    beyond = away_m > camera.far_m
    away_m[beyond] = np.inf
    rgb[beyond] = _SKY_RGB
    return Picture(rgb.astype(np.uint8), away_m.astype(np.float32))


def _projection(lens: Lens, near_m: float, far_m: float) -> tuple[float, ...]:
    """The edges of the image on the near plane. The renderer looks along the lower left corner of
    each pixel, where a lens has its middle.
    """
    projection: tuple[float, ...] = pybullet.computeProjectionMatrix(
        -lens.cx_px * near_m / lens.fx_px,
        (lens.width_px - lens.cx_px) * near_m / lens.fx_px,
        -(lens.height_px - 1.0 - lens.cy_px) * near_m / lens.fy_px,
        (lens.cy_px + 1.0) * near_m / lens.fy_px,
        near_m,
        far_m,
    )
    return projection
