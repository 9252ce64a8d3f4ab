"""Tagging as a task: files, scores against seqeval, records, drawings."""

import json
from collections import Counter
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from seqeval import metrics
from seqeval.scheme import IOB2

from random_tags import random_tags
from robustparse.data.read_options import Known, ReadOptions
from robustparse.data.sample.treebank import sample_tags
from robustparse.data.splits import find_split
from robustparse.data.tags.datamodule import TagDataModule
from robustparse.data.tags.schemes import repaired
from robustparse.data.tags.tagged_sentences import ENDINGS
from robustparse.errors import InputError
from robustparse.evaluation.accumulator import added
from robustparse.tasks.tags import TAGS
from robustparse.types import Example, Sentence, TagSequence

CONLLU = """\
# sent_id = 1
# text = Dogs can't bark
1\tDogs\tdog\tNOUN\tNNS\tNumber=Plur\t0\troot\t_\tEntity=B-x
2-3\tcan't\t_\t_\t_\t_\t_\t_\t_\t_
2\tca\tcan\tAUX\tMD\t_\t1\taux\t_\t_
3\tn't\tnot\tPART\tRB\t_\t1\tadvmod\t_\t_
4\tbark\tbark\tVERB\tVB\t_\t1\tdep\t_\tSpaceAfter=No

"""
CONLL = """\
-DOCSTART- -X- O O

# id = 1
EU NNP I-NP I-ORG
rejects VBZ I-VP O

# NN I-NP O

"""
ROWS = [
    {"tokens": ["play", "new", "york"], "tags": ["O", "B-x", "I-x"], "label": "Play", "id": 7},
    {"tokens": ["stop"], "tags": ["O"], "label": "Stop", "id": 8},
]


def write(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    return path


def rewritten(files, examples, words=None):
    return "".join(files.write_all((each, words, None) for each in examples))


@pytest.mark.parametrize(
    ("columns", "tags"),
    [
        (None, "NOUN AUX PART VERB"),
        (["form", "xpos"], "NNS MD RB VB"),
        (["form", "feats:Number"], "Plur _ _ _"),
        (["misc:Entity"], "B-x O O O"),
    ],
)
def test_a_treebank_has_tags_in_four_columns_and_is_written_as_read(tmp_path, columns, tags):
    path = write(tmp_path, "a.conllu", CONLLU)
    (example,) = TAGS.files.read(path, ReadOptions(columns))
    assert example.gold == TagSequence(tuple(tags.split()))
    assert rewritten(TAGS.files, [example]) == CONLLU
    other = TAGS.files.write(example, ["Cats", "ca", "n't", "bark"], TagSequence(("Q",) * 4))
    again = write(tmp_path, "b.conllu", other)
    (changed,) = TAGS.files.read(again, ReadOptions(columns))
    assert changed.gold.tags == ("Q",) * 4
    assert changed.sentence.words == ("Cats", "ca", "n't", "bark")


def test_the_sample_serves_configurations_that_name_columns():
    data = TagDataModule(folder="sample", columns=["form", "upos"])
    assert data.examples("dev") == sample_tags(0).split("dev")


def test_lines_of_columns_are_read_and_written(tmp_path):
    path = write(tmp_path, "a.conll", CONLL)
    first, second = TAGS.files.read(path)
    assert first.sentence == Sentence(("EU", "rejects"), xpos=("NNP", "VBZ"))
    assert (first.gold.tags, second.gold.tags) == (("B-ORG", "O"), ("O",))
    assert second.sentence.words == ("#",)
    assert rewritten(TAGS.files, [first, second]) == (
        "# id = 1\nEU NNP I-NP B-ORG\nrejects VBZ I-VP O\n\n# NN I-NP O\n\n"
    )
    made = Example(0, Sentence(("a", "b"), xpos=("DT", "NN")), TagSequence(("O", "B-x")))
    assert TAGS.files.write(made) == "a\tDT\tO\nb\tNN\tB-x\n\n"
    intent = write(
        tmp_path, "c.conll", TAGS.files.write(replace(made, gold=TagSequence(("O", "O"), "go")))
    )
    (again,) = TAGS.files.read(intent)
    assert again.gold == TagSequence(("O", "O"), "go")
    assert "# label = stop\n" in TAGS.files.write(again, None, TagSequence(("O", "O"), "stop"))
    untagged = write(tmp_path, "b.conll", "EU\nrejects\n")
    (example,) = TAGS.files.read(untagged, ReadOptions(gold=False))
    assert example.sentence.words == ("EU", "rejects")
    predicted = TAGS.files.write(example, None, TagSequence(("B-x", "O"), "go"))
    assert predicted.startswith("# label = go\n")


def test_only_tabs_and_spaces_divide_columns(tmp_path):
    path = write(tmp_path, "a.conll", "10\u00a0000 X\na\u3000b  Y \n\nU-turn\tX \n")
    first, second = TAGS.files.read(path)
    assert first.sentence == Sentence(("10\u00a0000", "a\u3000b"))
    assert (first.gold.tags, second.gold.tags) == (("X", "Y"), ("X",))


def test_words_may_hold_a_space_in_some_lines_with_tabs(tmp_path):
    path = write(tmp_path, "a.tsv", "10 000\t10 000\tX\na\ta\tY\nb\tb\tY\n")
    (example,) = TAGS.files.read(path)
    assert example.sentence == Sentence(("10 000", "a", "b"), xpos=("10 000", "a", "b"))


@pytest.mark.parametrize("label", ["topic", "label"])
@pytest.mark.parametrize(("old", "new"), [(0, 1), ("a", "b"), (None, "b")])
def test_labels_keep_their_column_and_their_type(tmp_path, label, old, new):
    row = {"tokens": ["a"], "tags": ["O"]} | ({} if old is None else {label: old})
    path = write(tmp_path, "a.jsonl", f"{json.dumps(row)}\n")
    columns = ["tokens", "tags", label]
    (example,) = TAGS.files.read(path, ReadOptions(columns, gold=old is not None))
    assert example.gold.label == ("" if old is None else str(old))
    assert json.loads(rewritten(TAGS.files, [example])) == row
    written = TAGS.files.write(example, None, TagSequence(("O",), str(new)))
    assert json.loads(written) == {**row, label: new}


def test_lines_take_no_names_of_columns(tmp_path):
    path = write(tmp_path, "a.conll", "a X Y\n")
    with pytest.raises(InputError) as error:
        TAGS.files.read(path, ReadOptions(["words", "pos"]))
    assert (error.value.path, error.value.key) == (str(path), "columns")
    (example,) = TAGS.files.read(path, ReadOptions(known=Known(columns=["tokens", "ner_tags"])))
    assert example.gold.tags == ("Y",)  # the columns of other training data do not apply


def test_a_misspelt_key_of_a_treebank_is_named(tmp_path):
    path = write(tmp_path, "a.conllu", CONLLU)
    with pytest.raises(InputError, match="misc:Entity"):
        TAGS.files.read(path, ReadOptions(["misc:entity"]))
    with pytest.raises(InputError, match="misc:Entity"):  # and not the usual column
        TAGS.files.read(path, ReadOptions(known=Known(["form", "misc:entity"])))
    # No word of the file has such an entity.
    (example,) = TAGS.files.read(path, ReadOptions(["misc:Entities"]))
    assert example.gold.tags == ("_",) * 4


def test_rows_keep_their_other_columns(tmp_path):
    path = write(tmp_path, "a.jsonl", "".join(f"{json.dumps(row)}\n" for row in ROWS))
    examples = TAGS.files.read(path)
    assert [example.gold.label for example in examples] == ["Play", "Stop"]
    assert [*map(json.loads, rewritten(TAGS.files, examples).splitlines())] == ROWS
    plain = TAGS.files.read(path, ReadOptions(["tokens", "tags"]))
    assert [example.gold.label for example in plain] == ["", ""]
    other = TAGS.files.write(examples[0], ["see", "new", "rome"], TagSequence(("O",) * 3, "Stop"))
    assert json.loads(other) == {
        **ROWS[0],
        **{"tokens": ["see", "new", "rome"], "tags": ["O"] * 3, "label": "Stop"},
    }


def test_numbers_of_a_dataset_become_its_names(tmp_path):
    datasets = pytest.importorskip("datasets")
    names = datasets.Sequence(datasets.ClassLabel(names=["O", "B-x"]))
    features = datasets.Features(
        {"tokens": datasets.Sequence(datasets.Value("string")), "ner_tags": names}
    )
    for missing in (None, [], [1, None]):
        rows = {"tokens": [["a", "b"]] * 2, "ner_tags": [[1, 0], missing]}
        data = datasets.Dataset.from_dict(rows, features)
        data.save_to_disk(str(tmp_path / "d"))
        with pytest.raises(InputError) as error:
            TAGS.files.read(tmp_path / "d")
        assert (error.value.key, error.value.line) == ("ner_tags", 2)
        if not missing:
            examples = TAGS.files.read(tmp_path / "d", ReadOptions(gold=False))
            assert [each.gold.tags for each in examples] == [("B-x", "O"), ("_", "_")]


def test_words_may_hold_blanks(tmp_path):
    path = write(tmp_path, "a.tsv", "Hà Nội\tB-x\n10 000\tO\nlà\tO\n")
    (example,) = TAGS.files.read(path)
    assert example.sentence.words == ("Hà Nội", "10 000", "là")


def test_sentences_may_repeat_one_word(tmp_path):
    examples = TAGS.files.read(write(tmp_path, "a.conll", "ha UH O\nha UH O\n\nno UH O\n"))
    assert [example.sentence.words for example in examples] == [("ha", "ha"), ("no",)]


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("a.conll", "a O\nb B-x\nc I-y\n", 3),
        ("a.conll", "a O\n\nb\n", 3),
        ("a.conll", "a\n", 1),
        ("a.conll", "a X O\n\nb O\n", 3),
        ("a.tsv", "word\ttag\na\tX\n", 1),
        ("a.tsv", "Sentence #\tWord\tPOS\n1\ta\tX\n", 1),
        ("a.iob", "BOS a b EOS\tO O B-x go\n\nBOS a EOS\tO O go\n", 1),
        ("a.tsv", "id\tutterance\tslot_labels\tintent\n1\ta b\tO B-x\tgo\n", 2),
        ("a.tsv", "a\tX\nb\t\n", 2),
        ("a.tsv", "a\tX\n\u3000\tX\n", 2),
        ("a.conll", "#begin document (a); part 000\na X\nb X\n", 1),
        ("a.tsv", "#\ta.de [2005-02-26]\n\n1\ta\tX\n2\tb\tX\n", 1),
        ("a.conll", "1 a X\n2 b X\n\n1 c Y\n", 1),
        ("a.conll", "B-x a\nO b\n", 1),
        ("a.conll", "bc/a 0 What WP\nbc/a 1 kind NN\n\nbc/b 0 No UH\nbc/b 1 one NN\n", 1),
        ("a.conllu", CONLLU.replace("VERB", "_"), 7),
        ("a.jsonl", '{"tokens": ["a"], "tags": ["O"]}\n{"tokens": ["a"], "tags": []}\n', 2),
        ("a.jsonl", '{"tokens": ["a"], "tags": [1]}\n', 1),
        (
            "a.json",
            '[{"tokens": ["a"], "tags": ["O"]},\n{"tokens": ["a"], "tags": ["O"], "label": "x"}]',
            1,
        ),
        ("a.jsonl", '{"tokens": ["a", "b"], "tags": ["O"]}\n', 1),
        ("a.jsonl", '{"tokens": "a b", "tags": ["O"]}\n', 1),
        ("a.jsonl", '{"tokens": ["a"], "tags": ["O"], "label": null}\n', 1),
        ("a.jsonl", '{"tokens": ["a"], "tags": ["O"], "label": 1.5}\n', 1),
        ("a.jsonl", '{"tokens": ["a"], "tags": ["O"], "label": ["x"]}\n', 1),
    ],
)
def test_what_is_no_tagged_sentence_is_refused_by_line(tmp_path, name, text, line):
    path = write(tmp_path, name, text)
    with pytest.raises(InputError) as error:
        TAGS.files.read(path)
    assert (error.value.path, error.value.line) == (str(path), line)
    if name == "a.jsonl":
        assert (error.value.remedy is not None) == ("[1]" in text)
    assert ("U+3000" in error.value.found) == ("\u3000" in text)


def test_a_key_that_no_word_has_is_named(tmp_path, caplog):
    path = write(tmp_path, "a.conllu", CONLLU)
    (example,) = TAGS.files.read(path, ReadOptions(["misc:NER"]))
    assert set(example.gold.tags) == {"_"}
    (record,) = caplog.records
    assert "'NER'" in record.getMessage()
    write(tmp_path, "b.conllu", CONLLU.replace("Entity=B-x", "Gloss=y Entity=B-x"))
    with pytest.raises(InputError) as error:
        TAGS.files.read(tmp_path / "b.conllu", ReadOptions(["misc:Entity"]))
    assert error.value.key == "misc:Entity"


@pytest.mark.parametrize(
    ("tags", "unread"),
    [
        ("O B I", "B"),
        ("o b-per i-per", "b-per"),
        ("O B_PER I_PER", "B_PER"),
        ("O PER-B PER-I", "PER-B"),
        ("O B-PER I-PER", ""),
        ("NOUN I- S-", ""),
        ("O PER PER", ""),
        ("O O O", ""),
    ],
)
def test_tags_of_spans_that_are_read_as_those_of_words_are_named(tmp_path, caplog, tags, unread):
    rows = "".join(f"{word} {tag}\n" for word, tag in zip("abc", tags.split(), strict=True))
    TAGS.files.read(write(tmp_path, "a.conll", rows))
    assert [record.getMessage().count(repr(unread)) for record in caplog.records] == [1] * bool(
        unread
    )


def test_files_of_a_folder_are_found(tmp_path):
    for name in ("en-ud-train.conllu", "en-ud-dev.conllu", "test.jsonl", "README.md"):
        write(tmp_path, name, "")
    found = [find_split(tmp_path, split, ENDINGS).name for split in ("train", "dev", "test")]
    assert found == ["en-ud-train.conllu", "en-ud-dev.conllu", "test.jsonl"]
    write(tmp_path, "valid.conll", "")
    with pytest.raises(InputError):
        find_split(tmp_path, "dev", ENDINGS)


def test_scores_are_those_of_seqeval():
    golds = [list(repaired(tags)) for tags in random_tags(1000, seed=1)]
    rng = np.random.default_rng(2)
    answers = [
        [tag if rng.random() < 0.7 else str(rng.choice(["O", "B-x", "I-x", "I-y"])) for tag in gold]
        for gold in golds
    ]
    sums: Counter[str] = Counter()
    for gold, answer in zip(golds, answers, strict=True):
        example = Example(0, Sentence((*gold,)), TagSequence((*gold,)))
        counted = np.ones(len(gold), dtype=bool)
        sums.update(TAGS.scores.correct(TagSequence((*answer,)), example, counted))
    scores = TAGS.scores.score(sums)
    strict = {"mode": "strict", "scheme": IOB2}
    expected = {
        "accuracy": metrics.accuracy_score(golds, answers),
        "f1": metrics.f1_score(golds, answers),
        "span_precision": metrics.precision_score(golds, answers),
        "span_recall": metrics.recall_score(golds, answers),
        "strict_f1": metrics.f1_score(golds, answers, **strict),
        "strict_precision": metrics.precision_score(golds, answers, **strict),
        "strict_recall": metrics.recall_score(golds, answers, **strict),
    }
    assert {name: scores[name] for name in expected} == pytest.approx(
        {name: 100 * value for name, value in expected.items()}
    )
    classes = TAGS.scores.by_class(
        added(
            TAGS.scores.correct_by_class(
                TagSequence((*answer,)),
                Example(0, Sentence((*gold,)), TagSequence((*gold,))),
                np.ones(len(gold), bool),
            )
            for gold, answer in zip(golds, answers, strict=True)
        )
    )
    report = metrics.classification_report(golds, answers, output_dict=True)
    for kind, of_class in classes.items():
        for name, other in (("f1", "f1-score"), ("span_recall", "recall"), ("spans", "support")):
            assert of_class[name] == pytest.approx(report[kind][other] * (100, 1)[name == "spans"])
    part, whole = TAGS.scores.fraction("f1", sums)
    assert 100 * part / whole == pytest.approx(scores["f1"])


RECORD = {
    "tokens": ["see", "New", "York", "now"],
    "adversarial_tokens": ["<see>", "New", "York", "now"],
    "edited": [0],
    "gold": {"tags": ["O", "B-x", "I-x", "O"], "text_label": "go"},
    "clean": {"tags": ["O", "B-x", "I-x", "O"], "text_label": "go"},
    "attacked": {"tags": ["O", "B-x", "O", "B-y"], "text_label": "stop"},
}


def test_records_are_compared_and_drawn():
    assert TAGS.answers.changes(RECORD) == (3, 0, 3)
    assert TAGS.answers.strict_success(RECORD) == {"accuracy": True, "f1": True}
    assert TAGS.answers.relations({**RECORD, "edited": [0, 2]}) == ["O", "x"]
    assert TAGS.answers.kind(RECORD) == "go"
    picture = ElementTree.fromstring(TAGS.pictures.draw(RECORD))
    rows = ["".join(cell.itertext()) for cell in picture.iter("td")]
    assert rows == [
        "see New York x now [go]",
        "see New York x now [go]",
        "<see> New x York now y [stop]",
    ]
    assert [mark.text for mark in picture.iter("mark")] == ["<see>"]
    right = TAGS.scores.right(RECORD, "attacked")
    assert {name: int(part.sum()) for name, part in right.items()} == {
        **{"correct": 2, "correct_spans": 0, "predicted_spans": 2, "gold_spans": 1}
    }
    with pytest.raises(InputError) as error:
        TAGS.answers.changes({**RECORD, "attacked": {"tags": ["O"]}})
    assert error.value.key == "attacked: tags"


def test_reworded_sentences_carry_their_tags():
    example = Example(0, Sentence(("in", "New", "York")), TagSequence(("O", "B-x", "I-x")))
    inside = TAGS.files.project(example, ("in", "New", "old", "York"), (0, 1, -1, 2))
    assert inside.gold.tags == ("O", "B-x", "I-x", "I-x")
    assert TAGS.files.project(example, ("York", "in"), (2, 0)).gold.tags == ("B-x", "O")
    words = replace(example, gold=TagSequence(("ADP", "PROPN", "PROPN")))
    assert TAGS.files.project(words, ("in", "old", "York"), (0, -1, 2)) is None
    other = replace(example, gold=TagSequence(("R-", "B-", "I-")))  # prefixes without a class
    split = TAGS.files.project(other, ("in", "N", "ew", "York"), (0, 1, 1, 2))
    assert split.gold.tags == ("R-", "B-", "B-", "I-")


def test_lines_of_other_words_keep_their_columns(tmp_path):
    example = TAGS.files.read(write(tmp_path, "a.conll", CONLL))[0]
    reworded = {(1,): "rejects", (-1, 0, 0, 1): "the E U rejects", (0, 1): "eu rejects"}
    copies = [TAGS.files.project(example, new.split(), at) for at, new in reworded.items()]
    path = write(tmp_path, "b.conll", rewritten(TAGS.files, copies))
    again = TAGS.files.read(path)
    assert [each.gold for each in again] == [each.gold for each in copies]
    assert [each.sentence for each in again] == [each.sentence for each in copies]
    chunks = [line.split(" ")[2] for line in again[1].block.split("\n")[1:]]
    assert chunks == ["_", "I-NP", "I-NP", "I-VP"]


def test_blanks_around_words_of_rows_are_read_over(tmp_path):
    rows = [{"tokens": ["New ", "\tYork", "10 000"], "tags": ["B-x", "I-x ", "O"]}]
    path = write(tmp_path, "a.jsonl", json.dumps(rows[0]))
    (example,) = examples = TAGS.files.read(path)
    assert example.sentence.words == ("New", "York", "10 000")
    assert example.gold.tags == ("B-x", "I-x", "O")
    assert json.loads(rewritten(TAGS.files, examples))["tokens"] == rows[0]["tokens"]
    changed = json.loads(rewritten(TAGS.files, examples, ("Old", "York", "10 000")))
    assert changed["tokens"] == ["Old", "York", "10 000"]


def test_other_lists_of_a_row_follow_its_words(tmp_path):
    row = {"tokens": ["in", "New", "York"], "pos": ["IN", "NP", "NP"], "tags": ["O", "B-x", "I-x"]}
    path = write(tmp_path, "a.jsonl", json.dumps(row | {"source": ["a", "b"]}))
    (example,) = TAGS.files.read(path)
    copy = TAGS.files.project(example, ("now", "York", "in"), (-1, 1, 0))
    assert json.loads(TAGS.files.write(copy)) == {
        **{"tokens": ["now", "York", "in"], "pos": [None, "NP", "IN"], "tags": ["O", "B-x", "O"]},
        "source": ["a", "b"],
    }
