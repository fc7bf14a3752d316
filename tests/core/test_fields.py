"""Strict reading: each value checked, each error with the path to its key."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghost.core.errors import ConfigError
from ghost.core.fields import (
    Reader,
    choice,
    flag,
    integer,
    items,
    nanoseconds,
    nearest,
    nullable,
    number,
    radians,
    section,
    text,
)

HUGE = int("9" * 4000) ** 3  # Python refuses to print it
HUGE_INTS = st.none().map(lambda _: HUGE)
PLAIN = st.recursive(
    st.one_of(
        *(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.binary(), st.dates()),
        HUGE_INTS,
    ),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.one_of(st.text(), st.integers(), HUGE_INTS), inner, max_size=3)
    ),
    max_leaves=8,
)
SECTION = section({"size": number(0.0, 1.0), "name": text}, required=("name",))
READERS: dict[str, Reader] = {
    "section": SECTION,
    "number": number(-5.0, 5.0),
    "integer": integer(-5, 5),
    "nanoseconds": nanoseconds(0.0, 10.0),
    "radians": radians(-180.0, 180.0),
    "flag": flag,
    "text": text,
    "choice": choice("a", "b"),
    "items": items(number(0.0, 1.0), least=1, most=2),
    "nullable": nullable(flag),
}


def refusal(reader: Reader, plain: Any, path: str = "here") -> str:
    with pytest.raises(ConfigError) as caught:
        reader(plain, path)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "plain", "meaning"),
    [
        ("section", {"name": "x", "size": 1}, {"name": "x", "size": 1.0}),
        ("number", 3, 3.0),
        ("integer", -5, -5),
        ("nanoseconds", 0.25, 250_000_000),
        ("radians", 180, math.pi),
        ("flag", False, False),
        ("text", " x ", " x "),
        ("choice", "b", "b"),
        ("items", [0, 1], (0.0, 1.0)),
        ("nullable", None, None),
        ("nullable", True, True),
    ],
)
def test_what_is_right_has_its_meaning(name: str, plain: Any, meaning: Any) -> None:
    read = READERS[name](plain, "here")
    assert read == meaning
    assert type(read) is type(meaning)


@pytest.mark.parametrize(
    ("name", "plain", "said"),
    [
        ("section", [], "here is []; expected keys and values"),
        ("section", {"name": "x", "sise": 1}, "unknown key here.sise; did you mean size?"),
        ("section", {"name": "x", "zz": 1}, "unknown key here.zz; expected size, name"),
        ("section", {"name": "x", 7: 1}, "unknown key here.7; expected size, name"),
        ("section", {"size": 1}, "here.name is missing"),
        ("section", {"name": "x", "size": 2}, "here.size is 2; expected 0 to 1"),
        ("number", True, "here is True; expected a number"),
        ("number", "1e3", "here is '1e3'; expected a number (YAML wants 1.0e3, not 1e3)"),
        ("number", "2 kg", "here is '2 kg'; expected a number"),
        ("number", math.nan, "here is nan; expected -5 to 5"),
        ("number", math.inf, "here is inf; expected -5 to 5"),
        ("integer", 1.0, "here is 1.0; expected an integer, -5 to 5"),
        ("integer", True, "here is True; expected an integer, -5 to 5"),
        ("flag", 1, "here is 1; expected true or false"),
        ("flag", "true", "here is 'true'; expected true or false"),
        ("text", " ", "here is ' '; expected a text"),
        ("text", 5, "here is 5; expected a text"),
        ("choice", "c", "here is 'c'; expected a or b"),
        ("items", 1, "here is 1; expected a list of 1 to 2"),
        ("items", [], "here has 0 entries; expected 1 to 2"),
        ("items", [0, 5], "here[1] is 5; expected 0 to 1"),
        ("nullable", 0, "here is 0; expected true or false"),
    ],
)
def test_what_is_wrong_is_named_with_its_path(name: str, plain: Any, said: str) -> None:
    assert refusal(READERS[name], plain) == said


def test_a_number_that_can_t_be_printed_is_refused_all_the_same() -> None:
    assert refusal(READERS["number"], HUGE) == "here is a int without a repr; expected -5 to 5"
    said = refusal(SECTION, {"name": "x", HUGE: 1})
    assert said == "unknown key here.a int without a repr; expected size, name"


def test_a_path_leads_through_sections_and_lists() -> None:
    inner = section({"rows": items(SECTION, least=1, most=3)})
    plain = {"rows": [{"name": "a"}, {"name": "b", "nam": 1}]}
    assert refusal(inner, plain, "") == "unknown key rows[1].nam; did you mean name?"
    assert refusal(SECTION, None, "") == "the document is None; expected keys and values"


def test_only_as_many_as_are_wanted() -> None:
    assert refusal(items(text, least=3, most=3), ["a"]) == "here has 1 entries; expected 3"


def test_nothing_known_is_nothing_to_mean() -> None:
    assert nearest("x", {}) == "; expected no keys"


@pytest.mark.parametrize("name", READERS)
@given(plain=PLAIN)
def test_whatever_is_read_gives_a_value_or_a_config_error(name: str, plain: Any) -> None:
    try:
        READERS[name](plain, "here")
    except ConfigError as error:
        line = str(error)
    else:
        line = "here"
    assert "here" in line
