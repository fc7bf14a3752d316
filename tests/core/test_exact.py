"""The same bits compiled and interpreted, and close to libm: see ghost/core/exact.py."""

import importlib.util
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghost.core import exact
from ghost.core.random import RandomSource


def interpreted() -> Any:
    source = Path(exact.__file__).with_name("exact.py")
    spec = importlib.util.spec_from_file_location("interpreted_exact", source)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PLAIN = interpreted()
UNITS = st.floats(-1.0, 1.0)
ANGLES_RAD = st.floats(-1e6, 1e6)
# Below the normal numbers an arctangent is good to ten digits only.
SIZES = st.floats(-1e150, 1e150, allow_subnormal=False).map(lambda value: value + 0.0)
POSITIVES = st.floats(5e-324, 1.7976931348623157e308)
ARGUMENTS = {
    "sine_cosine": (ANGLES_RAD,),
    "arctangent2": (SIZES, SIZES),
    "exponential": (st.floats(-700.0, 700.0),),
    "logarithm": (POSITIVES,),
    "power": (st.floats(1e-3, 1e3), st.floats(-50.0, 50.0)),
    "multiply": (UNITS,) * 8,
    "rotate": (UNITS,) * 7,
    "turned": (st.floats(0.5, 1.0), *(UNITS,) * 3, *(st.floats(-6.0, 6.0),) * 3),
}


@pytest.mark.parametrize("name", ARGUMENTS)
@given(data=st.data())
def test_compiled_and_interpreted_are_the_same_bits(name: str, data: st.DataObject) -> None:
    arguments = data.draw(st.tuples(*ARGUMENTS[name]))
    assert shown(getattr(exact, name)(*arguments)) == shown(getattr(PLAIN, name)(*arguments))


def shown(result: Any) -> list[str]:
    return [value.hex() for value in (result if isinstance(result, tuple) else (result,))]


@given(ANGLES_RAD)
def test_sine_and_cosine_agree_with_libm(angle_rad: float) -> None:
    sine, cosine = exact.sine_cosine(angle_rad)
    assert sine == pytest.approx(math.sin(angle_rad), rel=1e-14, abs=1e-15)
    assert cosine == pytest.approx(math.cos(angle_rad), rel=1e-14, abs=1e-15)


@given(SIZES, SIZES)
def test_arctangent_agrees_with_libm(y: float, x: float) -> None:
    assert exact.arctangent2(y, x) == pytest.approx(math.atan2(y, x), rel=5e-16, abs=1e-300)


@given(st.floats(-700.0, 700.0))
def test_exponential_agrees_with_libm(exponent: float) -> None:
    assert exact.exponential(exponent) == pytest.approx(math.exp(exponent), rel=1e-15)


@given(POSITIVES)
def test_logarithm_is_within_one_unit_of_the_last_place(value: float) -> None:
    expected = math.log(value)
    assert abs(exact.logarithm(value) - expected) <= math.ulp(expected)


def test_logarithm_is_as_good_near_one_and_below_the_normal_numbers() -> None:
    source = RandomSource(1)
    near = [1.0 + 1e-3 * offset for offset in source.normal(1000).tolist()]
    for value in (*near, 1.0, 5e-324, 2.2250738585072014e-308, 2.0**-1022 - 5e-324):
        expected = math.log(value)
        assert abs(exact.logarithm(value) - expected) <= math.ulp(expected)
    for doublings in range(-1074, 1024):
        value = math.ldexp(1.0, doublings)
        assert exact.logarithm(value) == pytest.approx(doublings * math.log(2.0), rel=3e-16)


@given(st.floats(1e-3, 1e3), st.floats(-50.0, 50.0))
def test_power_loses_no_more_than_the_exponent_takes(base: float, exponent: float) -> None:
    lost = 1.0 + abs(exponent * math.log(base))
    assert exact.power(base, exponent) == pytest.approx(base**exponent, rel=4e-16 * lost)


@pytest.mark.parametrize(
    ("function", "bits"),
    [
        (lambda: exact.logarithm(0.3), "-0x1.34378fcbda721p+0"),
        (lambda: exact.power(0.943, 0.190263), "0x1.fa508bcaec9dcp-1"),
        (lambda: exact.exponential(-1.7), "0x1.7622c78a98a07p-3"),
    ],
)
def test_the_bits_never_change(function: Callable[[], float], bits: str) -> None:
    assert function().hex() == bits
