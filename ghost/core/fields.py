"""Strict reading of plain data: each value checked, each error with the path to its key."""

import math
from collections.abc import Callable
from difflib import get_close_matches
from typing import Any

from ghost.core.errors import ConfigError, shown

Reader = Callable[[Any, str], Any]
"""Takes a plain value and the path to it; gives what it means, or raises ConfigError."""


def section(readers: dict[str, Reader], *, required: tuple[str, ...] = ()) -> Reader:
    """A mapping with these keys. Gives a dict of those that are there."""

    def read(plain: Any, path: str) -> dict[str, Any]:
        if not isinstance(plain, dict):
            hint = "keys and values" if readers else "{}"
            raise ConfigError(f"{path or 'the document'} is {shown(plain)}; expected {hint}")
        for name in plain:
            if name not in readers:
                raise ConfigError(f"unknown key {joined(path, name)}{nearest(name, readers)}")
        for name in required:
            if name not in plain:
                raise ConfigError(f"{joined(path, name)} is missing")
        return {name: readers[name](value, joined(path, name)) for name, value in plain.items()}

    return read


def number(low: float, high: float) -> Reader:
    def read(plain: Any, path: str) -> float:
        if type(plain) not in (int, float):
            hint = " (YAML wants 1.0e3, not 1e3)" if _is_quoted_number(plain) else ""
            raise ConfigError(f"{path} is {shown(plain)}; expected a number{hint}")
        # Written so that NaN fails it; an int is compared before it could overflow a float.
        if not low <= plain <= high:
            raise ConfigError(f"{path} is {shown(plain)}; expected {low:g} to {high:g}")
        return float(plain)

    return read


def integer(low: int, high: int) -> Reader:
    def read(plain: Any, path: str) -> int:
        if type(plain) is not int or not low <= plain <= high:
            raise ConfigError(f"{path} is {shown(plain)}; expected an integer, {low} to {high}")
        return plain

    return read


def nanoseconds(low: float, high: float) -> Reader:
    """Read from seconds."""
    seconds = number(low, high)
    return lambda plain, path: round(seconds(plain, path) * 1e9)


def radians(low_deg: float, high_deg: float) -> Reader:
    """Read from degrees."""
    degrees = number(low_deg, high_deg)
    return lambda plain, path: degrees(plain, path) * (math.pi / 180.0)


def flag(plain: Any, path: str) -> bool:
    if type(plain) is not bool:
        raise ConfigError(f"{path} is {shown(plain)}; expected true or false")
    return plain


def text(plain: Any, path: str) -> str:
    if type(plain) is not str or not plain.strip():
        raise ConfigError(f"{path} is {shown(plain)}; expected a text")
    return plain


def choice(*names: str) -> Reader:
    def read(plain: Any, path: str) -> str:
        if type(plain) is not str or plain not in names:
            raise ConfigError(f"{path} is {shown(plain)}; expected {' or '.join(names)}")
        return plain

    return read


def items(read_item: Reader, *, least: int, most: int) -> Reader:
    """A list of that many."""
    count = str(least) if least == most else f"{least} to {most}"

    def read(plain: Any, path: str) -> tuple[Any, ...]:
        if not isinstance(plain, list):
            raise ConfigError(f"{path} is {shown(plain)}; expected a list of {count}")
        if not least <= len(plain) <= most:
            raise ConfigError(f"{path} has {len(plain)} entries; expected {count}")
        return tuple(read_item(item, f"{path}[{index}]") for index, item in enumerate(plain))

    return read


def nullable(read_value: Reader) -> Reader:
    """The value, or null."""
    return lambda plain, path: None if plain is None else read_value(plain, path)


def _is_quoted_number(plain: Any) -> bool:
    if not isinstance(plain, str):
        return False
    try:
        float(plain)
    except ValueError:
        return False
    return True


def joined(path: str, name: object) -> str:
    word = name if isinstance(name, str) else shown(name)
    return f"{path}.{word}" if path else str(word)


def nearest(name: object, known: dict[str, Any]) -> str:
    """The end of a sentence: what was perhaps meant, or else all that there is."""
    word = name if isinstance(name, str) else shown(name)  # str() of a huge int fails
    near = get_close_matches(word, list(known), n=1)
    if near:
        return f"; did you mean {near[0]}?"
    return f"; expected {', '.join(known) or 'no keys'}"
