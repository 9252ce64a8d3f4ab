"""Blind pairs out and answers in: nothing tells the sides but the key, and no answer gets lost."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from robustparse.errors import InputError
from robustparse.evaluation.judgement import judge
from robustparse.evaluation.pairs import Pair
from robustparse.evaluation.questionnaire import COLUMNS, export, read_key

AWKWARD = ('say "hi",', "a\u2028b", "x;y", "=1+1", "Zürich", "line\nbreak")
PAIRS = [
    Pair(3, ("the", "old", "dog"), ("the", "new", "dog"), True),
    Pair(5, (*AWKWARD, "end"), (*AWKWARD, "start"), True),
    *(Pair(id_, ("word", str(id_)), ("other", str(id_)), True) for id_ in range(10, 40)),
]
BY_ID = {pair.id: pair for pair in PAIRS}

Answers = Callable[[int, str], tuple[str, str]]


def rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"), newline="")))


def exported(folder: Path, annotators: int = 2, seed: int = 0, limit: int | None = None):
    key = folder / "key.json"
    return key, export(PAIRS, folder / "pairs.csv", key, annotators, seed, limit)


def answer(path: Path, answers: Answers, delimiter: str = ",") -> None:
    """Fill a file in, knowing each row's sentence and the side of its original."""
    filled = []
    for row in rows(path):
        (pair,) = [
            one for one in PAIRS if {row["A"], row["B"]} == {text(one.before), text(one.after)}
        ]
        side = "A" if row["A"] == text(pair.before) else "B"
        fluent, structure = answers(pair.id, side)
        filled.append({**row, "more_fluent": fluent, "same_structure": structure})
    write(path, filled, delimiter)


def write(path: Path, filled: list[dict[str, str]], delimiter: str = ",") -> None:
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, COLUMNS, delimiter=delimiter)  # ends lines with \r\n
    writer.writeheader()
    writer.writerows(filled)
    path.write_bytes(out.getvalue().encode())


def text(words: tuple[str, ...]) -> str:
    return " ".join(words)


def test_every_annotator_gets_every_pair_once(tmp_path):
    key, files = exported(tmp_path, annotators=3)
    assert [path.name for path in files] == ["pairs_1.csv", "pairs_2.csv", "pairs_3.csv"]
    items, orders, sides = read_key(key), [], []
    for annotator, path in enumerate(files, start=1):
        found = rows(path)
        assert tuple(found[0]) == COLUMNS
        assert len({row["item"] for row in found}) == len(found) == len(PAIRS)
        for row in found:
            item = items[row["item"]]
            pair = BY_ID[item.id]
            assert item.annotator == annotator
            both = {"A": row["A"], "B": row["B"]}
            other = "B" if item.original == "A" else "A"
            assert (both[item.original], both[other]) == (text(pair.before), text(pair.after))
            assert row["more_fluent"] == row["same_structure"] == ""
        orders.append([items[row["item"]].id for row in found])
        sides.append({items[row["item"]].id: items[row["item"]].original for row in found})
    assert len({tuple(order) for order in orders}) == 3
    assert orders[0] != sorted(orders[0])
    assert sides[0] != sides[1]
    for one in sides:
        assert 8 <= list(one.values()).count("A") <= 24  # of 32: neither side is favoured


def test_nothing_but_the_key_tells_the_sides(tmp_path):
    _, files = exported(tmp_path)
    told = files[0].read_text()
    assert "original" not in told
    assert "adversarial" not in told
    assert len(told.splitlines()[0].split(",")) == len(COLUMNS)


def test_the_largest_seed(tmp_path):
    made = []
    for seed in ((1 << 64) - 1, (1 << 64) - 2):
        key, files = exported(tmp_path, seed=seed)
        assert json.loads(key.read_text())["seed"] == seed
        made.append([row["A"] for row in rows(files[0])])
    assert made[0] != made[1]


def test_the_seed_decides_all(tmp_path):
    made = {}
    for name, seed in (("one", 4), ("again", 4), ("other", 5)):
        (tmp_path / name).mkdir()
        key, files = exported(tmp_path / name, seed=seed, limit=6)
        made[name] = [path.read_bytes() for path in (key, *files)]
        assert len(read_key(key)) == 12
    assert made["one"] == made["again"]
    assert made["one"][1] != made["other"][1]
    ids = [
        {item.id for item in read_key(tmp_path / name / "key.json").values()}
        for name in ("one", "other")
    ]
    assert ids[0] != ids[1]


def test_one_annotator_gets_the_named_file(tmp_path):
    _, files = exported(tmp_path, annotators=1)
    assert files == [tmp_path / "pairs.csv"]


def test_what_cannot_be_exported(tmp_path):
    out, key = tmp_path / "pairs.csv", tmp_path / "key.json"
    for arguments, says in (
        (([], out, key, 1, 0, None), "no pair to judge"),
        ((PAIRS, out, key, 0, 0, None), "--annotators must be >= 1, got 0"),
        ((PAIRS, out, key, 1, -1, None), r"--seed must be >= 0 and below 2\*\*64, got -1"),
        ((PAIRS, out, key, 1, 1 << 64, None), r"below 2\*\*64, got 18446744073709551616"),
        ((PAIRS, out, key, 1, 0, 0), "--limit must be >= 1, got 0"),
        ((PAIRS, out, out, 1, 0, None), "is an annotator's file"),
    ):
        with pytest.raises(InputError, match=says):
            export(*arguments)
    assert not list(tmp_path.iterdir())


def test_files_that_hold_answers_are_not_overwritten(tmp_path):
    key, files = exported(tmp_path)
    exported(tmp_path, seed=1)  # nothing is filled in as yet
    filled = rows(files[1])
    filled[2]["same_structure"] = "no"
    write(files[1], filled, delimiter=";")
    before = {path: path.read_bytes() for path in (key, *files)}
    with pytest.raises(InputError, match=r"pairs_2\.csv:4: holds an answer; give another --out"):
        exported(tmp_path, seed=2)
    assert {path: path.read_bytes() for path in before} == before
    (tmp_path / "pairs_1.csv").write_text("my notes\n")
    with pytest.raises(InputError, match=r"pairs_1\.csv:1: the column item is missing, so"):
        exported(tmp_path, seed=2)


def test_a_key_that_is_an_annotators_file_by_another_name(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path)
    key = tmp_path / "link" / "pairs.csv"
    with pytest.raises(InputError, match="is an annotator's file"):
        export(PAIRS, tmp_path / "pairs.csv", key, 1, 0, None)


def first(id_: int, original: str) -> tuple[str, str]:
    """The original is more fluent, save in sentence 3."""
    return ("same" if id_ == 3 else original), "yes"


def second(id_: int, original: str) -> tuple[str, str]:
    """As the first, save that in ten sentences the adversarial one is more fluent."""
    other = "B" if original == "A" else "A"
    return (" Same " if id_ == 3 else other.lower() if 10 <= id_ < 20 else original), "yes"


def test_answers_of_two(tmp_path):
    key, files = exported(tmp_path)
    answer(files[0], first)
    answer(files[1], second, delimiter=";")
    found = judge(key, files[::-1])
    assert (found["annotators"], found["items"]) == (2, 32)
    fluent = found["more_fluent"]
    # Of 64 answers: same 2, adversarial 10, original 52.
    assert fluent["answers"] == {
        "adversarial": 1000 / 64,
        "original": 5200 / 64,
        "same": 200 / 64,
    }
    assert fluent["majority"] == {"none": 10, "original": 21, "same": 1}
    observed, expected = 22 / 32, (31 * 21 + 0 * 10 + 1 * 1) / 32**2
    assert fluent["agreement"] == pytest.approx(100 * observed)
    assert fluent["kappa"] == pytest.approx((observed - expected) / (1 - expected))
    assert fluent["kappa_kind"] == "cohen"
    structure = found["same_structure"]
    assert (structure["answers"], structure["majority"]) == ({"yes": 100.0}, {"yes": 32})
    assert (structure["agreement"], structure["kappa"]) == (100.0, None)


def test_answers_of_three_and_of_some_of_them(tmp_path):
    key, files = exported(tmp_path, annotators=3)
    for path, answers in zip(files, (first, second, second), strict=True):
        answer(path, answers)
    fluent = judge(key, files)["more_fluent"]
    assert fluent["majority"] == {"adversarial": 10, "original": 21, "same": 1}
    shares = [20 / 96, 73 / 96, 3 / 96]
    observed = (22 + 10 / 3) / 32
    expected = sum(share * share for share in shares)
    assert fluent["agreement"] == pytest.approx(100 * observed)
    assert fluent["kappa"] == pytest.approx((observed - expected) / (1 - expected))
    assert fluent["kappa_kind"] == "fleiss"
    assert judge(key, files[:2])["more_fluent"]["kappa_kind"] == "cohen"
    alone = judge(key, files[2:])["more_fluent"]
    assert (alone["agreement"], alone["kappa"], alone["kappa_kind"]) == (None, None, None)


def test_the_order_of_rows_and_a_mark_before_them_do_not_matter(tmp_path):
    key, files = exported(tmp_path)
    for path in files:
        answer(path, first)
    expected = judge(key, files)
    write(files[0], rows(files[0])[::-1], delimiter="\t")
    files[0].write_bytes(b"\xef\xbb\xbf" + files[0].read_bytes() + b"\r\n\r\n")
    assert judge(key, files) == expected


@pytest.mark.parametrize(
    ("column", "value", "says"),
    [
        ("more_fluent", "", "{line}: more_fluent: no answer; expected one of A, B, same"),
        ("more_fluent", "C", "{line}: more_fluent: 'C'; expected one of A, B, same"),
        ("same_structure", "  ", "{line}: same_structure: no answer; expected one of yes, no"),
        ("same_structure", "maybe", "{line}: same_structure: 'maybe'; expected one of yes, no"),
        ("item", "p0-1-001", "{line}: item 'p0-1-001' is none of those in "),
    ],
)
def test_answers_that_are_wrong_are_named_with_their_line(tmp_path, column, value, says):
    key, files = exported(tmp_path)
    for path in files:
        answer(path, first)
    filled = rows(files[0])
    # Behind the sentence that holds a line break and so takes two lines.
    awkward = next(n for n, row in enumerate(filled) if "\n" in row["A"])
    at = min(awkward + 2, len(filled) - 1)
    filled[at] = {**filled[at], column: value}
    write(files[0], filled)
    line = 2 + at + 2 * (awkward < at)  # both sides of that row hold a line break
    with pytest.raises(InputError) as error:
        judge(key, files)
    assert f"pairs_1.csv:{says.format(line=line)}" in str(error.value)


def test_files_that_are_wrong(tmp_path):
    key, files = exported(tmp_path)
    for path in files:
        answer(path, first)
    whole = rows(files[0])

    def refused(says: str, *some: Path) -> None:
        with pytest.raises(InputError, match=says):
            judge(key, list(some or files))

    refused("pairs_1.csv: annotator 1 has a file already", files[0], files[0])
    write(files[0], [*whole, whole[3]])
    refused(r"pairs_1.csv:\d+: item p\S+ stands in line \d+ already")
    write(files[0], whole[:-2])
    refused(r"pairs_1.csv: item p\S+ is missing \(2 in all\)")
    write(files[0], [*whole[:-1], rows(files[1])[0]])
    refused(r"pairs_1.csv:\d+: item p\S+ is annotator 2's, those before are annotator 1's")
    write(files[0], [])
    refused("pairs_1.csv: holds no answers")
    files[0].write_text("item,A,B,more_fluent\n")
    refused("pairs_1.csv:1: the column same_structure is missing")
    files[0].write_text(",".join(COLUMNS) + '\np,"a')
    refused("pairs_1.csv:2: not CSV")
    files[0].write_text("")
    refused("pairs_1.csv: the file is empty")
    files[0].write_bytes(",".join(COLUMNS).encode() + b"\np,Z\xfcrich,b,A,yes\n")
    refused("pairs_1.csv:2: not UTF-8")
    files[0].unlink()
    refused("pairs_1.csv: no such file")


def test_the_key_of_another_export(tmp_path):
    key, files = exported(tmp_path)
    (tmp_path / "other").mkdir()
    other, _ = exported(tmp_path / "other", seed=1)
    for path in files:
        answer(path, first)
    with pytest.raises(InputError, match=r"is none of those in .*other/key\.json"):
        judge(other, files)
    good = json.loads(key.read_text())
    item = next(iter(good["items"].values()))
    for wrong in ("{", "[]", "{}", '{"items": 3}', json.dumps({"items": {"p": {}}})):
        key.write_text(wrong)
        with pytest.raises(InputError, match=r"key\.json: no key as `robustparse export` writes"):
            judge(key, files)
    item["original"] = "C"
    key.write_text(json.dumps(good))
    with pytest.raises(InputError, match="no key"):
        judge(key, files)
