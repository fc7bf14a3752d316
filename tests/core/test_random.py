import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghost.core import random as ghost_random
from ghost.core.errors import ConfigError, RandomLabelError
from ghost.core.random import RandomSource

SEEDS = st.integers(0, 2**64 - 1)
SEGMENTS = st.text("abAB09_.-", min_size=1, max_size=4)
PATHS = st.lists(SEGMENTS, min_size=1, max_size=3).map("/".join)


@given(SEEDS, st.lists(PATHS, min_size=1, max_size=6, unique=True), st.data())
def test_values_do_not_depend_on_the_order_of_creation(
    seed: int, paths: list[str], data: st.DataObject
) -> None:
    alone = {path: RandomSource(seed).child(path).normal(3).tolist() for path in paths}
    root = RandomSource(seed)
    shuffled = data.draw(st.permutations(paths))
    together = {path: root.child(path).normal(3).tolist() for path in shuffled}
    assert together == alone
    assert len({tuple(values) for values in alone.values()}) == len(paths)


@given(SEEDS, SEGMENTS, SEGMENTS)
def test_both_spellings_of_a_path_are_one_stream(seed: int, first: str, second: str) -> None:
    joined = RandomSource(seed).child(f"{first}/{second}")
    nested = RandomSource(seed).child(first).child(second)
    assert joined.uniform(4).tolist() == nested.uniform(4).tolist()


def test_a_path_is_claimed_once_whatever_its_spelling() -> None:
    root = RandomSource(1)
    root.child("a/b")
    parent = root.child("a")  # passing through "a" did not claim it
    for source, label in ((parent, "b"), (root, "a/b"), (root, "a")):
        with pytest.raises(RandomLabelError, match="choose another label"):
            source.child(label)
    RandomSource(1).child("a/b")  # another tree


@pytest.mark.parametrize("label", ["", "/", "a/", "/a", "a//b", "a b", "é", "a\n", "a|b", 3])
def test_malformed_labels_are_named(label: str) -> None:
    with pytest.raises(RandomLabelError) as caught:
        RandomSource(1).child(label)
    assert repr(label) in str(caught.value)


@pytest.mark.parametrize("seed", [-1, 2**64, 1.0, True, None])
def test_impossible_seeds_are_refused(seed: int) -> None:
    with pytest.raises(ConfigError, match="seed is"):
        RandomSource(seed)


def test_the_bits_never_change() -> None:
    """Logs of old runs replay only while these hold; -1.88 is from the tail, and so is our log."""
    source = RandomSource(42).child("imu/noise")
    assert [value.hex() for value in source.uniform(3).tolist()] == [
        "0x1.3f57c38721a59p-1",
        "0x1.dd44b8eef2e24p-1",
        "0x1.1c073dd397a9ep-2",
    ]
    assert [value.hex() for value in source.normal(3).tolist()] == [
        "0x1.0c10955cadffdp+0",
        "-0x1.2818bbfd090fcp-1",
        "-0x1.e2068b4e97b91p+0",
    ]
    assert source.integers(-5, 10**18, 2).tolist() == [309595554593103840, 352343242197197819]
    assert RandomSource(0).normal().hex() == "0x1.fef999013b430p-7"


@given(st.lists(st.integers(0, 700) | st.integers(1000, 3000), max_size=8))
def test_the_size_of_requests_is_invisible(counts: list[int]) -> None:
    low, high = -(2**63), 2**62  # a quarter of the words is rejected
    parts, whole = RandomSource(3), RandomSource(3)
    normals, uniforms, integers = [], [], []
    for count in counts:
        normals += [*parts.normal(count).tolist(), parts.normal()]
        uniforms += [*parts.uniform(count).tolist(), parts.uniform()]
        integers += [*parts.integers(low, high, count).tolist(), parts.integers(low, high)]
    total = sum(counts) + len(counts)
    assert whole.integers(low, high, total).tolist() == integers
    assert whole.uniform(total).tolist() == uniforms
    assert whole.normal(total).tolist() == normals


def test_shapes() -> None:
    source = RandomSource(4)
    assert source.normal((2, 3)).shape == (2, 3)
    assert source.uniform(()).shape == ()
    assert source.integers(0, 2, 0).shape == (0,)
    assert isinstance(source.normal(), float)
    assert type(source.integers(0, 2)) is int
    with pytest.raises(ConfigError, match="shape"):
        source.normal(-1)


def test_a_few_values_kept_do_not_keep_their_block_alive() -> None:
    source = RandomSource(5)
    assert [source.normal(3).flags.owndata for _ in range(2)] == [True, True]


@pytest.mark.parametrize("path", ["a", "b"])
def test_normals_have_the_moments_of_normals(path: str) -> None:
    values = RandomSource(6).child(path).normal(400_000)
    # Five standard errors each.
    assert abs(np.mean(values)) < 5 * (1 / 400_000) ** 0.5
    assert abs(np.mean(values**2) - 1) < 5 * (2 / 400_000) ** 0.5
    assert abs(np.mean(values**3)) < 5 * (15 / 400_000) ** 0.5
    assert abs(np.mean(values**4) - 3) < 5 * (96 / 400_000) ** 0.5
    beyond_three = np.mean(np.abs(values) > 3)
    assert abs(beyond_three - 0.0026998) < 5 * (0.0027 / 400_000) ** 0.5


@given(st.integers(0, 2**64 - 1) | st.integers(0, 2**30) | st.integers(2**64 - 2**30, 2**64 - 1))
def test_normals_are_the_inverse_of_the_distribution_function(word: int) -> None:
    probability = ((word >> 12) + 0.5) / 2**52
    value = ghost_random._normal_from_words(np.array([word], np.uint64))[0]
    expected = statistics.NormalDist().inv_cdf(probability)
    assert value == pytest.approx(expected, rel=4e-15, abs=1e-300)


@given(st.integers(-(2**63), 2**63 - 1), st.integers(1, 2**64))
def test_integers_stay_in_range(low: int, span: int) -> None:
    high = min(low + span, 2**63)
    values = RandomSource(7).integers(low, high, 20).tolist()
    assert all(low <= value < high for value in values)


def test_integers_are_equally_likely() -> None:
    # By remainder alone, the lowest third of this range would come up twice as often.
    values = RandomSource(8).integers(-(2**63), 2**62, 30_000)
    counts = np.bincount((values >> 62) + 2, minlength=3)
    assert np.all(np.abs(counts - 10_000) < 5 * (30_000 * 2 / 9) ** 0.5)


def test_an_empty_integer_range_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"\[3, 3\)"):
        RandomSource(9).integers(3, 3)
