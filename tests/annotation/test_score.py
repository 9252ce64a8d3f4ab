"""Answers to blind pairs in: shares, majorities and agreement by hand, and no answer gets lost."""

import json
from pathlib import Path

import pytest
from blind_pairs import answer, exported, rows, write

from robustparse.annotation.questionnaire import COLUMNS
from robustparse.annotation.score import score
from robustparse.errors import InputError


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
    found = score(key, files[::-1])
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
    fluent = score(key, files)["more_fluent"]
    assert fluent["majority"] == {"adversarial": 10, "original": 21, "same": 1}
    shares = [20 / 96, 73 / 96, 3 / 96]
    observed = (22 + 10 / 3) / 32
    expected = sum(share * share for share in shares)
    assert fluent["agreement"] == pytest.approx(100 * observed)
    assert fluent["kappa"] == pytest.approx((observed - expected) / (1 - expected))
    assert fluent["kappa_kind"] == "fleiss"
    assert score(key, files[:2])["more_fluent"]["kappa_kind"] == "cohen"
    alone = score(key, files[2:])["more_fluent"]
    assert (alone["agreement"], alone["kappa"], alone["kappa_kind"]) == (None, None, None)


def test_the_order_of_rows_and_a_mark_before_them_do_not_matter(tmp_path):
    key, files = exported(tmp_path)
    for path in files:
        answer(path, first)
    expected = score(key, files)
    write(files[0], rows(files[0])[::-1], delimiter="\t")
    files[0].write_bytes(b"\xef\xbb\xbf" + files[0].read_bytes() + b"\r\n\r\n")
    assert score(key, files) == expected


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("ends", [b"\r\n", b"\n"])
def test_what_spreadsheets_save_is_read(delimiter, mark, ends, tmp_path):
    key, files = exported(tmp_path)
    for path in files:
        answer(path, first, delimiter)
        path.write_bytes(mark + path.read_bytes().replace(b"\r\n", ends))
    assert score(key, files)["more_fluent"]["answers"] == {"original": 96.875, "same": 3.125}


@pytest.mark.parametrize(
    ("column", "value", "found", "expected"),
    [
        ("more_fluent", "", "no answer", "one of A, B, same"),
        ("more_fluent", "C", "'C'", "one of A, B, same"),
        ("same_structure", "  ", "no answer", "one of yes, no"),
        ("same_structure", "maybe", "'maybe'", "one of yes, no"),
        ("item", "p0-1-001", "item 'p0-1-001' is not among those in ", None),
    ],
)
def test_answers_that_are_wrong_are_named_with_their_line(tmp_path, column, value, found, expected):
    key, files = exported(tmp_path)
    for path in files:
        answer(path, first)
    filled = rows(files[0])
    # After the sentence that holds a line break and so takes two lines.
    awkward = next(n for n, row in enumerate(filled) if "\n" in row["A"])
    at = min(awkward + 2, len(filled) - 1)
    filled[at] = {**filled[at], column: value}
    write(files[0], filled)
    line = 2 + at + 2 * (awkward < at)  # both sides of that row hold a line break
    with pytest.raises(InputError) as error:
        score(key, files)
    assert (error.value.path, error.value.line) == (str(files[0]), line)
    assert error.value.found.startswith(found)
    assert error.value.expected == expected
    assert error.value.key == (column if expected else None)


def test_files_that_are_wrong(tmp_path):
    key, files = exported(tmp_path)
    for path in files:
        answer(path, first)
    whole = rows(files[0])

    def refused(says: str, *some: Path) -> None:
        with pytest.raises(InputError, match=says):
            score(key, list(some or files))

    refused("pairs_1.csv: annotator 1 has a file already", files[0], files[0])
    write(files[0], [*whole, whole[3]])
    refused(r"pairs_1.csv:\d+: item p\S+ is already in line \d+")
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
    with pytest.raises(InputError, match=r"is not among those in .*other/key\.json"):
        score(other, files)
    good = json.loads(key.read_text())
    item = next(iter(good["items"].values()))
    for wrong, found in (
        ("{", "not JSON"),
        ("[]", "found list"),
        *((one, "not as `robustparse annotate") for one in ("{}", '{"items": 3}')),
        (json.dumps({"items": {"p": {}}}), "not as `robustparse annotate"),
    ):
        key.write_text(wrong)
        with pytest.raises(InputError, match=rf"key\.json(:1)?: {found}"):
            score(key, files)
    item["original"] = "C"
    key.write_text(json.dumps(good))
    with pytest.raises(InputError, match="not as"):
        score(key, files)
