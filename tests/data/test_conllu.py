"""Reading and writing treebanks: words, tags and trees, round trips, other parses."""

import re
from pathlib import Path

import conllu
import pytest
from conllu_texts import GOOD, row

from robustparse.data.conllu import (
    ENDINGS,
    block_of,
    is_word,
    read_treebank,
    write_treebank,
)
from robustparse.data.sentence_lines import with_parse
from robustparse.data.splits import find_split
from robustparse.errors import InputError
from robustparse.types import DependencyTree, Sentence


def without_enhanced(text: str) -> str:
    """The one documented difference: no empty nodes, and column 9 of words is blanked."""
    text = re.sub(r"^[0-9]+\.[0-9]+\t.*\n", "", text, flags=re.MULTILINE)
    return re.sub(r"^([0-9]+(?:\t[^\t\n]*){7})\t[^\t\n]*", r"\1\t_", text, flags=re.MULTILINE)


def test_words_tags_and_trees_are_read(examples):
    assert [example.id for example in examples] == [0, 1, 2]
    first, second, third = examples
    assert first.sentence.words == ("Do", "n't", "feed", "the", "cats", ".")
    assert first.sentence.upos == ("AUX", "PART", "VERB", "DET", "NOUN", "PUNCT")
    assert first.sentence.xpos == ("VB", "RB", "VB", "DT", "NNS", ".")
    assert first.gold.heads == (3, 3, 0, 5, 3, 3)
    assert first.gold.labels == ("aux", "advmod", "root", "det", "obj", "punct")
    assert first.block.startswith("# newdoc\n# sent_id = 1\n")
    assert first.block.endswith("3:punct\t_")
    assert second.gold == DependencyTree((0,), ("root",))
    assert third.gold.heads == (2, 3, 0, 5, 3, 3, 8, 5)


def test_reading_agrees_with_the_conllu_library(treebank, examples):
    sentences = conllu.parse(treebank.read_text())
    for example, tokens in zip(examples, sentences, strict=True):
        words = [token for token in tokens if isinstance(token["id"], int)]
        assert example.sentence.words == tuple(token["form"] for token in words)
        assert example.gold.heads == tuple(token["head"] for token in words)
        assert example.gold.labels == tuple(token["deprel"] for token in words)


def test_writing_restores_every_byte_but_enhanced_dependencies(treebank, examples, tmp_path):
    written = tmp_path / "out.conllu"
    write_treebank(written, (with_parse(example.block, example.gold) for example in examples))
    text = treebank.read_text()
    assert without_enhanced(text) != text
    assert written.read_bytes() == without_enhanced(text).encode()


@pytest.mark.parametrize("split", ["dev", "test"])
def test_a_real_treebank_survives_the_round_trip(shared, split, tmp_path):
    path = find_split(shared / "data" / "treebank" / "UD_English-EWT", split, ENDINGS)
    sentences = read_treebank(path)
    written = tmp_path / "out.conllu"
    write_treebank(written, (with_parse(example.block, example.gold) for example in sentences))
    assert written.read_text() == without_enhanced(path.read_text())


def test_another_parse_changes_only_heads_and_labels(examples):
    tree = DependencyTree((2, 0, 2, 5, 3, 2), ("a", "root", "c", "d", "e", "f"))
    before, after = (
        [line for line in block.split("\n") if not line.startswith("5.1")]
        for block in (examples[0].block, with_parse(examples[0].block, tree))
    )
    words = [5 + 1, 5 + 2, 5 + 3, 5 + 4, 5 + 5, 5 + 6]  # five comments, a range
    for index, (old, new) in enumerate(zip(before, after, strict=True)):
        if index not in words:
            assert new == old
            continue
        at = words.index(index)
        columns = old.split("\t")
        columns[6], columns[7], columns[8] = str(tree.heads[at]), tree.labels[at], "_"
        assert new.split("\t") == columns


def test_other_words_change_form_lemma_and_text(examples):
    words = ("Do", "never", "feed", "the", "dogs", ".")
    lines = with_parse(examples[0].block, examples[0].gold, words).split("\n")
    assert "# text = Do never feed the dogs." in lines
    assert [line.split("\t")[1] for line in lines if is_word(line)] == list(words)
    assert [line.split("\t")[2] for line in lines if is_word(line)] == [
        *("do", "_", "feed", "the", "_", ".")
    ]
    assert lines[3:5] == ["# note", "# note"]


def test_a_sentence_made_in_memory_is_read_back(tmp_path):
    feats = ("NumForm=Word|NumType=Card", "_")
    sentence = Sentence(("One", "two"), ("NUM", "NUM"), ("CD", "CD"), feats=feats)
    bare = Sentence(("#", "1-2"))
    tree = DependencyTree((2, 0), ("nummod", "root"))
    path = tmp_path / "made.conllu"
    write_treebank(path, [block_of(sentence, tree), block_of(bare, tree)])
    first, second = read_treebank(path)
    assert (first.sentence, first.gold) == (sentence, tree)
    assert (second.sentence.words, second.sentence.xpos, second.gold) == (bare.words, (), tree)


def test_features_are_read_in_alphabetical_order(tmp_path):
    path = tmp_path / "features.conllu"
    columns = ("Tense=Past|Number=Sing", "_")
    path.write_text("".join(f"1\ta\t_\tX\t_\t{one}\t0\troot\t_\t_\n\n" for one in columns))
    with_features, without = (example.sentence.feats for example in read_treebank(path))
    assert (with_features, without) == (("Number=Sing|Tense=Past",), ())


def test_windows_line_ends_and_no_last_blank_line_are_fine(tmp_path):
    path = tmp_path / "windows.conllu"
    path.write_bytes(("\n\n" + GOOD + row(1)).replace("\n", "\r\n").encode().rstrip())
    first, second = read_treebank(path)
    assert first.block == GOOD.strip()
    assert second.sentence.words == ("a",)


def test_a_split_is_the_one_file_of_its_name(tmp_path):
    for name in ("en_x-ud-train.conllu", "en_x-ud-dev.conllu", "dev.conllu", "test.txt"):
        (tmp_path / name).write_text(GOOD)
    assert find_split(tmp_path, "train", ENDINGS) == Path(tmp_path / "en_x-ud-train.conllu")
    for split, found in {
        "dev": r"2 files .*\(dev\.conllu, en_x-ud-dev\.conllu\)",
        "test": r".*none",
    }.items():
        with pytest.raises(InputError, match=found) as caught:
            find_split(tmp_path, split, ENDINGS)
        assert caught.value.path == str(tmp_path)
        assert caught.value.remedy == f"name it with {split}_file"
    with pytest.raises(InputError, match="no such folder"):
        find_split(tmp_path / "nowhere", "dev", ENDINGS)
