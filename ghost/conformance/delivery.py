"""Sensors: what is declared arrives, as declared, and stays as it was."""

from dataclasses import fields
from itertools import pairwise
from typing import Any

import numpy as np

from ghost.conformance.check import Check, ConformanceError, require
from ghost.conformance.factory import Factory
from ghost.conformance.flight import MILLISECOND_NS, SECOND_NS, Flight, fresh
from ghost.hal import HAL_PROTOCOL_VERSION, SAMPLE_TYPES, Sample, SensorKind, SensorSpec

_PERIODS = 8


def declared_is_delivered(factory: Factory) -> str:
    """Each sensor its own type of sample, and nothing from whoever isn't declared."""
    flight = _listened(factory)
    capabilities, sensors = flight.capabilities, flight.backend.sensors
    major = capabilities.protocol_version.partition(".")[0]
    require(
        major == HAL_PROTOCOL_VERSION.partition(".")[0],
        f"protocol version {capabilities.protocol_version}",
        f"the major of {HAL_PROTOCOL_VERSION}",
    )
    declared = {spec.name: spec for spec in capabilities.sensors}
    require(
        sorted(sensors) == sorted(declared),
        f"sensors {', '.join(sorted(sensors))}",
        f"those declared: {', '.join(sorted(declared))}",
    )
    for name, spec in declared.items():
        require(
            sensors[name].spec == spec, f"{name} says {sensors[name].spec}", f"{spec} as declared"
        )
        for sample in _of(flight, spec):
            kind = SAMPLE_TYPES[spec.kind]
            require(
                type(sample) is kind, f"{name} gave a {type(sample).__name__}", f"a {kind.__name__}"
            )
            extra = [key for key in _extensions(sample) if not capabilities.has_extension(key)]
            require(not extra, f"{name} carries the extensions {extra}", "only declared ones")
    return f"{len(declared)} sensors, {len(flight.heard)} samples"


def rates_are_kept(factory: Factory) -> str:
    """Stamps lie a period apart; more only where the robot says that samples get lost. A status
    may also come early, with news.
    """
    flight = _listened(factory)
    lossy = {model.name for model in factory.robot.sensors if model.dropout > 0.0}
    lost = 0
    regular = [one for one in flight.capabilities.sensors if one.kind is not SensorKind.CONTACT]
    for spec in regular:
        samples = _of(flight, spec)
        for before, after in pairwise(samples):
            apart_ns = after.stamp_ns - before.stamp_ns
            if spec.kind is SensorKind.STATUS and apart_ns < spec.period_ns:
                continue
            gaps, rest_ns = divmod(apart_ns, spec.period_ns)
            lost += gaps - 1
            require(
                rest_ns == 0 and (gaps == 1 or spec.name in lossy),
                f"{spec.name} stamped {apart_ns} ns apart at {after.stamp_ns / 1e9:g} s",
                f"its period of {spec.period_ns} ns",
            )
        silent_ns = flight.now_ns - samples[-1].stamp_ns - spec.latency_ns
        require(
            silent_ns < spec.period_ns or spec.name in lossy,
            f"{spec.name} silent for {silent_ns} ns at the end",
            f"a sample each {spec.period_ns} ns",
        )
    return f"{len(regular)} sensors at their rate, {lost} samples lost"


def latencies_are_kept(factory: Factory) -> str:
    flight = _listened(factory)
    latency_ns = {spec.name: spec.latency_ns for spec in flight.capabilities.sensors}
    for heard in flight.heard:
        late_ns = heard.at_ns - heard.sample.stamp_ns
        require(
            late_ns == latency_ns[heard.name],
            f"{heard.name} came {late_ns} ns after its stamp",
            f"its latency of {latency_ns[heard.name]} ns",
        )
    named = (f"{name} {ns / 1e6:g} ms" for name, ns in latency_ns.items() if ns)
    return f"{', '.join(named) or 'none'} late, the others at once"


def stamps_and_sequences_rise(factory: Factory) -> str:
    flight = _listened(factory)
    for spec in flight.capabilities.sensors:
        for before, after in pairwise(_of(flight, spec)):
            require(
                after.stamp_ns > before.stamp_ns and after.sequence > before.sequence,
                f"{spec.name} {after.stamp_ns} ns number {after.sequence} after "
                f"{before.stamp_ns} ns number {before.sequence}",
                "both to rise",
            )
    return f"{len(flight.heard)} samples in order"


def samples_stay_as_they_were(factory: Factory) -> str:
    flight = fresh(factory)
    prints: list[tuple[Any, ...]] = []
    for provider in flight.backend.sensors.values():
        provider.subscribe(lambda sample: prints.append(_fingerprint(sample)))
    flight.step(2 * SECOND_NS)
    arrays = 0
    for heard, then in zip(flight.heard, prints, strict=True):
        require(
            _fingerprint(heard.sample) == then,
            f"{heard.name} of {heard.at_ns / 1e9:g} s is no longer as delivered",
            "the same bytes",
        )
        arrays += _require_sealed(heard.name, heard.sample)
    return f"{len(prints)} samples with {arrays} arrays"


def poll_gives_the_newest(factory: Factory) -> str:
    flight = fresh(factory)
    for name, provider in flight.backend.sensors.items():
        require(provider.poll() is None, f"{name} had a sample before time began", "None")
    polls = 0
    for _ in range(200):
        flight.step(10 * MILLISECOND_NS, 10 * MILLISECOND_NS)
        newest = {heard.name: heard.sample for heard in flight.heard}
        for name, provider in flight.backend.sensors.items():
            polls += 1
            require(
                provider.poll() == newest.get(name),
                f"{name} polled at {flight.now_ns / 1e9:g} s gives another than the last delivered",
                "the newest",
            )
    return f"{polls} polls"


def unsubscribing_works(factory: Factory) -> str:
    """For one subscriber and no other, even where the same callback subscribed twice, and even
    from inside a delivery.
    """
    flight = fresh(factory)
    name = flight.capabilities.sensors[0].name
    provider = flight.backend.sensors[name]
    left: list[Sample] = []
    stayed: list[Sample] = []
    once: list[Sample] = []
    leave = provider.subscribe(left.append)
    twice = stayed.append
    leave_one_of_two = provider.subscribe(twice)
    provider.subscribe(twice)

    def only_once(sample: Sample) -> None:
        once.append(sample)
        leave_at_once()

    leave_at_once = provider.subscribe(only_once)
    flight.step(200 * MILLISECOND_NS)
    leave()
    leave()  # harmless
    leave_one_of_two()
    before, total = len(left), len(flight.heard_of(name))
    require(before == total, f"{before} of {total} samples", "every one until unsubscribing")
    flight.step(200 * MILLISECOND_NS)
    more = len(flight.heard_of(name)) - total
    require(len(left) == before, f"{len(left) - before} samples after unsubscribing", "none")
    require(
        len(stayed) == 2 * total + more,
        f"{len(stayed)} samples where one callback was subscribed twice, then once",
        f"{2 * total + more}",
    )
    require(len(once) == 1, f"{len(once)} samples where the first unsubscribed", "1")
    return f"{before} samples of {name} until then, none of the {more} after"


def _listened(factory: Factory) -> Flight:
    """Long enough for the slowest sensor, and for an estimate to be there."""
    flight = fresh(factory)
    if flight.capabilities.synchronous_step:
        flight.arm()
    slowest_ns = max(spec.period_ns + spec.latency_ns for spec in flight.capabilities.sensors)
    flight.step(max(_PERIODS * slowest_ns, SECOND_NS))
    return flight


def _of(flight: Flight, spec: SensorSpec) -> list[Sample]:
    samples = flight.heard_of(spec.name)
    if spec.kind is SensorKind.CONTACT:  # comes when it happens
        return samples
    require(samples, f"no sample of {spec.name} in {flight.now_ns / 1e9:g} s", "what is declared")
    return samples


def _extensions(sample: Any) -> list[str]:
    return sorted(getattr(sample, "extensions", {}))


def _fingerprint(sample: Any) -> tuple[Any, ...]:
    return tuple(_bytes(getattr(sample, field.name)) for field in fields(sample))


def _bytes(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tobytes()
    if hasattr(value, "items"):
        return tuple((key, _bytes(entry)) for key, entry in value.items())
    return repr(value)


def _require_sealed(name: str, sample: Any) -> int:
    """How many arrays; each must refuse to be written to, now and ever."""
    arrays = [getattr(sample, field.name) for field in fields(sample)]
    arrays = [array for array in arrays if isinstance(array, np.ndarray)]
    for array in arrays:
        try:
            array.setflags(write=True)
        except ValueError:
            continue
        raise ConformanceError(f"an array of {name} can be made writable", "a sealed one")
    return len(arrays)


CHECKS = (
    Check("declared sensors deliver", declared_is_delivered, on_bench=True),
    Check("rates are kept", rates_are_kept),
    Check("latencies are kept", latencies_are_kept),
    Check("stamps and sequences rise", stamps_and_sequences_rise, on_bench=True),
    Check("samples stay as they were", samples_stay_as_they_were, on_bench=True),
    Check("poll gives the newest", poll_gives_the_newest),
    Check("unsubscribing works", unsubscribing_works, on_bench=True),
)
