"""The problem that is set to TextAttack and us: texts, substitutes, stop words, the classifier."""

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from reviews import corpus

import textattack_problem
from robustparse.attacks.candidates.generator import CandidateGenerator, Slot
from robustparse.attacks.constraints.words import StopWords
from robustparse.errors import InputError
from robustparse.types import Example, Sentence
from textattack_network import read_network
from textattack_problem import kept_texts, read_texts, stop_words, substitutes, train
from textattack_victim import file_of, read_victim, untrained


class Table(CandidateGenerator):
    """Proposes what it is told to."""

    def __init__(self, table: dict[str, list[str]]) -> None:
        self.table = table

    def propose(self, slots: Sequence[Slot], seed: int) -> list[list[str]]:
        return [self.table.get(slot.word, []) for slot in slots]


def test_texts_have_the_same_words_to_both_sides(tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text('"It\'s" well-made -- a 2nd (try)! \t1\n\n... !\t0\nbad\t0\n')
    texts = read_texts(tmp_path / "t.tsv")
    assert [text.sentence.words for text in texts] == [
        ("it's", "well-made", "a", "2nd", "try"),
        ("bad",),
    ]
    assert [(text.id, text.gold) for text in texts] == [(0, "1"), (3, "0")]
    assert len(read_texts(tmp_path / "t.tsv", 1)) == 1
    textattack_problem.keep_texts(tmp_path / "kept.jsonl", texts)
    assert kept_texts(tmp_path / "kept.jsonl") == texts
    (tmp_path / "p.tsv").write_text("A dog .\tIt ran\tneutral\n...\tIt ran\tneutral\n")
    pairs = read_texts(tmp_path / "p.tsv")
    assert pairs == [Example(0, Sentence(("it", "ran"), context=("a", "dog")), "2")]
    textattack_problem.keep_texts(tmp_path / "kept.jsonl", pairs)
    assert kept_texts(tmp_path / "kept.jsonl") == pairs


@pytest.mark.parametrize("line", ["no label", "text\tpositive", "a\tb\tc\t1"])
def test_a_line_of_another_form_is_an_error(tmp_path: Path, line: str) -> None:
    (tmp_path / "t.tsv").write_text(f"fine\t1\n{line}\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"t\.tsv:2: found '"):
        read_texts(tmp_path / "t.tsv")


def test_substitutes_are_single_words_in_the_order_of_the_alphabet(tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text("a big big dog\t1\n", encoding="utf-8")
    proposed = {
        "big": ["Large", "great big", "big", "huge", "large", "e.g.", "bulky", "vast"],
        "dog": ["dog's-body's", "-"],
        "a": ["BIG", "a", "A"],
        "cat": ["lion"],
    }
    table = substitutes(read_texts(tmp_path / "t.tsv"), Table(proposed), most=3)
    assert table == {"a": ["big"], "big": ["bulky", "huge", "large"], "dog": ["dog's-body's"]}


def test_stop_words_of_the_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "stop.txt").write_text("the\nof\n", encoding="utf-8")
    (tmp_path / "t.tsv").write_text("the end the dog\t1\n", encoding="utf-8")
    monkeypatch.setattr(
        textattack_problem, "StopWords", lambda: StopWords(str(tmp_path / "stop.txt"))
    )
    assert stop_words(read_texts(tmp_path / "t.tsv")) == ["the"]


@pytest.mark.parametrize("arch", ["lstm", "bow", "infersent", "esim"])
def test_both_sides_read_the_same_network_from_a_file(tmp_path: Path, arch: str) -> None:
    words = [f"w{number}" for number in range(7)]
    saved = file_of(untrained(words, 3, 5, 4, seed=0, arch="lstm" if arch == "bow" else arch))
    if arch == "bow":
        weights = {"emb.weight": torch.randn(9, 5), "out.weight": torch.randn(3, 5)}
        saved |= {"arch": arch, "state_dict": weights | {"out.bias": torch.randn(3)}}
    torch.save(saved, tmp_path / "victim.pt")
    network, ids = read_network(tmp_path / "victim.pt", torch.float64)
    model = read_victim(tmp_path / "victim.pt", torch.float64)
    texts = [("w6", "w0", "never", "w3"), ("w1",), ("w2", "w5", "w5", "w4")]
    contexts = [("w5", "w1"), ("w6", "never", "w2"), ("w5", "w1")] if model.reads_pairs else ()
    for chosen in (slice(None), slice(None, None, 2)):
        some = list(zip(*filter(None, (contexts[chosen], texts[chosen])), strict=True))
        inputs = []
        for column in zip(*some, strict=True):
            rows = [torch.tensor([ids.get(word, 1) for word in text]) for text in column]
            padded = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
            inputs += [network.emb(padded), torch.tensor([len(row) for row in rows])]
        theirs = network(*inputs)
        examples = [
            Example(id_, Sentence(text, context=context[0] if context else ()), "2")
            for id_, (*context, text) in enumerate(some)
        ]
        ours = model(model.encode(examples).batch(range(len(some)), 1.0))
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)
    for name, weight in saved["state_dict"].items() if arch != "bow" else ():
        assert torch.equal(file_of(model.float())["state_dict"][name], weight)


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    torch.save({"arch": "lstm"}, tmp_path / "other.pt")
    for path in (tmp_path / "other.pt", tmp_path / "none.pt"):
        with pytest.raises(InputError) as caught:
            read_victim(path)
        assert caught.value.path == str(path)


def test_training_learns_and_repeats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(textattack_problem, "EPOCHS", 12)
    texts = read_texts(corpus(tmp_path) / "train.tsv")
    models = [train(texts, seed, 16) for seed in (0, 0, 1)]
    weights, again, others = (model.state_dict() for model in models)
    assert all(torch.equal(again[name], value) for name, value in weights.items())
    assert not torch.equal(weights["output.weight"], others["output.weight"])
    guesses = models[0].predict([text.sentence for text in texts])
    assert guesses == [text.gold for text in texts]
