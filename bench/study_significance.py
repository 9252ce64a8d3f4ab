"""How sure the differences between the rows of a study are, over sentences and over seeds.

    python bench/study_significance.py --study wang2021
    python bench/study_significance.py --study wang2021 --home runs_of_seed_0 runs_of_seed_3

The first table compares each finished row with the first one under the same recipe and budget: the
difference in points with a 95 % interval of the paired bootstrap, and in brackets the p-value of
the paired permutation test after Holm's correction for all differences of the table. The second
one is about rows that were trained from several seeds, in one folder or in several: both values of
two, or the mean with Student's 95 % interval (Student 1908), which holds for a way of training, as
an interval over sentences holds for a trained system. Both go by the study's last score (LAS,
accuracy); *fooled* are the sentences of which it falls.
"""

import argparse
import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from robustparse.evaluation.comparison import MEASURES, Tested, compare_counts
from robustparse.evaluation.significance import Interval
from robustparse.tasks import task as tasks
from studies import STUDIES
from study_cells import Columns, budget, counts, shown, text
from study_figures import result
from study_origin import Figures
from study_rows import Row, Study
from study_tables import markdown

Finished = tuple[Row, Figures]


def finished(name: str, study: Study) -> Iterator[Finished]:
    """Yield the rows of a study that are finished, with their figures."""
    for row, gamma in study.cases:
        path = result(name, study, row, gamma)
        if path.exists():
            yield row, json.loads(path.read_text("utf-8"))


def headings(study: Study) -> dict[str, str]:
    """Return how the table calls each of `MEASURES`."""
    score = tasks.named(study.task).scores[-1].upper()
    names = (f"clean {score}", f"attacked {score}", f"{score} lost", "fooled %")
    return dict(zip(MEASURES, names, strict=True))


def compared(rows: Sequence[Finished], study: Study) -> str:
    """Return the table of differences to the first row under the same recipe and budget."""
    firsts: dict[tuple[str, float | None], Figures] = {}
    pairs = []
    for row, figures in rows:
        first = firsts.setdefault((row.recipe, figures["gamma"]), figures)
        if first is not figures:
            pairs.append((first, figures))
    tested = compare_counts([(counts(first), counts(other)) for first, other in pairs])
    lines = [
        {**other, "first": first["title"], "tested": one}
        for (first, other), one in zip(pairs, tested, strict=True)
    ]
    columns: Columns = {"system": text("title"), "compared with": text("first"), **ATTACKED}
    measured = {
        heading: lambda line, name=name: difference(line["tested"][name])  # type: ignore[misc]
        for name, heading in headings(study).items()
    }
    return markdown({**columns, **measured}, lines)


def difference(tested: Tested) -> str:
    """Show a difference, its interval and its adjusted p-value."""
    points = tested.points
    return (
        f"{points.estimate:+.1f} [{points.lower:.1f}, {points.upper:.1f}] (p {tested.adjusted:.4f})"
    )


def over_seeds(rows: Sequence[Finished], study: Study) -> str:
    """Return the table of means of rows that differ only by their seed."""
    groups: dict[tuple[str, str, float | None], list[Figures]] = {}
    for row, figures in rows:
        base = row.name.removesuffix(f"_seed_{row.seed}")
        groups.setdefault((base, figures["attack"], figures["gamma"]), []).append(figures)
    lines = [
        {**group[0], "seeds": len(group), "values": by_seed(group)}
        for group in groups.values()
        if len(group) > 1
    ]
    columns: Columns = {"system": text("title"), **ATTACKED, "seeds": text("seeds")}
    measured = {
        heading: lambda line, name=name: spread(line["values"][name])  # type: ignore[misc]
        for name, heading in headings(study).items()
    }
    return markdown({**columns, **measured}, lines)


def by_seed(group: Sequence[Figures]) -> dict[str, tuple[float, ...]]:
    """Return each of `MEASURES` of the rows, a value a seed."""
    found = []
    for one in map(counts, group):
        clean, attacked = (100 * sum(part) / sum(one.counted) for part in (one.clean, one.attacked))
        fooled = one.fooled()
        found.append((clean, attacked, clean - attacked, 100 * sum(fooled) / len(fooled)))
    return dict(zip(MEASURES, zip(*found, strict=True), strict=True))


def spread(values: Sequence[float]) -> str:
    """Show two values as they are, of more their mean with Student's interval."""
    if len(values) == 2:
        return ", ".join(f"{value:.1f}" for value in values)
    return shown(mean_over_seeds(values))


def mean_over_seeds(values: Sequence[float], *, level: float = 0.95) -> Interval:
    """Estimate the mean score of systems that differ only by their seed, by Student's interval.

    Args:
        values: a score of each system, two at least. With two, the 95 % interval reaches 6.4 times
            their distance to either side.
        level: probability inside the interval.

    Raises:
        ValueError: there are fewer than two values, or the level is not in (0, 1).
    """
    if len(values) < 2 or not 0 < level < 1:
        raise ValueError(f"expected two seeds or more and a level in (0, 1), got {values}, {level}")
    mean, degrees = float(np.mean(values)), len(values) - 1
    error = float(np.std(values, ddof=1)) / math.sqrt(len(values))
    lower, upper = 0.0, math.pi / 2
    while lower < (angle := (lower + upper) / 2) < upper:
        inside = _within(angle, degrees) < level
        lower, upper = (angle, upper) if inside else (lower, angle)
    reach = error * math.sqrt(degrees) * math.tan(lower)
    return Interval(mean, mean - reach, mean + reach)


def _within(angle: float, degrees: int) -> float:
    """Compute the probability that Student's t lies within +-sqrt(degrees) tan(angle).

    Abramowitz and Stegun (1964), 26.7.3 and 26.7.4.
    """
    sine, cosine, odd = math.sin(angle), math.cos(angle), degrees % 2
    term, total = (cosine if odd else 1.0), 0.0
    for power in range(odd, degrees - 1, 2):
        total += term
        term *= cosine**2 * (power + 1) / (power + 2)
    return 2 / math.pi * (angle + sine * total) if odd else sine * total


ATTACKED: Columns = {"attack": text("attack"), "budget %": budget}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--study", choices=sorted(STUDIES), required=True)
    parser.add_argument("--home", type=Path, nargs="*", help="folders of runs, of a seed each")
    options = parser.parse_args()
    study = STUDIES[options.study]
    places = [study.elsewhere(home.resolve(), None) for home in options.home or ()] or [study]
    found = [list(finished(options.study, place)) for place in places]
    print(compared(found[0], study), end="\n\n")
    print(over_seeds([row for rows in found for row in rows], study))


if __name__ == "__main__":
    main()
