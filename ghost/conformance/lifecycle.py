"""Time, and the way from reset to shutdown."""

from collections.abc import Callable

from ghost.conformance.check import Check, ConformanceError, Need, require
from ghost.conformance.factory import Factory
from ghost.conformance.flight import MILLISECOND_NS, SEED, Flight, fresh
from ghost.core.errors import GhostError
from ghost.hal import Action, SimulationBackend


def time_is_what_was_stepped(factory: Factory) -> str:
    backend = factory()
    backend.reset(factory.scenario(SEED), SEED)
    require(
        backend.clock.now_ns() == 0, f"{backend.clock.now_ns()} ns after reset", "the run's start"
    )
    total_ns = 0
    for multiple in (1, 7, 20, 1, 100, 33, 1000, 0, 3):
        backend.step(multiple * factory.step_ns)
        total_ns += multiple * factory.step_ns
        now_ns = backend.clock.now_ns()
        require(now_ns == total_ns, f"the clock reads {now_ns} ns", f"{total_ns} ns as stepped")
    return f"{total_ns / 1e9:g} s in 9 steps, to the nanosecond"


def time_never_goes_back(factory: Factory) -> str:
    """As seen by whoever hears a sample, too."""
    flight = fresh(factory)
    flight.step(500 * MILLISECOND_NS)
    moments_ns = [heard.at_ns for heard in flight.heard]
    require(moments_ns == sorted(moments_ns), "a sample was delivered in the past", "time to run")
    require(
        all(0 < at_ns <= flight.now_ns for at_ns in moments_ns),
        f"deliveries from {moments_ns[0]} to {moments_ns[-1]} ns",
        f"within the {flight.now_ns} ns of the run",
    )
    return f"{len(moments_ns)} deliveries in order"


def impossible_steps_are_refused(factory: Factory) -> str:
    """As a whole: a run that went half of the way could not be trusted."""
    flight = fresh(factory)
    flight.step(100 * MILLISECOND_NS)
    before_ns = flight.now_ns
    uneven_ns = 10 * MILLISECOND_NS + factory.step_ns // 2
    for dt_ns in (-factory.step_ns, uneven_ns, 0.02):
        _must_refuse(f"a step of {dt_ns} ns", lambda dt=dt_ns: flight.backend.step(dt))  # type: ignore[misc]
        require(
            flight.now_ns == before_ns,
            f"{flight.now_ns - before_ns} ns went by in a refused step of {dt_ns} ns",
            "none",
        )
    flight.step(100 * MILLISECOND_NS)
    return "backwards, uneven and fractional ones"


def unstarted_use_is_an_error(factory: Factory) -> str:
    """Before reset and after shutdown alike, with an error of Ghost's own."""
    backend = factory()
    backend.shutdown()  # harmless
    count = _refuses_everything(factory, backend, "before reset")
    flight = Flight(factory, backend)
    flight.step(100 * MILLISECOND_NS)
    backend.shutdown()
    backend.shutdown()
    _refuses_everything(factory, backend, "after shutdown")
    return f"{count} uses before reset and after shutdown"


def reset_follows_shutdown(factory: Factory) -> str:
    flight = fresh(factory)
    flight.arm()
    flight.backend.shutdown()
    again = Flight(factory, flight.backend)
    if again.capabilities.synchronous_step:
        require(again.now_ns == 0, f"{again.now_ns} ns after reset", "0")
    again.arm()
    return f"armed {again.now_ns / 1e9:g} s after the second reset"


def _refuses_everything(factory: Factory, backend: SimulationBackend, when: str) -> int:
    uses: dict[str, Callable[[], object]] = {
        "clock": lambda: backend.clock,
        "sensors": lambda: list(backend.sensors),
        "actuators": lambda: backend.actuators.spec,
        "flight_controller": lambda: backend.flight_controller.request(Action.ARM),
        "step": lambda: backend.step(factory.step_ns),
        "ground_truth": backend.ground_truth,
    }
    for name, use in uses.items():
        _must_refuse(f"{name} {when}", use)
    return len(uses)


def _must_refuse(what: str, use: Callable[[], object]) -> None:
    try:
        use()
    except GhostError:
        return
    except Exception as error:
        raise ConformanceError(f"{what} raised {error!r}", "a GhostError") from error
    raise ConformanceError(f"{what} was let pass", "a GhostError")


CHECKS = (
    Check(
        "time is what was stepped", time_is_what_was_stepped, Need(features=("synchronous_step",))
    ),
    Check("time never goes back", time_never_goes_back, on_bench=True),
    Check(
        "impossible steps are refused",
        impossible_steps_are_refused,
        Need(features=("synchronous_step",)),
    ),
    Check("unstarted use is an error", unstarted_use_is_an_error, on_bench=True),
    Check("reset follows shutdown", reset_follows_shutdown, in_flight=True),
)
