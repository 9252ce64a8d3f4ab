"""The guides' commands run, page by page in the order of the page, on the sample and in seconds."""

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import nltk
import pytest
import torch
from guide_commands import ABSENT, ELSEWHERE, GUIDES, PAGES, ROOT, commands, launched

from robustparse.cli import ensemble_members
from robustparse.cli.main import main, run
from robustparse.data.sample.questions import sample_questions
from robustparse.data.sample.reviews import review_lexicon
from robustparse.data.sample.treebank import treebank_lexicon
from robustparse.tasks.semantic import semantic_task
from sample_runs import sentences, write_sample
from sample_texts import texts, write_texts
from tiny_language_models import VOCABULARY, save_bert

# Guides that start from a checkpoint of another page's, which has its sizes.
GIVEN = {
    "attack.md": ["ewt_biaffine"],
    "perturbations.md": ["ewt_biaffine_word_character"],
    "train.md": ["ewt_biaffine"],
}
QUICK = "--trainer.max_steps 1 --trainer.val_check_interval 1 --trainer.precision 32-true "
QUICK += "--trainer.num_sanity_val_steps 0 "
QUICK += "--trainer.accelerator cpu --trainer.enable_progress_bar false "
QUICK += "--trainer.enable_model_summary false "
ENCODER = "--model.init_args.encoder.init_args"
PARSER = f"{ENCODER}.word_dim 8 {ENCODER}.character_dim 6 {ENCODER}.character_out 8 "
PARSER += f"{ENCODER}.hidden 8 {ENCODER}.layers 1 "
MLPS = "--model.init_args.arc_dim 8 --model.init_args.label_dim 6"
TAGGER = PARSER
PARSER += MLPS
OVER_BERT = f"{MLPS} {ENCODER}.mix 1"
SEMANTIC = f"{ENCODER}.word_dim 8 {ENCODER}.hidden 8 --model.init_args.hidden 8"
PAIRS = f"{ENCODER}.word_dim 8 --model.init_args.hidden 8 --model.init_args.layer_dim 4"
HYPOTHESES = f"{ENCODER}.word_dim 8 --model.init_args.hidden 8"
CLASSIFIER = f"{ENCODER}.word_dim 8 --model.init_args.filters 4"


def quick(command: str) -> list[str]:
    """The command's arguments, and those that make it small."""
    command = " ".join(command.split())
    # WordNet is not here, and training words need tags, which reviews do not have.
    other = "" if "--data mr/" in command else "training_words "
    command = command.replace("--sources wordnet ", f"--sources {other}")
    for recipe in ABSENT:
        command = command.replace(recipe, "--attack words.yaml")
    arguments = launched(command)[1]
    over_bert = "minilm" in command or "_transformer" in command
    if arguments[0] in ("fit", "ensemble"):
        sizes = CLASSIFIER if "/mr_" in command else OVER_BERT if over_bert else PARSER
        sizes = SEMANTIC if "/geo_" in command else PAIRS if "/snli_" in command else sizes
        sizes = TAGGER if "_tagger" in command else sizes
        sizes = HYPOTHESES if "hypothesis_only" in command or "/mr_lstm" in command else sizes
        arguments += f"{QUICK} {sizes}".split()
    elif arguments[0] == "attack":
        arguments += ["--limit", "6"]
    elif arguments[0] == "certify":
        arguments += ["--cap", "20"]
    return arguments


def write_files(folder: Path) -> None:
    """Write the sample under all names that the guides give to data, and a language model."""
    for name in ("UD_English-EWT/en_ewt-ud-", "UD_French-Sequoia/fr_sequoia-ud-", "treebank/"):
        (folder / name).parent.mkdir(exist_ok=True)
        for split, count in (("train", 60), ("dev", 8), ("test", 8)):
            write_sample(folder / f"{name}{split}.conllu", sentences(count, split))
    for name in ("a", "b", "c", "text"):
        write_sample(folder / f"{name}.conllu", sentences(20, "test"))
    (folder / "mr").mkdir()
    for name in ("mr/train", "mr/dev", "mr/test", "a", "c"):
        write_texts(folder / f"{name}.tsv", texts(40, name[3:] or "train"))
    (folder / "snli").mkdir()
    for split in ("train", "dev", "test"):
        lines = (folder / f"mr/{split}.tsv").read_text().splitlines(keepends=True)
        (folder / f"snli/{split}.tsv").write_text("".join(f"we were there\t{one}" for one in lines))
    (folder / "geo").mkdir()
    for split in ("train", "test"):
        questions = sample_questions(0).split(split)[:60]
        lines = list(map(semantic_task().files.write, questions))
        (folder / f"geo/{split}.tsv").write_text("".join(lines))
    (folder / "wnut17").mkdir()
    (folder / "snips").mkdir()
    for split in ("train", "dev", "test"):
        words = [f"{next(iter(review_lexicon(0)))} O", f"{split} B-x", "York I-x"]
        (folder / f"wnut17/{split}.conll").write_text("\n".join([*words, "", "Rome B-x"] * 9))
        row = {"tokens": ["play", "it"], "tags": ["O", "B-x"], "label": "Play"}
        (folder / f"snips/{split}.jsonl").write_text(f"{json.dumps(row)}\n" * 9)
    dev = texts(8, "dev")
    rows = [{"text": " ".join(one.sentence.words), "label": one.gold} for one in dev]
    (folder / "b.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    datasets = pytest.importorskip("datasets")
    table = {"review": [row["text"] for row in rows], "stars": [row["label"] for row in rows]}
    splits = dict.fromkeys(("train", "validation", "test"), datasets.Dataset.from_dict(table))
    datasets.DatasetDict(splits).save_to_disk(folder / "my_dataset")
    (folder / "text.txt").write_text("The house is large .\n")
    (folder / "vectors.txt").write_text("the 1 0\nguests 0 1\n")
    (folder / "lexicon.json").write_text(json.dumps(review_lexicon(0)))
    (folder / "neighbours.json").write_text(json.dumps(treebank_lexicon(0) | review_lexicon(0)))
    (folder / "words.yaml").write_text(
        "candidates: {class_path: Lexicon, init_args: {table: lexicon.json}}\n"
        "search: {class_path: robustparse.attacks.PWWS}\n"
    )
    words = {word.lower(): None for one in sentences(60) for word in one.sentence.words}
    pieces = {piece: number for number, piece in enumerate({**VOCABULARY, **words})}
    save_bert(folder / "bert-base-uncased", pieces, layers=1)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files; nobody may change it."""
    folder = tmp_path_factory.mktemp("files")
    torch.manual_seed(0)  # of the language model
    write_files(folder)
    return folder


@pytest.fixture
def folder(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with the files; candidates are cached in it, too."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    # A process for each member of an ensemble would import everything again.
    monkeypatch.setattr(ensemble_members, "fit", lambda options: run("fit", [*options]))
    # NLTK's stop words are not here.
    monkeypatch.setattr(nltk.corpus, "stopwords", SimpleNamespace(words=lambda _: ["the"]))
    return Path(shutil.copytree(files, tmp_path, dirs_exist_ok=True))


@pytest.mark.slow
@pytest.mark.parametrize("page", sorted(name for name in GUIDES if GUIDES[name]))
def test_the_commands_of_a_guide_run(page: str, folder: Path) -> None:
    for name in GIVEN.get(page, []):
        where = f"--trainer.default_root_dir {folder}/runs/{name}"
        fit = f"robustparse fit --config experiment/{name} {where}"
        main(quick(f"{fit} --data.init_args.folder UD_English-EWT"))
    for command in GUIDES[page]:
        if "attacked_words" in command and not Path("attacked_words").exists():
            shutil.copytree("attacked", "attacked_words")  # of another recipe, on the page
        main(quick(command))


def test_every_command_is_run_here_or_elsewhere() -> None:
    assert sum(map(len, GUIDES.values())) > 25
    # The other pages say how a value was measured, on data and models that are not here; the way
    # of a sentence has a test of its own.
    assert {
        page.name if page.parent.name != "results" else "results"
        for page in PAGES
        if page.name not in GUIDES and commands(page.read_text())
    } == {
        "reproduction.md",
        "results",
        "way_of_a_sentence.md",
    }


@pytest.mark.parametrize("named", ELSEWHERE)
def test_what_is_run_elsewhere_is_needed_and_run_there(named: str) -> None:
    """A command would be left out by nothing else, and the test that runs it is there."""
    every = [one for page in PAGES if page.name in GUIDES for one in commands(page.read_text())]
    left_out_by = [{other for other in ELSEWHERE if other in one} for one in every]
    assert {named} in left_out_by
    file, test = ELSEWHERE[named]
    assert f"\ndef {test}(" in (ROOT / file).read_text("utf-8")
