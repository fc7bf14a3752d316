"""A folder that looks like PX4's, and a real PX4 where there is one."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.px4 import alone, px4_home

AIRFRAMES = ("10040_sihsim_quadx", "10044_sihsim_hex", "4001_gz_x500", "4002_gz_x500_depth")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """GHOST_PX4, without Gazebo."""
    folder = tmp_path / "px4"
    airframes = folder / "etc/init.d-posix/airframes"
    airframes.mkdir(parents=True)
    for name in AIRFRAMES:
        (airframes / name).touch()
    (airframes.parent / "rcS").touch()
    (folder / "bin").mkdir()
    (folder / "bin/px4").touch()
    monkeypatch.setenv("GHOST_PX4", str(folder))
    return folder


@pytest.fixture
def gazebo(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same with Gazebo, as PX4's package has it."""
    (home / "bin/px4-gz_bridge").touch()
    for part in ("models/x500", "worlds"):
        (home / "share/gz" / part).mkdir(parents=True)
    for world in ("default", "baylands"):
        (home / f"share/gz/worlds/{world}.sdf").touch()
    gz = tmp_path / "path/gz"
    gz.parent.mkdir()
    gz.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(gz.parent))
    return home


@pytest.fixture
def real_px4() -> Iterator[None]:
    """GHOST_PX4, and its ports to oneself."""
    px4_home()
    with alone():
        yield
