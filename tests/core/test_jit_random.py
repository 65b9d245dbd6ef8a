"""The counter-based generator: published vectors, distributions, state, derivatives."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from scipy import stats

import morula as mo
from morula.core.random import Generator, philox

# Random123 1.14, tests/kat_vectors: philox4x32 10, counter, key, words.
VECTORS = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
]


def joined(*words):
    return np.uint64(words[0] | words[1] << 32)


@pytest.mark.parametrize("counter, key, expected", VECTORS)
def test_philox_gives_the_published_words(counter, key, expected):
    counter, key, expected = ([int(w, 16) for w in text.split()] for text in (counter, key, expected))
    with np.errstate(over="ignore"):
        words = philox(joined(*key), np.array([joined(*counter[:2])]), joined(*counter[2:]))
    assert [int(w[0]) for w in words] == expected


@pytest.mark.parametrize(
    "draw, distribution",
    [
        (lambda g, n: g.random(n), stats.uniform()),
        (lambda g, n: g.random(n, np.float32).astype(float), stats.uniform()),
        (lambda g, n: g.uniform(-1.0, 3.0, n), stats.uniform(-1, 4)),
        (lambda g, n: g.normal(1.0, 2.0, n), stats.norm(1, 2)),
        (lambda g, n: g.standard_normal(n, np.float32).astype(float), stats.norm()),
        (lambda g, n: g.exponential(2.0, n), stats.expon(scale=2)),
        (lambda g, n: np.array([g.random() for _ in range(n // 20)]), stats.uniform()),
    ],
)
def test_what_is_drawn_has_its_distribution(draw, distribution):
    assert stats.kstest(draw(Generator(7), 4000), distribution.cdf).pvalue > 1e-3


@pytest.mark.parametrize(
    "draw, expected",
    [
        (lambda g, n: g.integers(6, size=n), [1 / 6] * 6),
        (lambda g, n: g.integers(-2, 2, n) + 2, [1 / 4] * 4),
        (lambda g, n: g.bernoulli(0.3, n).astype(int), [0.7, 0.3]),
        (lambda g, n: g.choice(3, n, p=[0.5, 0.2, 0.3]), [0.5, 0.2, 0.3]),
        (lambda g, n: np.array([g.permutation(3)[0] for _ in range(n // 8)]), [1 / 3] * 3),
        (
            lambda g, n: np.array([g.choice(3, replace=False, p=[0.5, 0.2, 0.3]) for _ in range(n // 8)]),
            [0.5, 0.2, 0.3],
        ),
    ],
)
def test_integers_are_drawn_with_their_probabilities(draw, expected):
    drawn = draw(Generator(3), 4000)
    counts = np.bincount(drawn, minlength=len(expected))
    assert len(counts) == len(expected)
    assert stats.chisquare(counts, np.array(expected) * len(drawn)).pvalue > 1e-3


def test_wide_intervals_of_integers_stay_inside():
    drawn = Generator(1).integers(-(2**62), 2**62, 1000)
    assert drawn.dtype == np.int64 and drawn.min() >= -(2**62) and drawn.max() < 2**62
    assert abs(drawn.mean() / 2**62) < 0.1


def test_shapes_and_dtypes():
    g = Generator()
    assert g.random((2, 3)).shape == (2, 3) and g.random(()).shape == () and isinstance(g.random(), np.float64)
    assert g.random(5, np.float32).dtype == g.standard_normal((), np.float32).dtype == np.float32
    assert g.normal(np.zeros(3), np.ones((2, 1))).shape == (2, 3)
    assert g.integers(5, size=(2, 2)).dtype == np.int64 and g.random(0).shape == (0,)


def test_bits_of_a_copied_or_saved_state_continue_the_stream():
    g = Generator(5)
    g.random(3)
    other = copy.deepcopy(g)
    assert np.array_equal(g.bits(4), other.bits(4))
    assert not np.array_equal(g.bits(4), g.bits(4))


def test_children_have_streams_of_their_own():
    parent = Generator(5)
    streams = [g.bits(8) for g in (*parent.spawn(3), parent, Generator(6))]
    assert len({w for s in streams for w in s.tolist()}) == 40
    assert np.array_equal(Generator(5).spawn(2)[1].bits(8), streams[1])


def test_permutations_choice_and_shuffle_keep_the_elements():
    g = Generator(9)
    x = np.arange(10.0).reshape(5, 2)
    assert sorted(g.permutation(7)) == list(range(7))
    assert sorted(map(tuple, g.permutation(x))) == sorted(map(tuple, x))
    assert len(set(g.choice(20, 20, replace=False))) == 20
    assert set(g.choice(np.array([3.0, 4.0]), 50)) == {3.0, 4.0}
    y = x.copy()
    assert g.shuffle(y) is None and sorted(map(tuple, y)) == sorted(map(tuple, x))


def test_samples_are_differentiated_in_their_parameters():
    def mean(loc, scale, low):
        g = Generator(2)
        return np.mean(g.normal(loc, scale, 10) ** 2) + g.uniform(low, 2 * low) + g.exponential(scale)

    z = Generator(2)
    n, u, e = z.standard_normal(10), z.random(), z.exponential()
    expected = np.mean(2 * (1 + 2 * n)), np.mean(2 * (1 + 2 * n) * n) + e, 1 + u
    assert mo.gradient(mean, 1.0, 2.0, 3.0) == pytest.approx(expected)


def test_bad_input_says_what_is_wrong():
    with pytest.raises(mo.BadInput, match="a seed must be an integer, not 1.5"):
        Generator(1.5)
    with pytest.raises(mo.BadInput, match="a seed must fit in 64 bits"):
        Generator(1 << 64)
    with pytest.raises(mo.BadInput, match="float64 or float32, not int64"):
        Generator().random(3, int)
    with pytest.raises(mo.BadInput, match="low < high"):
        Generator().integers(3, 3)
    with pytest.raises(mo.BadInput, match="5 of 3 cannot be chosen"):
        Generator().choice(3, 5, replace=False)


def shuffled(g):
    x = np.arange(5.0)
    g.shuffle(x)
    return x


def summed(g):
    s = 0.0
    for _ in range(100):
        s += g.random()
    return s


@pytest.mark.parametrize("target", ["native", "xla"])
@pytest.mark.parametrize(
    "draw",
    [
        lambda g: (g.bits(5), g.random(3), g.random(), g.random((2, 2), np.float32)),
        lambda g: (g.normal(1.0, 2.0, 3), g.standard_normal(), g.exponential(2.0, (2,)), g.uniform(1.0, 3.0)),
        lambda g: (g.integers(10, size=4), g.integers(5), g.bernoulli(0.3, 4)),
        lambda g: (g.permutation(5), g.choice(5, 3, replace=False), g.choice(np.arange(4.0), 2, p=np.ones(4))),
        lambda g: [c.random(2) for c in g.spawn(2)],
        lambda g: mo.grad(lambda m: np.sum(g.normal(m, 2.0, 3) ** 2))(1.5),
        shuffled,
        summed,
    ],
)
def test_the_stream_is_the_same_in_compiled_code(draw, target):
    plain, compiled = Generator(7), Generator(7)
    expected, found = draw(plain), mo.jit(draw, target=target)(compiled)
    for a, b in zip(
        expected if isinstance(expected, (list, tuple)) else [expected],
        found if isinstance(found, (list, tuple)) else [found],
    ):
        assert np.asarray(a).dtype == np.asarray(b).dtype
        np.testing.assert_allclose(b, a, rtol=1e-12 if np.asarray(a).dtype == np.float64 else 1e-6)
    assert compiled.counter == plain.counter and type(compiled.counter) is np.uint64
