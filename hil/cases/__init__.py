"""The safety cases, by what they try. Importing this knows them all."""

from hil.cases import authority

__all__ = ["authority"]
