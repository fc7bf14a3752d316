"""Which rules hold where."""

from pathlib import Path

WALL_CLOCK, RANDOMNESS, FLOAT_TIME, ORDER, ARITHMETIC = "GD1", "GD2", "GD3", "GD4", "GD5"

DETERMINISTIC = (WALL_CLOCK, RANDOMNESS, FLOAT_TIME, ORDER, ARITHMETIC)
# What passes a flight on or looks back at one computes none of it.
RECORDING = (WALL_CLOCK, RANDOMNESS, FLOAT_TIME, ORDER)
REAL_TIME = (RANDOMNESS, FLOAT_TIME)

# The longest matching prefix decides. A file outside these packages is somebody's adapter or
# mission: it runs inside the simulation, so every rule holds.
POLICY: dict[str, tuple[str, ...]] = {
    "ghost": DETERMINISTIC,
    "ghost.core.random": (WALL_CLOCK, "GD201", "GD203", FLOAT_TIME, ORDER, ARITHMETIC),
    "ghost.cli": REAL_TIME,
    "ghost.conformance": RECORDING,
    "ghost.deploy": REAL_TIME,
    "ghost.events": RECORDING,
    "ghost.hardware": REAL_TIME,
    "ghost.lint": REAL_TIME,
    "ghost.px4": REAL_TIME,
    "ghost.report": RECORDING,
    "ghost.simulation.gazebo_px4": REAL_TIME,
    "ghost.sitl": REAL_TIME,
    "ghost.telemetry": RECORDING,
    "ghost.verify": RECORDING,
    "firmware_bridge": REAL_TIME,
    "hil": (RANDOMNESS,),  # its seconds are limits and figures, and no time of a run
}


def applies(code: str, module: str) -> bool:
    while module and module not in POLICY:
        module = module.rpartition(".")[0]
    return code.startswith(POLICY.get(module, DETERMINISTIC))


def module_of(path: Path) -> str:
    """`ghost.core.clock` for that file, "" for a file outside our packages."""
    path = path.resolve()
    packages: list[str] = []
    folder = path.parent
    while (folder / "__init__.py").exists():
        packages.insert(0, folder.name)
        folder = folder.parent
    if not packages or packages[0] not in POLICY:
        return ""
    return ".".join(packages if path.stem == "__init__" else [*packages, path.stem])
