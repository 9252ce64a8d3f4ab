"""Actions that build syntax trees: round trips, and masks against brute force."""

from collections import defaultdict

import pytest
from test_logical_form import CASES

from robustparse.errors import InputError
from robustparse.grammars import (
    REDUCE,
    Action,
    Constructor,
    Derivation,
    Grammar,
    Node,
    actions_of,
    language_named,
    read_grammar,
)
from robustparse.models.semantic.actions import ActionNumbers

SMALL = """
name  # the only primitive type
tree = Leaf(name name) | Pair(tree left, tree right) | Many(leaf* leaves, mark mark)
leaf = Only(name name)
mark = Good | Bad
"""


def test_a_grammar_is_read():
    grammar = read_grammar(SMALL, "small.asdl")
    assert (grammar.root, grammar.primitives) == ("tree", ("name",))
    assert [one.name for one in grammar.constructors] == [
        *("Leaf", "Pair", "Many", "Only", "Good", "Bad"),
    ]
    many = grammar.by_name["Many"]
    assert [(f.name, f.type, f.repeated) for f in many.fields] == [
        ("leaves", "leaf", True),
        ("mark", "mark", False),
    ]
    assert grammar.types == ("name", "tree", "leaf", "mark")


@pytest.mark.parametrize(
    "text", ["a", "a\nb = C(d e)", "a\nb = C(a)", "a\nb = C(a x", "a\nb = C | ", "a\nb = C(a- x)"]
)
def test_what_is_no_grammar_is_refused(text: str):
    with pytest.raises(InputError) as error:
        read_grammar(text, "x.asdl")
    assert error.value.path == "x.asdl"


@pytest.mark.parametrize(("language", "form"), CASES)
def test_forms_survive_as_actions(language: str, form: str):
    known = language_named(language)
    node = known.to_ast(known.read(form))
    derivation = Derivation(known.grammar)
    for action in actions_of(node):
        assert not derivation.finished
        derivation = derivation.apply(action)
    assert derivation.tree == node
    assert known.print(known.from_ast(node)) == form


def trees(grammar: Grammar, type_: str, depth: int) -> list[Node]:
    """Every tree of a type up to a depth, with one token a primitive type and up to two values."""
    found = []
    for constructor in grammar.constructors if depth else ():
        if constructor.type != type_:
            continue
        choices: list[list[tuple[Node | str, ...]]] = []
        for field in constructor.fields:
            single = field.type in grammar.primitives
            values: list[Node | str] = ["t"] if single else [*trees(grammar, field.type, depth - 1)]
            options: list[tuple[Node | str, ...]] = [(value,) for value in values]
            if field.repeated:
                options += [(), *((one, other) for one in values for other in values)]
            choices.append(options)
        rows: list[tuple[tuple[Node | str, ...], ...]] = [()]
        for options in choices:
            rows = [(*row, option) for row in rows for option in options]
        found += [Node(constructor, row) for row in rows]
    return found


def test_masks_are_the_actions_that_some_tree_continues_with():
    grammar = read_grammar(SMALL, "small.asdl")
    every = trees(grammar, "tree", 3)
    assert len(every) > 50
    continued: dict[tuple[Action, ...], set[Action]] = defaultdict(set)
    for tree in every:
        actions = tuple(actions_of(tree))
        for place, action in enumerate(actions):
            continued[actions[:place]].add(action)
        continued[actions] = set()
    # A form's brackets are tokens of the vocabulary, and fill no field.
    numbers, checked = ActionNumbers(grammar, ["(", "t", ")"]), 0
    for prefix, found in continued.items():
        derivation = Derivation(grammar)
        for action in prefix:
            derivation = derivation.apply(action)
        mask = numbers.kind(derivation).mask
        allowed = {numbers.action(one) for one in numbers.masks[mask].nonzero().flatten().tolist()}
        assert bool(numbers.for_tokens[mask]) == ("t" in allowed)
        # Deep prefixes are cut off by the depth of the enumeration, long ones by its two values.
        values = derivation.open_nodes[-1].current if derivation.open_nodes else ()
        if len(derivation.open_nodes) < 2 and len(values) < 2:
            assert allowed == found, prefix
            checked += not derivation.finished
        assert found <= allowed, prefix
        for action in {*grammar.constructors, REDUCE, "t"} - allowed:
            with pytest.raises(ValueError, match="field"):
                derivation.apply(action)
    assert checked > 10


def test_parents_and_their_steps():
    known = language_named("lambda")
    derivation = Derivation(known.grammar)
    assert derivation.parent_step == -1
    seen = []
    for action in actions_of(known.to_ast(known.read("( and ( a $0 ) ( b c0 ) )"))):
        parent = derivation.open_nodes[-1].constructor.name if derivation.open_nodes else None
        seen.append((parent, derivation.parent_step, derivation.field.name))
        derivation = derivation.apply(action)
    apply, last = "Apply", "arguments"
    assert seen == [
        (None, -1, "root"),
        ("And", 0, last),
        *[(apply, 1, "predicate"), (apply, 1, last), ("Variable", 3, "variable"), (apply, 1, last)],
        ("And", 0, last),
        *[(apply, 6, "predicate"), (apply, 6, last), ("Entity", 8, "entity"), (apply, 6, last)],
        ("And", 0, last),
    ]
    with pytest.raises(ValueError, match="finished"):
        _ = derivation.field


@pytest.mark.parametrize(
    ("language", "form"),
    [
        ("lambda", "( not ( a $0 ) ( b $0 ) )"),
        ("lambda", "( lambda $0 ( a $0 ) )"),
        ("lambda", "( argmax ( a $0 ) ( a $0 ) ( a $0 ) )"),
        ("lambda", "( > $0 )"),
        ("prolog", "a ( b ( c ) )"),
        ("prolog", "a"),
        ("prolog", "a ( b ) , c"),
        ("prolog", "\\+ a"),
        ("prolog", "( a ( b ) ; c )"),
    ],
)
def test_forms_outside_the_grammar_are_refused(language: str, form: str):
    known = language_named(language)
    with pytest.raises(InputError) as error:
        known.to_ast_of(known.read(form), known.grammar.root)
    assert error.value.expected


def test_operators_are_constructors_and_other_heads_predicates():
    node = language_named("lambda").to_ast(("max_speed", "$0"))
    assert isinstance(node.constructor, Constructor)
    assert (node.constructor.name, node.values[0]) == ("Apply", ("max_speed",))
