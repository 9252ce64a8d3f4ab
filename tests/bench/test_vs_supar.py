"""The bench against SuPar: its LAS, its copies, the batches that are timed, what is compared."""

from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robustparse.data.conllu import block_of, read_treebank, write_treebank
from robustparse.types import DependencyTree, Sentence
from supar_files import las, penn_copies
from supar_own import FewBatches, chosen
from vs_supar import Figures, accuracy

GOLD = [
    (Sentence(("the", "cat", "saw"), xpos=("DT", "NN", "VB")), (2, 3, 0), ("det", "nsubj", "root")),
    (Sentence(("yes",), xpos=("UH",)), (0,), ("root",)),
]


def written(path: Path, trees: list[DependencyTree]) -> Path:
    sentences = [sentence for sentence, _, _ in GOLD]
    write_treebank(path, map(block_of, sentences, trees))
    return path


def test_las_counts_every_word_with_the_right_head_and_label(tmp_path: Path) -> None:
    gold = [DependencyTree(heads, labels) for _, heads, labels in GOLD]
    truth = written(tmp_path / "gold.conllu", gold)
    assert las(truth, truth) == 100.0
    # Of four words one has another head, one another label.
    guess = [DependencyTree((3, 3, 0), ("det", "obj", "root")), gold[1]]
    assert las(written(tmp_path / "guess.conllu", guess), truth) == 50.0
    text = truth.read_text()
    for other in (text.split("\n\n")[0], text * 2):  # not the same sentences
        (tmp_path / "other.conllu").write_text(other)
        with pytest.raises(ValueError, match=r"zip\(\)"):
            las(tmp_path / "other.conllu", truth)


def test_ranges_and_empty_nodes_are_no_words_to_las(tmp_path: Path) -> None:
    gold = [DependencyTree(heads, labels) for _, heads, labels in GOLD]
    truth = written(tmp_path / "gold.conllu", gold)
    text = truth.read_text().replace("2\tcat", "2-3\tcatsaw" + "\t_" * 8 + "\n2\tcat", 1)
    odd = tmp_path / "odd.conllu"
    odd.write_text("# a comment\n" + text.replace("\n\n", "\n3.1\tit" + "\t_" * 8 + "\n\n", 1))
    assert las(odd, truth) == las(truth, odd) == 100.0


def test_copies_hold_the_penn_tags_in_both_columns(tmp_path: Path) -> None:
    folder, target = tmp_path / "folder", tmp_path / "target"
    folder.mkdir()
    rows = ["# text = the cat", "1-2\tthecat" + "\t_" * 8]
    rows += [
        "1\tthe\tthe\tDET\tDT\tx=y\t2\tdet\t2:det\t_",
        "2\tcat\tcat\tNOUN\tNN\t_\t0\troot\t_\t_",
    ]
    for split in ("train", "dev", "test"):
        (folder / f"en-{split}.conllu").write_text("\n".join([*rows, "", ""]))
    copies = penn_copies(folder, target)
    assert {path.name for path in copies.values()} == {f"{split}.conllu" for split in copies}
    assert set(copies) == {"train", "dev", "test"}
    for path in copies.values():
        expected = [row.replace("DET", "DT").replace("NOUN", "NN") for row in rows]
        assert path.read_text().split("\n") == [*expected, "", ""]
        (example,) = read_treebank(path)
        assert example.sentence.upos == example.sentence.xpos == ("DT", "NN")


def test_where_there_is_no_penn_tag_the_universal_one_stands_in_both_columns(
    tmp_path: Path,
) -> None:
    rows = ["1\tდა\t_\tCCONJ\t_\t_\t2\tcc\t_\t_", "2\tკატა\t_\tNOUN\tNN\t_\t0\troot\t_\t_"]
    for split in ("train", "dev", "test"):
        (tmp_path / f"ka-{split}.conllu").write_text("\n".join([*rows, "", ""]))
    for path in penn_copies(tmp_path, tmp_path / "copies").values():
        (example,) = read_treebank(path)
        assert example.sentence.upos == example.sentence.xpos == ("CCONJ", "NN")


@pytest.mark.parametrize(
    ("number", "expected"),
    [(0, []), (1, [4]), (2, [2, 6]), (3, [1, 4, 6]), (4, [1, 3, 5, 7]), (8, list(range(8)))],
)
def test_the_batches_chosen_are_spread_evenly(number: int, expected: list[int]) -> None:
    plan = [np.array([index]) for index in range(8)]
    assert [int(batch[0]) for batch in chosen(plan, number)] == expected


def test_no_more_batches_than_there_are_would_repeat_some() -> None:
    plan = [np.array([index]) for index in range(2)]
    assert [int(batch[0]) for batch in chosen(plan, 4)] == [0, 0, 1, 1]
    assert len(FewBatches(None, plan)) == 2  # type: ignore[arg-type]


class MadeUp:
    """Trains nothing; parses as is right, but for one label of the first word."""

    def __init__(self, name: str, speed: float, wrong: bool) -> None:
        self.name, self.speed, self.wrong = name, speed, wrong
        self.asked: list[tuple[str, Any]] = []

    def __call__(self, action: str, **options: Any) -> Figures:
        self.asked.append((action, options.get("precision")))
        if action == "fit":
            return {"seconds": 10.0 + options["seed"], "steps": 4}
        for gold, parses in zip(options["data"], options["out"], strict=True):
            text = gold.read_text()
            parses.write_text(text.replace("\tdet", "\tdep") if self.wrong else text)
        speed = self.speed * (2 if options.get("precision") == "bf16-mixed" else 1)
        return {"sentences_per_second": speed, "sentences_per_second_without_files": 3 * speed}


def test_parses_are_compared_by_what_both_wrote(tmp_path: Path) -> None:
    """Four words, of which the peer has one wrong; ours is 5 times as fast, twice that in bf16."""
    gold = [DependencyTree(heads, labels) for _, heads, labels in GOLD]
    files = {split: written(tmp_path / split, gold) for split in ("train", "dev", "test")}
    own, peer = MadeUp("robustparse", 500.0, False), MadeUp("supar", 100.0, True)
    options = Namespace(seeds=2, batch_words=9, epochs=1, las_precision="bf16-mixed")
    for _ in range(2):  # the second time models are where they were
        found = accuracy((own, peer), files, tmp_path, tmp_path / "parses", options)  # type: ignore[arg-type]
        assert (found["parse_ratio"], found["parse_ratio_without_files"]) == (5.0, 5.0)
        assert found["parse_ratio_bf16"] == 10.0
        assert found["dev_las_difference"] == 25.0
        assert found["by_seed"]["supar"]["dev_las"] == [75.0, 75.0]
        assert found["by_seed"]["robustparse"]["fit_seconds"] == [10.0, 11.0]
    parses = [("parse", "32-true"), ("parse", "bf16-mixed")]
    assert own.asked == 2 * [("fit", "bf16-mixed"), *parses] + 2 * parses
    assert peer.asked == 2 * [("fit", None), ("parse", None)] + 2 * [("parse", None)]
