"""Parameters: on the wire, over a bad link, and in files."""

import math
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_bridge.parameter_values import (
    INT32,
    KINDS,
    REAL32,
    Difference,
    Parameter,
    diff,
    from_wire,
    read_parameters,
    shortest,
    to_wire,
    write_parameters,
)
from firmware_bridge.parameters import Parameters
from ghost.core.errors import ConfigError, RefusedError, StalledError
from tests.firmware_bridge.peer import BAD, GOOD, MS, Loss, ParameterStore, flight, hurry

SIGNALLING_NAN = 0x7F800001
"""An integer whose bits are a NaN that a conversion to double and back changes."""


def _store(count: int = 200) -> ParameterStore:
    values = {f"P{place:03d}": (struct.pack("<i", place - 9), INT32) for place in range(count)}
    values["GAIN"] = (struct.pack("<f", 0.15), REAL32)
    values["MASK"] = (struct.pack("<i", SIGNALLING_NAN), INT32)
    values["UNSET"] = (struct.pack("<i", -1), INT32)
    return ParameterStore(values)


@pytest.mark.parametrize("loss", [GOOD, BAD])
def test_all_are_read_whatever_the_link_loses(monkeypatch: pytest.MonkeyPatch, loss: Loss) -> None:
    hurry(monkeypatch, "parameters", QUIET_NS=100 * MS)
    store = _store()
    told: list[tuple[int, int]] = []
    with flight(store, loss=loss) as vehicle:
        read = Parameters(vehicle).read_all(lambda done, total: told.append((done, total)))
    assert {name: (to_wire(one), one.kind) for name, one in read.items()} == store.values
    assert read["MASK"].value == SIGNALLING_NAN
    assert read["UNSET"].value == -1
    assert read["GAIN"].value == struct.unpack("<f", struct.pack("<f", 0.15))[0]
    assert told[-1] == (len(store.values), len(store.values))
    assert told == sorted(told)


def test_a_parameter_that_comes_into_use_meanwhile_shifts_nothing() -> None:
    store = _store()
    store.grows_after = 100
    with flight(store) as vehicle:
        read = Parameters(vehicle).read_all()
    assert {name: to_wire(one) for name, one in read.items()} == {
        name: field for name, (field, _) in store.values.items()
    }
    assert "AAA_NEW" in read


def test_a_reboot_in_between_is_got_over() -> None:
    store = _store()
    store.reboots_after = 100
    with flight(store) as vehicle:
        assert len(Parameters(vehicle).read_all()) == len(store.values)


def test_a_flight_controller_that_says_nothing_is_a_stall(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("firmware_bridge.parameters.QUIET_NS", 20 * MS)
    store = ParameterStore({}, is_silent=True)
    with flight(store) as vehicle, pytest.raises(StalledError, match="reading the parameters"):
        Parameters(vehicle).read_all()


@pytest.mark.parametrize(
    ("name", "value"),
    [("P001", -(2**31)), ("MASK", SIGNALLING_NAN + 1), ("GAIN", 2), ("GAIN", 0.1)],
)
@pytest.mark.parametrize("loss", [GOOD, BAD])
def test_what_is_set_is_what_it_has(
    monkeypatch: pytest.MonkeyPatch, name: str, value: float, loss: Loss
) -> None:
    hurry(monkeypatch, "parameters", QUIET_NS=100 * MS)
    store = _store(20)
    with flight(store, loss=loss) as vehicle:
        parameters = Parameters(vehicle)
        parameters.set(name, value)
        assert parameters.get(name) == Parameter(name, value, store.values[name][1]).value
    assert store.values[name][0] == to_wire(Parameter(name, value, store.values[name][1]))


def test_an_old_value_on_its_way_is_no_refusal() -> None:
    store = _store(20)
    store.tells_old_first = True
    with flight(store) as vehicle:
        Parameters(vehicle).set("P005", 55)
    assert store.values["P005"][0] == struct.pack("<i", 55)


def test_no_is_an_answer() -> None:
    store = _store(20)
    store.read_only = ("P003",)
    store.most = {"P004": 10}
    with flight(store) as vehicle:
        parameters = Parameters(vehicle)
        with pytest.raises(RefusedError, match="P003 was refused: READ_ONLY"):
            parameters.set("P003", 5)
        with pytest.raises(RefusedError, match="P004 was to be 99 and is 10"):
            parameters.set("P004", 99)
        assert parameters.known["P004"].value == 10
        parameters.read_all()
        with pytest.raises(ConfigError, match=r"no parameter GAIM; the nearest is GAIN"):
            parameters.get("GAIM")
        with pytest.raises(ConfigError, match="expected an integer"):
            parameters.set("P004", 1.5)
        with pytest.raises(ConfigError, match="out of range"):
            parameters.set("P004", 2**31)
        with pytest.raises(ConfigError, match="16 ASCII"):
            parameters.get("A" * 17)


def test_a_file_puts_back_what_differs_and_no_more(tmp_path: Path) -> None:
    store = _store(20)
    with flight(store) as vehicle:
        parameters = Parameters(vehicle)
        path = tmp_path / "before.params"
        assert parameters.export(path) == len(store.values)
        parameters.set("P007", 77)
        parameters.set("GAIN", 0.7)
        assert parameters.load(path) == ("GAIN", "P007")
        assert parameters.get("P007") == -2
        assert parameters.load(path) == ()
        parameters.set("P007", 77)
        parameters.set("GAIN", 0.7)
        store.read_only = ("GAIN",)
        with pytest.raises(RefusedError, match=r"1 of 2 parameters .*GAIN was refused: READ_ONLY"):
            parameters.load(path)
        assert parameters.get("P007") == -2


def _parameters() -> st.SearchStrategy[Parameter]:
    def of(kind: int) -> st.SearchStrategy[Parameter]:
        bits = 8 * struct.calcsize(KINDS[kind])
        is_signed = KINDS[kind][1].islower()
        least, most = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if is_signed else (0, 2**bits - 1)
        values: st.SearchStrategy[float] = (
            st.floats(width=32) if kind == REAL32 else st.integers(least, most)
        )
        names = st.text("ABCDEFGHIJ_0123456789", min_size=1, max_size=16)
        return st.builds(Parameter, names, values, st.just(kind))

    return st.sampled_from(sorted(KINDS)).flatmap(of)


@given(_parameters())
def test_the_wire_gives_back_what_it_was_given(parameter: Parameter) -> None:
    value = from_wire(to_wire(parameter), parameter.kind)
    assert type(value) is (float if parameter.kind == REAL32 else int)
    assert value == parameter.value or math.isnan(value)


@given(st.integers(-(2**31), 2**31 - 1))
def test_an_integer_is_its_bits(value: int) -> None:
    assert to_wire(Parameter("P", value, INT32)) == value.to_bytes(4, "little", signed=True)


@given(st.lists(_parameters(), unique_by=lambda one: one.name, max_size=20))
def test_a_file_gives_back_what_it_was_given(
    tmp_path_factory: pytest.TempPathFactory, parameters: list[Parameter]
) -> None:
    path = tmp_path_factory.getbasetemp() / "some.params"
    write_parameters(path, parameters, system=1)
    read = read_parameters(path)
    assert set(read) == {one.name for one in parameters}
    for one in parameters:
        assert read[one.name] == one or math.isnan(one.value)


def test_the_file_is_qgroundcontrols(tmp_path: Path) -> None:
    path = tmp_path / "some.params"
    parameters = [Parameter("MC_P", 0.15, REAL32), Parameter("COM_X", -1, INT32)]
    write_parameters(path, parameters, system=3)
    assert path.read_text(encoding="utf-8") == (
        "# Onboard parameters for Vehicle 3\n#\n# Vehicle-Id Component-Id Name Value Type\n"
        "3\t1\tCOM_X\t-1\t6\n3\t1\tMC_P\t0.15\t9\n"
    )
    path.write_text(
        "# Onboard parameters for Vehicle 1\r\n#\r\n\r\n1\t1\tMC_P\t0.150000005960464478\t9\r\n"
        "1\t100\tCAM\t1\t6\r\n",
        encoding="utf-8",
        newline="",
    )
    assert read_parameters(path) == {"MC_P": parameters[0]}


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("1 1 A 1 6", "1 fields"),
        ("1\t1\tA\tx\t6", "invalid literal"),
        ("1\t1\tA\t1\t8", "type 8"),
        ("1\t1\tA\t1e99\t9", "out of range"),
        ("1\t1\tA\t1\t6\n1\t1\tA\t1\t6", "there twice"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, says: str) -> None:
    path = tmp_path / "bad.params"
    path.write_text(f"# head\n{line}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=rf"bad\.params:[23]: .*{says}"):
        read_parameters(path)


def test_a_difference_has_both_sides() -> None:
    before = {"A": Parameter("A", 1, INT32), "B": Parameter("B", 2, INT32)}
    after = {"B": Parameter("B", 3, INT32), "N": Parameter("N", math.nan, REAL32)}
    assert diff(before, {**before}) == ()
    changed = diff(before, after)
    assert changed[:2] == (Difference("A", 1, None), Difference("B", 2, 3))
    assert changed[2].name == "N"


@pytest.mark.parametrize(
    ("value", "text"), [(1, "1"), (0.1, "0.1"), (3.4028234663852886e38, "3.4028235e+38")]
)
def test_floats_are_short(value: float, text: str) -> None:
    assert shortest(value) == text
