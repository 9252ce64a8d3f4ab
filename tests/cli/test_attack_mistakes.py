"""Mistakes in an attack's parts, and parts that are missing, each with one clear message."""

import json
import re
import sys

import pytest
from command_runs import RECIPE, ROOM, attack_by, filtered, mistake

from robustparse.attacks.constraints.tagging import pipeline_tag
from robustparse.cli.main import main
from robustparse.evaluation.lines import read_lines

PARTS = "; docs/attacks.md lists the classes under `Parts`"
LEXICON = RECIPE.replace("training_words.TrainingWords", "lexicon.Lexicon")


def searched(search: str, **settings: object) -> str:
    found = f"search: {{class_path: {ROOM}.search.{search}, init_args: {json.dumps(settings)}}}"
    return RECIPE.replace(f"search: {{class_path: {ROOM}.search.zheng2020.Zheng2020}}", found)


@pytest.mark.parametrize(
    ("table", "says"),
    [
        (["big", "large"], "table.json: found list, expected a JSON object of lists of words"),
        ("words", "table.json: found str, expected a JSON object"),
        ({"big": "large"}, "table.json, key 'big': found str, expected a list of words"),
        ({"big": {"JJ": ["large"]}}, "key 'big': found dict, expected a list of words"),
        ({"big": [3]}, "key 'big': candidate 3 is not a single word; remove it"),
        ({"big": ["very large"]}, "candidate 'very large' is not a single word; remove it"),
        ({"": ["large"]}, "key '' is not a word; remove it"),
        ({"big": ["large"], "Big": ["huge"]}, "key 'Big' appears twice"),
    ],
)
def test_a_table_of_synonyms_that_is_none(made, tmp_path, capsys, table, says):
    (tmp_path / "table.json").write_text(json.dumps(table))
    recipe = LEXICON.replace("{sample: 5}", f"{{table: {tmp_path / 'table.json'}}}")
    error = mistake(capsys, *attack_by(made, tmp_path, recipe))
    assert says in error
    assert not (tmp_path / "out").exists()


def test_a_table_of_synonyms_cut_off_or_missing(made, tmp_path, capsys):
    recipe = LEXICON.replace("{sample: 5}", f"{{table: {tmp_path / 'table.json'}}}")
    assert "table.json: no such file" in mistake(capsys, *attack_by(made, tmp_path, recipe))
    (tmp_path / "table.json").write_text("\n")
    assert "table.json: the file is empty" in mistake(capsys, *attack_by(made, tmp_path, recipe))
    (tmp_path / "table.json").write_text('{"big": ["large",\n')
    error = mistake(capsys, *attack_by(made, tmp_path, recipe))
    assert "table.json, line 2: not JSON" in error


@pytest.mark.parametrize(
    ("recipe", "options", "says"),
    [
        (RECIPE, ["--attack.budget", 0], "budget must be >= 1, got 0"),
        (RECIPE, ["--share", 1.5], "--share must be above 0 and at most 1, got 1.5"),
        (RECIPE, ["--share", 0], "--share must be above 0 and at most 1, got 0"),
        (RECIPE, ["--devices", 0], "--devices must be >= 1, got 0"),
        (RECIPE, ["--devices", "many"], "devices"),
        (searched("zheng2020.Zheng2020", gamma=1.5), [], "gamma must be in (0, 1], got 1.5"),
        (searched("zheng2020.Zheng2020", gamma=0.0), [], "gamma must be in (0, 1], got 0.0"),
        (searched("wang2021.Wang2021", gamma=1.01), [], "gamma must be in (0, 1], got 1.01"),
        (searched("beam.Beam", width=0), [], "width must be >= 1, got 0"),
        (searched("beam.Beam", width=2.5), [], "width"),
        (searched("genetic.Genetic", population=0), [], "population must be >= 1, got 0"),
        (searched("pso.ParticleSwarm", iterations=0), [], "iterations must be >= 1, got 0"),
        (searched("beam.Broom"), [], f"no attribute 'Broom'{PARTS}"),
        (searched("bean.Beam"), [], f"no attribute 'bean'{PARTS}"),
        (
            RECIPE.replace("TrainingWords", "TrainedWords"),
            [],
            f"no attribute 'TrainedWords'{PARTS}",
        ),
        (RECIPE.replace(f"{ROOM}.candidates.training_words.T", "no.T"), [], f"named 'no'{PARTS}"),
        (RECIPE.replace(f"{ROOM}.search.zheng2020.Zheng2020", "Beem"), [], f"string: Beem{PARTS}"),
        (filtered("perplexity.PerplexityRise", "{most: 3}"), [], "language_model"),
        (filtered("vector_cosine.WordVectorCosine", "{vectors: v, minimum: 7}"), [], "[-1, 1]"),
    ],
    ids=lambda value: str(value)[-50:] if isinstance(value, str) else None,
)
def test_a_setting_out_of_range(made, tmp_path, capsys, recipe, options, says):
    error = mistake(capsys, *attack_by(made, tmp_path, recipe, *options))
    assert says in error
    assert (PARTS in error) == (PARTS in says)
    assert read_lines(tmp_path / "out" / "examples.jsonl") == []


def test_a_model_on_a_device_that_is_not_there(made, tmp_path, capsys):
    recipe = RECIPE.replace("training_words.TrainingWords", "masked_lm.MaskedLM")
    recipe = recipe.replace("{sample: 5}", "{model: some-model, device: gpu}")
    error = mistake(capsys, *attack_by(made, tmp_path, recipe))
    assert "device gpu: expected auto, cpu or cuda" in error


@pytest.mark.parametrize(
    ("library", "path", "settings"),
    [
        ("sentence_transformers", "similarity.SentenceSimilarity", "{model: some-encoder}"),
        (
            "language_tool_python",
            "grammar.GrammarErrors",
            f"{{checker: {{class_path: {ROOM}.constraints.grammar.LanguageTool}}}}",
        ),
        ("spacy", "pipeline_tag.PipelineTag", "{library: spacy}"),
        ("stanza", "pipeline_tag.PipelineTag", "{library: stanza}"),
    ],
)
def test_an_extra_that_is_not_installed(
    made, tmp_path, capsys, monkeypatch, library, path, settings
):
    if library in ("spacy", "stanza"):  # other libraries look for spaCy too
        monkeypatch.setattr(pipeline_tag, "import_module", missing)
    else:
        monkeypatch.setitem(sys.modules, library, None)
    error = mistake(capsys, *attack_by(made, tmp_path, filtered(path, settings)))
    assert f"run `pip install {library.replace('sentence_t', 'sentence-t')}" in error


def missing(name: str) -> None:
    raise ImportError(f"no module named {name}")


def test_sentences_without_an_attackable_word_are_kept(made, tmp_path):
    tags = filtered("tags.AttackableTags", "{tags: [UH]}")
    main(attack_by(made, tmp_path, tags))
    lines = read_lines(tmp_path / "out" / "examples.jsonl")
    assert [line["id"] for line in lines] == list(range(12))
    for line in lines:
        assert line["adversarial_tokens"] == line["tokens"]
        assert (line["success"], line["edited"]) == (False, [])
        assert line["attacked"] == line["clean"]
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert (summary["success_rate"], summary["edit_rate"]) == (0.0, 0.0)
    assert summary["clean"] == summary["attacked"]


@pytest.mark.parametrize(
    ("path", "settings", "says"),
    [
        (
            "tags.AttackableTags",
            "{tags: [NN, NOUN]}",
            "attackable tags: no word of the data has NOUN;",
        ),
        ("tags.AttackableTags", "{tags: any}", ""),
        ("tags.AttackableTags", "{}", ""),
        ("tags.ForbiddenTags", "{tags: [NN, DET]}", "forbidden tags: no word of the data has DET;"),
        ("tags.ForbiddenTags", "{}", ""),
        (
            "tags.ForbiddenRelations",
            "{relations: [punct, SBJ, root]}",
            "forbidden relations: no word of the data has SBJ;",
        ),
    ],
)
def test_tags_that_the_data_does_not_have(made, tmp_path, capsys, path, settings, says):
    main(attack_by(made, tmp_path, filtered(path, settings)))
    found = capsys.readouterr().err
    assert found.count("no word of the data has") == (1 if says else 0)
    assert says in found
    if says:
        assert re.search(r"its words have .*(NN|root)\b", found)
