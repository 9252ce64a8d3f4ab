"""Blind pairs out: every annotator gets each once, and nothing tells the sides but the key."""

import json

import pytest
from blind_pairs import PAIRS, exported, rows, texts, write

from example_records import record
from robustparse.annotation.questionnaire import COLUMNS, export, read_key
from robustparse.errors import InputError

BY_ID = {pair["id"]: pair for pair in PAIRS}


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
            assert (both[item.original], both[other]) == texts(pair)
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
        (([], out, key, 1, 0, None), "there is no pair"),
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
    with pytest.raises(InputError, match="column item is missing, so `annotate export`"):
        exported(tmp_path, seed=2)


def test_a_key_that_is_an_annotators_file_by_another_name(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path)
    key = tmp_path / "link" / "pairs.csv"
    with pytest.raises(InputError, match="is an annotator's file"):
        export(PAIRS, tmp_path / "pairs.csv", key, 1, 0, None)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"b": (1, 0)}, "item b"),  # the same sentence twice
        ({"b": (2, 1)}, None),  # annotators of different sentences
    ],
)
def test_a_key_gives_every_annotator_every_sentence_once(tmp_path, change, named) -> None:
    places = {"a": (1, 0), "b": (1, 1), **change}
    items = {name: {"annotator": a, "id": i, "original": "A"} for name, (a, i) in places.items()}
    path = tmp_path / "key.json"
    path.write_text(json.dumps({"items": items}))
    with pytest.raises(InputError) as error:
        read_key(path)
    assert (error.value.path, error.value.key) == (str(path), named)


def test_a_spreadsheet_takes_no_cell_for_a_formula(tmp_path):
    starts = ["=", "+", "-", "@", "\uff1d", "=1+1"]
    pairs = [
        record(n, f"{start} naïve soup", f"{start} naïve word", context=[start, "naïve", "soup"])
        for n, start in enumerate(starts)
    ]
    (path,) = export(pairs, tmp_path / "pairs.csv", tmp_path / "key.json", 1, 0, None)
    assert path.read_bytes().startswith("\ufeff".encode())
    cells = [cell for row in rows(path) for cell in row.values()]
    assert not [cell for cell in cells if cell.startswith(tuple(starts))]
    shown = sorted(row["premise"] for row in rows(path))
    assert shown == sorted(f"'{start} naïve soup" for start in starts)
