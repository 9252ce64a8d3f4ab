"""Reading, printing and comparing logical forms, by hand and by properties of random forms."""

from itertools import pairwise

import numpy as np
import pytest

from robustparse.errors import InputError
from robustparse.grammars import (
    LambdaCalculus,
    Prolog,
    Tree,
    canonical,
    exact_match,
    language_named,
    language_of,
    tranx_match,
    with_sorted_children,
)
from robustparse.grammars.language import bracketed

FORMS = {
    "lambda": [
        "s0",
        "( capital:c s0 )",
        "( lambda $0 e ( loc:t c0 $0 ) )",
        "( argmax $0 ( and ( river:t $0 ) ( loc:t $0 s0 ) ) ( len:i $0 ) )",
        "( lambda $0 e ( exists $1 ( and ( flight $0 ) ( not ( from $0 $1 ) ) ) ) )",
        "( count $0 ( > ( fare $0 ) 10:i ) )",
    ],
    "prolog": [
        "job ( ANS )",
        "job ( ANS ) , salary_greater_than ( ANS , num_salary0 , year )",
        "job ( ANS ) , \\+ req_exp ( ANS )",
        "job ( ANS ) , \\+ ( req_exp ( ANS ) , area ( ANS , areaid0 ) )",
        "job ( ANS ) , ( ( loc ( ANS , a ) ) ; ( loc ( ANS , b ) ) ) , des_deg ( ANS )",
        "job ( ANS ) , ( loc ( ANS , a ) , area ( ANS , b ) ; ( loc ( ANS , J ) ) )",
        "job ( ANS ) , ( ( loc ( ANS , a ) ) ; ( loc ( ANS , b ) ) ; ( loc ( ANS , c ) ) )",
    ],
}
CASES = [(language, form) for language, forms in FORMS.items() for form in forms]


# TranX's grammar of Prolog has no conjunctions among arguments, other parsers may read them.
@pytest.mark.parametrize(
    ("language", "form"),
    [
        *CASES,
        ("prolog", "answer ( A , ( capital ( A ) , loc ( A , s0 ) ) )"),
        ("prolog", "f ( ANS , ( ( a ( ANS ) ) ; ( b ( ANS ) ) ) )"),
    ],
)
def test_forms_survive_reading_and_printing(language: str, form: str):
    known = language_named(language)
    assert known.print(known.read(form)) == form
    assert exact_match(form, form, language)


def test_languages_are_told_by_their_tokens():
    for language, forms in FORMS.items():
        assert language_of(token for form in forms for token in form.split()) == language


def test_trees_by_hand():
    form = "job ( ANS ) , ( ( a ( ANS ) ) ; ( \\+ b ( ANS , c ) ) )"
    either = ("or", ("a", "ANS"), ("not", ("b", "ANS", "c")))
    assert language_named("prolog").read(form) == ("and", ("job", "ANS"), either)
    assert language_named("lambda").read("( f ( g $0 ) s0 )") == ("f", ("g", "$0"), "s0")


@pytest.mark.parametrize(
    ("language", "form"),
    [
        *[("lambda", form) for form in ("", "( f", "f )", "( )", "( f ) ( g )", "( ( f ) g )")],
        *[("lambda", form) for form in ("( f ,", ")", "( f ( g )")],
        *[("prolog", form) for form in ("", "a (", "a ( )", "a ) b", "a ( ANS ) ,", "a , , b")],
        *[("prolog", form) for form in ("a ( b ) c", "\\+", "( a ;", "; a", "a ( b")],
        *[("prolog", form) for form in ("a ( 'b , c' )", 'a ( "b" , \' )')],
    ],
)
def test_what_is_no_form_is_refused_and_never_right(language: str, form: str):
    with pytest.raises(InputError) as error:
        language_named(language).read(form)
    assert error.value.expected
    assert not exact_match(form, FORMS[language][1], language)
    assert not exact_match(form, form, language)


# One form, another, and whether they match: by canonical forms, and as TranX compares them.
PAIRS = {
    "lambda": [
        ("( and ( b $0 ) ( a $0 ) )", "( and ( a $0 ) ( b $0 ) )", True, True),
        ("( and ( a x ) ( a y ) )", "( and ( a y ) ( a x ) )", True, False),
        ("( and ( a x ) ( a x ) )", "( a x )", True, False),
        ("( lambda $0 e ( a $0 ) )", "( lambda $1 e ( a $1 ) )", True, False),
        ("( lambda $0 e ( a $0 ) )", "( lambda $0 i ( a $0 ) )", True, False),
        ("( lambda $0 e ( a $0 ) )", "( lambda $0 e ( a $1 ) )", False, False),
        ("( lambda $1 e ( a $0 ) )", "( lambda $0 e ( a $0 ) )", False, False),
        ("( = x y )", "( = y x )", True, False),
        ("( next_to:t x y )", "( next_to:t y x )", True, False),
        ("( < x y )", "( < y x )", False, False),
        ("( a x y )", "( a y x )", False, False),
        (
            "( and ( exists $1 ( a $1 ) ) ( exists $2 ( b $2 ) ) )",
            "( and ( exists $1 ( b $1 ) ) ( exists $2 ( a $2 ) ) )",
            *(True, False),
        ),
        (
            "( lambda $0 e ( lambda $1 e ( and ( a $0 $1 ) ( a $1 $0 ) ) ) )",
            "( lambda $1 e ( lambda $0 e ( and ( a $0 $1 ) ( a $1 $0 ) ) ) )",
            *(True, False),
        ),
        (
            "( lambda $0 e ( lambda $1 e ( a $0 $1 ) ) )",
            "( lambda $0 e ( lambda $1 e ( a $1 $0 ) ) )",
            *(False, False),
        ),
        ("( max $0 ( max $0 ( a $0 ) ) )", "( max $1 ( max $0 ( a $0 ) ) )", True, False),
        ("( and a ( and b c ) )", "( and ( and c a ) b )", True, False),
        ("( and a ( or b c ) )", "( and a b c )", False, False),
        ("( or a ( or a a ) )", "a", True, False),
        ("( lambda $0:e ( a $0 ) )", "( lambda $1:e ( a $1 ) )", True, False),
        ("( lambda $0:e ( a $0 ) )", "( lambda $1:e ( a $0 ) )", False, False),
        ("( and:<t*,t> a:<e,t> b )", "( and:<t*,t> b a:<e,t> )", True, False),
        ("( capital:<c,t> x )", "( capital:<s,c> x )", False, False),
    ],
    "prolog": [
        ("b ( ANS ) , a ( ANS )", "a ( ANS ) , b ( ANS )", True, True),
        ("a ( ANS ) , a ( ANS )", "a ( ANS )", True, False),
        ("a ( ANS , J )", "a ( ANS , K )", True, False),
        ("a ( ANS , J )", "a ( J , ANS )", False, False),
        ("a ( J , K ) , a ( K , L )", "a ( L , J ) , a ( K , L )", True, False),
        ("a ( J , K ) , a ( K , L )", "a ( L , J ) , a ( L , K )", False, False),
        ("( ( a ) ; ( b ) )", "( ( b ) ; ( a ) )", True, False),
        ("( a ) ; ( b ) ; ( c )", "( c ) ; ( b ) ; ( a )", True, False),
        ("( a , b ) , c", "b , a , c", True, False),
        ("f ( ANS , ( a , b ) )", "f ( ANS , a , b )", False, False),
        ("\\+ ( a , b )", "\\+ ( b , a )", True, True),
        ("\\+ ( a , b )", "\\+ a , b", False, False),
    ],
}


@pytest.mark.parametrize("language", PAIRS)
def test_which_forms_are_the_same(language: str):
    for one, other, same, by_tranx in PAIRS[language]:
        assert exact_match(one, other, language) is same, (one, other)
        assert exact_match(other, one, language) is same
        assert tranx_match(one, other, language) is by_tranx, (one, other)


def random_tree(rng: np.random.Generator, depth: int, bound: tuple[str, ...]) -> Tree:
    """A form of lambda calculus whose variables are all bound, under names used once."""
    if depth == 0:
        return str(rng.choice([*bound, "s0", "c0"]))
    kind = rng.choice(["and", "or", "pred", "exists", "argmax", "not"])
    new = f"${depth}{len(bound)}"

    def child(more: tuple[str, ...] = ()) -> Tree:
        return random_tree(rng, depth - 1, (*bound, *more))

    if kind in ("and", "or"):
        return (str(kind), *(child() for _ in range(rng.integers(2, 4))))
    if kind == "pred":
        return (str(rng.choice(["loc:t", "size:i"])), child(), child())
    if kind == "exists":
        return ("exists", new, child((new,)))
    return ("argmax", new, child((new,)), child((new,))) if kind == "argmax" else ("not", child())


def changed(tree: Tree, rng: np.random.Generator, names: dict[str, str]) -> Tree:
    """The same form with other names of variables, and conjuncts in another order."""
    if isinstance(tree, str):
        return names.get(tree, tree)
    head, children = tree[0], [changed(child, rng, names) for child in tree[1:]]
    if head in ("and", "or"):
        children = [children[i] for i in rng.permutation(len(children))]
    return (head, *children)


def constants(tree: Tree) -> list[str]:
    if isinstance(tree, str):
        return [tree] if tree in ("s0", "c0") else []
    return [leaf for part in tree[1:] for leaf in constants(part)]


def test_names_and_order_do_not_count_and_constants_do():
    rng = np.random.default_rng(0)
    seen: dict[str, Tree] = {}
    moved = 0
    for _ in range(300):
        tree = random_tree(rng, 4, ())
        form = bracketed(tree)
        variables = sorted({token for token in form.split() if token[0] == "$"})
        new = [f"$x{i}" for i in rng.permutation(len(variables))]
        other = changed(tree, rng, dict(zip(variables, new, strict=True)))
        again = bracketed(other)
        moved += again != form
        assert canonical(again, "lambda") == canonical(form, "lambda")
        seen[form] = tree
        if constants(tree):
            swapped = form.replace(" s0 ", " s1 ").replace(" c0 ", " c1 ")
            assert swapped != form
            assert not exact_match(swapped, form, "lambda")
            # With one of the two constants everywhere.
            for kept in ("s0", "c0"):
                names = {"s0": kept, "c0": kept}
                other = " ".join(names.get(token, token) for token in form.split())
                assert (other == form) == exact_match(other, form, "lambda")
    assert moved > 200
    forms = sorted(seen)
    assert sum(exact_match(*pair, "lambda") for pair in pairwise(forms)) < len(forms) / 10


def random_goals(rng: np.random.Generator, depth: int, variables: tuple[str, ...]) -> Tree:
    """A form of Prolog."""
    kind = rng.choice(["and", "or", "not", "pred"]) if depth else "pred"
    if kind == "pred":
        leaves = [str(rng.choice([*variables, "ANS", "s0", "c0"])) for _ in range(2)]
        return (str(rng.choice(["loc", "area"])), *leaves)
    size = {"and": int(rng.integers(2, 4)), "or": 2, "not": 1}[kind]
    return (str(kind), *(random_goals(rng, depth - 1, variables) for _ in range(size)))


def test_names_and_order_do_not_count_in_prolog_and_constants_do():
    rng, prolog = np.random.default_rng(0), language_named("prolog")
    moved = broken = 0
    for _ in range(150):
        tree = random_goals(rng, 3, ("J", "K", "L"))
        form = prolog.print(tree)
        new = ["JX", "KX", "LX", "MX"][: 3 + int(rng.integers(2))]
        names = dict(zip("JKL", (new[i] for i in rng.permutation(len(new))[:3]), strict=True))
        again = prolog.print(changed(tree, rng, names))
        moved += again.replace("X", "") != form
        assert canonical(again, "prolog") == canonical(form, "prolog"), (form, again)
        # One constant more: no renaming and no order gives it back.
        tokens = form.split()
        places = [place for place, token in enumerate(tokens) if token in ("s0", "c0")]
        if places:
            tokens[int(rng.choice(places))] = "s1"
            assert not exact_match(" ".join(tokens), form, "prolog")
            broken += 1
    assert min(moved, broken) > 75


def test_conjuncts_and_disjuncts_are_sorted_by_given_heads_then_by_text():
    either = "( or ( q $0 ) ( from $0 a ) )"
    form = f"( lambda $0 e ( and ( to $0 b ) ( meal $0 ) {either} ( flight $0 ) ) )"
    known = language_named("lambda")
    found = known.print(with_sorted_children(known.read(form), ["flight", "from", "to"]))
    either = "( or ( from $0 a ) ( q $0 ) )"
    assert found == f"( lambda $0 e ( and ( flight $0 ) ( to $0 b ) ( meal $0 ) {either} ) )"
    assert exact_match(found, form, "lambda")


@pytest.mark.parametrize(
    ("name", "key"),
    [("sql", "language"), ("os.path", "language"), ("robustparse.grammars.Node", "language")],
)
def test_what_is_no_language_is_refused(name: str, key: str):
    with pytest.raises(InputError) as error:
        language_named(name)
    assert error.value.key == key
    with pytest.raises(InputError):  # and makes no form wrong
        exact_match("a", "a", name)


def test_a_language_of_a_users_own_is_not_taken_for_the_shipped_one_of_its_name():
    for shipped, name in ((LambdaCalculus, "lambda"), (Prolog, "prolog")):
        own = type(shipped.__name__, (shipped,), {"__module__": "mine"})()
        assert (shipped().name, own.name) == (name, f"mine.{shipped.__name__}")
