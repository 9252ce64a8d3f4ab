"""The tables of the comparison of searches: success and queries, length, quality."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from robustparse.evaluation.significance import Interval
from robustparse.types import Floats

BUDGETS = (10, 25, 50, 100, 500, 3000)
LENGTHS = (1, 11, 21, 31)  # words from which a column of the table by length begins
_DRAWS = 2000

Quality = Mapping[str, Any]


@dataclass(frozen=True)
class Searched:
    """A text that was right at first, after a search.

    Args:
        id: the text's.
        before: the original words.
        after: the outcome's, as many.
        success: whether it is classified wrongly.
        queries: charged, the first prediction included.
    """

    id: int
    before: tuple[str, ...]
    after: tuple[str, ...]
    success: bool
    queries: int

    @property
    def changed(self) -> float:
        """The percentage of words changed."""
        return 100 * sum(map(str.__ne__, self.before, self.after)) / len(self.before)


Runs = Mapping[str, Sequence[Searched]]


def tables(runs: Runs, quality: Mapping[str, Quality]) -> str:
    """Return three tables with a row for each search."""
    return "\n\n".join([successes(runs), lengths(runs), qualities(runs, quality)])


def beaten_by_all(runs: Runs) -> dict[str, list[Searched]]:
    """Choose the texts that all searches beat: only on those can outcomes be compared."""
    beaten = [{one.id for one in some if one.success} for some in runs.values()]
    common = set.intersection(*beaten) if beaten else set()
    return {name: [one for one in some if one.id in common] for name, some in runs.items()}


def successes(runs: Runs) -> str:
    """Show success, the mean number of queries, and success within budgets, in percent."""
    heads = ["search", "texts", "success %", "queries", "of successes", "of failures"]
    rows = []
    for name, some in runs.items():
        won = np.array([one.success for one in some], dtype=np.bool_)
        queries = np.array([one.queries for one in some])
        means = [_mean(queries, 1), _mean(queries[won], 1), _mean(queries[~won], 1)]
        within = [_mean(100 * (won & (queries <= most)), 1) for most in BUDGETS]
        rows.append([name, str(len(some)), _mean(100 * won, 1), *means, *within])
    return _markdown([*heads, *(f"within {most}" for most in BUDGETS)], rows)


def lengths(runs: Runs) -> str:
    """Show the mean queries of failures by length, and how they grow with it.

    A success ends early; only a failure tells what the search takes of a text. The second exponent
    leaves out the texts of the first column: one or two of their words have candidates, if any.
    """
    spans = [f"{low} to {high - 1} words" for low, high in pairwise(LENGTHS)]
    heads = ["search", "failures", *spans, f"{LENGTHS[-1]} and more"]
    heads += ["exponent", f"exponent, from {LENGTHS[1]} words on"]
    rows = []
    for name, some in runs.items():
        failed = [one for one in some if not one.success]
        words = np.array([len(one.before) for one in failed])
        queries = np.array([one.queries for one in failed])
        span = np.searchsorted(LENGTHS, words, side="right")
        means = [_mean(queries[span == place + 1], 0) for place in range(len(LENGTHS))]
        exponents = (
            exponent(words[many], queries[many]) for many in (words > 0, words >= LENGTHS[1])
        )
        rows.append([name, str(len(failed)), *means, *map(_shown, exponents)])
    return _markdown(heads, rows)


def qualities(runs: Runs, quality: Mapping[str, Quality]) -> str:
    """Show the outcomes of the texts that all searches beat."""
    common = beaten_by_all(runs)
    heads = ["search", "texts", "words changed %", "similarity", "rise of perplexity %"]
    rows = []
    for name, some in common.items():
        known = quality.get(name, {})
        known = known if known.get("texts") == len(some) else {}
        models = [
            "-" if known.get(key) is None else f"{known[key]:.{digits}f}"
            for key, digits in (("similarity", 3), ("perplexity", 1))
        ]
        rows.append([name, str(len(some)), _mean([one.changed for one in some], 1), *models])
    return _markdown(heads, rows)


def exponent(words: Sequence[int] | Floats, queries: Sequence[int] | Floats) -> Interval | None:
    """Estimate e in queries ~ words ** e by least squares between logarithms.

    The bounds are those of 95 % of resampled texts. None without two lengths.
    """
    x, y = np.log(np.asarray(words, dtype=float)), np.log(np.asarray(queries, dtype=float))
    if len(set(x.tolist())) < 2:
        return None
    drawn = np.random.default_rng(0).integers(len(x), size=(_DRAWS, len(x)))
    with np.errstate(invalid="ignore", divide="ignore"):
        slopes = _slopes(x[drawn], y[drawn])
    lower, upper = np.nanpercentile(slopes, [2.5, 97.5]).tolist()
    return Interval(float(_slopes(x[None], y[None])[0]), lower, upper)


def _slopes(x: Floats, y: Floats) -> Floats:
    """Least squares slopes, `(rows,)`, of points `(rows, points)`."""
    x = x - x.mean(axis=1, keepdims=True)
    slopes: Floats = (x * y).sum(axis=1) / (x * x).sum(axis=1)
    return slopes


def _mean(values: Any, digits: int) -> str:
    return f"{np.mean(values):.{digits}f}" if len(values) else "-"


def _shown(interval: Interval | None) -> str:
    if interval is None:
        return "-"
    return f"{interval.estimate:.2f} [{interval.lower:.2f}, {interval.upper:.2f}]"


def _markdown(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(cells)} |" for cells in (heads, *rows)]
    return "\n".join([lines[0], "|---" * len(heads) + "|", *lines[1:]])
