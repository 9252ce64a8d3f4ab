"""Which attacks a defense has seen: a table of configurations, and files that do not tell."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from robustparse.api.seen_attacks import seen_attacks
from robustparse.attacks.substitution_table import SubstitutionTable
from robustparse.files.digests import file_digest

Json = dict[str, Any]


def component(name: str, **arguments: Any) -> Json:
    return {"class_path": f"robustparse.attacks.{name}", "init_args": arguments}


def attack(search: str, *candidates: Json) -> Json:
    several = component("Union", generators=list(candidates))
    chosen = candidates[0] if len(candidates) == 1 else several
    return component("Attack", candidates=chosen, search=component(search, gamma=0.1))


def callback(name: str, **arguments: Any) -> Json:
    return {"class_path": f"robustparse.defenses.{name}", "init_args": arguments}


WORDNET, MASKED = component("WordNetSynonyms", parts="slot"), component("MaskedLM", k=3)
TYPOS, TABLE = component("Typos"), component("TableCandidates", table="table.jsonl")
ONLINE = callback("SubstitutionAdversary", attack=attack("PWWS", component("WordNetSynonyms")))
TWO = callback("SubstitutionAdversary", attack=attack("PWWS", WORDNET, MASKED))
RANDOM = callback("SubstitutionAdversary", attack=attack("RandomSubstitution", TABLE))
DRAWN = component("Attack", candidates=component("OneOf", generators=[TABLE, MASKED]))
DRAWN["init_args"]["search"] = component("RandomSubstitution", gamma=0.3)
AGREEING = callback("SubstitutionAdversary", attack=DRAWN, loss="agreement", beta=4.0)
MONITOR = callback("RobustnessEvaluation", attack=attack("PWWS", WORDNET))
CERTIFIED = callback("CertifiedEvaluation", table="table.jsonl")
BIG = '{}\n{"word": "big", "substitutes": ["large"]}\n'
CACHED = component("CachedCandidates", generator=WORDNET, path="cache")
HULL = callback("ASCC", table="table.jsonl")
STOPPING = {"class_path": "pytorch_lightning.callbacks.EarlyStopping", "init_args": {}}
CUSTOM = {"class_path": "mine.Defense", "init_args": {}}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a checkpoint and two substitution tables."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "best.ckpt").write_bytes(b"weights")
    (tmp_path / "table.jsonl").write_text(BIG)
    return tmp_path


def configure(folder: Path, *callbacks: Json, model: Json | None = None, **data: Any) -> None:
    config = {
        "trainer": {"callbacks": list(callbacks) or None},
        "model": {"class_path": "a.Model", "init_args": model or {}},
        "data": {"class_path": "a.Data", "init_args": data},
    }
    (folder / "config.yaml").write_text(yaml.safe_dump(config))


def run(settings: Json, *checkpoints: str, recipe: Json | None = None) -> Any:
    paths = checkpoints or ("run/best.ckpt",)
    digests = [file_digest(Path(path)) for path in paths]
    tables = {"table.jsonl": file_digest(Path("table.jsonl"))}
    sha256 = {"checkpoint": digests, "recipe": tables if recipe is None else recipe}
    return {"victims": list(paths), "settings": settings, "sha256": sha256}


@pytest.mark.parametrize(
    ("callbacks", "search", "candidates", "expected"),
    [
        ([], "PWWS", [WORDNET], "unseen"),
        ([CERTIFIED], "PWWS", [TABLE], "unseen"),
        ([callback("FGM", epsilon=3.0), STOPPING], "PWWS", [WORDNET], "unseen"),
        ([ONLINE], "PWWS", [WORDNET], "seen"),
        ([ONLINE], "Greedy", [WORDNET], "candidates seen"),
        ([ONLINE], "PWWS", [CACHED], "seen"),
        ([ONLINE], "PWWS", [MASKED], "unseen"),
        ([ONLINE], "PWWS", [WORDNET, MASKED], "candidates seen"),
        ([TWO], "PWWS", [WORDNET], "seen"),
        ([TWO], "PWWS", [MASKED, WORDNET], "seen"),
        ([TWO], "PWWS", [MASKED, TYPOS], "candidates seen"),
        ([RANDOM, ONLINE], "RandomSubstitution", [TABLE], "seen"),
        ([RANDOM, ONLINE], "RandomSubstitution", [WORDNET], "candidates seen"),
        ([AGREEING], "RandomSubstitution", [TABLE, MASKED], "seen"),
        ([AGREEING], "RandomSubstitution", [TABLE], "seen"),
        ([AGREEING], "PWWS", [TABLE], "candidates seen"),
        ([AGREEING], "PWWS", [WORDNET], "unseen"),
        ([HULL], "PWWS", [TABLE], "candidates seen"),
        ([HULL], "PWWS", [WORDNET], "unseen"),
        ([MONITOR], "PWWS", [WORDNET], "unseen"),
        ([CUSTOM], "PWWS", [WORDNET], "unknown"),
        ([ONLINE, CUSTOM], "PWWS", [WORDNET], "seen"),
        ([ONLINE, CUSTOM], "Greedy", [WORDNET], "unknown"),
    ],
)
def test_what_a_configuration_tells(
    callbacks: list[Json], search: str, candidates: list[Json], expected: str, folder: Path
) -> None:
    configure(folder / "run", *callbacks)
    assert seen_attacks([run(attack(search, *candidates))]) == [expected]


def test_tables_are_compared_by_their_words(folder: Path) -> None:
    within = run(attack("RandomSubstitution", TABLE))
    others = {
        "same.jsonl": BIG.replace("{}", '{"sources": {}}'),
        "other.jsonl": BIG.replace("large", "great"),
    }
    for name, expected in zip(others, ("candidates seen", "unseen"), strict=True):
        (folder / name).write_text(others[name])
        configure(folder / "run", callback("ASCC", table=name))
        assert seen_attacks([within]) == [expected]
        encoding = {"substitutes": SubstitutionTable.read(folder / name).digest}
        cluster = {"code": "big", "words": {"big": 1}}
        (folder / "codes.jsonl").write_text(f"{json.dumps(encoding)}\n{json.dumps(cluster)}\n")
        configure(folder / "run", model={"encoding": "codes.jsonl"})
        assert seen_attacks([within]) == [expected]
    (folder / "codes.jsonl").write_text("{}\n")
    assert seen_attacks([within]) == ["unknown"]
    configure(folder / "run", RANDOM)
    assert seen_attacks([within]) == ["seen"]
    (folder / "table.jsonl").write_text(others["other.jsonl"])
    assert seen_attacks([within]) == ["unknown"]


def test_tables_are_made_of_candidate_generators(folder: Path) -> None:
    sources = {"wordnet": "", "neighbours:vectors.txt": "", "other": ""}
    (folder / "table.jsonl").write_text(BIG.replace("{}", json.dumps({"sources": sources})))
    other = BIG.replace("{}", json.dumps({"sources": {"wordnet": ""}})).replace("large", "great")
    (folder / "other.jsonl").write_text(other)
    tables = {"other.jsonl": file_digest(folder / "other.jsonl")}
    of_other = attack("PWWS", component("TableCandidates", table="other.jsonl"))
    runs = [run(attack("PWWS", each)) for each in (WORDNET, MASKED, TABLE)]
    runs.append(run(of_other, recipe=tables))
    for callbacks in ([HULL], [AGREEING]):
        configure(folder / "run", *callbacks)
        masked = "unseen" if callbacks == [HULL] else "candidates seen"
        expected = ["candidates seen", masked, "candidates seen", "candidates seen"]
        assert seen_attacks(runs) == expected
    configure(folder / "run", ONLINE)
    assert seen_attacks(runs) == ["seen", "unseen", "candidates seen", "candidates seen"]


def test_copies_are_known_by_the_attack_that_made_them(folder: Path) -> None:
    made = attack("PWWS", WORDNET)
    other = attack("Greedy", WORDNET)
    configure(folder / "run", augmentation={"files": ["copies.conllu"], "fraction": 1.0})
    (folder / "copies.conllu").write_text("")
    assert seen_attacks([run(made)]) == ["unknown"]
    (folder / "copies.conllu.summary.json").write_text(json.dumps({"operations": ["typos"]}))
    assert seen_attacks([run(made)]) == ["unseen"]
    (folder / "copies.attack").mkdir()
    (folder / "copies.attack" / "run.json").write_text(json.dumps({"settings": made}))
    assert seen_attacks([run(made), run(other)]) == ["seen", "candidates seen"]
    (folder / "attacked").mkdir()
    (folder / "attacked" / "run.json").write_text(json.dumps({"settings": other}))
    configure(folder / "run", augmentation={"files": ["attacked/adversarial.conllu"]})
    assert seen_attacks([run(made), run(other)]) == ["candidates seen", "seen"]


def test_weights_that_training_began_from_and_members_of_an_ensemble_count(folder: Path) -> None:
    (folder / "first").mkdir()
    (folder / "first" / "last.ckpt").write_bytes(b"other weights")
    configure(folder / "run", model={"init_from": "first"})
    pwws = attack("PWWS", WORDNET)
    assert seen_attacks([run(pwws)]) == ["unknown"]
    configure(folder / "first", ONLINE)
    assert seen_attacks([run(pwws)]) == ["seen"]
    configure(folder / "run")
    both = run(pwws, "run/best.ckpt", "first/last.ckpt")
    assert seen_attacks([both]) == ["seen"]
    configure(folder / "first", model={"init_from": "first"})
    assert seen_attacks([both]) == ["unknown"]


def test_other_weights_and_damaged_files_tell_nothing(folder: Path) -> None:
    pwws = run(attack("PWWS", WORDNET))
    assert seen_attacks([pwws]) == ["unknown"]  # no configuration
    configure(folder / "run", ONLINE)
    moved = {**pwws, "victims": ["away/best.ckpt"]}
    assert seen_attacks([moved]) == ["unknown"]
    assert seen_attacks([moved, pwws]) == ["seen", "seen"]
    assert seen_attacks([{**pwws, "settings": {"class_path": "a.Attack"}}]) == ["unknown"]
    assert seen_attacks([{"settings": attack("PWWS", WORDNET)}]) == ["unknown"]
    for text in ("[", "3", "trainer: {callbacks: []}"):
        (folder / "run" / "config.yaml").write_text(text)
        assert seen_attacks([pwws]) == ["unknown"]
    configure(folder / "run", callback("SubstitutionAdversary", attack="pwws.yaml"))
    assert seen_attacks([pwws]) == ["unknown"]
    configure(folder / "run", ONLINE)
    (folder / "run" / "best.ckpt").write_bytes(b"trained again")
    assert seen_attacks([pwws]) == ["unknown"]
