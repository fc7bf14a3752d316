"""What sensors and the flight controller say comes in the order in which it was measured."""

from typing import Any

from ghost.verify.verdict import Heard, Offences, Verdict, skipped

_PREFIXES = ("/sensors/", "/state/")


class Samples:
    """On each channel sequences rise and stamps don't fall. A gap is no fault: sensors fail."""

    name = "samples"

    def __init__(self) -> None:
        self._offences = Offences()
        self._last: dict[str, tuple[int, int]] = {}
        self._count = 0
        self._missing: dict[str, int] = {}

    def wants(self, channel: str) -> bool:
        return channel.startswith(_PREFIXES)

    def hear(self, heard: Heard) -> None:
        found = _stamped(heard.message)
        if heard.is_derived or found is None:
            return
        self._count += 1
        sequence, stamp_ns = found
        if max(stamp_ns, 0) != heard.publish_ns:
            text = f"stamped {stamp_ns} ns, and logged as of {heard.publish_ns} ns"
            self._offences.add(heard, text)
        before = self._last.get(heard.channel)
        self._last[heard.channel] = found
        if before is None:
            return
        if sequence <= before[0]:
            self._offences.add(heard, f"sample {sequence} follows sample {before[0]}")
        elif sequence > before[0] + 1:
            missing = self._missing.get(heard.channel, 0) + sequence - before[0] - 1
            self._missing[heard.channel] = missing
        if stamp_ns < before[1]:
            self._offences.add(heard, f"stamped {before[1] - stamp_ns} ns before the one before")

    def verdict(self) -> Verdict:
        if not self._last:
            return skipped(self.name, "the log holds no samples")
        missing = ", ".join(f"{count} of {name}" for name, count in sorted(self._missing.items()))
        figure = f"{self._count} on {len(self._last)} channels, {missing or 'none'} left out"
        return self._offences.verdict(self.name, figure)


def _stamped(message: Any) -> tuple[int, int] | None:
    """Sequence and stamp, of a message in full or a protobuf object; None for what has neither."""
    try:
        sequence = message.sequence
    except AttributeError:
        return None
    if hasattr(message, "stamp_ns"):
        return int(sequence), int(message.stamp_ns)
    if hasattr(message, "timestamp"):
        timestamp = message.timestamp
        return int(sequence), timestamp.seconds * 1_000_000_000 + timestamp.nanos
    return None
