"""Models that must keep their own answers: the definition by hand, one by one, and misuse."""

from collections.abc import Collection, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from attack_fakes import HashVictim
from sentence_judges import has_admissible_chain

from robustparse.attacks.constraints.references import ReferenceParsers
from robustparse.attacks.constraints.sentence_constraint import Edit, SentenceConstraint
from robustparse.errors import InputError
from robustparse.models.base import Model
from robustparse.models.load import load
from robustparse.models.victim import ModelVictim
from robustparse.options.recipe_digests import recipe_digests
from robustparse.tasks.dependency import DEPENDENCY
from robustparse.types import DependencyTree, Example, Mask, Sentence
from sample_runs import lexicon_attack, save_checkpoint, sentences, trained_parser
from sample_texts import trained_classifier


class Table:
    """A reference that answers from a table of heads and labels by text."""

    def __init__(self, answers: dict[str, tuple[str, str]]) -> None:
        self.table, self.asked = answers, []

    def check(self, examples: Sequence[Example]) -> None:
        pass

    def answers(self, given: Sequence[Sentence]) -> list[DependencyTree]:
        self.asked += [" ".join(sentence.words) for sentence in given]
        found = [self.table[" ".join(sentence.words)] for sentence in given]
        return [
            DependencyTree(tuple(map(int, heads.split())), tuple(labels.split()))
            for heads, labels in found
        ]

    def agrees(self, before: Any, after: Any, apart: Collection[int]) -> bool:
        return not DEPENDENCY.answers.difference(before, after, apart)


class Referring(HashVictim):
    """Opens references from a table of them."""

    def __init__(self, references: dict[str, Table]) -> None:
        super().__init__()
        self.references = references

    def reference(self, checkpoint: str) -> Table:
        return self.references[checkpoint]

    def check_reference(self, reference: Any, others: Sequence[Any]) -> None:
        pass


OLD = ("0 1 2", "root obj obl")


@pytest.mark.parametrize(
    ("words", "new", "kept"),
    [
        ("a X c", OLD, True),
        ("a X c", ("0 3 2", "root amod obl"), True),  # the changed word's own arc
        ("a X c", ("0 1 1", "root obj obl"), False),  # another head of an unchanged word
        ("a X c", ("0 1 2", "root obj obj"), False),  # another label
        ("a X Y", ("0 3 1", "root x y"), True),  # two changed words, one of them before
        ("a X Y", ("2 0 1", "x root y"), False),
    ],
)
def test_unchanged_words_keep_head_and_label(words: str, new: tuple[str, str], kept: bool) -> None:
    reference = Table({"a b c": OLD, words: new})
    constraint = ReferenceParsers(["one"])
    constraint.prepare(Referring({"one": reference}))
    changed = tuple(words.split())
    at = 1 if changed[2] == "c" else 2  # the words before the last one may have been changed before
    edit = Edit(Sentence(("a", "b", "c")), ("a", *changed[1:at], *"bc"[at - 1 :]), at, changed[at])
    assert edit.changed == changed
    assert constraint.admits([edit]).tolist() == [kept]


def test_as_many_votes_as_asked_for_and_each_original_once() -> None:
    tables = {
        name: Table({"a b": ("0 1", "root x"), "X b": (heads, "root x"), "Y b": ("0 1", "root x")})
        for name, heads in (("one", "0 1"), ("two", "0 0"), ("three", "2 0"))
    }
    edits = [Edit(Sentence(("a", "b")), ("a", "b"), 0, word) for word in "XYX"]
    for agree, expected in ((1, [True] * 3), (2, [False, True, False]), (3, [False, True, False])):
        constraint = ReferenceParsers([*tables], agree=agree)
        constraint.prepare(Referring(tables))
        assert constraint.admits(edits).tolist() == expected
        assert constraint.admits(edits[:1]).tolist() == expected[:1]
    assert tables["two"].asked.count("a b") == 3  # once by each constraint


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Two parsers: one reads characters only, one is the victim with other weights."""
    folder = tmp_path_factory.mktemp("references")
    other = trained_parser()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in other.parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype)
            parameter.add_(0.05 * noise)
    parsers = {"characters": trained_parser(characters=True), "noisy": other}
    return [
        str(save_checkpoint(parser, folder / f"{name}.ckpt")) for name, parser in parsers.items()
    ]


@cache
def alone(model: Model, words: tuple[str, ...]) -> DependencyTree:
    return model.predict([words])[0]


def keeps(model: Model, edit: Edit) -> bool:
    """By definition, one text at a time."""
    before, after = (alone(model, words) for words in (edit.sentence.words, edit.changed))
    heads = zip(edit.sentence.words, edit.changed, before.heads, after.heads, strict=True)
    labels = zip(edit.sentence.words, edit.changed, before.labels, after.labels, strict=True)
    return all(old != new or one == other for old, new, one, other in [*heads, *labels])


@pytest.mark.parametrize("agree", [1, 2])
def test_outcomes_are_those_that_references_keep_one_by_one(
    checkpoints: list[str], agree: int
) -> None:
    models = list(map(load, checkpoints))

    def judge(edit: Edit) -> bool:
        return sum(keeps(model, edit) for model in models) >= agree

    examples, victim = sentences(10, "test"), ModelVictim([trained_parser()])

    def attacked(*more: ReferenceParsers, **packing: int) -> dict[int, Any]:
        attack = lexicon_attack({"gamma": 0.5}, **packing)
        attack.constraints += more
        return {result.id: result for result in attack.run(examples, victim)}

    constrained = attacked(ReferenceParsers(checkpoints, agree=agree))
    assert all(has_admissible_chain(result, [judge]) for result in constrained.values())
    free = attacked().values()
    assert not all(has_admissible_chain(result, [judge]) for result in free)
    assert any(result.edited for result in constrained.values())
    assert sum(one.success for one in constrained.values()) < sum(one.success for one in free)
    # Neither the company of a text nor of a sentence changes a verdict.
    assert attacked(ReferenceParsers(checkpoints, agree=agree), live=1) == constrained
    for result in constrained.values():
        by_tag = result.candidates.get("judged_by_tag", {}).values()
        for stage in ("judged", "ReferenceParsers"):
            whole = result.candidates["sums"]["all"][stage]
            assert sum(counts[stage] for counts in by_tag) == whole


class Nothing(SentenceConstraint):
    def admits(self, edits: Sequence[Edit]) -> Mask:
        return np.zeros(len(edits), dtype=np.bool_)


def test_nothing_is_judged_where_nothing_is_left(checkpoints: list[str]) -> None:
    attack = lexicon_attack({"gamma": 0.5})
    attack.constraints += (Nothing(), ReferenceParsers(checkpoints))
    results = list(attack.run(sentences(4, "test"), ModelVictim([trained_parser()])))
    assert not any(result.edited for result in results)
    assert any(result.candidates["sums"]["all"]["judged"] for result in results)


def test_references_check_the_first_sentences_too() -> None:
    class Unreadable(Table):
        def check(self, examples: Sequence[Example]) -> None:
            raise InputError("too long")

    attack = lexicon_attack()
    attack.constraints += (ReferenceParsers(["one"]),)
    with pytest.raises(InputError, match="too long"):
        list(attack.run(sentences(1), Referring({"one": Unreadable({})})))


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ({"checkpoints": []}, "reference parsers: agree"),
        ({"checkpoints": ["a"], "agree": 2}, "reference parsers: agree"),
        ({"checkpoints": ["a"], "agree": 0}, "reference parsers: agree"),
        ({"checkpoints": ["a", "b", "a"]}, "reference parsers: checkpoints"),
    ],
)
def test_settings_out_of_range(given: dict[str, Any], key: str) -> None:
    with pytest.raises(InputError) as error:
        ReferenceParsers(**given)
    assert error.value.key == key


def test_models_that_cannot_be_references(checkpoints: list[str], tmp_path: Path) -> None:
    relabelled = trained_parser(characters=True)
    lists = relabelled.vocabulary.to_lists()
    lists["labels"] = ["x", *lists["labels"][1:]]
    relabelled.vocabulary = type(relabelled.vocabulary).from_lists(lists)
    copy, labels, texts, lost = (
        str(tmp_path / name) for name in ("copy", "labels", "texts", "lost")
    )
    for model, path in (
        (load(checkpoints[1]), copy),
        (relabelled, labels),
        (trained_classifier(), texts),
    ):
        save_checkpoint(model, Path(path))
    # The victim is an ensemble, of which no member may be a reference.
    victim = ModelVictim([trained_parser(), load(checkpoints[1])])
    for path, expected in (
        (copy, "other models: of another seed, or another encoder"),
        (labels, "a model trained on the same labels"),
        (texts, "a model for the task dependency, which the victim answers"),
        (lost, None),
    ):
        constraint = ReferenceParsers([checkpoints[0], path])
        with pytest.raises(InputError) as error:
            constraint.prepare(victim)
        assert (error.value.path, error.value.expected) == (path, expected)
    # A copy of another reference has no vote of its own.
    with pytest.raises(InputError) as error:
        ReferenceParsers([checkpoints[1], copy]).prepare(ModelVictim([trained_parser()]))
    assert (error.value.path, checkpoints[1] in error.value.found) == (copy, True)
    with pytest.raises(InputError) as error:
        ReferenceParsers(["a"]).prepare(HashVictim())
    assert (error.value.key, error.value.remedy) == ("reference parsers", "attack a checkpoint")


def test_checkpoints_belong_to_the_run(checkpoints: list[str]) -> None:
    settings = {
        "class_path": "robustparse.attacks.ReferenceParsers",
        "init_args": {"checkpoints": checkpoints, "agree": 1},
    }
    assert set(recipe_digests(settings)) == set(checkpoints)
    assert np.all([len(digest) == 64 for digest in recipe_digests(settings).values()])
