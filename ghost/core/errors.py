"""Every error Ghost raises on purpose: what was wrong, what was expected, what to do."""


class GhostError(Exception):
    """Base of all of Ghost's own errors. The message is one line fit for a terminal."""


class ClockError(GhostError):
    """Time was asked to run backwards, to nest, or to be something other than an integer."""


class RandomLabelError(GhostError):
    """A random label was malformed, or claimed twice."""


class FrameError(GhostError):
    """A rotation or coordinate that means nothing: a zero quaternion, a latitude of 91 degrees."""


class ChannelError(GhostError):
    """A channel name is malformed, or a message of another type was put on a channel."""


class BusError(GhostError):
    """The bus was used in a way that would break its order."""


class MessageError(GhostError):
    """A message was built from values that it cannot hold."""


class ConfigError(GhostError):
    """A specification or manifest holds a value that makes no sense, or a key nobody knows."""


class LogError(GhostError):
    """A flight log cannot be read or written as asked."""


class LinkError(GhostError):
    """A link to a flight controller can't be opened or used as asked."""


class StalledError(GhostError):
    """What was waited for did not come in time; the text names it."""


class RefusedError(GhostError):
    """A flight controller answered, and the answer is no."""


def shown(value: object) -> str:
    """The start of a value's repr, for an error text; a repr may fail, as 10**5000's does."""
    try:
        return f"{value!r:.80}"
    except Exception:  # noqa: BLE001 - whatever it is, an error text must not raise
        return f"a {type(value).__name__} without a repr"
