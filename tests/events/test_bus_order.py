"""The order of the bus on random topologies, against a plain queue."""

from collections import deque
from dataclasses import dataclass, field
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ghost.core.channels import Channel
from ghost.core.clock import SimClock
from ghost.events import EVENTS, Bus, Event, Severity

CHANNELS = [EVENTS.under(f"/{letter}") for letter in "abc"]
DEPTH = 2
Publish = tuple[int, Severity]  # to this channel


@dataclass(frozen=True)
class Module:
    """Listens to channels, and answers a message of theirs after dt_ns with others."""

    name: str
    listens: frozenset[int]
    answers: tuple[Publish, ...]
    dt_ns: int


@dataclass(frozen=True)
class Topology:
    modules: tuple[Module, ...]
    safety: Module | None
    steps: tuple[tuple[int, Publish], ...]  # each after so many ns


@dataclass
class Trace:
    calls: list[tuple[int, str, str]] = field(default_factory=list)  # when, who, which message
    written: list[tuple[int, int, str, str]] = field(default_factory=list)


PUBLISHES = st.tuples(
    st.integers(0, len(CHANNELS) - 1), st.sampled_from([Severity.INFO, Severity.CRITICAL])
)
ANSWERS = st.lists(PUBLISHES, max_size=2).map(tuple)
DELAYS = st.integers(0, 2)


def modules(name: st.SearchStrategy[str]) -> st.SearchStrategy[Module]:
    listens = st.frozensets(st.integers(0, len(CHANNELS) - 1), min_size=1)
    return st.builds(Module, name, listens, ANSWERS, DELAYS)


TOPOLOGIES = st.builds(
    Topology,
    st.lists(
        modules(st.sampled_from("kmxyz")), min_size=2, max_size=4, unique_by=lambda m: m.name
    ).map(tuple),
    st.none() | modules(st.just("safety")),
    st.lists(st.tuples(DELAYS, PUBLISHES), min_size=1, max_size=5).map(tuple),
)


class Writer:
    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    def write(self, channel: Channel[Any], message: Any, stamp_ns: int, sequence: int) -> None:
        self._trace.written.append((stamp_ns, sequence, channel.name, message.text))


def on_the_bus(topology: Topology) -> Trace:
    clock, trace = SimClock(), Trace()
    bus = Bus(clock)
    bus.attach(Writer(trace), name="writer")

    def publish(to: Publish, text: str) -> None:
        bus.publish(CHANNELS[to[0]], Event(clock.now_ns(), to[1], "TEST", "tests", text))

    def listen(module: Module, event: Event) -> None:
        trace.calls.append((clock.now_ns(), module.name, event.text))
        if event.text.count(".") < DEPTH:
            clock.advance(module.dt_ns)
            for index, answer in enumerate(module.answers):
                publish(answer, f"{event.text}.{module.name}{index}")

    if topology.safety is not None:
        safety = topology.safety
        bus.guard(lambda event: listen(safety, event))
    for module in topology.modules:
        for index in module.listens:
            bus.subscribe(
                CHANNELS[index],
                lambda event, module=module: listen(module, event),  # type: ignore[misc]  # mypy has no type for a lambda's defaults
                name=module.name,
            )
    for index, (dt_ns, to) in enumerate(topology.steps):
        clock.advance(dt_ns)
        publish(to, str(index))
    return trace


def on_paper(topology: Topology) -> Trace:
    """What the bus should do: one queue, and beside it one for alarms that is served at once."""
    trace, queue, alarms = Trace(), deque[tuple[int, int, int, str]](), deque[str]()
    by_name = sorted(topology.modules, key=lambda module: module.name)
    listeners = [[m for m in by_name if index in m.listens] for index in range(len(CHANNELS))]
    now_ns = sequence = 0
    in_safety = False

    def publish(to: Publish, text: str) -> None:
        nonlocal sequence, in_safety
        queue.append((now_ns, sequence, to[0], text))
        sequence += 1
        if to[1] is Severity.CRITICAL and topology.safety is not None:
            alarms.append(text)
            while alarms and not in_safety:
                in_safety = True
                call(topology.safety, alarms.popleft())
                in_safety = False

    def call(module: Module, text: str) -> None:
        nonlocal now_ns
        trace.calls.append((now_ns, module.name, text))
        if text.count(".") < DEPTH:
            now_ns += module.dt_ns
            for index, answer in enumerate(module.answers):
                publish(answer, f"{text}.{module.name}{index}")

    for index, (dt_ns, to) in enumerate(topology.steps):
        now_ns += dt_ns
        publish(to, str(index))
        while queue:
            stamp_ns, number, channel, text = queue.popleft()
            trace.written.append((stamp_ns, number, CHANNELS[channel].name, text))
            for module in listeners[channel]:
                call(module, text)
    return trace


@given(TOPOLOGIES)
def test_the_bus_is_one_queue(topology: Topology) -> None:
    assert on_the_bus(topology) == on_paper(topology)


@given(TOPOLOGIES)
def test_everybody_sees_everything_once_and_in_order(topology: Topology) -> None:
    trace = on_the_bus(topology)
    assert trace.written == sorted(trace.written)
    assert [sequence for _, sequence, _, _ in trace.written] == list(range(len(trace.written)))
    for module in topology.modules:
        names = {CHANNELS[index].name for index in module.listens}
        assert [text for _, name, text in trace.calls if name == module.name] == [
            text for _, _, name, text in trace.written if name in names
        ]


@given(TOPOLOGIES, st.randoms(use_true_random=False))
def test_the_order_of_subscription_does_not_matter(topology: Topology, random: Random) -> None:
    shuffled = random.sample(topology.modules, len(topology.modules))
    again = Topology(tuple(shuffled), topology.safety, topology.steps)
    assert on_the_bus(again) == on_the_bus(topology)
