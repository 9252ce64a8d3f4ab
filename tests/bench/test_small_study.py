"""A small study from its YAML to its line of figures and its report."""

import json
from pathlib import Path

import pytest

import recompute
import studies
import study
import study_machine
from robustparse.cli.main import main
from robustparse.data.conllu import block_of, write_treebank
from robustparse.data.sample.treebank import sample_treebank
from robustparse.files.digests import file_digest

STUDY = """
task: dependency
test: {sentences: 8}
measured: []
fit:
  trainer.accelerator: cpu
  trainer.val_check_interval: 5
  data.init_args.batches.words: 400
  model.init_args.encoder.init_args:
    {word_dim: 16, character_dim: 8, character_out: 16, hidden: 16, layers: 1}
  model.init_args.arc_dim: 16
  model.init_args.label_dim: 8
tables:
  words: {sources: [training_words], splits: [train, test], top: 3}
encodings:
  words: {table: words, fidelity: 0.5}
attacks:
  zheng2020_universal: {budgets: [0.15]}
  one_edit: {certify: {table: words, edits: 1, cap: 30}}
systems:
  ud_biaffine: {title: clean training, steps: 24, attacks: [zheng2020_universal]}
  ud_biaffine_encoded:
    title: + encoding
    configs:
      - experiment/ud_biaffine
      - trainer:
          callbacks+:
            - class_path: robustparse.defenses.ASCC
              init_args: {table: '{tables}/words.jsonl', steps: 1, most: 2}
    steps: 5
    encoding: words
    tables: [words]
    attacks: [one_edit]
  ud_biaffine_copies:
    title: + copies made before
    configs: [experiment/ud_biaffine_finetuning, defense/copies]
    checkpoint: last.ckpt
    steps: 5
    attacks: [zheng2020_universal]
    copies:
      {of: ud_biaffine, attack: zheng2020_universal, share: 0.2, keep: changed, precision: 32-true}
"""


@pytest.mark.slow
def test_a_study_is_trained_attacked_kept_and_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A second run repeats nothing, and keeps the same figures."""
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    sample = sample_treebank()
    for split, count in (("train", 100), ("dev", 20), ("test", 20)):
        blocks = [block_of(one.sentence, one.gold) for one in getattr(sample, split)[:count]]
        write_treebank(corpus / f"x-{split}.conllu", blocks)
    (tmp_path / "small.yaml").write_text(STUDY)
    monkeypatch.setattr(studies, "STUDIES", tmp_path)
    home = tmp_path / "runs"

    def run(command: list[str]) -> float:
        print("robustparse", *command)
        main(list(command))
        return 1.0

    monkeypatch.setattr(study_machine.Machine, "run", lambda _, command: run(command))
    words = f"study.py small --folder {corpus} --home {home} --processor a-machine"
    monkeypatch.setattr("sys.argv", words.split())
    study.main()
    told = capsys.readouterr().out
    clean, encoded, copies = (
        json.loads(line) for line in (home / "results" / "small.jsonl").read_text().splitlines()
    )
    assert (clean["system"], copies["system"]) == ("ud_biaffine", "ud_biaffine_copies")
    assert (clean["processor"], clean["budget"], clean["n_sentences"]) == ("a-machine", 0.15, 8)
    assert clean["steps"] <= 24
    assert copies["steps"] == 5
    assert set(copies["static"]) == {"uas", "las"}
    assert clean["static"] is None
    assert len(clean["counts"]["words"]) == len(clean["counts"]["changed"]) == 8
    assert sum(clean["counts"]["clean"]) >= sum(clean["counts"]["attacked"])
    assert "the parser ud_biaffine/best.ckpt" in copies["origin"]
    assert clean["origin"].items() <= copies["origin"].items()
    assert encoded["counts"]["words"] == clean["counts"]["words"]
    table = file_digest(home / "tables" / "words.jsonl")
    finished = json.loads((home / "ud_biaffine_encoded" / "finished.json").read_text())
    assert finished["training"]["tables"] == [table]
    assert sum(encoded["counts"]["clean"]) >= sum(encoded["counts"]["attacked"])
    assert encoded["attacked"]["las"] == encoded["certified"]["1"]["lower"]["las"]
    assert "the table tables/words.jsonl" in encoded["origin"]
    assert (home / "small.html").exists()
    assert list((home / "small").glob("*.tex"))
    assert told.count("| ud_biaffine") == 3

    monkeypatch.setattr("sys.argv", f"recompute.py small --home {home}".split())
    results = home / "results" / "small.jsonl"
    kept = results.read_text()
    for text, status in ((kept, 0), (kept.replace('"success_rate": ', '"success_rate": 1'), 1)):
        results.write_text(text)
        with pytest.raises(SystemExit) as end:
            recompute.main()
        assert end.value.code == status
    results.write_text(kept)

    trained = []
    monkeypatch.setattr("sys.argv", words.split())
    monkeypatch.setattr(study.Training, "fit_command", lambda *_: trained.append(1))
    study.main()
    again = [
        json.loads(line) for line in (home / "results" / "small.jsonl").read_text().splitlines()
    ]
    assert trained == []
    assert [one["counts"] for one in again] == [one["counts"] for one in (clean, encoded, copies)]
