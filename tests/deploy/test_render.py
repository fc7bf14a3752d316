"""Pictures of a logged flight, taken for real."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ghost.core.errors import ConfigError
from ghost.deploy import load_scenario
from ghost.deploy.render import Look, render
from ghost.telemetry.png import decode_png
from tests.deploy.rig import fly, order

SMALL = Look(64, 48, count=3)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A hover over yellow ground before a wall that is bluer than anything else in the world."""
    folder = tmp_path_factory.mktemp("render")
    (folder / "wall.yaml").write_text(
        "name: wall\nground: {rgb: [0.9, 0.8, 0.1]}\nsolids:\n"
        "  - box: {size_m: [1, 20, 20], position_enu_m: [12, 0, 10], rgb: [0.1, 0.1, 0.9]}\n"
    )
    scenario = load_scenario("calm", world=str(folder / "wall.yaml"))
    fly(order(folder / "run", robot="x500_lidar", scenario=scenario))
    return folder / "run"


def test_a_strip_shows_vehicle_and_world_side_by_side(run: Path, tmp_path: Path) -> None:
    assert render(run, tmp_path / "strip.png", SMALL) == 3
    strip = decode_png((tmp_path / "strip.png").read_bytes()).astype(int)
    assert strip.shape == (48, 3 * 64 + 2 * 4, 3)
    for first in (0, 68, 136):
        red, green, blue = np.moveaxis(strip[:, first : first + 64], 2, 0)
        assert np.any((red > green + 60) & (red > blue + 60))  # the discs of the front rotors
        assert np.mean((blue > red + 60) & (blue > green + 60)) > 0.1  # the wall
        assert np.mean((red > blue + 60) & (green > blue + 60)) > 0.1  # the ground
    assert np.any(strip[:, :64] != strip[:, 68:132])  # it has moved


def test_a_film_is_one(run: Path, tmp_path: Path) -> None:
    count = render(run, tmp_path / "film.mp4", Look(64, 48, speed=20.0))
    film = (tmp_path / "film.mp4").read_bytes()
    assert film[4:8] == b"ftyp"
    assert count > 20


def test_a_flight_without_world_or_pybullet_is_drawn_too(tmp_path: Path) -> None:
    fly(order(tmp_path / "run", robot="crazyflie"))
    assert render(tmp_path / "run", tmp_path / "strip.png", Look(64, 48, count=1)) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--out", "flight.gif"], "--out is flight.gif; expected an ending of .png or .mp4"),
        (["--out", "a.png", "--size", "64"], "--size is '64'; expected a form like 480x360"),
        (["--out", "a.png", "--size", "63x48"], "width_px is 63; expected an even number"),
        (["--out", "a.png", "--count", "0"], "count is 0; expected 1 to 100"),
        (["--out", "a.mp4", "--speed", "0"], "speed is 0.0; expected 0.01 to 1000"),
    ],
)
def test_what_cannot_be_drawn_is_said_in_one_line(
    run: Path, arguments: list[str], said: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ghost.cli", "render", run, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"ghost: {said}")
    assert done.stderr.count("\n") == 1


def test_a_film_without_an_encoder_names_the_way_out(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(ConfigError, match=r"ffmpeg.*\[sim\].*ending in \.png"):
        render(run, tmp_path / "film.mp4", SMALL)
