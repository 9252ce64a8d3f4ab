"""Clusters of words for robust encodings (Jones et al., ACL 2020, section 5.2).

The words are those of a training text and their substitutes. Greedy agglomeration starts with a
cluster for each training word, and merges the two clusters that most lower

    Phi(pi) = gamma * F(pi) + (1 - gamma) * sum_w f_w |B(w)|,    B(w) = {pi(v): v in S(w) + w}

until no merge lowers it. f_w is the frequency of training word w, as a share of all words; S(w) are
its substitutes; pi(v) is the cluster of v. The second term, stability, is the mean number of codes
that a word can be turned into. The first term, fidelity, is what codes fail to tell about words:

- ``one_hot`` (Jones et al.): ``sum_w f_w ||x_w - mu_c(w)||^2``, where x_w is the word as a vector
  with a single 1, and mu_c the frequency-weighted mean of a cluster;
- ``mutual_information``: ``1 - I(pi(w); t) / I(w; t)``, the share that is lost of the information
  that words give about the answer t: a word's tag and relation in a treebank, a text's label.

Both are between 0 (every word has its own code) and 1. A substitute that does not occur in training
belongs to the cluster of the most frequent training word that it may replace.
"""

import heapq
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from math import log
from typing import Literal, get_args

from robustparse.certificates.word_answers import WordAnswers
from robustparse.errors import InputError, check_choice

Fidelity = Literal["one_hot", "mutual_information"]

_DECIMALS = 12
"""Decimals to which gains are rounded, since the order of a sum changes its last digits."""


def clusters(
    words: WordAnswers,
    substitutes: Mapping[str, Collection[str]],
    gamma: float,
    fidelity: Fidelity = "mutual_information",
    apart: Collection[str] = (),
) -> dict[str, dict[str, int]]:
    """Return clusters of at least two words, for an ``Encoding``.

    A heap holds the gain of each cluster with its best partner. After a merge, only the pairs with
    the new cluster are computed again. A cluster whose gain fell, or whose partner is gone, keeps
    its earlier, higher gain in the heap, and gets a new partner when that gain reaches the top. The
    merges are therefore those of an algorithm that compares all pairs at each step.

    Args:
        words: the words of the training text.
        substitutes: for each word, the words that may take its place; it need not be symmetric.
        gamma: weight of the fidelity, from 0 (all words connected by substitutes have one code) to
            1 (every word keeps its own).
        fidelity: how the first term is measured.
        apart: words that are never merged, such as stop words.

    Returns:
        Each representative, the cluster's most frequent training word (on ties, the first by
        name), with the words of its cluster and their frequencies, 0 for words that do not occur in
        training.

    Raises:
        InputError: an argument is out of range.
    """
    check_choice("fidelity", fidelity, get_args(Fidelity))
    if not 0 <= gamma <= 1:
        raise InputError(f"must be between 0 and 1, got {gamma}", key="fidelity")
    counts = words.counts
    members = _first_clusters(counts, substitutes, frozenset(apart))
    cluster_of = {word: name for name, of_cluster in members.items() for word in of_cluster}
    mergeable = cluster_of.keys() - set(apart)
    balls = [
        ({cluster_of[v] for v in (word, *substitutes.get(word, ())) if v in mergeable}, count)
        for word, count in sorted(counts.items())
    ]
    loss = _OneHot(counts) if fidelity == "one_hot" else _MutualInformation(words)
    agglomeration = _Agglomeration(balls, loss, gamma, sum(counts.values()))
    for into, name in agglomeration.merges():
        members[into] += members.pop(name)
    result = {
        min(of_cluster, key=lambda word: (-counts.get(word, 0), word)): {
            word: counts.get(word, 0) for word in sorted(of_cluster)
        }
        for of_cluster in members.values()
        if len(of_cluster) > 1
    }
    return dict(sorted(result.items()))


def _first_clusters(
    counts: Mapping[str, int],
    substitutes: Mapping[str, Collection[str]],
    apart: Collection[str],
) -> dict[str, list[str]]:
    """Return the clusters before any merge: each training word with its new substitutes.

    A new word does not occur in training. It belongs to the most frequent training word (on ties,
    the first by name) that has it as a substitute and is not kept apart; otherwise to no cluster.
    """
    members = {word: [word] for word in counts}
    taken: set[str] = set(apart)
    for word in sorted(counts, key=lambda word: (-counts[word], word)):
        if word not in apart:
            new = sorted(v for v in substitutes.get(word, ()) if v not in counts and v not in taken)
            members[word] += new
            taken.update(new)
    return members


class _OneHot:
    """Squared distance of words, as vectors with a single 1, from the means of their clusters.

    A cluster of the frequencies f_w has the distance ``sum f_w - (sum f_w^2) / (sum f_w)``.
    """

    def __init__(self, counts: Mapping[str, int]) -> None:
        self._all = sum(counts.values())
        self._sums = {word: (count, count * count) for word, count in counts.items()}

    def added(self, first: str, second: str) -> float:
        """Return by how much a merge raises the loss."""
        (n, squares), (m, further) = self._sums[first], self._sums[second]
        return (squares / n + further / m - (squares + further) / (n + m)) / self._all

    def merge(self, into: str, name: str) -> None:
        """Add the second cluster to the first."""
        (n, squares), (m, further) = self._sums[into], self._sums.pop(name)
        self._sums[into] = n + m, squares + further


class _MutualInformation:
    """Share of the words' information about the answers that the codes lose.

    With counts n and ``h(n) = n log n``, the mutual information of N words is, up to a constant,
    ``(sum_ct h(n_ct) - sum_c h(n_c)) / N``.
    """

    def __init__(self, words: WordAnswers) -> None:
        self._answers = {word: dict(of_word) for word, of_word in words.answers.items()}
        self._counts = words.counts
        total, answers = sum(self._counts.values()), Counter[Hashable]()
        for of_word in self._answers.values():
            answers.update(of_word)
        self._h = [0.0, *(n * log(n) for n in range(1, total + 1))]
        joint = sum(self._h[n] for of_word in self._answers.values() for n in of_word.values())
        alone = sum(self._h[n] for n in self._counts.values())
        information = joint - alone - sum(self._h[n] for n in answers.values()) + self._h[total]
        # Without any information there is nothing to lose.
        self._all = information if information > 1e-9 * total else float("inf")

    def added(self, first: str, second: str) -> float:
        """Return by how much a merge raises the loss."""
        h, few, many = self._h, self._answers[first], self._answers[second]
        if len(few) > len(many):
            few, many = many, few
        n, m = self._counts[first], self._counts[second]
        lost = h[n + m] - h[n] - h[m]
        for answer, count in few.items():
            if other := many.get(answer):
                lost -= h[count + other] - h[count] - h[other]
        return max(0.0, lost) / self._all

    def merge(self, into: str, name: str) -> None:
        """Add the second cluster to the first."""
        answers = self._answers[into]
        for answer, count in self._answers.pop(name).items():
            answers[answer] = answers.get(answer, 0) + count
        self._counts[into] += self._counts.pop(name)


class _Agglomeration:
    """Merges clusters, the best pair first.

    Clusters are named by their first training word in alphabetical order.

    Args:
        balls: the clusters that each word can be turned into, with the word's frequency; modified.
        loss: the fidelity term; modified.
        gamma: the weight of the fidelity term.
        total: the sum of all frequencies.
    """

    def __init__(
        self,
        balls: Iterable[tuple[set[str], int]],
        loss: _OneHot | _MutualInformation,
        gamma: float,
        total: int,
    ) -> None:
        self._loss, self._gamma, self._total = loss, gamma, total
        self._balls = list(balls)
        # The numbers of the balls that hold each cluster.
        self._holding: dict[str, set[int]] = defaultdict(set)
        for number, (ball, _) in enumerate(self._balls):
            for name in ball:
                self._holding[name].add(number)
        # For each cluster, (-gain, name) of its best partner among the clusters after it; the heap
        # holds (-gain, cluster, partner).
        self._best: dict[str, tuple[float, str]] = {}
        self._heap: list[tuple[float, str, str]] = []

    def merges(self) -> Iterator[tuple[str, str]]:
        """Yield the names of the two clusters of each merge; the new cluster has the first."""
        for name in sorted(self._holding):
            self._find_partner(name)
        while self._heap:
            value, first, second = heapq.heappop(self._heap)
            if self._best.get(first) != (value, second):  # it has a better partner, or is gone
                continue
            del self._best[first]
            both = self._holding[first] & self._holding.get(second, set())
            shared = sum(self._balls[number][1] for number in both)
            if shared and -value == self._gain(first, second, shared):
                self._merge(first, second)
                yield first, second
            else:
                self._find_partner(first)

    def _shared(self, name: str) -> Counter[str]:
        """Return for each other cluster the frequency of the words that can be turned into both."""
        shared = Counter[str]()
        for number in self._holding[name]:
            ball, count = self._balls[number]
            for other in ball:
                shared[other] += count
        del shared[name]
        return shared

    def _gain(self, first: str, second: str, shared: int) -> float:
        """Return by how much a merge lowers Phi."""
        stability = (1 - self._gamma) * shared / self._total
        return round(stability - self._gamma * self._loss.added(first, second), _DECIMALS)

    def _find_partner(self, name: str) -> None:
        """Find the best partner of a cluster among those after it."""
        for other, shared in self._shared(name).items():
            if name < other:
                self._offer(name, other, shared)

    def _merge(self, into: str, name: str) -> None:
        """Add the second cluster to the first."""
        self._loss.merge(into, name)
        self._best.pop(name, None)
        for number in self._holding.pop(name):
            self._balls[number][0].remove(name)
            self._balls[number][0].add(into)
            self._holding[into].add(number)
        for other, shared in self._shared(into).items():
            self._offer(min(into, other), max(into, other), shared)

    def _offer(self, first: str, second: str, shared: int) -> None:
        """Make the second cluster the first one's partner if it gains more than any so far."""
        value = -self._gain(first, second, shared)
        if (value, second) < self._best.get(first, (0.0, "")):
            self._best[first] = value, second
            heapq.heappush(self._heap, (value, first, second))
