"""What can be asked of gazebo_px4, and what it says where it can't be had."""

import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ghost.core.errors import ConfigError, LinkError
from ghost.core.frames import Geodetic, LocalFrame
from ghost.core.rotations import from_yaw
from ghost.deploy import build_hal, load_robot
from ghost.hal.scenario import ZURICH
from ghost.px4 import Px4Container, Px4Instance
from ghost.px4.installation import GAZEBO_IMAGE
from ghost.simulation.adapter import Fault, FaultKind, Start, VehicleSetup, Wind, load_adapter
from ghost.simulation.backend import Happening
from ghost.simulation.gazebo_px4.instance import free_instance
from ghost.simulation.gazebo_px4.model import model_environment
from ghost.simulation.gazebo_px4.settings import Physics, Settings, read_settings
from ghost.simulation.gazebo_px4.stage import Stage, find_stage
from tests.px4 import free_instance as free_number

ROBOT = load_robot("x500")


def made(address: str = "", robot: str = "x500", **arguments: Any) -> Any:
    simulator = f"gazebo_px4{address}"
    return build_hal(load_robot(robot), mode="sim", simulator=simulator, **arguments)


@pytest.mark.usefixtures("home")
def test_without_gazebo_it_is_sih() -> None:
    assert made().name == "PX4 with SIH, model quadx"


@pytest.mark.usefixtures("gazebo")
def test_with_gazebo_it_is_gazebo_and_may_still_be_sih() -> None:
    assert made("@world=baylands").name == "PX4 with Gazebo, model x500"
    assert made("@model=x500_depth").name == "PX4 with Gazebo, model x500_depth"
    assert made("@physics=sih").name == "PX4 with SIH, model quadx"


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(
    ("address", "said"),
    [
        (
            "@physics=gazebo",
            r"built without: .*px4-gz_bridge\. Install Gazebo Harmonic",
        ),
        ("@world=default", r"or fly with physics=sih and no world"),
        ("@model=x500", r"model 'x500' is unknown to PX4 with SIH; there are: hex, quadx"),
        ("@world=default,physics=sih", "SIH has only flat ground"),
        ("@physics=bullet", "physics is 'bullet'; expected gazebo or sih"),
        ("@speed=0", "speed is 0; expected above 0, to 50"),
        ("@speed=nan", "speed is nan; expected above 0"),
        ("@speed=fast", "speed is 'fast'"),
        ("@instance=9", "instance is 9; expected 0 to 8"),
        ("@world=../x", "world is '../x'; expected a name"),
        ("@model", "'model' is no setting of gazebo_px4; expected KEY=VALUE"),
        ("@engine=sih", "'engine=sih' is no setting"),
        ("@speed=1,speed=2", "speed is given twice"),
    ],
)
def test_what_cannot_be_had_says_why(address: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        made(address)


@pytest.mark.usefixtures("gazebo")
def test_an_unknown_world_or_model_is_told_with_those_that_there_are() -> None:
    with pytest.raises(ConfigError, match=r"world 'mars' .* Gazebo; there are: baylands, default"):
        made("@world=mars")
    with pytest.raises(ConfigError, match=r"model 'quadx' .* there are: x500, x500_depth"):
        made("@model=quadx")


def test_each_part_of_gazebo_that_is_missing_is_named(
    gazebo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(gazebo))
    with pytest.raises(ConfigError, match="there is no `gz` command on the PATH"):
        made("@physics=gazebo")
    (gazebo / "share/gz/models/x500").rmdir()
    (gazebo / "share/gz/models").rmdir()
    with pytest.raises(ConfigError, match=r"models and worlds are missing: there is no .*models"):
        made("@physics=gazebo")


def test_without_any_px4_the_way_out_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GHOST_PX4", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigError, match=r"no docker engine answers\. Set GHOST_PX4 .*-gazebo"):
        made()
    engine = tmp_path / "docker"
    engine.write_text(f'#!/bin/sh\n[ "$1" = version ] || [ "$3" = {GAZEBO_IMAGE} ]\n')
    engine.chmod(0o755)
    stage = find_stage(Settings())
    assert stage.physics is Physics.GAZEBO
    order = stage.installation.order(Px4Instance(0), tmp_path, {"PX4_SIM_MODEL": "gz_x500"})
    assert isinstance(stage.installation, Px4Container)
    told = " ".join(order.command)
    assert told.endswith(f"/opt/px4-gazebo/bin/px4 -i 0 -d /opt/px4-gazebo/etc -w {tmp_path}")
    assert f"--env=HOME={tmp_path}" in told
    with pytest.raises(ConfigError, match=r"`docker pull px4io/px4-sitl:latest` gets"):
        find_stage(Settings(physics=Physics.SIH))


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"wind": Wind(mean_enu_mps=(3.0, 0.0, 0.0))}, "gazebo_px4 has no wind; leave it out"),
        (
            {"happenings": (Happening(0, Fault("gps", FaultKind.SILENT)),)},
            "gazebo_px4 has no fault silent",
        ),
        ({"start": Start((0.0, 0.0, 50.0))}, "has its vehicles where they stand"),
        ({"start": Start(charge=0.5)}, "charge of 0.5; PX4's simulated battery starts full"),
        ({"view": True}, "gazebo_px4 has no window for --view"),
        ({"robot": "hexa"}, "the robot has 6 rotors; say which of PX4's models it is"),
        ({"robot": "x500_lidar"}, "is a LASER_SCAN, which PX4 passes nothing on of"),
        ({"robot": "x500_depth"}, "is a camera, and simulator gazebo_px4 has no pictures"),
    ],
)
def test_what_it_does_not_have_is_refused(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        made(**arguments)


@pytest.mark.usefixtures("home")
def test_a_robot_of_six_rotors_flies_as_the_model_that_is_named() -> None:
    assert made("@model=hex", robot="hexa").name == "PX4 with SIH, model hex"


def test_it_is_no_physics_for_others() -> None:
    with pytest.raises(ConfigError, match="gazebo_px4 brings its own flight controller"):
        load_adapter("gazebo_px4@physics=sih")
    with pytest.raises(ConfigError, match=r"no simulator named 'none'; .*gazebo_px4"):
        load_adapter("none")


def test_sih_stands_where_the_scenario_says_and_is_the_robot() -> None:
    told = _environment(Stage(_nowhere(), Physics.SIH), "quadx")
    home = Geodetic(
        float(told["PX4_HOME_LAT"]), float(told["PX4_HOME_LON"]), float(told["PX4_HOME_ALT"])
    )
    assert LocalFrame(ZURICH).to_enu_m(home) == pytest.approx((20.0, -10.0, 0.0), abs=2e-3)
    # PX4 takes radians, from north and clockwise.
    assert float(told["PX4_HOME_YAW"]) == pytest.approx(1.5708 - 0.5, abs=1e-4)
    assert told["PX4_SIM_MODEL"] == "sihsim_quadx"
    assert float(told["PX4_PARAM_SIH_MASS"]) == 2.0
    assert float(told["PX4_PARAM_SIH_L_ROLL"]) == pytest.approx(0.174)


def test_gazebo_gets_the_place_in_its_world() -> None:
    told = _environment(Stage(_nowhere(), Physics.GAZEBO), "x500")
    assert told["PX4_GZ_MODEL_POSE"] == "20.000,-10.000,0.000,0,0,0.500000"
    assert float(told["PX4_HOME_LAT"]) == pytest.approx(ZURICH.latitude_deg)
    assert told["PX4_SIM_MODEL"] == "gz_x500"
    assert told["PX4_GZ_WORLD"] == "baylands"
    assert not [name for name in told if "SIH" in name]


def test_a_port_in_use_is_told_with_its_holder_or_passed_over() -> None:
    number = free_number()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("127.0.0.1", 18570 + number))
        with pytest.raises(LinkError, match=rf"port {18570 + number}, .* held by .*\(pid \d+\)"):
            free_instance(number)
        assert free_instance(None).number != number


def test_settings_are_read() -> None:
    read = read_settings("physics=sih,model=hex,speed=2.5,instance=3,folder=runs/px4")
    assert read == Settings(Physics.SIH, None, "hex", 2.5, 3, Path("runs/px4"))
    assert read_settings("") == Settings()


def _environment(stage: Stage, model: str) -> dict[str, str]:
    w, x, y, z = from_yaw(0.5).tolist()
    start = Start((20.0, -10.0, 0.2), attitude=(w, x, y, z))
    assert ROBOT.airframe is not None
    vehicle = replace(VehicleSetup(ROBOT.airframe, ROBOT.sensors), start=start)
    world = "baylands" if stage.physics is Physics.GAZEBO else None
    return model_environment(stage, model, world, vehicle, LocalFrame(ZURICH))


def _nowhere() -> Px4Container:
    return Px4Container("docker")
