"""PX4 and its simulation as a SimulationBackend."""

from collections.abc import Mapping

from ghost.core.errors import ConfigError, GhostError
from ghost.hal import Capabilities, EnvelopeGate, GroundTruth, ScenarioSpec
from ghost.hardware.provider import StreamProvider
from ghost.hardware.run import Run
from ghost.hardware.setpoints import LEVELS
from ghost.simulation.gazebo_px4.clock import FollowingClock
from ghost.simulation.gazebo_px4.play import Play, Script


class GazeboPx4Backend:
    """One vehicle. reset() ends the PX4 and the world that were, and starts both anew; their time
    passes by itself, and step() waits for it. The seed is nobody's: PX4's simulation has its own
    noise, and no two runs are alike.
    """

    def __init__(self, script: Script) -> None:
        self.name = f"PX4 with {script.stage.physics.shown}, model {script.model}"
        self._script = script
        self._play: Play | None = None

    @property
    def capabilities(self) -> Capabilities:
        play = self._current()
        return Capabilities(
            sensors=tuple(provider.spec for provider in play.run.providers.values()),
            command_levels=LEVELS,
            ground_truth=play.truth is not None,
            synchronous_step=False,
            replay=False,
            deterministic=False,
        )

    @property
    def clock(self) -> FollowingClock:
        return self._current().clock

    @property
    def sensors(self) -> Mapping[str, StreamProvider]:
        return self._current().run.providers

    @property
    def actuators(self) -> EnvelopeGate:
        return self._current().run.gate

    @property
    def flight_controller(self) -> Run:
        return self._current().run

    def reset(self, scenario: ScenarioSpec, seed: int) -> None:
        del seed
        self.shutdown()
        self._play = Play(self._script, scenario.origin)

    def step(self, dt_ns: int) -> None:
        play = self._current()
        if type(dt_ns) is not int or dt_ns < 0:
            raise ConfigError(f"step of {dt_ns!r} ns; expected an int of 0 or more")
        play.let_pass(dt_ns)

    def shutdown(self) -> None:
        play, self._play = self._play, None
        if play is not None:
            play.close()

    def ground_truth(self) -> GroundTruth:
        truth = self._current().truth
        if truth is None:
            raise GhostError("this PX4 tells no ground truth; see capabilities.ground_truth")
        return truth

    def _current(self) -> Play:
        if self._play is None:
            raise GhostError("the backend has no run; call reset first")
        return self._play
