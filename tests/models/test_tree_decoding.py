"""Decoders against brute force over all head sequences, and against their own batch-mates."""

import itertools
import subprocess
import sys
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from numba.core.registry import CPUDispatcher as Dispatcher
from numpy.typing import NDArray

from robustparse.models.dependency import eisner as compiled_eisner
from robustparse.models.dependency import mst as compiled_mst
from robustparse.models.dependency.tree_decoding import (
    eisner,
    greedy,
    greedy_with_repair,
    is_tree,
    mst,
)

Heads = tuple[int, ...]


def naive_is_tree(heads: Heads) -> bool:
    """Every word reaches ROOT in at most n steps."""
    for word in range(1, len(heads) + 1):
        at, steps = word, 0
        while at != 0 and steps <= len(heads):
            at, steps = heads[at - 1], steps + 1
        if at != 0:
            return False
    return True


def naive_is_projective(heads: Heads) -> bool:
    arcs = [(min(d, h), max(d, h)) for d, h in enumerate(heads, 1)]
    return not any(a < c < b < d for a, b in arcs for c, d in arcs)


@cache
def all_trees(n: int, single_root: bool, projective: bool) -> list[Heads]:
    return [
        heads
        for heads in itertools.product(range(n + 1), repeat=n)
        if naive_is_tree(heads)
        and (not single_root or heads.count(0) == 1)
        and (not projective or naive_is_projective(heads))
    ]


def weights(scores: NDArray[np.floating], trees: list[Heads]) -> list[tuple[int, float]]:
    """(minus the number of -inf arcs, sum of the others) of each tree."""
    n = len(trees[0])
    arcs = scores[np.arange(1, n + 1), np.array(trees)].astype(np.float64)
    finite = np.isfinite(arcs)
    totals = np.where(finite, arcs, 0).sum(axis=1)
    return list(zip((finite.sum(axis=1) - n).tolist(), totals.tolist(), strict=True))


def random_scores(rng: np.random.Generator, n: int, kind: str) -> NDArray[np.floating]:
    shape = (n + 1, n + 1)
    if kind == "ties":
        return rng.integers(-2, 2, shape).astype(np.float64)
    scores = rng.normal(size=shape)
    if kind == "forbidden":
        scores[rng.random(shape) < rng.choice([0.2, 0.6, 0.9, 1.0])] = -np.inf
    if kind == "root":  # greedy and unconstrained trees want many roots
        scores[:, 0] += 3
    return scores.astype(np.float32) if kind == "float32" else scores


@pytest.mark.parametrize("length", [1, 2, 7])
def test_interpreted_decoders_stay_within_their_arrays(monkeypatch, length) -> None:
    """Compiled ones do not check: they would read and write beyond, and often be right by luck."""
    distances = abs(np.subtract.outer(np.arange(length + 1), np.arange(length + 1)))
    scores = -distances.astype(np.float64)  # neighbours form cycles, and these again
    scores[:, 0] -= 100
    lengths = np.array([length])
    expected = [decode(scores[None], lengths).tolist() for decode in (mst, eisner)]
    for module in (compiled_mst, compiled_eisner):
        for name, function in vars(module).copy().items():
            if isinstance(function, Dispatcher):
                monkeypatch.setattr(module, name, function.py_func)
    assert [decode(scores[None], lengths).tolist() for decode in (mst, eisner)] == expected


KINDS = ["normal", "float32", "ties", "forbidden", "root"]
DECODERS = [(mst, False), (eisner, True)]
TREES = [*((*one, True, {}) for one in DECODERS), (mst, False, False, {"single_root": False})]


def test_is_tree_on_all_sequences_of_up_to_four_words() -> None:
    for n in range(1, 5):
        every = list(itertools.product(range(-1, n + 2), repeat=n))
        heads = np.zeros((len(every), n + 2), dtype=np.int16)
        heads[:, :n] = every
        heads[:, n:] = 7  # padding is not read
        lengths = np.full(len(every), n)
        legal = [all(0 <= h <= n for h in x) and naive_is_tree(x) for x in every]
        single = [t and x.count(0) == 1 for t, x in zip(legal, every, strict=True)]
        assert is_tree(heads, lengths, single_root=False).tolist() == legal
        assert is_tree(heads, lengths).tolist() == single
        assert 0 < sum(single) <= sum(legal) < len(every)


def test_is_tree_on_a_long_chain_and_a_long_cycle() -> None:
    chain = np.arange(100)[None]
    assert is_tree(chain, [100]).all()
    cycle = chain.copy()
    cycle[0, 0] = 100
    assert not is_tree(cycle, [100], single_root=False).any()
    assert not is_tree(np.zeros((1, 3), dtype=np.int16), [0]).any()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("decode", "projective", "single_root", "options"), TREES)
def test_best_tree_of_all(
    decode: Callable[..., NDArray[np.int16]],
    projective: bool,
    single_root: bool,
    options: dict[str, bool],
    kind: str,
) -> None:
    rng = np.random.default_rng(KINDS.index(kind))
    for n, repeats in [(1, 3), (2, 20), (3, 60), (4, 150), (5, 100), (6, 10)]:
        trees = all_trees(n, single_root, projective)
        scores = np.stack([random_scores(rng, n, kind) for _ in range(repeats)])
        found = decode(scores, np.full(repeats, n), **options)
        assert is_tree(found, np.full(repeats, n), single_root=single_root).all()
        for sentence, heads in zip(scores, found.tolist(), strict=True):
            assert tuple(heads) in trees
            best = max(weights(sentence, trees))
            got = weights(sentence, [tuple(heads)])[0]
            assert got[0] == best[0]
            assert got[1] == pytest.approx(best[1], abs=1e-9)


@pytest.mark.parametrize(("decode", "projective"), DECODERS)
def test_single_root_keeps_the_low_digits(
    decode: Callable[..., NDArray[np.int16]], projective: bool
) -> None:
    """Differences of 1e-9 decide even where ROOT arcs outweigh everything by 1e6."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        scores = rng.integers(0, 1000, (5, 5)) * 2.0**-30
        scores[:, 0] += 2.0**20
        trees = all_trees(4, True, projective)
        heads = decode(scores[None], [4])[0]
        rest = scores.copy()
        rest[:, 0] -= 2.0**20  # every single-root tree has it once
        assert weights(rest, [tuple(heads.tolist())])[0] == max(weights(rest, trees))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("decode", [mst, eisner, greedy, greedy_with_repair])
def test_padding_and_batch_mates_are_irrelevant(
    decode: Callable[..., NDArray[np.int16]], kind: str
) -> None:
    rng = np.random.default_rng(7)
    lengths = rng.integers(0, 13, 40)
    alone = [random_scores(rng, n, kind) for n in lengths]
    for padding in (np.nan, np.inf, 50.0):
        batch = np.full((40, 16, 16), padding, dtype=alone[0].dtype)
        for row, scores in zip(batch, alone, strict=True):
            row[: len(scores), : len(scores)] = scores
            row[0] = padding  # ROOT's own row and the diagonal are not read either
            np.fill_diagonal(row, padding)
        heads = decode(batch, lengths)
        assert heads.dtype == np.int16
        assert heads.shape == (40, 15)
        for n, scores, row in zip(lengths, alone, heads, strict=True):
            assert row[:n].tolist() == decode(scores[None], [n])[0].tolist()
            assert not row[n:].any()
    shuffled = rng.permutation(40)
    assert (decode(batch[shuffled], lengths[shuffled]) == heads[shuffled]).all()


@pytest.mark.parametrize("kind", KINDS)
def test_greedy_is_the_best_head_of_each_word(kind: str) -> None:
    rng = np.random.default_rng(3)
    for n in range(1, 7):
        scores = random_scores(rng, n, kind)
        heads = greedy(scores[None], [n])[0]
        for word, head in enumerate(heads.tolist(), 1):
            row = scores[word].tolist()
            assert head != word
            assert row[head] == max(s for h, s in enumerate(row) if h != word)
            assert all(h == word or s < row[head] for h, s in enumerate(row[:head]))


def test_repair_touches_only_what_is_not_a_single_root_tree() -> None:
    rng = np.random.default_rng(5)
    scores = rng.normal(size=(300, 6, 6))
    lengths = rng.integers(1, 6, 300)
    plain, repaired = greedy(scores, lengths), greedy_with_repair(scores, lengths)
    good = is_tree(plain, lengths)
    assert 20 < good.sum() < 280
    assert is_tree(repaired, lengths).all()
    assert (repaired[good] == plain[good]).all()
    assert (repaired == mst(scores, lengths)).all()  # no ties in normal scores


def test_large_negative_masks_do_not_cost_precision() -> None:
    rng = np.random.default_rng(9)
    scores = rng.normal(size=(50, 7, 7)).astype(np.float32)
    blocked = rng.random(scores.shape) < 0.5
    for decode in (mst, eisner):
        by_infinity = decode(np.where(blocked, np.float32(-np.inf), scores), [6] * 50)
        by_finfo = decode(np.where(blocked, np.finfo(np.float32).min, scores), [6] * 50)
        assert (by_infinity == by_finfo).all()


@pytest.mark.parametrize("decode", [mst, eisner, greedy, greedy_with_repair])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_scores_that_are_not_numbers_are_refused(
    decode: Callable[..., NDArray[np.int16]], bad: float
) -> None:
    scores = np.zeros((3, 4, 4))
    scores[1, 2, 3] = bad
    with pytest.raises(ValueError, match="sentence 1"):
        decode(scores, [3, 3, 3])


def test_importing_does_not_load_numba() -> None:
    code = (
        "import sys, robustparse.models.dependency.tree_decoding; sys.exit('numba' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
