"""Pictures of a logged flight, without a display: a strip of stills, or a film."""

import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ghost.core.errors import ConfigError, GhostError
from ghost.core.rotations import yaw_of
from ghost.deploy.robot import described
from ghost.hal import Scene
from ghost.hal.airframe import Airframe, Vector
from ghost.hal.channels import GROUNDTRUTH_POSE, SCENE, VEHICLE
from ghost.simulation.adapter import EXTRAS
from ghost.simulation.scenery import GRASS
from ghost.telemetry import LogReader, read_manifest
from ghost.telemetry.png import encode_png

Floats = NDArray[np.float64]
Image = NDArray[np.uint8]

FILM_HZ = 25
_TURNING = 0.08  # of the way to the vehicle's heading, each frame of a film
_GAP_PX = 4
_FFMPEG_LIMIT_S = 120.0


@dataclass(frozen=True, slots=True)
class Look:
    """How large pictures are, and for a strip how many, for a film how many times real time."""

    width_px: int = 480
    height_px: int = 360
    count: int = 6
    speed: float = 2.0

    def __post_init__(self) -> None:
        for key in ("width_px", "height_px"):
            size = getattr(self, key)
            if not (16 <= size <= 4096 and size % 2 == 0):
                raise ConfigError(f"{key} is {size}; expected an even number, 16 to 4096")
        if not 1 <= self.count <= 100:
            raise ConfigError(f"count is {self.count}; expected 1 to 100")
        if not 0.01 <= self.speed <= 1000.0:
            raise ConfigError(f"speed is {self.speed}; expected 0.01 to 1000")


class Chaser(Protocol):
    def picture(self, position_enu_m: Floats, attitude: Floats, yaw_rad: float) -> Image: ...
    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class _Flight:
    airframe: Airframe
    scene: Scene | None
    ground_rgb: Vector
    stamp_ns: NDArray[np.int64]
    position_enu_m: Floats
    attitude: Floats


def render(run: Path, out: Path, look: Look) -> int:
    """Write out, by its ending a .png strip or an .mp4 film; how many pictures were taken."""
    makers = {".png": _write_strip, ".mp4": _write_film}
    if out.suffix not in makers:
        raise ConfigError(f"--out is {out}; expected an ending of .png or .mp4")
    return makers[out.suffix](_read(run), out, look)


def _write_strip(flight: _Flight, out: Path, look: Look) -> int:
    """Stills at even distances of time, the first and the last of the flight among them."""
    ends = (int(flight.stamp_ns[0]), int(flight.stamp_ns[-1]))
    times_ns = [
        ends[0] + (ends[1] - ends[0]) * index // max(look.count - 1, 1)
        for index in range(look.count)
    ]
    images = list(_pictures(flight, times_ns, look, turning=1.0))
    gap = np.full((look.height_px, _GAP_PX, 3), 255, np.uint8)
    parts = [part for image in images for part in (image, gap)][:-1]
    out.write_bytes(encode_png(np.concatenate(parts, axis=1)))
    return len(images)


def _write_film(flight: _Flight, out: Path, look: Look) -> int:
    step_ns = round(1e9 * look.speed / FILM_HZ)
    times_ns = list(range(int(flight.stamp_ns[0]), int(flight.stamp_ns[-1]), step_ns))
    size = f"{look.width_px}x{look.height_px}"
    command = [_ffmpeg(), "-y", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "rgb24"]
    command += ["-s", size, "-r", str(FILM_HZ), "-i", "-", "-c:v", "libx264"]
    command += ["-pix_fmt", "yuv420p", "-movflags", "+faststart", str(out)]
    with subprocess.Popen(  # noqa: S603 - our own list
        command, stdin=subprocess.PIPE, stderr=subprocess.PIPE
    ) as encoder:
        try:
            for image in _pictures(flight, times_ns, look, turning=_TURNING):
                encoder.stdin.write(image.tobytes())  # type: ignore[union-attr]  # it is a pipe
            _, said = encoder.communicate(timeout=_FFMPEG_LIMIT_S)
        except (BrokenPipeError, subprocess.TimeoutExpired) as error:
            encoder.kill()
            _, said = encoder.communicate()
            raise GhostError(f"ffmpeg failed on {out}: {said.decode() or error}") from None
    if encoder.returncode:
        raise GhostError(f"ffmpeg failed on {out}: {said.decode()}")
    return len(times_ns)


def _pictures(
    flight: _Flight, times_ns: list[int], look: Look, *, turning: float
) -> Iterator[Image]:
    chase = _chase_camera(flight, look)
    rows = np.searchsorted(flight.stamp_ns, times_ns, side="right") - 1
    yaw_rad = yaw_of(flight.attitude[0])
    try:
        for row in rows.tolist():
            error_rad = yaw_of(flight.attitude[row]) - yaw_rad
            yaw_rad += turning * float((error_rad + np.pi) % (2.0 * np.pi) - np.pi)
            yield chase.picture(flight.position_enu_m[row], flight.attitude[row], yaw_rad)
    finally:
        chase.close()


def _chase_camera(flight: _Flight, look: Look) -> Chaser:
    try:
        from ghost.simulation.pybullet.chase import ChaseCamera  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise ConfigError(
            f"pictures are taken by pybullet, which can't be loaded: {error}; "
            f"{EXTRAS['pybullet']} brings it"
        ) from None
    return ChaseCamera(
        flight.airframe,
        flight.scene,
        width_px=look.width_px,
        height_px=look.height_px,
        ground_rgb=flight.ground_rgb,
    )


def _read(run: Path) -> _Flight:
    config = read_manifest(run).config
    robot = described(config["robot"], run)
    if robot.airframe is None:
        raise ConfigError(f"robot {robot.name} of {run} has no airframe to draw")
    reader = LogReader(run)
    source = GROUNDTRUTH_POSE if GROUNDTRUTH_POSE.name in reader.channels else VEHICLE
    wanted = [name for name in (source.name, SCENE.name) if name in reader.channels]
    scene: Scene | None = None
    stamps, places, attitudes = [], [], []
    for record in reader.messages(wanted):
        message = record.message
        if isinstance(message, Scene):
            scene = message
        else:
            stamps.append(message.stamp_ns)
            is_pose = source is GROUNDTRUTH_POSE
            places.append(message.position_m if is_pose else message.position_enu_m)
            attitudes.append(message.attitude)
    if not stamps:
        raise ConfigError(f"{run} has no pose of the vehicle; nothing to draw")
    return _Flight(
        robot.airframe,
        scene,
        _ground_rgb(config),
        np.array(stamps),
        np.array(places),
        np.array(attitudes),
    )


def _ground_rgb(config: Any) -> Vector:
    """By the world's file, which the manifest holds: a logged scene has no ground."""
    match config:
        case {"scenario": {"world": {"ground": {"rgb": [red, green, blue]}}}}:
            return (float(red), float(green), float(blue))
    return GRASS


def _ffmpeg() -> str:
    if found := shutil.which("ffmpeg"):
        return found
    try:
        import imageio_ffmpeg  # noqa: PLC0415 - an extra
    except ImportError:
        raise ConfigError(
            "a film needs ffmpeg, which is not installed; "
            f"{EXTRAS['pybullet']} brings one, or give a --out ending in .png"
        ) from None
    return str(imageio_ffmpeg.get_ffmpeg_exe())
