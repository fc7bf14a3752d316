"""swarm.yaml: the one in docs/sitl.md flies, and others say what is wrong with them."""

import re
from pathlib import Path

import pytest

import ghost
from ghost.core.errors import ConfigError
from ghost.deploy import PortPlan, load_swarm
from ghost.sitl.time import TimeMode

DOCS = Path(ghost.__file__).parents[1] / "docs" / "sitl.md"


def written(folder: Path, text: str) -> Path:
    path = folder / "swarm.yaml"
    path.write_text(text)
    return path


def test_the_documented_one_flies(tmp_path: Path) -> None:
    (text,) = re.findall(r"```yaml\n(name: two of a kind.*?)```", DOCS.read_text(), re.DOTALL)
    with load_swarm(written(tmp_path, text), seed=3, mavlink=PortPlan(15000, 15500)) as swarm:
        assert list(swarm.drones) == [1, 2, 9]
        assert swarm.time.mode is TimeMode.LOCKSTEP
        assert swarm.scenario.spec.seed == 3
        assert swarm.drones[9].spawn.links == PortPlan(15000, 15500).links(9)
        swarm.step(0.1)
        places = [drone.truth.position_enu_m[:2].round(1).tolist() for drone in swarm.alive]
        assert places == [[3.0, 0.0], [-3.0, 0.0], [20.0, 0.0]]
        assert swarm.drones[1].runner is not None
        assert swarm.drones[9].runner is None


def test_a_mission_of_ones_own_lies_beside_it(tmp_path: Path) -> None:
    (tmp_path / "up.yaml").write_text("name: up\nsteps: [{takeoff: {altitude_m: 2}}, {land: {}}]")
    path = written(tmp_path, "vehicles: [{robot: x500, mission: up.yaml}]")
    with load_swarm(path) as swarm:
        mission = swarm.drones[1].spawn.mission
        assert mission is not None
        assert mission.name == "up"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("vehicles: []", "vehicles has 0 entries; expected 1"),
        ("name: nobody", "vehicles is missing"),
        ("vehicels: [{robot: x500}]", "unknown key vehicels; did you mean vehicles?"),
        ("vehicles: [{robot: x500, id: 255}]", r"vehicles\[0\].id is 255; expected an integer, 1"),
        ("vehicles: [{robot: x5000}]", r"vehicles\[0\]: no robot named 'x5000'; did you mean x500"),
        (
            "vehicles: [{robot: x500, id: 2}, {robot: hexa, count: 2, id: 1}]",
            r"vehicles\[1\]: vehicle 2 is there already",
        ),
        (
            "vehicles: [{robot: x500, count: 2, links: ['udpin://0.0.0.0:1']}]",
            r"vehicles\[0\].links are one vehicle's, and count is 2",
        ),
        ("vehicles: [{robot: x500, simulator: unreal}]", r"vehicles\[0\]: no simulator named"),
        ("vehicles: [{robot: x500}]\ntime: later", "time is 'later'; expected lockstep, realtime"),
    ],
)
def test_what_is_wrong_is_told_with_its_key(tmp_path: Path, text: str, says: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(ConfigError, match=says) as told:
        load_swarm(path)
    assert str(told.value).startswith(f"{path}: ")
