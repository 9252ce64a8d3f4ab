"""Look-ups, and a clear error for every malformed table."""

import pytest
from attack_fakes import example

from robustparse.attacks.candidates.generator import Slot
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.errors import InputError

SENTENCE = example("The Run runs 1/2 and/or", "DT NN VBZ CD CC").sentence


def look_up(table: dict[str, list[str]]) -> list[list[str]]:
    return Lexicon(table).propose([Slot(0, SENTENCE, position) for position in range(5)], seed=0)


def test_the_tagged_key_comes_first() -> None:
    table = {
        "RUN/NN": ["race"],
        "run": ["go"],
        "runs": ["goes"],
        "runs/NN": ["races"],
        "the/DT": [],
    }
    assert look_up(table | {"the": ["a"]}) == [[], ["race"], ["goes"], [], []]


def test_slashes_in_words() -> None:
    assert look_up({"1/2": ["half"], "and/or/CC": ["or"]}) == [[], [], [], ["half"], ["or"]]


def test_slashes_in_words_with_capitals() -> None:
    words = example("N/A n/a AND/OR n and/or big/jj", "NN JJ CC A OR NN").sentence
    slots = [Slot(0, words, position) for position in range(6)]
    table = {"N/A": ["none"], "AND/OR": ["or"], "and/OR/OR": ["nor"], "big/JJ": ["large"]}
    expected = [["none"], ["none"], ["or"], ["none"], ["nor"], ["large"]]
    assert Lexicon(table).propose(slots, seed=0) == expected
    # A key that is the word comes before those that may be it, of which the first one counts.
    before = {"N/A": ["none"], "n/a": ["nil"], "big/JJ": ["large"], "big/Jj": ["huge"]}
    assert Lexicon(before).propose(slots[:2] + slots[5:], seed=0) == [["nil"], ["nil"], ["large"]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('["run"]', r"table\.json: found list, expected a JSON object"),
        ('{"run": ["go"]', r"table\.json, line 1: not JSON"),
        ('{\n"run": go}', r"table\.json, line 2: not JSON"),
        ('{"run": "go"}', r"table\.json, key 'run': found str, expected a list"),
        ('{"run": ["go", 3]}', r"key 'run': candidate 3 is not a single word"),
        ('{"run": ["go on"]}', r"key 'run': candidate 'go on' is not a single word"),
        ('{"run": [""]}', r"key 'run': candidate '' is not a single word"),
        ('{" ": ["go"]}', r"key ' ' is not a word"),
        ('{"run": [], "run": ["go"]}', r"key 'run' appears twice"),
        ('{"run/NN": [], "Run/NN": ["go"]}', r"key 'Run/NN' appears twice"),
    ],
)
def test_malformed_tables(tmp_path, content: str, message: str) -> None:
    path = tmp_path / "table.json"
    path.write_text(content)
    with pytest.raises(InputError, match=message):
        Lexicon(str(path))


def test_unreadable_files(tmp_path) -> None:
    with pytest.raises(InputError, match=r"missing\.json: no such file"):
        Lexicon(str(tmp_path / "missing.json"))
    (tmp_path / "latin.json").write_bytes(b'{"caf\xe9": []}')
    with pytest.raises(InputError, match=r"latin\.json:1: not UTF-8 .*convert the file"):
        Lexicon(str(tmp_path / "latin.json"))
    (tmp_path / "empty.json").write_text("")
    with pytest.raises(InputError, match=r"empty\.json: the file is empty"):
        Lexicon(str(tmp_path / "empty.json"))
    (tmp_path / "marked.json").write_bytes(b'\xef\xbb\xbf{"big": ["large"]}')
    marked = Lexicon(str(tmp_path / "marked.json"))
    assert marked.fingerprint() == Lexicon({"big": ["large"]}).fingerprint()


def test_a_path_below_the_home_folder(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "table.json").write_text('{"big": ["large"]}')
    assert Lexicon("~/table.json").fingerprint() == Lexicon({"big": ["large"]}).fingerprint()


def test_the_fingerprint_follows_the_content(tmp_path) -> None:
    path = tmp_path / "table.json"
    path.write_text('{"run": ["go"]}')
    assert Lexicon(str(path)).fingerprint() == Lexicon({"Run": ["go"]}).fingerprint()
    assert Lexicon({"run": ["goes"]}).fingerprint() != Lexicon({"run": ["go"]}).fingerprint()
