"""The recipes of rows: the machine's files, a row's own constraints and goal, and their digests."""

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

import study
import study_recipes
from studies import STUDIES

HERE = study.Inputs(Path("treebank"), "mlm", "encoder", "vectors.txt")


def test_recipes_get_the_machines_files() -> None:
    names = {"bert-base-uncased", "counter-fitted-vectors.txt"}
    row = next(row for row, _ in STUDIES["wang2021_filters"].cases if row.filters == 2)
    shipped = (study.ROOT / "configs" / "attack" / f"{row.recipe}.yaml").read_text()
    assert all(name in shipped for name in names)
    recipe = study.with_files(yaml.safe_load(shipped), HERE)
    assert not any(name in yaml.safe_dump(recipe) for name in names)
    mlm, near = (recipe["candidates"]["init_args"]["generators"][place] for place in (2, 1))
    assert mlm["init_args"]["generator"]["init_args"] == {
        "model": "mlm",
        "top_k": 100,
        "sample": 50,
    }
    assert near["init_args"] == {"vectors": "vectors.txt", "k": 50}


def test_a_rows_recipe_has_its_filters_and_budget(tmp_path: Path) -> None:
    one = STUDIES["wang2021_filters"].elsewhere(tmp_path, None)
    rows = [row for row, _ in one.cases if row.filters is not None]
    for row in rows:
        command = study.attack_command(row, HERE, 0.1)
        path = Path(command[command.index("--attack") + 1])
        assert path.is_relative_to(tmp_path)
        recipe = yaml.safe_load(path.read_text())
        assert recipe["search"]["init_args"]["gamma"] == 0.1
        assert len(recipe["constraints"]) == 1 + row.filters
    assert [row.filters for row in rows] == [1, 2, 3, 4]


def test_a_row_demands_that_another_parser_keeps_its_trees(tmp_path: Path) -> None:
    one = STUDIES["ewt_references"].elsewhere(tmp_path, None)
    for row, gamma in one.cases:
        command = study.attack_command(row, HERE, gamma)
        recipe = yaml.safe_load(Path(command[command.index("--attack") + 1]).read_text())
        last = recipe["constraints"][-1]
        names = [str(tmp_path / name / "best.ckpt") for name in row.references]
        demanded = {
            "class_path": "robustparse.attacks.ReferenceParsers",
            "init_args": {"checkpoints": names, "agree": 1},
        }
        assert (last == demanded) == bool(row.references)
        assert (
            recipe.get("goal", {}).get("init_args", {}).get("success") == "strict"
        ) == row.strict
        assert row.name not in row.references


def test_copulas_are_changed_where_a_row_says_so(tmp_path: Path) -> None:
    one = STUDIES["ewt_relations"].elsewhere(tmp_path, None)
    named = {row.attack: study.recipe_of(row, HERE) for row, _ in one.cases}
    for attack in ("zheng2020_blackbox", "zheng2020_whitebox"):
        free, left_alone = named[f"{attack}_copulas"], named[attack]
        kept = [part["class_path"].rpartition(".")[2] for part in free["constraints"]]
        assert "ForbiddenRelations" not in kept
        left_alone["constraints"].remove(study_recipes.RELATIONS)
        assert free == left_alone


@pytest.mark.parametrize("what", ["masked_lm", "vectors", "similarity"])
def test_a_recipe_counts_by_the_content_of_its_files(tmp_path: Path, what: str) -> None:
    def digest(folder: str, content: str) -> str:
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "file").write_text(content)
        place = tmp_path / folder
        inputs = replace(HERE, **{what: str(place if what != "vectors" else place / "file")})
        return study_recipes.recipe_digest(row, inputs)

    recipe = "wang2021_open" if what == "masked_lm" else "textfooler"
    row = study.Row("a", "a", recipe=recipe)
    first = digest("here", "1")
    assert digest("elsewhere", "1") == first
    assert digest("here", "2") != first


@pytest.mark.parametrize(
    ("changed", "same"),
    [
        ({"gamma": 0.05}, True),  # a budget is the row's
        ({"model": "elsewhere"}, True),  # the same files
        ({"outcome": "last"}, False),  # a default of another day
        ({"model": "another"}, False),
    ],
)
def test_an_attacks_settings_count_with_their_defaults(
    changed: dict[str, str | float], same: bool
) -> None:
    def run(references: bool = False, **settings: str | float) -> dict[str, object]:
        checked = [{"class_path": "robustparse.attacks.SeenInTraining", "init_args": {}}]
        judge = {"checkpoints": ["a.ckpt"], "agree": 1}
        if references:
            checked.append({"class_path": study_recipes.REFERENCES, "init_args": judge})
        arguments = {"search": {"init_args": settings}, "constraints": checked}
        digests = {"here": "1", "elsewhere": "1", "another": "2"}
        return {"settings": {"init_args": arguments}, "sha256": {"recipe": digests}}

    first = {"gamma": 0.15, "model": "here", "outcome": "best"}
    digest = study_recipes.settings_digest(run(**first))
    assert (study_recipes.settings_digest(run(True, **first | changed)) == digest) == same
