"""``--tagger``: which words get which tags, and attacks on utterances that go by tags."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from nltk.tag.perceptron import PerceptronTagger

from robustparse.api import taggers
from robustparse.api.taggers import tagger_named, with_tags
from robustparse.attacks.constraints.tagging.perceptron import PerceptronTags
from robustparse.cli.main import main
from robustparse.data.sample.questions import sample_questions
from robustparse.data.utterances.forms import read_forms
from robustparse.data.vocab import Vocabulary
from robustparse.errors import InputError, UntaggedError
from robustparse.models import LSTMEncoder, Seq2Seq
from robustparse.options.recipe import Recipe
from robustparse.tasks.classification import CLASSIFICATION
from robustparse.tasks.semantic import semantic_task
from robustparse.trust import trust
from robustparse.types import Example, LogicalForm, Sentence
from sample_runs import save_checkpoint

LINES = """\
list jobs in san francisco ?\tlist job in locid0\tjob ( ANS )\t{"locid0": "san francisco"}
using sql and more\tuse sql and more\tjob ( ANS )\t{"languageid0": "sql"}
"""
"""The second utterance is not what its raw text would be read as."""


class Upper:
    """Tags each word by itself in upper case, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, ...]] = []

    def tagged(self, texts: Any) -> list[Sentence]:
        self.asked += texts
        return [Sentence(text, xpos=tuple(word.upper() for word in text)) for text in texts]


def test_utterances_get_the_tags_of_their_raw_text(tmp_path: Path) -> None:
    (tmp_path / "jobs.tsv").write_text(LINES)
    examples, tagger = read_forms(tmp_path / "jobs.tsv"), Upper()
    found = with_tags(examples, semantic_task(), tagger)
    assert [one.sentence.xpos for one in found] == [
        ("LIST", "JOBS", "IN", "FRANCISCO"),
        ("USE", "SQL", "AND", "MORE"),
    ]
    assert [one.sentence.words for one in found] == [one.sentence.words for one in examples]
    assert tagger.asked[0] == ("list", "jobs", "in", "san", "francisco", "?")


def test_own_tags_stay_and_a_tagger_may_give_two_sets() -> None:
    sentences = [Sentence(("a", "b"), upos=("X", "Y")), Sentence(("c",)), Sentence(("d",))]
    examples = [Example(3 * i, one, "label") for i, one in enumerate(sentences)]

    class Both(Upper):
        def tagged(self, texts: Any) -> list[Sentence]:
            return [Sentence(text, text, text) for text in texts]

    found = [one.sentence for one in with_tags(examples, CLASSIFICATION, Both())]
    assert found == [
        sentences[0],
        Sentence(("c",), ("c",), ("c",)),
        Sentence(("d",), ("d",), ("d",)),
    ]
    assert with_tags(examples[:1], CLASSIFICATION, Both()) == examples[:1]


def test_nltk_tags_as_nltk_does() -> None:
    rng = random.Random(0)
    words = [f"{stem}{end}" for stem in ("run", "Red", "3", "the") for end in ("", "s", "ing")]
    texts = [tuple(rng.choices(words, k=rng.randint(1, 9))) for _ in range(40)]
    learnt = [[(word, f"T{len(word) % 3}{at % 2}") for at, word in enumerate(t)] for t in texts]
    reference = PerceptronTagger(load=False)
    random.seed(0)  # NLTK shuffles with the global generator
    reference.train(learnt, nr_iter=2)
    own = PerceptronTags(reference.model.weights, reference.tagdict, list(reference.classes))
    expected = [tuple(tag for _, tag in reference.tag(list(text))) for text in texts]
    assert [one.xpos for one in own.tagged(texts)] == expected
    assert len({tag for tags in expected for tag in tags}) > 3


@pytest.mark.parametrize("name", ["perceptron", "nltk:en", "", "spacy_en"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(InputError) as error:
        tagger_named(name)
    assert error.value.key == "--tagger"


@pytest.mark.parametrize("name", ["beam", "genetic", "pso", "pwws", "textfooler"])
def test_recipes_without_a_goal_take_utterances_as_they_are(name: str) -> None:
    Recipe.read(name).attack().check(sample_questions(0).test[:5])


@pytest.mark.parametrize(
    "name",
    [
        "wang2021",
        "zheng2020_blackbox_released",
        "zheng2020_universal",
        "zheng2020_whitebox_released",
    ],
)
def test_a_tagger_makes_utterances_fit_the_others(name: str) -> None:
    trust(["commands"])  # wang2021 runs Java
    attack, examples = Recipe.read(name).attack(), sample_questions(0).test[:5]
    with pytest.raises(UntaggedError):
        attack.check(examples)

    class Nouns(Upper):
        def tagged(self, texts: Any) -> list[Sentence]:
            return [Sentence(t, ("NOUN",) * len(t), ("NN",) * len(t)) for t in texts]

    attack.check(with_tags(examples, semantic_task(), Nouns()))


def answering(examples: list[Example]) -> Seq2Seq:
    """A parser that has learnt the one form of some examples, so that attacks have a beginning."""
    vocabulary = Vocabulary.from_examples(examples, 1)
    encoder = LSTMEncoder(4, 0, 4, 6, 1)
    parser = Seq2Seq(encoder, hidden=6, beam=1, longest=6, vocabulary=vocabulary)
    batch = parser.encode(examples).batch(range(len(examples)), 1.0)
    optimizer = torch.optim.Adam(parser.parameters(), 0.1)
    for _ in range(20):
        optimizer.zero_grad()
        parser.loss(parser(batch), batch).mean().backward()
        optimizer.step()
    assert parser.eval().predict([one.sentence for one in examples]) == [examples[0].gold] * 4
    return parser


def test_an_attack_by_tags_on_utterances(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only nouns are changed, and the folder's run is one with this tagger."""
    form = LogicalForm("( a )", "lambda")
    texts = ("show the flights", "where is boston", "list cheap flights", "which river is long")
    examples = [Example(i, Sentence(tuple(text.split())), form) for i, text in enumerate(texts)]
    parser = answering(examples)
    data = tmp_path / "test.tsv"
    data.write_text("".join(f"{text}\t{form}\n" for text in texts))
    save_checkpoint(parser, tmp_path / "tiny.ckpt")
    nouns = {word for one in examples for word in one.sentence.words if len(word) > 4}
    recipe = {
        "candidates": {
            "class_path": "robustparse.attacks.VocabularyWords",
            "init_args": {"sample": 3},
        },
        "constraints": [
            {"class_path": "robustparse.attacks.AttackableTags", "init_args": {"tags": ["NN"]}}
        ],
        "search": {"class_path": "robustparse.attacks.RandomSubstitution"},
    }
    (tmp_path / "nouns.yaml").write_text(yaml.safe_dump(recipe))

    class Long(Upper):
        def tagged(self, texts: Any) -> list[Sentence]:
            tags = (tuple("NN" if word in nouns else "IN" for word in text) for text in texts)
            return [Sentence(text, xpos=own) for text, own in zip(texts, tags, strict=True)]

    monkeypatch.setattr(taggers.PerceptronTags, "load", Long)
    command = ["attack", "--attack", str(tmp_path / "nouns.yaml"), "--data", str(data)]
    command += ["--checkpoint", str(tmp_path / "tiny.ckpt"), "--device", "cpu"]
    with pytest.raises(SystemExit) as end:
        main([*command, "--out", str(tmp_path / "bare")])
    assert end.value.code == 2
    assert "give attack or augment --tagger" in capsys.readouterr().err
    main([*command, "--out", str(tmp_path / "out"), "--tagger", "nltk"])
    lines = (tmp_path / "out" / "examples.jsonl").read_text().splitlines()
    changed = [line["tokens"][at] for line in map(json.loads, lines) for at in line["edited"]]
    assert changed
    assert set(changed) <= nouns
    assert json.loads((tmp_path / "out" / "run.json").read_text())["tagger"] == "nltk"
