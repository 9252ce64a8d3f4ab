"""Clusters of words for robust encodings (Jones et al., ACL 2020, section 5.2).

The words are those of a training text and their substitutes. Greedy agglomeration starts with a
cluster for each training word, and repeatedly merges the two clusters whose merge most lowers

    Phi(pi) = gamma * F(pi) + (1 - gamma) * sum_w f_w |B(w)|,    B(w) = {pi(v): v in S(w) + w}

until no merge lowers it. f_w is the frequency of training word w, as a share of all words; S(w) are
its substitutes; pi(v) is the cluster of v. The second term, stability, is the mean number of codes
among a word and its substitutes. The first term, fidelity, is what codes fail to tell about words:

- ``one_hot`` (Jones et al.): ``sum_w f_w ||x_w - mu_c(w)||^2``, where x_w is the word as a vector
  with a single 1, and mu_c the frequency-weighted mean of a cluster;
- ``mutual_information``: ``1 - I(pi(w); t) / I(w; t)``, the share that is lost of the information
  that words give about the answer t: a word's tag and relation in a treebank, a text's label.

Both are between 0 (every word has its own code) and 1. A substitute that does not occur in training
belongs to the cluster of the most frequent training word that it may replace.
"""

import heapq
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from robustparse.certificates.word_answers import WordAnswers
from robustparse.errors import InputError

Fidelity = Literal["one_hot", "mutual_information"]
Numbers: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]

_DECIMALS = 12
"""Decimals to which gains are rounded, since the order of a sum changes its last digits."""

_NOBODY = -1
"""The partner of a cluster that has none."""


def clusters(
    words: WordAnswers,
    substitutes: Mapping[str, Collection[str]],
    gamma: float,
    measure: Fidelity = "mutual_information",
    apart: Collection[str] = (),
) -> dict[str, dict[str, int]]:
    """Return clusters of at least two words, for an ``Encoding``.

    A heap holds the gain of each cluster with its best partner. After a merge, only the pairs with
    the new cluster are computed again. A cluster whose gain fell, or whose partner is gone, keeps
    its earlier, higher gain in the heap until it reaches the top, where the best partner is
    computed again. The merges are therefore those of an algorithm that compares all pairs at each
    step.

    Args:
        words: the words of the training text.
        substitutes: for each word, the words that may take its place; it need not be symmetric.
        gamma: weight of the fidelity, from 0 (all words connected by substitutes have one code) to
            1 (every training word keeps its own).
        measure: how fidelity is measured.
        apart: words that are never merged, such as stop words.

    Returns:
        Each representative, the cluster's most frequent training word (on ties, the first by
        name), with the words of its cluster and their frequencies, 0 for words that do not occur in
        training.

    Raises:
        InputError: gamma is out of range.
    """
    if not 0 <= gamma <= 1:
        raise InputError(f"must be between 0 and 1, got {gamma}", key="fidelity")
    counts = words.counts
    members = _first_clusters(counts, substitutes, frozenset(apart))
    names = sorted(counts)
    numbers = {name: number for number, name in enumerate(names)}
    # No ball holds the cluster of a word that is kept apart.
    cluster_of = {
        word: numbers[name]
        for name, of_cluster in members.items()
        for word in of_cluster
        if word not in apart
    }
    balls = [
        sorted({cluster_of[v] for v in (word, *substitutes.get(word, ())) if v in cluster_of})
        for word in names
    ]
    frequencies = np.array([counts[name] for name in names])
    loss = _OneHot(frequencies) if measure == "one_hot" else _MutualInformation(words, names)
    for into, merged in _Agglomeration(balls, frequencies, loss, gamma).merges():
        members[names[into]] += members.pop(names[merged])
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

    Args:
        frequencies: the frequency of each cluster's first word.
    """

    def __init__(self, frequencies: Numbers) -> None:
        self._sums = frequencies.astype(float)
        self._squares = self._sums**2
        self._all = self._sums.sum()

    def added(self, cluster: int, others: Numbers) -> Floats:
        """Return by how much a merge of a cluster with each of the others raises the loss."""
        n, squares = self._sums[cluster], self._squares[cluster]
        m, further = self._sums[others], self._squares[others]
        added = squares / n + further / m - (squares + further) / (n + m)
        return np.asarray(added / self._all)

    def merge(self, into: int, merged: int) -> None:
        """Add the second cluster to the first."""
        self._sums[into] += self._sums[merged]
        self._squares[into] += self._squares[merged]


class _MutualInformation:
    """Share of the words' information about the answers that the codes lose.

    With counts n and ``h(n) = n log n``, the mutual information of N words is, up to a constant,
    ``(sum_ct h(n_ct) - sum_c h(n_c)) / N``.

    Args:
        words: the words of the training text.
        names: the first word of each cluster.
    """

    def __init__(self, words: WordAnswers, names: Sequence[str]) -> None:
        numbers: dict[Hashable, int] = {}
        for of_word in words.answers.values():
            for answer in of_word:
                numbers.setdefault(answer, len(numbers))
        # The answers of cluster c and how often they occur: sizes[c] elements from starts[c] on.
        answers = [words.answers[name] for name in names]
        self._answers = np.array([numbers[t] for of_word in answers for t in of_word])
        self._times = np.array([times for of_word in answers for times in of_word.values()])
        self._sizes = np.array([len(of_word) for of_word in answers])
        self._starts = np.cumsum(self._sizes) - self._sizes
        self._counts = np.add.reduceat(self._times, self._starts)
        of_answers = np.bincount(self._answers, self._times).astype(int)
        total, self._number_of_answers = int(of_answers.sum()), len(of_answers)
        n = np.arange(total + 1)
        self._h = n * np.log(np.maximum(n, 1))
        joint, alone = self._h[self._times].sum(), self._h[self._counts].sum()
        information = float(joint - alone - self._h[of_answers].sum() + self._h[total])
        # Without any information there is nothing to lose.
        self._all = information if information > 1e-9 * total else float("inf")

    def _of(self, clusters: Numbers) -> tuple[Numbers, Numbers]:
        """Return the answers of clusters, one cluster after another, and how often they occur."""
        elements = _ranges(self._starts[clusters], self._sizes[clusters])
        return self._answers[elements], self._times[elements]

    def added(self, cluster: int, others: Numbers) -> Floats:
        """Return by how much a merge of a cluster with each of the others raises the loss."""
        h, sizes = self._h, self._sizes[others]
        answers, times = self._of(np.array([cluster]))
        own = np.zeros(self._number_of_answers, int)
        own[answers] = times
        answers, times = self._of(others)
        before = own[answers]
        in_both = h[before + times] - h[before] - h[times]
        n, m = self._counts[cluster], self._counts[others]
        lost = h[n + m] - h[n] - h[m] - np.add.reduceat(in_both, np.cumsum(sizes) - sizes)
        return np.asarray(np.maximum(lost, 0.0) / self._all)

    def merge(self, into: int, merged: int) -> None:
        """Add the second cluster to the first."""
        both = np.bincount(*self._of(np.array([into, merged]))).astype(int)
        answers = np.flatnonzero(both)
        self._starts[into], self._sizes[into] = len(self._answers), len(answers)
        self._answers = np.concatenate([self._answers, answers])
        self._times = np.concatenate([self._times, both[answers]])
        self._counts[into] += self._counts[merged]


def _ranges(starts: Numbers, sizes: Numbers) -> Numbers:
    """Return the numbers of ranges, one range after another."""
    before = np.cumsum(sizes) - sizes
    return np.repeat(starts - before, sizes) + np.arange(sizes.sum())


class _Agglomeration:
    """Merges clusters, the best pair first.

    Clusters are numbered, and stay in the order of their first training words.

    Args:
        balls: for each word, the clusters that it can be turned into.
        frequencies: the frequencies of the words.
        loss: the fidelity term; modified.
        gamma: the weight of the fidelity term.
    """

    def __init__(
        self,
        balls: Sequence[Sequence[int]],
        frequencies: Numbers,
        loss: _OneHot | _MutualInformation,
        gamma: float,
    ) -> None:
        self._loss, self._gamma, self._total = loss, gamma, int(frequencies.sum())
        # An entry is a cluster in a ball; ball b has sizes[b] entries from starts[b] on.
        self._sizes = np.array([len(ball) for ball in balls])
        self._starts = np.cumsum(self._sizes) - self._sizes
        self._ball = np.repeat(np.arange(len(balls)), self._sizes)
        self._cluster = np.array([cluster for ball in balls for cluster in ball], int)
        # The frequency of the ball; 0 if another entry of the ball stands for the same cluster.
        self._frequency = np.repeat(frequencies, self._sizes)
        ends = np.cumsum(np.bincount(self._cluster, minlength=len(balls)))
        self._entries = np.split(np.argsort(self._cluster, kind="stable"), ends[:-1])
        # For each cluster, its best partner among the clusters after it, and their gain; the heap
        # holds (-gain, cluster, partner).
        self._gain = np.zeros(len(balls))
        self._partner = np.full(len(balls), _NOBODY)
        self._heap: list[tuple[float, int, int]] = []

    def merges(self) -> Iterator[tuple[int, int]]:
        """Yield the two clusters of each merge; the new cluster has the number of the first."""
        for cluster in range(len(self._gain)):
            self._choose(cluster, *self._gains(cluster))
        while self._heap:
            value, first, second = heapq.heappop(self._heap)
            if not self._is_best(value, first, second):
                continue
            self._choose(first, *self._gains(first))
            if self._is_best(value, first, second):
                self._merge(first, second)
                yield first, second

    def _is_best(self, value: float, first: int, second: int) -> bool:
        return bool(self._gain[first] == -value and self._partner[first] == second)

    def _gains(self, cluster: int) -> tuple[Numbers, Floats]:
        """Return the clusters that share a ball with this one, and the gain of each merge."""
        balls = self._ball[self._entries[cluster]]
        entries = _ranges(self._starts[balls], self._sizes[balls])
        shared = np.bincount(
            self._cluster[entries], self._frequency[entries], minlength=len(self._gain)
        )
        shared[cluster] = 0
        others = np.flatnonzero(shared)
        if not others.size:
            return others, np.zeros(0)
        stability = (1 - self._gamma) * shared[others] / self._total
        gains = stability - self._gamma * self._loss.added(cluster, others)
        return others, np.round(gains, _DECIMALS)

    def _choose(self, cluster: int, others: Numbers, gains: Floats) -> None:
        """Choose the best partner of a cluster among those after it, the first one on ties."""
        self._gain[cluster], self._partner[cluster] = 0, _NOBODY
        after = others > cluster
        if after.any():
            best = int(gains[after].argmax())
            self._set_partner(cluster, int(others[after][best]), float(gains[after][best]))

    def _set_partner(self, first: int, second: int, gain: float) -> None:
        if gain > 0:
            self._gain[first], self._partner[first] = gain, second
            heapq.heappush(self._heap, (-gain, first, second))

    def _merge(self, into: int, merged: int) -> None:
        """Add the second cluster to the first."""
        self._loss.merge(into, merged)
        entries, added = self._entries[into], self._entries[merged]
        both = np.isin(self._ball[added], self._ball[entries])
        self._frequency[added[both]] = 0
        self._cluster[added] = into
        self._entries[into] = np.concatenate([entries, added[~both]])
        self._entries[merged] = added[:0]
        self._partner[merged] = _NOBODY
        others, gains = self._gains(into)
        self._choose(into, others, gains)
        earlier, later = self._gain[others], self._partner[others]
        better = (gains > earlier) | ((gains == earlier) & (into < later))
        for index in np.flatnonzero(better & (others < into)):
            self._set_partner(int(others[index]), into, float(gains[index]))
