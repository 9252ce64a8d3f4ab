"""Every recipe on every task that `robustparse list attacks` names for it."""

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from recipe_models import recipe, stand_in
from recipe_sentences import examples_of, parser_of
from test_recipes import FOLDER, PARTS

from robustparse.data.vocab import Vocabulary
from robustparse.errors import InputError
from robustparse.models import BiLSTMTagger, Seq2Seq, WordEmbeddings, WordLSTM
from robustparse.models.encoders.bilstm import LSTMEncoder
from robustparse.models.victim import ModelVictim
from robustparse.options.recipe_facts import TASKS, RecipeFacts
from robustparse.types import Example, LogicalForm, TagSequence
from sample_runs import sentences

FACTS = {name: RecipeFacts.read(FOLDER / f"{name}.yaml") for name in PARTS}
FORMS = ("( a $0 )", "( and ( a $0 ) ( b c0 ) )", "( b c0 )")


@pytest.fixture(autouse=True, scope="module")
def _stand_ins():
    with pytest.MonkeyPatch.context() as monkeypatch:
        stand_in(monkeypatch)
        yield


def labelled(gold: Any) -> list[Example]:
    """The sample's sentences with other answers."""
    return [replace(one, gold=gold(one.id)) for one in sentences(200, "train")]


def tags_of(words: int) -> TagSequence:
    """Entities of two words and of one, with others around them."""
    return TagSequence(tuple(["O", "B-x", "I-x", "O", "B-x", "O"] * words)[:words])


@cache
def small(task: str, characters: bool = False) -> Any:
    """An untrained model, which knows the sample's words."""
    if task == "classification":
        known = Vocabulary.from_examples(labelled(lambda id_: "ny"[id_ % 2]), min_count=1)
        model: Any = WordLSTM(WordEmbeddings(word_dim=12), 8, seed=3, vocabulary=known)
    elif task == "tags":
        known = Vocabulary.from_examples(labelled(lambda id_: tags_of(9)), min_count=1)
        encoder = LSTMEncoder(0 if characters else 12, 12 if characters else 0, 4, 6, 1)
        model = BiLSTMTagger(encoder, crf=True, seed=3, vocabulary=known)
    else:
        forms = labelled(lambda id_: LogicalForm(FORMS[id_ % 3], "lambda"))
        known = Vocabulary.from_examples(forms, min_count=1)
        model = Seq2Seq(
            LSTMEncoder(5, 0, 4, 6, 1), token_dim=5, hidden=6, longest=4, seed=3, vocabulary=known
        )
    return model.double().eval()


def right(task: str, examples: list[Example]) -> list[Example]:
    """The examples with the model's own answers, or with tags, so that none is skipped."""
    if task == "tags":
        return [replace(one, gold=tags_of(len(one.sentence))) for one in examples]
    answers = small(task).predict([one.sentence for one in examples])
    return [replace(one, gold=gold) for one, gold in zip(examples, answers, strict=True)]


# Recipes for trees attack them in `test_recipe_laws.py`.
PAIRS = [
    (name, task)
    for name in PARTS
    for task in TASKS
    if task != "dependency" or task not in FACTS[name].tasks
]


@pytest.mark.parametrize(("name", "task"), PAIRS)
def test_a_recipe_attacks_the_tasks_that_are_named(name: str, task: str, models: Path) -> None:
    attack, examples = recipe(name, models), examples_of(name)
    examples = examples[: 4 if task == "tags" else 2]
    characters = task == "tags" and name.endswith("_character")
    victim = ModelVictim([parser_of(name) if task == "dependency" else small(task, characters)])
    if task != "dependency":
        examples = right(task, examples)
    if task not in FACTS[name].tasks:
        with pytest.raises(InputError):
            list(attack.run(examples, victim))
        return
    results = list(attack.run(examples, victim))
    assert {result.id for result in results} == {example.id for example in examples}
    assert not any(result.skipped for result in results)
    assert any(result.edited or result.charged > 1 for result in results)
    if "dependency" not in FACTS[name].tasks:  # the laws of the others are tested with parsers
        packed = recipe(name, models, live=1, batch_queries=1)
        again = list(packed.run(examples[::-1], victim))
        assert {result.id: result for result in again} == {result.id: result for result in results}


def test_facts_say_what_the_classes_and_the_comments_say() -> None:
    words = {name: facts for name, facts in FACTS.items() if name.startswith("zheng2020_")}
    trees, tags = ("dependency",), ("dependency", "tags")
    phrases = {name for name, facts in words.items() if facts.tasks == trees}
    assert phrases == {"zheng2020_phrase_blackbox", "zheng2020_phrase_whitebox"}
    assert all(facts.tasks == tags for name, facts in words.items() if name not in phrases)
    assert {name for name, facts in FACTS.items() if not facts.paper or not facts.changes} == set()
    assert FACTS["deepwordbug"] == RecipeFacts(
        "Gao et al. 2018", ("scores",), TASKS, ("characters",)
    )
    assert FACTS["zheng2020_whitebox"].needs == (
        "gradients",
        "probabilities",
        "masked language model",
    )
    assert FACTS["textbugger"].changes == ("splits", "characters", "words")
