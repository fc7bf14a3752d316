"""The safety cases, by what they try. Importing this knows them all."""

from hil.cases import authority, companion, failsafe, links, sensors, signing, startup

__all__ = ["authority", "companion", "failsafe", "links", "sensors", "signing", "startup"]
