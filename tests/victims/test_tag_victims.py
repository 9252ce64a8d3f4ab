"""Taggers of Hugging Face and spaCy, as they are."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from transformers import BertConfig, BertForTokenClassification, BertTokenizer

import robustparse as rp
from robustparse.attacks import Attack, Greedy, Lexicon, TagErrors
from robustparse.data.read_options import FileUse
from robustparse.data.tags.schemes import legal
from robustparse.errors import InputError
from robustparse.types import Example, Sentence, TagSequence
from robustparse.victims import FunctionVictim, HuggingFaceTagger, SpacyTagger
from tiny_models import NO_PIECE, PIECES

NAMES = ["O", "B-x", "I-x"]
TEXTS = [["the", "cats", "saw", NO_PIECE], ["dog"], ["cats", "sawing"]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random BERT with a tag for each piece; it reads 24 pieces at most."""
    path = tmp_path_factory.mktemp("tagger")
    config = BertConfig(
        **{"vocab_size": len(PIECES), "hidden_size": 16, "num_hidden_layers": 1},
        **{"num_attention_heads": 2, "intermediate_size": 32, "max_position_embeddings": 24},
        initializer_range=0.5,
        id2label=dict(enumerate(NAMES)),
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        BertForTokenClassification(config).save_pretrained(path)
    pieces = {piece: row for row, piece in enumerate(PIECES)}
    BertTokenizer(vocab=pieces, model_max_length=24).save_pretrained(path)
    return path


def test_the_tag_of_a_word_is_that_of_its_first_piece(folder: Path) -> None:
    victim = HuggingFaceTagger(str(folder))
    answers = victim.answer(TEXTS)
    network, tokenizer = BertForTokenClassification.from_pretrained(folder), victim._loaded
    for words, answer in zip(TEXTS, answers, strict=True):
        pieces = [tokenizer.tokenizer.tokenize(word) for word in words]
        flat = ["[CLS]", *(piece for each in pieces for piece in each), "[SEP]"]
        ids = torch.tensor([tokenizer.tokenizer.convert_tokens_to_ids(flat)])
        with torch.no_grad():
            best = network(ids).logits[0].argmax(-1).tolist()
        starts = [1 + sum(map(len, pieces[:at])) for at in range(len(words))]
        raw = [
            NAMES[best[start]] if piece else "O"
            for start, piece in zip(starts, pieces, strict=True)
        ]
        assert [tag.lstrip("BI") for tag in answer.tags] == [tag.lstrip("BI") for tag in raw]
        assert legal(answer.tags)
    with pytest.raises(InputError):
        victim.answer([["dog"] * 30])


def test_a_tagger_needs_no_padding_token(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "tagger")
    path = tmp_path / "tagger" / "tokenizer_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "pad_token": None}))
    victim = HuggingFaceTagger(str(tmp_path / "tagger"))
    assert victim.answer(TEXTS) == HuggingFaceTagger(str(folder)).answer(TEXTS)


def test_it_is_attacked_and_scored(folder: Path) -> None:
    victim = HuggingFaceTagger(str(folder))
    texts = [text for text in TEXTS if NO_PIECE not in text]
    golds = victim.answer(texts)
    examples = [
        Example(id_, Sentence((*words,)), TagSequence(gold.tags))
        for id_, (words, gold) in enumerate(zip(texts, golds, strict=True))
    ]
    assert rp.evaluate(victim, examples)["accuracy"] == 100.0
    words = Lexicon({"cats": ["dog", "saw"], "dog": ["cats"]})
    attack = Attack(words, Greedy(), goal=TagErrors(edit="all"))
    assert len(rp.attack(victim, examples, attack)) == len(examples)


def test_tags_that_it_cannot_answer_are_named(folder: Path) -> None:
    victim = HuggingFaceTagger(str(folder))
    known, unknown = (
        Example(row, Sentence(("dog", "cats")), TagSequence(tags, "greeting"))
        for row, tags in enumerate([("B-x", "I-x"), ("O", "B-y")])
    )
    assert not [*victim.warnings([known], FileUse("a.conll"))]
    (warning,) = victim.warnings([known, unknown], FileUse("a.conll"))
    assert "B-y" in warning


def test_answers_of_spans_may_be_bioes() -> None:
    golds = ["B-x I-x O", "B-x I-x I-x", "B-x B-y O"]
    answers = ["B-x E-x O", "B-x M-x L-x", "S-x U-y O"]
    examples = [
        Example(row, Sentence(("a", "b", str(row))), TagSequence(tuple(gold.split())))
        for row, gold in enumerate(golds)
    ]
    victim = FunctionVictim(
        lambda texts: [answers[int(text[-1])].split() for text in texts], "tags"
    )
    assert rp.evaluate(victim, examples)["strict_f1"] == 100.0


def test_entities_and_tags_of_spacy(tmp_path: Path) -> None:
    spacy = pytest.importorskip("spacy", reason="needs spaCy: pip install robustparse[spacy]")
    pipeline = spacy.blank("en")
    ruler = pipeline.add_pipe("entity_ruler", name="ner")
    ruler.add_patterns([{"label": "GPE", "pattern": "New York"}])
    rules = pipeline.add_pipe("attribute_ruler", name="tagger")
    rules.add([[{"LOWER": "in"}]], {"TAG": "IN", "POS": "ADP"})
    pipeline.to_disk(tmp_path / "p")
    text = [["in", "New", "York", "in spite"]]
    expected = {
        "ner": ("O", "B-GPE", "I-GPE", "O"),
        "tag": ("IN", "_", "_", "_"),
        "pos": ("ADP", "_", "_", "_"),
    }
    for kind, tags in expected.items():
        victim = SpacyTagger(str(tmp_path / "p"), answers=kind)  # type: ignore[arg-type]
        assert victim.answer(text) == [TagSequence(tags)]
    assert SpacyTagger(str(tmp_path / "p")).answerable == ["O", "B-GPE", "I-GPE"]
    assert victim.answerable is None  # rules name no universal tags
    morphologizer = (trained := spacy.blank("en")).add_pipe("morphologizer")
    for label in ("POS=NOUN|Number=Sing", "Number=Plur|POS=NOUN", "POS=VERB"):
        morphologizer.add_label(label)
    trained.initialize()
    trained.to_disk(tmp_path / "trained")
    victim = SpacyTagger(str(tmp_path / "trained"), answers="pos")
    assert {*victim.answerable} - {"_"} == {"NOUN", "VERB"}
    spacy.blank("en").to_disk(tmp_path / "blank")
    with pytest.raises(InputError) as error:
        SpacyTagger(str(tmp_path / "blank")).answer(text)
    assert error.value.key == "victim: model"


def test_a_function_answers_tags_in_tuples_and_has_no_label_of_a_text(
    caplog: pytest.LogCaptureFixture,
) -> None:
    victim = FunctionVictim(lambda texts: [("O", "B-x")] * len(texts), "tags")
    gold = TagSequence(("O", "B-x"), "greeting")
    examples = [Example(id_, Sentence(("a", "dog")), gold) for id_ in range(12)]
    assert rp.evaluate(victim, examples)["f1"] == 100.0
    assert not caplog.records
    attack = Attack(Lexicon({"a": ["one"]}), Greedy(), goal=TagErrors(metric="label"))
    with pytest.raises(InputError) as error:
        list(attack.run(examples, victim))
    assert error.value.key == "goal: metric"
