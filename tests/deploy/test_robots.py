"""Where robots are found: in a checkout, in folders of one's own, in an installed wheel."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ghost.core.errors import ConfigError
from ghost.deploy import find_robots, load_robot
from tests.deploy.rig import LEAVE_OUT, ROBOT_NAMES, X500, changed, fly, order, write_robot

ROOT = Path(__file__).parents[2]


def test_ghost_s_own_robots_are_found_by_name() -> None:
    assert tuple(find_robots()) == ROBOT_NAMES


def test_a_robot_is_added_by_one_file(tmp_path: Path) -> None:
    heavy = changed(X500, {"name": "heavy", "airframe.mass_kg": 2.4})
    path = write_robot(tmp_path / "robots", heavy)
    assert find_robots([tmp_path / "robots"])["heavy"] == path
    robot = load_robot("heavy", [tmp_path / "robots"])
    flown = fly(order(tmp_path / "run", robot=robot))[1]
    assert flown.succeeded, flown.outcome
    assert "heavy" not in find_robots()


def test_one_s_own_robot_goes_before_ghost_s_and_the_first_folder_before_the_next(
    tmp_path: Path,
) -> None:
    first = write_robot(tmp_path / "first", changed(X500, {"description": "mine"}))
    write_robot(tmp_path / "second", changed(X500, {"description": "theirs"}))
    folders = [tmp_path / "first", tmp_path / "second"]
    assert find_robots(folders)["x500"] == first
    assert load_robot("x500", folders).description == "mine"


def test_a_broken_robot_is_in_nobody_s_way(tmp_path: Path) -> None:
    write_robot(tmp_path, changed(X500, {"hal": LEAVE_OUT}), name="broken")
    assert load_robot("x500", [tmp_path]).name == "x500"
    with pytest.raises(ConfigError, match="hal is missing"):
        load_robot("broken", [tmp_path])


def test_folders_without_a_robot_and_files_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "assets").mkdir()
    (tmp_path / "README.md").write_text("robots\n")
    assert tuple(find_robots([tmp_path])) == ROBOT_NAMES


def test_an_unknown_robot_is_refused_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"^no robot named 'x50'; did you mean x500\?$"):
        load_robot("x50")
    with pytest.raises(
        ConfigError, match=r"^no robot named 'z'; expected crazyflie, .*, x500_lidar$"
    ):
        load_robot("z")


def test_a_folder_that_is_not_there_or_is_itself_a_robot_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^no folder .*missing; expected one with robots"):
        find_robots([tmp_path / "missing"])
    folder = write_robot(tmp_path, X500).parent
    with pytest.raises(ConfigError, match=r"x500 is a robot; give the folder that it lies in$"):
        find_robots([folder])


@pytest.mark.slow
def test_an_installed_wheel_finds_and_flies_the_same_robots(tmp_path: Path) -> None:
    """Built without its kernels, which a wheel may do without."""
    wheels, site, empty = tmp_path / "wheels", tmp_path / "site", tmp_path / "empty"
    empty.mkdir()
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}

    def python(*arguments: str | Path, cwd: Path = empty, **variables: str) -> str:
        return subprocess.run(
            [sys.executable, *map(str, arguments)],
            cwd=cwd,
            env={**clean, **variables},
            capture_output=True,
            text=True,
            check=True,
            timeout=100,
        ).stdout

    python(
        "-m", "hatchling", "build", "-t", "wheel", "-d", wheels, cwd=ROOT, HATCH_BUILD_NO_HOOKS="1"
    )
    (wheel,) = wheels.glob("*.whl")
    pip = ("-m", "pip", "--disable-pip-version-check", "install", "--quiet")
    python(*pip, "--no-deps", "--no-index", "--no-compile", "--target", site, wheel)
    where = "import ghost, json; from ghost.deploy import find_robots as f; "
    where += "print(json.dumps([ghost.__file__, *map(str, f().values())]))"
    found = json.loads(python("-c", where, PYTHONPATH=str(site)))
    assert all(path.startswith(str(site)) for path in found), found
    here = python("-m", "ghost.cli", "robots", "list", PYTHONPATH=str(ROOT))
    assert python("-m", "ghost.cli", "robots", "list", PYTHONPATH=str(site)) == here
    assert [line.split()[0] for line in here.splitlines()] == list(ROBOT_NAMES)
    mission = empty / "hop.yaml"
    mission.write_text("name: hop\nsteps: [takeoff: {altitude_m: 1}, land: {}]\n")
    command = ("deploy", "sim", "crazyflie", "--mission", "hop.yaml")
    flown = python("-m", "ghost.cli", *command, PYTHONPATH=str(site))
    assert "outcome    completed\n" in flown
