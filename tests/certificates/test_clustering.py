"""Clustering for robust encodings, against a literal algorithm that compares all partitions."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from math import log
from random import Random

import numpy as np
import pytest

from robustparse.certificates.clustering import Fidelity, clusters
from robustparse.certificates.word_answers import WordAnswers
from robustparse.errors import InputError
from robustparse.types import DependencyTree, Example, Sentence

Graph = Mapping[str, Sequence[str]]
Partition = frozenset[frozenset[str]]


def one_hot(words: WordAnswers, code: Mapping[str, str]) -> float:
    """``sum_w f_w ||x_w - mu_c(w)||^2``, with vectors."""
    counts, names = words.counts, sorted(words.counts)
    vectors = dict(zip(names, np.eye(len(names)), strict=True))
    loss = 0.0
    for word in names:
        cluster = [other for other in names if code[other] == code[word]]
        weights = [counts[other] for other in cluster]
        mean = np.average([vectors[other] for other in cluster], axis=0, weights=weights)
        loss += counts[word] * float(((vectors[word] - mean) ** 2).sum())
    return loss / sum(counts.values())


def information(words: WordAnswers, code: Mapping[str, str]) -> float:
    """Mutual information of codes and answers, ``sum p(c, t) log p(c, t) / (p(c) p(t))``."""
    joint: dict[tuple[str, object], float] = {}
    for word, of_word in words.answers.items():
        for answer, count in of_word.items():
            pair = code[word], answer
            joint[pair] = joint.get(pair, 0) + count / sum(words.counts.values())
    p_code, p_answer = dict[str, float](), dict[object, float]()
    for (name, answer), p in joint.items():
        p_code[name] = p_code.get(name, 0) + p
        p_answer[answer] = p_answer.get(answer, 0) + p
    return sum(p * log(p / p_code[c] / p_answer[t]) for (c, t), p in joint.items())


def phi(
    partition: Partition, words: WordAnswers, graph: Graph, gamma: float, fidelity: Fidelity
) -> float:
    counts = words.counts
    code = {word: min(cluster) for cluster in partition for word in cluster}
    balls = {word: {code[v] for v in (word, *graph.get(word, ()))} for word in counts}
    stability = sum(counts[word] * len(balls[word]) for word in counts) / sum(counts.values())
    if fidelity == "one_hot":
        loss = one_hot(words, code)
    else:
        most = information(words, {word: word for word in counts})
        loss = 1 - information(words, code) / most if most > 1e-9 else 0.0
    return gamma * loss + (1 - gamma) * stability


def literal(
    words: WordAnswers,
    graph: Graph,
    gamma: float,
    fidelity: Fidelity,
    apart: Sequence[str] = (),
) -> Partition:
    """Merge the pair that lowers phi most, comparing all pairs, until none lowers it.

    Words that are kept apart do not take part, nor do new words of such words only.
    """
    counts = words.counts
    everything = {*counts, *(v for word in counts for v in graph.get(word, ()))}
    members = {word: {word} for word in everything if word in counts or word in apart}
    for new in everything - set(members):
        having = [w for w in counts if new in graph.get(w, ()) and w not in apart]
        if having:
            members[min(having, key=lambda word: (-counts[word], word))].add(new)
        else:
            members[new] = {new}
    partition = frozenset(map(frozenset, members.values()))
    while True:
        now = phi(partition, words, graph, gamma, fidelity)
        gains = []
        for pair in combinations(partition, 2):
            if any(not cluster & counts.keys() or cluster & set(apart) for cluster in pair):
                continue
            names = sorted(min(w for w in cluster if w in counts) for cluster in pair)
            merged = partition - set(pair) | {pair[0] | pair[1]}
            gain = round(now - phi(merged, words, graph, gamma, fidelity), 10)
            gains.append((-gain, names, merged))
        if not gains or min(gains, key=lambda each: each[:2])[0] >= 0:
            return partition
        partition = min(gains, key=lambda each: each[:2])[2]


def check(
    words: WordAnswers,
    graph: Graph,
    gamma: float,
    fidelity: Fidelity,
    apart: Sequence[str] = (),
) -> None:
    result = clusters(words, graph, gamma, fidelity, apart)
    expected = {c for c in literal(words, graph, gamma, fidelity, apart) if len(c) > 1}
    assert {frozenset(c) for c in result.values()} == expected, (words, graph, gamma, fidelity)
    counts = words.counts
    for representative, cluster in result.items():
        assert cluster == {word: counts.get(word, 0) for word in cluster}
        most = max(cluster.values())
        assert representative == min(w for w, count in cluster.items() if count == most)


def drawn_words(names: str, random: Random) -> WordAnswers:
    """Words with few different frequencies and answers, so that there are ties."""
    return WordAnswers(
        {
            name: {answer: random.randint(1, 3) for answer in random.choices("tuv", k=2)}
            for name in names
        }
    )


def symmetric_graphs(names: str) -> Iterator[Graph]:
    pairs = list(combinations(names, 2))
    for chosen in product([False, True], repeat=len(pairs)):
        graph: dict[str, list[str]] = {name: [] for name in names}
        for (first, second), edge in zip(pairs, chosen, strict=True):
            if edge:
                graph[first].append(second)
                graph[second].append(first)
        yield graph


@pytest.mark.parametrize("fidelity", ["one_hot", "mutual_information"])
def test_clusters_are_those_of_the_literal_algorithm_on_all_graphs_of_four_words(
    fidelity: Fidelity,
) -> None:
    random = Random(0)
    for size in (2, 3, 4):
        for graph in symmetric_graphs("abcd"[:size]):
            for gamma in (0.0, 0.4, 0.7, 1.0):
                check(drawn_words("abcd"[:size], random), graph, gamma, fidelity)


@pytest.mark.slow
@pytest.mark.parametrize("fidelity", ["one_hot", "mutual_information"])
def test_clusters_are_those_of_the_literal_algorithm_on_all_graphs_of_six_words(
    fidelity: Fidelity,
) -> None:
    """Each graph once, whatever the names of its words; their frequencies are drawn."""
    networkx = pytest.importorskip("networkx")
    random = Random(1)
    for shape in networkx.graph_atlas_g():
        if len(shape) in (5, 6):
            names = "abcdef"[: len(shape)]
            graph = {names[node]: [names[other] for other in shape[node]] for node in shape}
            gamma = random.choice([0.3, 0.5, 0.6, 0.7, 0.8])
            check(drawn_words(names, random), graph, gamma, fidelity)


@pytest.mark.parametrize("fidelity", ["one_hot", "mutual_information"])
def test_clusters_are_those_of_the_literal_algorithm_on_directed_graphs_of_twelve_words(
    fidelity: Fidelity,
) -> None:
    """Some words do not occur in training, and some keep codes of their own."""
    random = Random(2)
    for _ in range(12):
        names = "abcdefghijkl"
        words = drawn_words("abcdefghi", random)
        graph = {
            name: random.sample(names.replace(name, ""), random.randint(0, 3)) for name in names
        }
        check(words, graph, random.choice([0.3, 0.5, 0.7, 0.8]), fidelity, random.sample(names, 2))


def test_the_order_of_words_and_substitutes_changes_nothing() -> None:
    random, names = Random(3), "abcdefghijklmnopqrst"
    words = drawn_words(names, random)
    graph = {name: random.sample(names.replace(name, ""), 3) for name in names}
    expected = clusters(words, graph, 0.5)
    for _ in range(5):
        shuffled = WordAnswers(dict(random.sample(list(words.answers.items()), len(names))))
        other = {name: random.sample(graph[name], 3) for name in random.sample(names, len(names))}
        assert clusters(shuffled, other, 0.5) == expected
    assert [*expected] == sorted(expected)
    assert all([*cluster] == sorted(cluster) for cluster in expected.values())


def test_gamma_0_joins_what_substitutes_connect_and_gamma_1_nothing() -> None:
    words = drawn_words("abcde", Random(4))
    graph = {"a": ["b"], "b": ["c"], "d": ["x"], "e": []}
    for fidelity in ("one_hot", "mutual_information"):
        joined = clusters(words, graph, 0.0, fidelity)
        assert {frozenset(cluster) for cluster in joined.values()} == {
            frozenset("abc"),
            frozenset("dx"),
        }
        # Only the new word joins its word, which costs nothing.
        assert clusters(words, graph, 1.0, fidelity) == {"d": {"d": words.counts["d"], "x": 0}}


def test_answers_are_tags_with_relations_or_labels() -> None:
    tree = DependencyTree((2, 0), ("det", "root"))
    parsed = Example(0, Sentence(("The", "dog"), xpos=("DT", "NN")), tree)
    assert WordAnswers.of([parsed]).answers == {
        "dog": {("NN", "root"): 1},
        "the": {("DT", "det"): 1},
    }
    text = Example(0, Sentence(("fine", "Fine", "day")), "positive")
    assert WordAnswers.of([text]).answers == {"day": {"positive": 1}, "fine": {"positive": 2}}


@pytest.mark.parametrize(("gamma", "key"), [(-0.1, "fidelity"), (1.1, "fidelity")])
def test_a_weight_outside_of_its_range_is_an_error(gamma: float, key: str) -> None:
    with pytest.raises(InputError) as error:
        clusters(drawn_words("ab", Random(5)), {}, gamma)
    assert error.value.key == key
