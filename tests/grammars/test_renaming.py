"""Prolog forms under other names of their variables, against all orders and known hard graphs."""

import random
from itertools import combinations, permutations

import pytest

from robustparse.grammars import canonical, exact_match

Edges = list[tuple[str, str]]


def form(edges: Edges) -> str:
    return " , ".join(f"r ( {first} , {second} )" for first, second in edges)


def renamed(edges: Edges, rng: random.Random, kept: tuple[str, ...] = ("ANS",)) -> Edges:
    """The same edges in another order, under other names, unusual ones among them."""
    names = sorted({name for edge in edges for name in edge} - {*kept})
    new = ["A1", "_G12", "_", "V0", "É", *(f"X{at}" for at in range(len(names)))]
    new = [name for name in new if name != "_"][: len(names)]
    rng.shuffle(new)
    table = dict(zip(names, new, strict=True)) | {name: name for name in kept}
    found = [(table[first], table[second]) for first, second in edges]
    rng.shuffle(found)
    return found


def cycles(*sizes: int) -> Edges:
    found, start = [], 0
    for size in sizes:
        found += [(f"C{start + at}", f"C{start + (at + 1) % size}") for at in range(size)]
        start += size
    return found


def graph(nodes: int, joined: set[tuple[int, int]]) -> Edges:
    both = [*joined, *((second, first) for first, second in joined)]
    return [(f"P{first}", f"P{second}") for first, second in both]


PAIRS = list(combinations(range(5), 2))
GRID = [(row, column) for row in range(4) for column in range(4)]
STEPS = {(0, 1), (0, 3), (1, 0), (3, 0), (1, 1), (3, 3)}
# Graphs whose nodes look alike to every count of neighbours; those of a row are not the same.
HARD: dict[str, tuple[Edges, Edges]] = {
    "chain": ([("ANS", "A"), ("A", "B"), ("B", "C"), ("C", "D"), ("D", "E"), ("E", "F")],) * 2,
    "star": ([("ANS", f"B{at}") for at in range(26)],) * 2,
    "cycles": (cycles(6), cycles(3, 3)),
    "more cycles": (cycles(4, 8, 3), cycles(5, 5, 5)),
    "complete": ([(f"K{a}", f"K{b}") for a in range(8) for b in range(8) if a != b],) * 2,
    "Petersen": (
        graph(10, {(a, b) for a in range(10) for b in range(a) if not {*PAIRS[a]} & {*PAIRS[b]}}),
        graph(10, {(at, (at + 1) % 10) for at in range(10)} | {(at, at + 5) for at in range(5)}),
    ),
    "rook and Shrikhande": (
        graph(
            16,
            {
                (a, b)
                for a in range(16)
                for b in range(a)
                if (GRID[a][0] == GRID[b][0]) != (GRID[a][1] == GRID[b][1])
            },
        ),
        graph(
            16,
            {
                (a, b)
                for a in range(16)
                for b in range(a)
                if ((GRID[a][0] - GRID[b][0]) % 4, (GRID[a][1] - GRID[b][1]) % 4) in STEPS
            },
        ),
    ),
}


@pytest.mark.parametrize("name", HARD)
def test_names_do_not_count_in_graphs_whose_nodes_look_alike(name: str) -> None:
    first, second = HARD[name]
    rng = random.Random(0)
    for edges in (first, second):
        assert exact_match(form(renamed(edges, rng)), form(edges), "prolog")
        nearly = [*edges[:-1], (edges[-1][0], edges[-1][0])]
        assert not exact_match(form(renamed(nearly, rng)), form(edges), "prolog")
    assert exact_match(form(first), form(second), "prolog") == (first == second)


def test_random_graphs_against_every_order_of_names() -> None:
    rng = random.Random(0)
    names = ("A", "B", "C")
    same = 0
    for _ in range(200):
        one, other = ([(rng.choice(names), rng.choice(names)) for _ in range(3)] for _ in range(2))
        orders = (dict(zip(names, order, strict=True)) for order in permutations(names))
        equal = any({(o[a], o[b]) for a, b in one} == {*other} for o in orders)
        assert exact_match(form(one), form(other), "prolog") == equal, (one, other)
        same += equal
    assert same > 3


def test_an_anonymous_variable_is_another_one_wherever_it_stands() -> None:
    alone = "p ( ANS , _ ) , q ( _ )"
    assert exact_match(alone, "q ( A ) , p ( ANS , B )", "prolog")
    assert not exact_match(alone, "q ( A ) , p ( ANS , A )", "prolog")
    # Heads are no variables, whatever they begin with.
    assert not exact_match("P ( ANS )", "Q ( ANS )", "prolog")
    assert canonical("P ( Q )", "prolog") == "( P V0 )"
