"""What a recipe reads is part of the run: with other files under the same names it is another."""

import json
from pathlib import Path

import pytest
from command_runs import RECIPE, checkpoint, mistake, stop_after

from robustparse.cli.main import main
from robustparse.evaluation.example_records import read_records
from robustparse.options.recipe_digests import recipe_digests
from sample_runs import sentences, write_sample

TRAINING_WORDS = "robustparse.attacks.TrainingWords"
CANDIDATES = "robustparse.attacks.candidates"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    checkpoint(folder)
    write_sample(folder / "test.conllu", sentences(8, "test"))
    return folder


def part(name: str, **settings: object) -> dict[str, object]:
    return {"class_path": f"robustparse.attacks.{name}", "init_args": settings}


def recipe(tmp_path: Path, candidates: dict[str, object]) -> None:
    text = RECIPE.replace(TRAINING_WORDS, str(candidates["class_path"]))
    text = text.replace("{sample: 5}", json.dumps(candidates["init_args"]))
    (tmp_path / "recipe.yaml").write_text(text)


def attack(made: Path, tmp_path: Path) -> list[str]:
    given = {"attack": tmp_path / "recipe.yaml", "checkpoint": made / "tiny.ckpt"}
    given |= {"data": made / "test.conllu", "out": tmp_path / "out"}
    return ["attack", *(str(part) for key, value in given.items() for part in (f"--{key}", value))]


def synonyms(path: Path, shift: int) -> None:
    words = sorted({word.lower() for one in sentences(8, "test") for word in one.sentence.words})
    words = [word for word in words if word.isalpha()]
    table = {word: [words[(at + shift) % len(words)]] for at, word in enumerate(words)}
    path.write_text(json.dumps(table))


def test_another_table_under_the_same_name(made, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    synonyms(tmp_path / "table.json", 1)
    recipe(tmp_path, part("Lexicon", table="table.json"))
    calls: list[int] = []
    with monkeypatch.context() as patch:
        stop_after(3, calls, patch)
        with pytest.raises(SystemExit, match="130"):
            main(attack(made, tmp_path))
    synonyms(tmp_path / "table.json", 2)
    error = mistake(capsys, *attack(made, tmp_path))
    assert "holds another run (the content of table.json has changed)" in error
    assert len(list(read_records(tmp_path / "out" / "examples.jsonl"))) == 3
    synonyms(tmp_path / "table.json", 1)
    main(attack(made, tmp_path))
    assert len(list(read_records(tmp_path / "out" / "examples.jsonl"))) == 8
    synonyms(tmp_path / "table.json", 2)  # what is finished is not shown as another's either
    assert "the content of table.json has changed" in mistake(capsys, *attack(made, tmp_path))


def test_a_cache_may_grow(made, tmp_path, monkeypatch):
    synonyms(tmp_path / "table.json", 1)
    lexicon = part("Lexicon", table=str(tmp_path / "table.json"))
    cache = tmp_path / "cache.sqlite"
    recipe(tmp_path, part("CachedCandidates", generator=lexicon, path=str(cache)))
    with monkeypatch.context() as patch:
        stop_after(3, [], patch)
        with pytest.raises(SystemExit, match="130"):
            main(attack(made, tmp_path))
    assert cache.exists()
    main(attack(made, tmp_path))
    run = json.loads((tmp_path / "out" / "run.json").read_text())
    assert list(run["sha256"]["recipe"]) == [str(tmp_path / "table.json")]


def test_files_and_folders_at_any_depth(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for name in ("vectors.txt", "stop.txt", "model/config.json", "model/1_Pooling/config.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    # Folders that are called like a choice, and like what a class keeps for itself.
    for name in ("training", "each", "kept"):
        (tmp_path / name).mkdir()
    neighbours = part("EmbeddingNeighbours", vectors="~/vectors.txt")
    neighbours["init_args"] |= {"cache": "kept", "k": 5, "limit": None}
    sememes = part("Sememes", dictionary="absent.json", words="training")
    settings = part(
        "Attack",
        candidates=part("Union", generators=[neighbours, sememes]),
        constraints=[
            part("StopWords", path=str(tmp_path / "stop.txt")),
            part("ProtectedSpans", spans={"3": [[0, 2]]}),
            part("SentenceSimilarity", model="model", device="\0"),
        ],
        goal=part("PhraseDrop", targets="each"),
        seed=0,
    )
    first = recipe_digests(settings)
    assert set(first) == {"~/vectors.txt", str(tmp_path / "stop.txt"), "model"}
    for change, name in (
        (lambda: (tmp_path / "vectors.txt").write_text("more"), "~/vectors.txt"),
        (lambda: (tmp_path / "model/1_Pooling/config.json").write_text("more"), "model"),
        (lambda: (tmp_path / "model/config.json").rename("model/config"), "model"),
    ):
        change()
        second = recipe_digests(settings)
        assert [key for key in first if first[key] != second[key]] == [name]
        first = second
    (tmp_path / "model/.lock").write_text("")
    (tmp_path / "kept/table").write_text("")
    assert recipe_digests(settings) == first
