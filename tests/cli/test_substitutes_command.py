"""Substitution tables from the command and from Python, on the sample and on small files."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from command_runs import mistake

import robustparse as rp
from robustparse.attacks import substitution_sources
from robustparse.attacks.candidates.generator import Slot
from robustparse.attacks.candidates.masked_lm import MaskedLM
from robustparse.cli.main import main
from robustparse.data.sample.treebank import sample_treebank
from robustparse.errors import InputError
from sample_runs import sentences, write_sample
from tiny_language_models import VOCABULARY, save_bert


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two treebanks, a lexicon and a masked language model; nobody may change them."""
    folder = tmp_path_factory.mktemp("files")
    write_sample(folder / "train.conllu", sentences(12))
    write_sample(folder / "test.conllu", sentences(6, "test"))
    words = sorted({word.lower() for each in sentences(12) for word in each.sentence.words})
    lists = {word: [words[at - 1], "elsewhere"] for at, word in enumerate(words) if word.isalpha()}
    (folder / "lists.json").write_text(json.dumps(lists))
    torch.manual_seed(0)
    save_bert(folder / "bert", VOCABULARY, positions=40)
    return folder


def test_the_command_makes_the_table_of_the_function(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = [str(files / "train.conllu"), str(files / "test.conllu")]
    sources = [f"lexicon:{files}/lists.json", "training_words", "typos"]
    options = ["--same_tag", "--symmetric", "--top", "3", "--out", str(tmp_path / "t.jsonl")]
    main(["substitutes", "--sources", *sources, "--data", *data, *options])
    printed = capsys.readouterr().out
    table = rp.substitutes(sources, data, same_tag=True, symmetric=True, top=3)
    read = rp.SubstitutionTable.read(tmp_path / "t.jsonl")
    assert read.digest == table.digest
    assert read.settings == table.settings
    assert table.digest in printed
    sizes = read.settings["sizes"]
    assert set(sizes) == {*sources, "pooled", "table"}
    assert all(str(size["tokens"]) in printed for size in sizes.values())
    assert sizes["pooled"]["mean"] <= sizes["table"]["mean"]


def test_the_order_of_the_files_does_not_matter(files: Path, tmp_path: Path) -> None:
    data = [files / "train.conllu", files / "test.conllu"]
    sources = [f"masked_lm:{files}/bert", "training_words"]
    for number, order in enumerate((data, data[::-1])):
        rp.substitutes(sources, order, top=4, out=tmp_path / f"{number}.jsonl", device="cpu")
    assert (tmp_path / "0.jsonl").read_bytes() == (tmp_path / "1.jsonl").read_bytes()


def test_an_interrupted_run_resumes_with_the_same_bytes(
    files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(substitution_sources, "_AT_ONCE", 5)
    plain, asked = MaskedLM.probabilities, list[Slot]()

    def run(name: str, limit: int) -> bytes:
        asked.clear()

        def limited(self: MaskedLM, slots: Sequence[Slot]) -> list[list[tuple[str, float]]]:
            asked.extend(slots)
            if len(asked) > limit:
                raise KeyboardInterrupt
            return plain(self, slots)

        monkeypatch.setattr(MaskedLM, "probabilities", limited)
        out = tmp_path / name
        source = f"masked_lm:{files}/bert"
        rp.substitutes(source, files / "train.conllu", contexts=2, out=out, device="cpu")
        return out.read_bytes()

    whole = run("whole.jsonl", 10**6)
    number = len(asked)
    with pytest.raises(KeyboardInterrupt):
        run("killed.jsonl", number // 2)
    assert not (tmp_path / "killed.jsonl").exists()
    assert run("killed.jsonl", 10**6) == whole
    assert number // 3 < len(asked) < number * 2 // 3
    assert run("killed.jsonl", 10**6) == whole
    assert len(asked) == 1  # the word that loads the model


def test_the_sample_and_examples_are_data(files: Path, tmp_path: Path) -> None:
    arguments = ["--sources", "training_words", "--data", "sample", "--task", "dependency"]
    main(["substitutes", *arguments, "--out", str(tmp_path / "table.jsonl")])
    table = rp.substitutes("training_words", sample_treebank(0).train)
    assert rp.SubstitutionTable.read(tmp_path / "table.jsonl").digest == table.digest


def test_tags_come_from_a_tagger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from robustparse.api import substitutes as module
    from robustparse.types import Sentence

    class Nouns:
        def tagged(self, texts: Sequence[tuple[str, ...]]) -> list[Sentence]:
            return [Sentence(text, xpos=("NN",) * len(text)) for text in texts]

    monkeypatch.setattr(module, "tagger_named", lambda _: Nouns())
    (tmp_path / "texts.tsv").write_text("good film\tpos\nbad film\tneg\n")
    data = ["--data", str(tmp_path / "texts.tsv"), "--task", "classification"]
    rest = [*data, "--tagger", "nltk", "--out", str(tmp_path / "table.jsonl")]
    main(["substitutes", "--sources", "training_words", *rest])
    table = rp.SubstitutionTable.read(tmp_path / "table.jsonl")
    assert table.substitutes["good"] == ("film", "bad")
    assert table.settings["tagset"] == "xpos"


MISTAKES = [
    (["--sources", "wordnett"], ["wordnet?"]),
    (["--sources", "lexicon:none.json", "neighbours:no.txt"], ["none.json", "no.txt"]),
    (["--sources", "masked_lm:nowhere", "lexicon:none.json"], ["nowhere", "none.json"]),
    (["--sources", "typos", "--top", "0"], ["top"]),
    (["--sources", "typos", "--data", "none.conllu"], ["none.conllu"]),
    (["--sources", "typos", "--tagset", "penn"], ["tagset"]),
    (["--sources", "typos", "--cosine", "0.7"], ["cosine"]),
    (["--sources", "typos", "--contexts", "2"], ["contexts", "masked_lm"]),
    (["--sources", "wordnet", "--top", "9"], ["top", "neighbours"]),
    (["--sources", "typos", "--out", "test.conllu"], ["test.conllu"]),
    (["--sources", "typos", "--out", "."], ["folder"]),
]


@pytest.mark.parametrize(("options", "shown"), MISTAKES)
def test_a_mistake_is_one_message(
    options: list[str],
    shown: list[str],
    files: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("test.conllu").write_bytes((files / "test.conllu").read_bytes())
    arguments = ["substitutes", "--data", "test.conllu"]
    arguments += [] if "--out" in options else ["--out", "table.jsonl"]
    capsys.readouterr()
    with pytest.raises(SystemExit) as end:
        main([*arguments, *options])
    error = capsys.readouterr().err
    assert end.value.code == 2
    assert "Traceback" not in error
    assert all(text in error for text in shown), error


def test_texts_without_tags_have_no_same_tag(tmp_path: Path, capsys) -> None:
    (tmp_path / "texts.tsv").write_text("good film\tpos\nbad film\tneg\n")
    data = ["--data", str(tmp_path / "texts.tsv"), "--out", str(tmp_path / "table.jsonl")]
    data += ["--task", "classification"]
    assert "same_tag" in mistake(capsys, "substitutes", "--sources", "typos", "--same_tag", *data)
    sources = ["typos", "training_words"]
    assert "training_words" in mistake(capsys, "substitutes", "--sources", *sources, *data)


def test_files_and_examples_are_not_mixed() -> None:
    for data in ([], ["sample", sentences(1)[0]]):
        with pytest.raises(InputError):
            rp.substitutes("typos", data)  # type: ignore[arg-type]


def test_a_table_without_words_is_not_written(tmp_path, capsys):
    (tmp_path / "lexicon.json").write_text('{"zeppelin": ["airship"]}')
    out = tmp_path / "table.jsonl"
    given = ["--task", "dependency", "--data", "sample", "--out", out]
    sources = ["--sources", f"lexicon:{tmp_path}/lexicon.json"]
    assert "no substitute" in mistake(capsys, "substitutes", *sources, *given)
    assert not out.exists()
