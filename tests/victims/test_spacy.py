"""A spaCy pipeline, built and trained here for a few steps, attacked as it is."""

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import lazy_loader
import numpy as np
import pytest

import robustparse as rp
from robustparse.cli.main import main
from robustparse.data.read_options import FileUse
from robustparse.errors import InputError
from robustparse.evaluation.example_records import read_records
from robustparse.types import DependencyTree
from robustparse.victims import Spacy
from sample_runs import lexicon_attack, sentences, write_sample

spacy = lazy_loader.load("spacy")  # no other file needs it
pytestmark = pytest.mark.skipif(
    not find_spec("spacy"), reason="needs spaCy: pip install robustparse[spacy]"
)

RECIPE = """
candidates: {class_path: robustparse.attacks.TrainingWords, init_args: {sample: 4}}
search: {class_path: robustparse.attacks.Zheng2020}
"""
TOK2VEC = {
    "@architectures": "spacy.HashEmbedCNN.v2",
    **{"width": 16, "depth": 1, "embed_size": 200, "window_size": 1, "maxout_pieces": 2},
    **{"subword_features": False, "pretrained_vectors": None},
}
MODEL = {
    "@architectures": "spacy.TransitionBasedParser.v2",
    **{"state_type": "parser", "extra_state_tokens": False, "hidden_width": 16},
    **{"maxout_pieces": 2, "use_upper": True, "tok2vec": TOK2VEC},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A parser in a folder, trained on sample sentences."""
    spacy.util.fix_random_seed(0)
    pipeline = spacy.blank("en")
    pipeline.add_pipe("parser", config={"model": MODEL})
    gold = []
    for example in sentences(60):
        words, tree = list(example.sentence.words), example.gold
        heads = [head - 1 if head else at for at, head in enumerate(tree.heads)]
        labels = ["ROOT" if label == "root" else label for label in tree.labels]
        doc, parsed = (
            spacy.tokens.Doc(pipeline.vocab, words=words, **given)
            for given in ({}, {"heads": heads, "deps": labels})
        )
        gold.append(spacy.training.Example(doc, parsed))
    pipeline.initialize(lambda: gold)
    for _ in range(6):
        pipeline.update(gold, drop=0.0)
    path = tmp_path_factory.mktemp("spacy") / "tiny"
    pipeline.to_disk(path)
    return path


def test_its_trees_are_those_of_the_pipeline(folder: Path) -> None:
    """One sentence each, whatever stands in it; a word may hold a blank."""
    texts = [["The", "cats", "saw", "."], ["Yes"], ["Stop", ".", "in spite", "."]]
    pipeline, trees = spacy.load(folder), Spacy(str(folder)).answer(texts)
    for words, tree in zip(texts, trees, strict=True):
        starts = np.arange(len(words)) == 0
        doc = pipeline(spacy.tokens.Doc(pipeline.vocab, words=words, sent_starts=starts.tolist()))
        assert len(list(doc.sents)) == 1
        roots = [at for at, head in enumerate(tree.heads) if head == 0]
        assert roots == [token.i for token in doc if token.dep_ == "ROOT"]
        for token, head, label in zip(doc, tree.heads, tree.labels, strict=True):
            if head:
                assert (doc[head - 1], label) == (token.head, token.dep_)
            else:
                assert label == "root"


def test_relations_that_it_cannot_answer_are_named(folder: Path) -> None:
    victim = Spacy(str(folder))
    known = {*victim.answerable}  # frequent ones only: that is spaCy's rule
    assert {"root", "punct"} <= known
    example = next(each for each in sentences(60) if known.issuperset(each.gold.labels))
    tree = DependencyTree(example.gold.heads, ("vocative",) * len(example.gold.labels))
    other = replace(example, gold=tree)
    assert not [*victim.warnings([example], FileUse("a.conllu"))]
    (warning,) = victim.warnings([example, other], FileUse("a.conllu"))
    assert "vocative" in warning


def test_it_is_attacked_and_scored(folder: Path) -> None:
    examples = rp.sample(split="test")[:10]
    victim = Spacy(str(folder))
    results = rp.attack(victim, examples, lexicon_attack())
    assert results.successes
    assert isinstance(results[0].attacked, DependencyTree)
    assert rp.evaluate(victim, examples)["uas"] == pytest.approx(results.summary["clean"]["uas"])


def test_the_commands_take_it(folder: Path, tmp_path: Path) -> None:
    write_sample(tmp_path / "train.conllu", sentences(100))
    write_sample(tmp_path / "test.conllu", sentences(6, "test"))
    (tmp_path / "words.yaml").write_text(RECIPE)
    victim = ["--victim", "robustparse.victims.Spacy", "--victim.model", str(folder)]
    victim += ["--data", str(tmp_path / "test.conllu")]
    training = ["--victim.training", str(tmp_path / "train.conllu")]
    recipe = ["--attack", str(tmp_path / "words.yaml"), "--out", str(tmp_path / "out")]
    main(["attack", *recipe, *victim, *training])
    assert len(list(read_records(tmp_path / "out" / "examples.jsonl"))) == 6
    main(["evaluate", *victim])


def test_a_pipeline_that_cannot_parse_is_refused(tmp_path: Path) -> None:
    spacy.blank("en").to_disk(tmp_path / "blank")
    for model, found in ((tmp_path / "blank", "has no parser"), ("no_such_model", "cannot load")):
        with pytest.raises(InputError) as error:
            Spacy(str(model)).answer([["Yes"]])
        assert error.value.key == "victim: model"
        assert found in error.value.found
