"""The same run again, whatever else is going on."""

from ghost.conformance.check import Check, Need, require
from ghost.conformance.factory import Factory
from ghost.conformance.flight import CYCLE_NS, SECOND_NS, SEED, Flight, compare, finish, fresh, hop


def repeats(factory: Factory) -> str:
    """Against a backend of its own, and against the same one reset."""
    first, second = fresh(factory), fresh(factory)
    finish(hop(first))
    finish(hop(second))
    compare(first, second)
    again = Flight(factory, first.backend)
    finish(hop(again))
    return f"{compare(again, second)} alike in 3 runs of {first.now_ns / 1e9:g} s"


def another_seed_differs(factory: Factory) -> str:
    first, second = fresh(factory), fresh(factory, SEED + 1)
    for flight in (first, second):
        flight.step(SECOND_NS)
    pairs = zip(first.heard, second.heard, strict=False)
    differing = sorted({one.name for one, other in pairs if one.sample != other.sample})
    require(differing, f"seeds {SEED} and {SEED + 1} gave the same samples", "other noise")
    return f"{', '.join(differing)} differ"


def cuts_do_not_matter(factory: Factory) -> str:
    """The same time in one step or in many."""
    coarse, fine = fresh(factory), fresh(factory)
    finish(hop(coarse))
    count = CYCLE_NS // factory.step_ns
    finish(hop(fine, count))
    return f"{compare(coarse, fine)} alike in 1 step and in {count}"


def shutdown_forgets(factory: Factory) -> str:
    """A backend that has flown, been shut down and reset is as good as new."""
    used = fresh(factory, SEED + 1)
    finish(hop(used))
    used.backend.shutdown()
    again, new = Flight(factory, used.backend), fresh(factory)
    finish(hop(again))
    finish(hop(new))
    return f"{compare(again, new)} as of a new backend"


def backends_are_strangers(factory: Factory) -> str:
    """Two in one process, a cycle each in turn, with different seeds."""
    alone = fresh(factory)
    finish(hop(alone))
    one, other = fresh(factory), fresh(factory, SEED + 1)
    story, side_story = hop(one), hop(other)
    for _ in story:
        next(side_story, None)
    return f"{compare(one, alone)} as of one alone"


_REPEATABLE = Need(features=("deterministic",))

CHECKS = (
    Check("reset repeats the run", repeats, _REPEATABLE),
    Check("another seed differs", another_seed_differs, _REPEATABLE),
    Check(
        "cuts of time do not matter",
        cuts_do_not_matter,
        Need(features=("deterministic", "synchronous_step")),
    ),
    Check("shutdown forgets the run", shutdown_forgets, _REPEATABLE),
    Check("two backends do not meet", backends_are_strangers, _REPEATABLE),
)
