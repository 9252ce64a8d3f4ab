"""``robustparse measure`` and ``annotate`` on an attack's folder, mistakes named."""

import csv
import io
import json
import re
from pathlib import Path

import pytest
from command_runs import mistake
from rich.console import Console

from robustparse.cli import annotate
from robustparse.cli import measure as module
from robustparse.cli.main import main
from robustparse.evaluation.attack_folder import attack_into
from robustparse.models.victim import ModelVictim
from robustparse.tasks.dependency import DEPENDENCY
from sample_runs import lexicon_attack, sentences, trained_parser


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished attack."""
    made = tmp_path_factory.mktemp("attack")
    run = {"attack": "zheng2020", "victims": ["x"], "seed": 0}
    attack = lexicon_attack({"gamma": 0.5})
    victim = ModelVictim([trained_parser()])
    attack_into(made, DEPENDENCY, attack, sentences(15, "test"), victim, run)
    return made


def changed_words(folder: Path) -> list[tuple[str, str]]:
    lines = map(json.loads, (folder / "examples.jsonl").read_text().splitlines())
    return [
        (line["tokens"][i], line["adversarial_tokens"][i]) for line in lines for i in line["edited"]
    ]


def test_the_summary_of_an_attack_counts(folder):
    summary = json.loads((folder / "summary.json").read_text())
    words = changed_words(folder)
    vocabulary = trained_parser().vocabulary
    known = {*vocabulary.words, *vocabulary.tagged}
    unseen = summary["unseen"]
    assert unseen["changed"] == len(words) > 0
    for at, when in enumerate(("before", "after")):
        assert unseen["oot"][when] == sum(pair[at].lower() not in known for pair in words)
        rows = sum(pair[at].lower() not in vocabulary.words for pair in words)
        assert unseen["oov"][when] == rows
    changed = sum(one["changed"] or 0 for one in summary["by_tag"].values())
    assert changed == len(words)
    candidates = summary["candidates"]
    assert list(candidates["sums"]) == ["all", "Lexicon"]
    lines = [json.loads(line) for line in (folder / "examples.jsonl").read_text().splitlines()]
    proposed = sum(line["candidates"]["sums"]["all"]["proposed"] for line in lines)
    assert candidates["sums"]["all"] == {"proposed": proposed}
    assert candidates["means"]["all"]["proposed"] == proposed / candidates["slots"]


def test_words_are_measured_and_shown(folder, tmp_path, capsys):
    words = sorted({word.lower() for pair in changed_words(folder) for word in pair})
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("".join(f"{word} 1 {i}\n" for i, word in enumerate(words)))
    main(["measure", str(folder), "--vectors", str(vectors)])
    found = json.loads((folder / "quality.json").read_text())["word_similarity"]["changed"]
    shown = capsys.readouterr().out
    assert f"{found['mean']:.3f}" in shown
    assert f"{found['words']}" in shown
    main(["report", str(folder), "--out", str(tmp_path / "page.html")])
    assert f">{found['mean']:.2f}<" in (tmp_path / "page.html").read_text()


def test_models_get_the_options(folder, monkeypatch, capsys):
    given = []

    def measure(*arguments):
        given.append(arguments[:-1])
        return {}

    monkeypatch.setattr(module, "measure_folder", measure)
    options = ["--language_model", "some-lm", "--kind", "masked", "--sentence_encoder", "enc"]
    main(["measure", str(folder), *options, "--device", "cpu", "--download", "true"])
    ((where, model, cosine, encoder),) = given
    assert where == folder
    assert (model.model, model.kind, model.device, model.download) == (
        *("some-lm", "masked", "cpu", True),
    )
    assert cosine is None
    assert (encoder.model, encoder.measure, encoder.reference) == ("enc", "cosine", "original")


def test_mistakes_of_measure(folder, tmp_path, capsys):
    for arguments, says in (
        ([folder], "nothing to measure by; give --language_model"),
        ([tmp_path / "none", "--vectors", "v.txt"], "none: no such folder"),
        ([folder, "--vectors", tmp_path / "v.txt"], "v.txt: no such file"),
        ([folder, "--language_model", "no/such"], "causal language model 'no/such': neither"),
        ([folder, "--language_model", "x", "--kind", "odd"], "kind"),
        ([folder, "--vectors", "x", "--device", "tpu"], "--device tpu: not the name"),
    ):
        assert says in mistake(capsys, "measure", *arguments)


def filled(path: Path, fluent: str) -> None:
    rows = list(csv.DictReader(io.StringIO(path.read_text("utf-8-sig"), newline="")))
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, rows[0])
    writer.writeheader()
    writer.writerows({**row, "more_fluent": fluent, "same_structure": "no"} for row in rows)
    path.write_text(out.getvalue(), newline="")


def test_pairs_go_out_and_answers_come_in(folder, tmp_path, capsys):
    out = tmp_path / "pairs.csv"
    main(
        ["annotate", "export", str(folder), "--out", str(out), "--annotators", "2", "--limit", "5"]
    )
    printed = capsys.readouterr().out.splitlines()
    files, key = [tmp_path / "pairs_1.csv", tmp_path / "pairs_2.csv"], tmp_path / "pairs_key.json"
    assert printed == [*map(str, files), f"{key}  (the key: not for annotators)"]
    for path in files:
        filled(path, "same")
    main(["annotate", "score", str(key), *map(str, files), "--out", str(tmp_path / "figures.json")])
    shown = capsys.readouterr().out
    assert "5 pairs, 2 annotators" in shown
    assert re.search(r"more_fluent .*same .*100\.0 .*5 .*100\.0 .*undefined", shown)
    assert json.loads((tmp_path / "figures.json").read_text())["items"] == 5


def test_nothing_of_the_table_of_answers_is_cut_off_in_80_columns():
    figures = {"answers": {"adversarial": 60.0}, "majority": {"none": 10}, "agreement": 60.0}
    figures |= {"kappa": -0.186, "kappa_kind": "fleiss"}
    found = {"items": 10, "annotators": 3, "more_fluent": figures, "same_structure": figures}
    console = Console(width=80, file=io.StringIO())
    console.print(annotate._table(found))
    shown = console.file.getvalue()
    assert "…" not in shown
    for whole in ("same_structure", "no majority", "agreement", "-0.186", "(Fleiss)"):
        assert whole in shown


def test_only_successes_unless_told_otherwise(folder, tmp_path):
    lines = [json.loads(line) for line in (folder / "examples.jsonl").read_text().splitlines()]
    for which, expected in (
        ("success", [line for line in lines if line["success"]]),
        ("changed", [line for line in lines if line["edited"]]),
    ):
        out, key = tmp_path / which / "pairs.csv", tmp_path / which / "hidden.json"
        main(
            [
                "annotate",
                "export",
                str(folder),
                "--out",
                str(out),
                "--which",
                which,
                "--key",
                str(key),
            ]
        )
        items = json.loads(key.read_text())["items"].values()
        assert sorted(item["id"] for item in items) == [line["id"] for line in expected]


def test_mistakes_of_export_and_judge(folder, tmp_path, capsys):
    out = tmp_path / "pairs.csv"
    for arguments, says in (
        (["annotate", "export", tmp_path / "none"], "none: no such folder"),
        (
            ["annotate", "export", folder, "--out", out, "--annotators", 0],
            "--annotators must be >= 1",
        ),
        (["annotate", "export", folder, "--out", out, "--which", "all"], "which"),
        (["annotate", "score", tmp_path / "key.json", out], "key.json: no such file"),
    ):
        assert says in mistake(capsys, *arguments)
    main(["annotate", "export", str(folder), "--out", str(out)])
    error = mistake(capsys, "annotate", "score", tmp_path / "pairs_key.json", out)
    assert "pairs.csv:2: more_fluent: no answer; expected one of A, B, same" in error
