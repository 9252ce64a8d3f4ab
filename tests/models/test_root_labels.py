"""Head 0 and its labels go together in parses wherever they do in the training data."""

from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
import torch

from robustparse.data.vocab import Vocabulary
from robustparse.models.dependency.biaffine import BiaffineParser
from robustparse.models.dependency.parser import DependencyParser
from robustparse.models.dependency.stack_pointer import StackPointerParser
from robustparse.models.dependency.tree_decoding import Decoder
from robustparse.models.encoders.bilstm import LSTMEncoder
from robustparse.models.load import load
from robustparse.models.victim import ModelVictim
from robustparse.types import DependencyTree, Example, Sentence, TextRows
from sample_runs import save_checkpoint

WORDS = ("the", "cats", "saw", "a", "zebra")
SENTENCES = [list(WORDS[first : first + length]) for first, length in product((0, 2), (1, 2, 5))]
# Labels of a chain from ROOT: the first word hangs from ROOT, each other one from the word before.
LABELS = {
    "ud": (["root", "det", "obj"], ["root", "punct"]),
    "several": (["ROOT", "det", "obj"], ["HED", "punct"]),
    "root elsewhere": (["root", "det", "root"], ["root", "punct"]),
    "another label at head 0": (["root", "det", "obj"], ["obj", "punct"]),
    "no other word": (["root"], ["root"]),
}


def vocabulary(name: str) -> Vocabulary:
    trees = [DependencyTree(tuple(range(len(row))), tuple(row)) for row in LABELS[name]]
    return Vocabulary.from_examples(
        Example(id_, Sentence(WORDS[: len(tree.heads)]), tree) for id_, tree in enumerate(trees)
    )


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ud", ("root",)),
        ("several", ("HED", "ROOT")),
        ("root elsewhere", ()),
        ("another label at head 0", ()),
        ("no other word", ()),
    ],
)
def test_the_labels_of_roots_are_learnt_where_no_other_word_has_them(name, expected):
    known = vocabulary(name)
    assert known.root_labels == expected
    assert Vocabulary.from_lists(known.to_lists()) == known


WAYS = [*(f"{decoder} {by}" for decoder in Decoder.__args__ for by in ("arcs", "labels"))]
WAYS += ["beam 1", "beam 3"]


def make(way: str, known: Vocabulary, seed: int) -> DependencyParser:
    """A random parser that decodes in this way."""
    name, by = way.split()
    encoder, sizes = LSTMEncoder(5, 3, 4, 6, 1), {"arc_dim": 5, "label_dim": 4, "vocabulary": known}
    parser: DependencyParser
    if name == "beam":
        parser = StackPointerParser(encoder, 8, beam=int(by), **sizes)
    else:
        parser = BiaffineParser(encoder, decoder=name, labelled=by == "labels", **sizes)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in parser.double().eval().parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype)
            parameter.add_(0.7 * noise)
    return parser


def answers(*members: DependencyParser, together: bool = True) -> list[DependencyTree]:
    """Parses of all sentences in one batch, or of each by itself."""
    victim = ModelVictim(members)
    found = []
    for sentences in [SENTENCES] if together else [[one] for one in SENTENCES]:
        lengths = torch.tensor([len(one) for one in sentences]).numpy().astype("int32")
        rows = [victim.intern([*one, *["the"] * (max(lengths) - len(one))]) for one in sentences]
        words = torch.tensor([row.tolist() for row in rows]).numpy().astype("int32")
        with victim.evaluating():
            found += victim.answers(
                victim.predict(TextRows(words, 0 * words, lengths)), lengths.tolist()
            )
    return found


def contradictions(trees: list[DependencyTree], labels: tuple[str, ...]) -> int:
    arcs = [arc for tree in trees for arc in zip(tree.heads, tree.labels, strict=True)]
    return sum((head == 0) != (label in labels) for head, label in arcs)


@pytest.mark.parametrize("way", WAYS)
def test_parses_keep_to_what_the_training_data_do(way):
    free_contradictions = 0
    for seed, name in enumerate(("ud", "several")):
        known = vocabulary(name)
        parser, other = (make(way, known, each) for each in (seed, seed + 7))
        for members in ([parser], [parser, other]):
            trees = answers(*members)
            assert contradictions(trees, known.root_labels) == 0
            assert answers(*members, together=False) == trees
        parser.vocabulary = replace(known, root_labels=())
        free = answers(parser)
        free_contradictions += contradictions(free, known.root_labels)
        if "labels" not in way and way != "beam 3":  # labels do not enter the choice of heads
            trees = answers(make(way, known, seed))
            assert [tree.heads for tree in free] == [tree.heads for tree in trees]
            pairs = [
                (head, before, after)
                for old, new in zip(free, trees, strict=True)
                for head, before, after in zip(old.heads, old.labels, new.labels, strict=True)
            ]
            for head, before, after in pairs:
                possible = (head == 0) == (before in known.root_labels)
                assert after == before or not possible
    assert free_contradictions > 2


def test_treebanks_of_other_customs_are_not_constrained():
    for name in ("root elsewhere", "another label at head 0"):
        found = 0
        for way in WAYS:
            found += contradictions(answers(make(way, vocabulary(name), 0)), ("root",))
        assert found > 5


def test_a_checkpoint_keeps_the_labels(tmp_path: Path):
    parser = make("repair arcs", vocabulary("ud"), 0)
    assert load(save_checkpoint(parser, tmp_path / "new")).vocabulary.root_labels == ("root",)
