"""What a camera's pictures cost in the flight log: CPU time, and bytes in the file."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ghost.core import SimClock
from ghost.core.channels import Channel
from ghost.events import Bus
from ghost.hal import DepthImage, RgbImage
from ghost.hal.channels import DEPTH_CAMERA, RGB_CAMERA
from ghost.telemetry import LogWriter
from tests.bench.table import Row, per_call_us

FRAME_NS = 33_000_000
SIZES = ((160, 120), (320, 240), (640, 480))
KEPT = 32  # different pictures, so that no chunk holds one twice
_noise = np.random.Generator(np.random.Philox(7))


def rows(pictures: int, folder: Path) -> list[Row]:
    found = []
    for width, height in SIZES:
        seen = [_colours(width, height) for _ in range(KEPT)]
        frames = [RgbImage(index * FRAME_NS, index, each) for index, each in enumerate(seen)]
        cost_us, size = _logged(RGB_CAMERA, frames, pictures, folder / "rgb.mcap")
        found.append(Row(f"RGB {width} x {height}", cost_us, _note(size, seen[0].nbytes)))
    for width, height in SIZES:
        away = [_depth_m(width, height) for _ in range(KEPT)]
        depths = [DepthImage(index * FRAME_NS, index, each) for index, each in enumerate(away)]
        cost_us, size = _logged(DEPTH_CAMERA, depths, pictures, folder / "depth.mcap")
        found.append(Row(f"depth {width} x {height}", cost_us, _note(size, away[0].nbytes)))
    return found


def _logged(
    channel: Channel[Any], frames: Sequence[Any], pictures: int, path: Path
) -> tuple[float, float]:
    """Microseconds and bytes a picture, what is derived from it for the eye included."""

    def log(count: int) -> None:
        clock = SimClock()
        bus = Bus(clock)
        with path.open("wb") as stream:
            writer = LogWriter(stream)
            bus.attach(writer, name="log")
            for index in range(count):
                clock.advance(FRAME_NS)
                bus.publish(channel, frames[index % KEPT])
            writer.close()

    cost_us = per_call_us(log, pictures)
    return cost_us, path.stat().st_size / pictures


def _note(size: float, raw: int) -> str:
    return f"{size:9,.0f} of {raw:,} bytes, 1 : {raw / size:.2f}"


def _colours(width: int, height: int) -> NDArray[np.uint8]:
    """Sky, ground and a few shaded things, with noise of one level as the camera model has."""
    y, x = np.mgrid[0:height, 0:width] / height
    rgb = np.where((y < 0.5)[..., None], [150.0, 190.0, 230.0], [115.0, 140.0, 97.0])
    for left, right in ((0.1, 0.25), (0.6, 0.9), (1.0, 1.1)):
        inside = (x > left) & (x < right) & (y > 0.2) & (y < 0.8)
        rgb[inside] = np.outer(1.0 - (x[inside] - left), [150.0, 80.0, 40.0])
    noisy = rgb + _noise.standard_normal(rgb.shape)
    return np.clip(np.rint(noisy), 0, 255).astype(np.uint8)


def _depth_m(width: int, height: int) -> NDArray[np.float32]:
    """The ground, a wall and a few poles within 10 m, to the millimetre, with noise that grows by
    2 mm for each square metre of distance.
    """
    focal_px = 84.0 / 160.0 * width
    row, column = np.mgrid[0:height, 0:width]
    y, z = (0.5 * width - column) / focal_px, (0.5 * height - row) / focal_px
    depth = np.where(z < 0.0, 1.5 / np.maximum(-z, 1e-6), np.inf)
    depth = np.where(np.abs(z) < 0.3, np.minimum(depth, 8.0 + 0.5 * y), depth)
    for middle, half, away_m in ((-0.5, 0.06, 3.0), (0.3, 0.1, 4.5), (0.7, 0.05, 2.2)):
        depth = np.where(np.abs(y - middle) < half, np.minimum(depth, away_m), depth)
    seen = np.isfinite(depth)
    depth[seen] += 0.002 * depth[seen] ** 2 * _noise.standard_normal(np.count_nonzero(seen))
    depth[depth > 10.0] = np.inf
    return (np.rint(depth * 1000.0) / 1000.0).astype(np.float32)
