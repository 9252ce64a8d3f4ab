"""The problem that is set to TextAttack and us: texts, substitutes, stop words, the classifier."""

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from reviews import corpus
from torch import nn

import textattack_problem
from classifier_network import Classifier
from robustparse.attacks.candidates.generator import CandidateGenerator, Slot
from robustparse.attacks.constraints.words import StopWords
from robustparse.errors import InputError
from textattack_problem import kept_texts, read_texts, stop_words, substitutes, train


class Table(CandidateGenerator):
    """Proposes what it is told to."""

    def __init__(self, table: dict[str, list[str]]) -> None:
        self.table = table

    def propose(self, slots: Sequence[Slot], seed: int) -> list[list[str]]:
        return [self.table.get(slot.word, []) for slot in slots]


def test_texts_have_the_same_words_to_both_sides(tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text('"It\'s" well-made -- a 2nd\t(try)! \t1\n\n... !\t0\nbad\t0\n')
    texts = read_texts(tmp_path / "t.tsv")
    assert [text.sentence.words for text in texts] == [
        ("it's", "well-made", "a", "2nd", "try"),
        ("bad",),
    ]
    assert [(text.id, text.gold) for text in texts] == [(0, "1"), (3, "0")]
    assert len(read_texts(tmp_path / "t.tsv", 1)) == 1
    textattack_problem.keep_texts(tmp_path / "kept.jsonl", texts)
    assert kept_texts(tmp_path / "kept.jsonl") == texts


@pytest.mark.parametrize("line", ["no label", "text\tpositive"])
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


def test_two_passes_are_one_packed_bidirectional_lstm() -> None:
    rng = torch.Generator().manual_seed(0)
    weights = textattack_problem._initial(9, 3, 7, rng)
    network = Classifier(weights, "lstm").double()
    names = network.weights()
    assert set(names) == set(weights)
    assert all(torch.equal(names[name].float(), weights[name]) for name in weights)
    reference = nn.LSTM(7, 7, batch_first=True, bidirectional=True).double()
    reference.load_state_dict({n[4:]: names[n] for n in names if n.startswith("rnn.")})
    ids = torch.tensor([[3, 4, 5, 6], [7, 8, 0, 0], [2, 0, 0, 0]])
    lengths = torch.tensor([4, 2, 1])
    packed = nn.utils.rnn.pack_padded_sequence(network.emb(ids), lengths, batch_first=True)
    states, _ = nn.utils.rnn.pad_packed_sequence(
        reference(packed)[0], batch_first=True, padding_value=float("-inf")
    )
    expected = network.out(states.amax(1))
    torch.testing.assert_close(network(network.emb(ids), lengths), expected)


def test_training_learns_and_repeats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(textattack_problem, "EPOCHS", 12)
    texts = read_texts(corpus(tmp_path) / "train.tsv")
    (network, vocabulary), (again, _) = train(texts, 0, 16), train(texts, 0, 16)
    weights, others = network.weights(), train(texts, 1, 16)[0].weights()
    assert all(torch.equal(weights[name], value) for name, value in again.weights().items())
    assert not torch.equal(weights["out.weight"], others["out.weight"])
    ids = torch.tensor([[vocabulary[word] for word in text.sentence.words] for text in texts])
    guesses = network(network.emb(ids), torch.full((len(texts),), ids.shape[1])).argmax(-1)
    assert guesses.tolist() == [int(text.gold) for text in texts]
