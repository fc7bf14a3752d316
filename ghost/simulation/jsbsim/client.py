"""The one door to the jsbsim module: a model of our own or one that it carries, loaded quietly."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile

import jsbsim

from ghost.core.errors import GhostError

FT_M = 0.3048
LBF_N = 4.4482216152605

_NAME = "vehicle"
_INTEGRATORS = {
    # Euler's, which JSBSim takes for rotation, gives a tumbling body 0.2% of energy in 2 s.
    "simulation/integrator/rate/rotational": 3.0,
    "simulation/integrator/position/rotational": 3.0,
    "simulation/integrator/rate/translational": 3.0,
    "simulation/integrator/position/translational": 4.0,
}
"""Adams and Bashforth's, by order less one."""


class JsbsimError(GhostError):
    """What JSBSim could not do, in its own words."""


class Simulation:
    """One vehicle in a world of its own. JSBSim reckons in feet, slugs and pounds, and so does
    this.
    """

    def __init__(self, executive: jsbsim.FGFDMExec, step_s: float) -> None:
        self._executive = executive
        self._properties = executive.get_property_manager()
        executive.set_dt(step_s)

    def node(self, path: str) -> jsbsim.FGPropertyNode:
        """Looked up once, it is read ten times faster than by its name."""
        node = self._properties.get_node(path)
        if node is None:
            raise JsbsimError(f"JSBSim {jsbsim.__version__} has no property {path}")
        return node

    def begin(self, conditions: dict[str, float]) -> None:
        """In the order given: some conditions follow from those before."""
        for path, value in (_INTEGRATORS | conditions).items():
            self._executive[path] = value
        try:
            done = self._executive.run_ic()
        except jsbsim.BaseError as error:
            raise JsbsimError(f"JSBSim can't begin: {_line(error)}") from error
        if not done:
            raise JsbsimError("JSBSim can't begin, and gives no reason")

    def run(self) -> None:
        try:
            self._executive.run()
        except jsbsim.BaseError as error:
            raise JsbsimError(f"JSBSim can't go on: {_line(error)}") from error


def built(config: str, step_s: float) -> Simulation:
    """Of an aircraft's XML. It is read once, from a file, as JSBSim has it."""
    with TemporaryDirectory(prefix="ghost-jsbsim-") as root:
        folder = Path(root) / "aircraft" / _NAME
        folder.mkdir(parents=True)
        (folder / f"{_NAME}.xml").write_text(config, encoding="utf-8")
        return Simulation(_loaded(root, _NAME), step_s)


def carried(model: str, step_s: float) -> Simulation:
    """A model out of the package's aircraft."""
    return Simulation(_loaded(jsbsim.get_default_root_dir(), model), step_s)


@contextmanager
def _heard() -> Iterator[list[str]]:
    """What it prints while it loads, from C and from Python. A logger of our own would do, but one
    that was set in a thread is let go of when that thread ends, without Python's lock: 1.3.3 then
    crashes now and again.
    """
    words: list[str] = []
    with TemporaryFile("w+", encoding="utf-8", errors="replace") as printed:
        sys.stdout.flush()
        sys.stderr.flush()
        kept, spoken = (os.dup(1), os.dup(2)), StringIO()
        os.dup2(printed.fileno(), 1)
        os.dup2(printed.fileno(), 2)
        try:
            with redirect_stdout(spoken):
                yield words
        finally:
            for number, stream in enumerate(kept, 1):
                os.dup2(stream, number)
                os.close(stream)
            printed.seek(0)
            words += (spoken.getvalue() + printed.read()).split("\n")


def _loaded(root: str, model: str) -> jsbsim.FGFDMExec:
    try:
        with _heard() as words:
            executive = jsbsim.FGFDMExec(root)
            executive.set_debug_level(0)
            done = executive.load_model(model)
    except jsbsim.BaseError as error:
        raise JsbsimError(f"JSBSim can't load {model}: {_line(error)}") from error
    if not done:
        said = next((word for word in reversed(words) if word.strip()), "no reason given")
        raise JsbsimError(f"JSBSim can't load {model}: {_line(said)}")
    return executive


def _line(text: object) -> str:
    return " ".join(str(text).split())
