"""The laws of every attack, for every recipe in configs/attack, with small models."""

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from recipe_models import FOLDER, stand_in
from recipe_models import recipe as small_recipe
from recipe_sentences import EXAMPLES, examples_of, parser_of, victim_of
from sentence_judges import has_admissible_chain

from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.generator import Slot
from robustparse.attacks.constraints.sentence_constraint import Edit, SentenceConstraint
from robustparse.attacks.constraints.tagging.tags import NEVER_ATTACKED
from robustparse.attacks.results import AttackResult
from robustparse.data.batch import Batch
from robustparse.data.vocab import Vocabulary
from robustparse.evaluation.attack_folder import attack_into
from robustparse.evaluation.attack_processes import share_of
from robustparse.evaluation.attack_sums import AttackSums
from robustparse.evaluation.example_records import example_record
from robustparse.evaluation.record_files import encode_record
from robustparse.metrics import counted_words
from robustparse.models.classification.cnn import WordCNN
from robustparse.models.dependency.biaffine import BiaffineParser
from robustparse.models.encoders.word_embeddings import WordEmbeddings
from robustparse.models.victim import ModelVictim
from robustparse.options.recipe_facts import RecipeFacts
from robustparse.tasks.dependency import DEPENDENCY
from robustparse.types import Example, Sentence
from sample_runs import sentences

# Every recipe, and whether its results depend on the seed.
RECIPES = {
    "a2t": False,
    "alzantot": True,
    "bad_characters": True,
    "bad_characters_deletions": True,
    "bad_characters_invisible": True,
    "bad_characters_reorderings": True,
    "bae": True,
    "beam": False,
    "bert_attack": False,
    "bert_attack_textattack": False,
    "checklist": True,
    "deepwordbug": True,
    "deepwordbug_textattack": True,
    "faster_alzantot": True,
    "genetic": True,
    "hotflip": False,
    "iga": True,
    "kuleshov": False,
    "leap": True,
    "maheshwary": True,
    "morpheus": False,
    "pruthi": False,
    "pso": True,
    "pwws": False,
    "seq2sick": False,
    "textbugger": True,
    "textfooler": False,
    "textfooler_released": False,
    "wang2021": True,
    "wang2021_open": True,
    "yoo2020_glove": False,
    "yoo2020_hownet": False,
    "yoo2020_wordnet": False,
    "zheng2020_blackbox": True,
    "zheng2020_blackbox_character": True,
    "zheng2020_blackbox_released": True,
    "zheng2020_phrase_blackbox": True,
    "zheng2020_phrase_whitebox": False,
    "zheng2020_universal": True,
    "zheng2020_whitebox": True,
    "zheng2020_whitebox_character": False,
    "zheng2020_whitebox_released": True,
}
RUN = {"attack": "recipe", "victims": ["parser"], "seed": 0}
Results = dict[int, AttackResult]


# Trees cannot lose words, and have no entities: `test_recipes_by_task.py` has the laws of these.
OF_WHOLE_TEXTS = {
    *("bae_insert", "bae_replace_and_insert", "bae_replace_or_insert"),
    *("clare", "entities", "input_reduction"),
}


def recipe(name: str, folder: Path, **settings: Any) -> Attack:
    """The small recipe; with a parser's goal in place of a classifier's."""
    if "dependency" not in RecipeFacts.read(FOLDER / f"{name}.yaml").tasks:
        settings["goal"] = {"class_path": "robustparse.attacks.AttachmentDrop"}
    if name in (
        "iga",
        "leap",
    ):  # a goal that the first population, which draws nothing, does not reach
        settings["goal"] = {
            "class_path": "robustparse.attacks.AttachmentDrop",
            "init_args": {"least": 4},
        }
    return small_recipe(name, folder, **settings)


def test_every_recipe_is_here() -> None:
    assert {path.stem for path in FOLDER.glob("*.yaml")} == set(RECIPES) | OF_WHOLE_TEXTS


@pytest.fixture(autouse=True, scope="module")
def _stand_ins():
    with pytest.MonkeyPatch.context() as monkeypatch:
        stand_in(monkeypatch)
        yield


@pytest.fixture(scope="module", params=RECIPES)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


def by_id(name: str, attack: Attack, examples: list[Example] | None = None) -> Results:
    examples = examples_of(name) if examples is None else examples
    return {result.id: result for result in attack.run(examples, victim_of(name))}


@pytest.fixture(scope="module")
def reference(name: str, models: Path) -> Results:
    results = by_id(name, recipe(name, models))
    # No empty laws: something was attacked, with more than one query, and something changed.
    assert sorted(results) == [example.id for example in examples_of(name)]
    assert sum(bool(result.edited) for result in results.values()) > 2
    assert max(result.charged for result in results.values()) > 2
    assert not any(result.skipped for result in results.values())
    return results


def test_some_words_are_never_changed(name, reference) -> None:
    for result in reference.values():
        sentence, labels = result.example.sentence, result.example.gold.labels
        assert not {sentence.xpos[position] for position in result.edited} & NEVER_ATTACKED
        if name.endswith("_character"):
            assert "punct" not in {labels[position] for position in result.edited}


def test_packing_and_shards_change_nothing(name, models, reference) -> None:
    one_by_one = recipe(name, models, live=1, batch_queries=1)
    found = by_id(name, one_by_one, examples_of(name)[::-5])  # every fifth one, the last first
    assert found == {each: reference[each] for each in found}
    assert len(found) == 2
    shard = share_of(examples_of(name), 1, 2)
    found = by_id(name, recipe(name, models, live=2, batch_queries=7), shard)
    assert found == {one.id: reference[one.id] for one in shard}
    assert len(found) == 3


def test_a_stopped_attack_continues_to_the_same_files(name, models, reference, tmp_path) -> None:
    def attack(stop: int = 0) -> None:
        calls: list[AttackSums] = []

        def on_sentence(tally: AttackSums) -> None:
            calls.append(tally)
            if len(calls) == stop:
                raise KeyboardInterrupt

        victim = victim_of(name)
        chosen, examples = recipe(name, models, live=3), examples_of(name)
        attack_into(tmp_path, DEPENDENCY, chosen, examples, victim, dict(RUN), on_sentence)

    with pytest.raises(KeyboardInterrupt):
        attack(stop=4)
    attack()
    task, whole = DEPENDENCY, [reference[example.id] for example in examples_of(name)]
    lines = (encode_record(example_record(task, result)) for result in whole)
    assert (tmp_path / "examples.jsonl").read_bytes() == b"".join(lines)
    texts = (task.files.write(result.example, words=result.words) for result in whole)
    assert (tmp_path / "adversarial.conllu").read_text() == "".join(texts)


def test_scores_are_those_of_the_final_text_parsed_once_more(name, models, reference) -> None:
    parser, punctuation = parser_of(name), recipe(name, models).punctuation
    for result in reference.values():
        sentence, gold = result.example.sentence, result.example.gold
        (tree,) = parser.predict([replace(sentence, words=result.words)])
        assert tree == result.attacked
        counted = counted_words(sentence, punctuation)
        right = (np.array(tree.heads) == np.array(gold.heads)) & counted
        assert result.counted == tuple(counted.tolist())
        assert right.sum() == example_record(DEPENDENCY, result)["attacked"]["correct_heads"]
        changed = [
            position
            for position, (one, other) in enumerate(zip(sentence.words, result.words, strict=True))
            if one != other
        ]
        assert changed == list(result.edited)


def test_a_seed_draws_what_no_other_one_does(name, models, reference) -> None:
    """Where it decides nothing, the next test takes another one."""
    if RECIPES[name]:
        other = recipe(name, models, seed=1, live=2)
        results = other.run(examples_of(name), victim_of(name))
        assert any(result != reference[result.id] for result in results)


def snapshot(parser: BiaffineParser) -> list[Any]:
    """All that an attack must leave as it was."""
    return [
        {key: module.training for key, module in parser.named_modules()},
        {key: value.clone() for key, value in parser.state_dict().items()},
        {key: (one.requires_grad, one.grad) for key, one in parser.named_parameters()},
        {key: one.grad.clone() for key, one in parser.named_parameters() if one.grad is not None},
        (torch.get_rng_state(), torch.is_grad_enabled(), torch.is_inference_mode_enabled()),
        (random.getstate(), repr(np.random.get_state())),
        (parser.dtype, parser.device, torch.get_default_dtype(), torch.get_num_threads()),
    ]


def equal(one: Any, other: Any) -> bool:
    if isinstance(one, torch.Tensor):
        return torch.equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(equal(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(equal, one, other))
    return bool(one == other)


def test_an_attack_depends_on_no_state_and_leaves_none(name, models, reference) -> None:
    random.seed(7)
    np.random.seed(7)
    torch.manual_seed(7)
    parser = parser_of(name).train()
    next(iter(parser.encoder.children())).eval()  # modes differ from module to module
    parser.arc_attn.weight.requires_grad_(False)
    loss = parser.loss(parser(some_batch(parser)), some_batch(parser))
    loss.sum().backward()
    before = snapshot(parser)
    run = recipe(name, models, live=3, seed=0 if RECIPES[name] else 1)
    some = examples_of(name)[1::3]
    results = {one.id: one for one in run.run(some, ModelVictim([parser]))}
    assert results == {one.id: reference[one.id] for one in some}
    assert equal(snapshot(parser), before)
    broken_off = recipe(name, models, live=3).run(examples_of(name), ModelVictim([parser]))
    next(broken_off)
    assert equal(snapshot(parser), before)  # between results, too
    broken_off.close()
    assert equal(snapshot(parser), before)


def some_batch(parser: BiaffineParser) -> Batch:
    return parser.encode(EXAMPLES).batch(range(3), 1.0)


def obeys(victim: ModelVictim, attack: Attack, result: AttackResult) -> bool:
    """Whether every constraint, each asked by itself, is true on the result.

    Constraints on words compare with the original sentence; those on sentences must admit a chain
    of changes, one word at a time, to the final text.
    """
    example = result.example
    for constraint in attack.constraints:
        attackable = constraint.attackable(example)
        for position in result.edited:
            slot = Slot(example.id, example.sentence, position)
            (accepted,) = constraint.accept([slot], [[result.words[position]]], victim)
            if not attackable[position] or not accepted[0]:
                return False
    filters = [one for one in attack.constraints if isinstance(one, SentenceConstraint)]

    def admitted(edit: Edit) -> bool:
        return all(one.admits([edit])[0] for one in filters)

    return has_admissible_chain(result, [admitted])


@pytest.mark.parametrize("synonyms", ["pso", "pwws"])
def test_recipes_of_synonyms_attack_texts_which_have_no_tags(synonyms, models) -> None:
    labelled = [
        replace(one, sentence=Sentence(one.sentence.words), gold="ny"[one.id % 2])
        for one in sentences(200, "train")
    ]
    known = Vocabulary.from_examples(labelled, min_count=1)
    encoder = WordEmbeddings(word_dim=12)
    model = WordCNN(encoder, filters=8, seed=3, vocabulary=known).double().eval()
    results = list(recipe(synonyms, models).run(labelled[:10], ModelVictim([model])))
    assert sum(bool(result.edited) for result in results) > 2


def test_every_filter_is_true_on_every_result(name, models, reference) -> None:
    victim, attack = victim_of(name), recipe(name, models)
    assert all(obeys(victim, attack, result) for result in reference.values())


def test_each_filter_does_something(name, models, reference) -> None:
    """The law above is no empty one: without the filter, results or query counts differ."""
    for index in range(len(recipe(name, models).constraints)):
        free = recipe(name, models, live=2)
        left_out = free.constraints.pop(index)
        results = free.run(examples_of(name), victim_of(name))
        assert any(result != reference[result.id] for result in results), left_out
