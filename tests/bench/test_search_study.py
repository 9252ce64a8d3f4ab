"""The comparison of searches: laws of cost, tables worked out by hand, one run end to end."""

import json
from pathlib import Path

import numpy as np
import pytest
import yaml

import search_study
import study
from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.data.sample.reviews import review_lexicon
from robustparse.types import Example, Label, Sentence
from robustparse.victims import FunctionVictim
from sample_runs import save_checkpoint
from sample_texts import texts, trained_classifier, write_texts
from search_study import SEARCHES
from search_tables import Searched, exponent, lengths, qualities, successes

BLACK_BOX = [name for name in SEARCHES if name not in ("wir_gradient", "genetic", "pso")]


@pytest.mark.parametrize("name", BLACK_BOX)
def test_queries_grow_with_length_as_the_paper_says(name: str) -> None:
    """O(W^2) for beams, O(W) by importance (their Table 2), where nothing is ever reached."""
    victim = FunctionVictim(
        lambda texts: [("pos", [0.1, 0.9])] * len(texts), "classification", labels=["neg", "pos"]
    )
    words = [f"w{number}" for number in range(24)]
    lexicon = Lexicon({word: [f"{word}{letter}" for letter in "abcd"] for word in words})
    sizes = [6, 10, 16, 24]
    examples = [
        Example(number, Sentence(tuple(words[:size])), Label("pos"))
        for number, size in enumerate(sizes)
    ]
    results = {one.id: one for one in Attack(lexicon, SEARCHES[name]).run(examples, victim)}
    assert not any(result.success for result in results.values())
    found = exponent(sizes, [results[number].charged for number in range(len(sizes))])
    expected = 2 if name == "greedy" or name.startswith("beam") else 1
    assert found is not None
    assert found.estimate == pytest.approx(expected, abs=0.15)
    assert found.lower <= found.estimate <= found.upper


def test_exponents_are_slopes_between_logarithms() -> None:
    words = np.arange(5, 60)
    for power in (0.5, 1.0, 2.0):
        found = exponent(words, 7 * words**power)
        assert found is not None
        assert (found.estimate, found.lower, found.upper) == pytest.approx((power,) * 3)
    noisy = exponent(words, words * np.where(words % 2, 1.5, 0.5))
    assert noisy is not None
    assert noisy.lower < noisy.estimate < noisy.upper
    assert exponent([5, 5], [9, 8]) is None
    assert exponent([], []) is None


def one(id_: int, words: int, changed: int, queries: int, success: bool) -> Searched:
    before = tuple("abcdefghijklmnopqrstuvwxyz"[:words])
    after = ("x",) * changed + before[changed:]
    return Searched(id_, before, after, success, queries)


RUNS = {
    "greedy": [one(0, 10, 1, 20, True), one(1, 12, 1, 30, True), one(2, 24, 3, 101, False)],
    "UNK": [one(0, 10, 4, 25, True), one(1, 12, 1, 13, False), one(2, 24, 6, 26, False)],
}


def cells(table: str) -> list[list[str]]:
    return [row.strip("| ").split(" | ") for row in table.splitlines()[2:]]


def test_tables_by_hand() -> None:
    assert cells(successes(RUNS)) == [
        ["greedy", "3", "66.7", "50.3", "25.0", "101.0", "0.0", "33.3", *["66.7"] * 4],
        ["UNK", "3", "33.3", "21.3", "25.0", "19.5", "0.0", *["33.3"] * 5],
    ]
    greedy, unknown = cells(lengths(RUNS))
    assert greedy == ["greedy", "1", "-", "-", "101", "-", "-", "-"]
    assert unknown[:6] == ["UNK", "2", "-", "13", "26", "-"]
    assert unknown[6] == unknown[7]
    assert unknown[7].startswith("1.00 [")
    (short,) = cells(lengths({"UNK": [*RUNS["UNK"], one(3, 4, 1, 999, False)]}))
    assert (short[1:3], short[7]) == (["3", "999"], unknown[7])  # too short for the second exponent
    assert short[6].startswith("-")
    # Only the first text is beaten by both.
    known = {"greedy": {"texts": 1, "similarity": 0.9126, "perplexity": 20.04}}
    assert cells(qualities(RUNS, known)) == [
        ["greedy", "1", "10.0", "0.913", "20.0"],
        ["UNK", "1", "40.0", "-", "-"],
    ]
    stale = {"greedy": {**known["greedy"], "texts": 2}}
    assert cells(qualities(RUNS, stale))[0] == ["greedy", "1", "10.0", "-", "-"]


def test_a_study_from_its_recipe_to_its_tables(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "synonyms.json"
    table.write_text(json.dumps(review_lexicon(0)))
    space = {
        "candidates": {
            "class_path": "robustparse.attacks.Lexicon",
            "init_args": {"table": str(table)},
        },
        "search": {"class_path": "robustparse.attacks.Greedy"},
        "seed": 3,
    }
    (tmp_path / "space.yaml").write_text(yaml.safe_dump(space))
    data = write_texts(tmp_path / "texts.tsv", texts(30, "test"))
    checkpoint = save_checkpoint(trained_classifier(), tmp_path / "cnn.ckpt")
    names = ["greedy", "beam4", "wir_unk", "wir_gradient", "wir_random"]
    arguments = ["--space", str(tmp_path / "space.yaml"), "--checkpoint", str(checkpoint)]
    arguments += ["--data", str(data), "--texts", "20", "--home", str(tmp_path / "home")]
    search_study.main([*arguments, "--searches", *names[:4]])
    first = (tmp_path / "home" / "beam4" / "examples.jsonl").read_bytes()
    assert len(first.splitlines()) == 20
    capsys.readouterr()
    # What is done stays; the study continues with a search that is not.
    search_study.main([*arguments, "--searches", *names])
    printed = capsys.readouterr().out
    assert (tmp_path / "home" / "beam4" / "examples.jsonl").read_bytes() == first
    shown, *_ = printed[printed.index("| search") :].split("\n\n")
    rates = {name: float(rate) for name, _, rate, *_ in cells(shown)}
    assert list(rates) == names
    assert rates["beam4"] >= rates["greedy"] >= rates["wir_random"]
    assert 0 < rates["wir_random"] < 100
    monkeypatch.setattr("sys.argv", ["study.py", "--study", "yoo2020", *arguments[-2:], "--table"])
    study.main()
    assert capsys.readouterr().out.strip() == printed[printed.index("| search") :].strip()


def test_what_is_missing_is_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with pytest.raises(SystemExit):
        search_study.main(["--home", str(tmp_path), "--data", "texts.tsv"])
    assert "--study yoo2020 needs --space, --checkpoint too" in capsys.readouterr().err
