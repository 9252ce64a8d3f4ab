"""Every form of the real corpora through tree, syntax tree, actions and back."""

from pathlib import Path

import pytest

from robustparse.data.utterances.forms import read_forms
from robustparse.grammars import Derivation, actions_of, language_named
from robustparse.grammars.sketches import places_of, sketch_of, tokens_of, tree_of

ROWS = {"geo": 880, "jobs": 640, "atis": 5372}


@pytest.mark.parametrize("corpus", ROWS)
def test_every_row_of_a_corpus_survives(corpus: str, shared: Path):
    files = sorted((shared / "data" / "semparse" / corpus).glob("*.tsv"))
    forms = [example.gold for path in files for example in read_forms(path)]
    assert len(forms) == ROWS[corpus]
    language = language_named(forms[0].language)
    for form in forms:
        tree = language.read(form)
        node = language.to_ast(tree)
        derivation = Derivation(language.grammar)
        for action in actions_of(node):
            derivation = derivation.apply(action)
        assert derivation.tree == node
        assert language.print(language.from_ast(node)) == form
        sketch, tokens = sketch_of(tree, language), tokens_of(tree, language)
        pairs = [*zip(places_of(sketch, language), tokens, strict=True)]
        assert all(place.token in (None, token) for place, token in pairs), form
        leaves = [token for place, token in pairs if place.token is None]
        assert language.print(tree_of(sketch, leaves, language)) == form
