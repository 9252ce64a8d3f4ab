"""The recipe of a row's attack, with the models and vectors of this machine in it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import yaml

from robustparse.files import file_digest, folder_digest
from study_rows import BEST, ROOT, Row

# As recipes name them.
MASKED_LM, VECTORS = "bert-base-uncased", "counter-fitted-vectors.txt"
REFERENCES = "robustparse.attacks.ReferenceParsers"
RELATIONS = {"class_path": "robustparse.attacks.ForbiddenRelations"}


@dataclass(frozen=True)
class Inputs:
    """What the machine has: the corpus, models by folder or name, files of word vectors."""

    folder: Path
    masked_lm: str
    encoder: str
    vectors: str
    word_vectors: str | None = None
    similarity: str | None = None


def with_files(node: Any, inputs: Inputs) -> Any:
    """Return a recipe with this machine's models and vectors in it."""
    if isinstance(node, list):
        return [with_files(part, inputs) for part in node]
    if isinstance(node, dict):
        return {key: with_files(value, inputs) for key, value in node.items()}
    here = {MASKED_LM: inputs.masked_lm, VECTORS: inputs.vectors}
    if inputs.similarity is not None:
        here["sentence-transformers/all-MiniLM-L6-v2"] = inputs.similarity
    return here.get(node, node) if isinstance(node, str) else node


def shipped(row: Row) -> str:
    """Return the text of the recipe that a row's attack starts from."""
    return (ROOT / "configs" / "attack" / f"{row.recipe}.yaml").read_text("utf-8")


def proposes(row: Row) -> bool:
    """Tell whether a masked language model proposes a row's candidates."""
    return MASKED_LM in shipped(row)


def recipe_of(row: Row, inputs: Inputs, gamma: float | None = None) -> dict[str, Any]:
    """Return the shipped recipe with what the row changes of it, and with a budget."""
    recipe: dict[str, Any] = with_files(yaml.safe_load(shipped(row)), inputs)
    if row.filters is not None:
        recipe["constraints"] = recipe["constraints"][: 1 + row.filters]
    if gamma is not None:
        recipe["search"]["init_args"]["gamma"] = gamma
    if row.copulas:
        recipe["constraints"].remove(RELATIONS)
    if row.references:
        paths = [str(row.home / name / BEST) for name in row.references]
        settings = {"checkpoints": paths, "agree": len(paths)}
        recipe["constraints"].append({"class_path": REFERENCES, "init_args": settings})
    if row.fraction is not None:
        ranking = {
            "class_path": "robustparse.attacks.RandomOrder",
            "init_args": {"fraction": row.fraction},
        }
        recipe["search"]["init_args"]["ranking"] = ranking
    if row.strict:
        recipe["goal"]["init_args"]["success"] = "strict"
    if row.seen:
        recipe["constraints"].append({"class_path": "robustparse.attacks.SeenInTraining"})
    return recipe


def recipe_digest(row: Row, inputs: Inputs) -> str:
    """Return what tells a row's recipe from others, whatever its budget and reference parsers.

    Models and vectors count by what is in their files, not by where these lie.
    """
    contents = replace(
        inputs,
        masked_lm=_content(inputs.masked_lm),
        vectors=_content(inputs.vectors),
        similarity=_content(inputs.similarity),
    )
    recipe = recipe_of(replace(row, references=()), contents)
    return sha256(json.dumps(recipe, sort_keys=True).encode()).hexdigest()


def settings_digest(run: Mapping[str, Any]) -> str:
    """Return the same of an attack that was made, whose ``run.json`` holds every default too.

    A default that has changed since is no line of the recipe.
    """
    files = run["sha256"]["recipe"]

    def plain(node: Any) -> Any:
        if isinstance(node, list):
            return [plain(part) for part in node if not _is_reference(part)]
        if isinstance(node, dict):
            return {key: plain(value) for key, value in node.items() if key != "gamma"}
        return files.get(node, node) if isinstance(node, str) else node

    return sha256(json.dumps(plain(run["settings"]), sort_keys=True).encode()).hexdigest()


def model_digest(model: str) -> str:
    """Return what tells a model from others: a folder's content, or the name that the hub has it
    by.
    """
    folder = Path(model).expanduser()
    return folder_digest(folder) if folder.is_dir() else model


def _is_reference(part: Any) -> bool:
    return isinstance(part, dict) and part.get("class_path") == REFERENCES


def _content(place: str | None) -> Any:
    """Return the digest of a folder or file; what is neither stands for itself."""
    file = Path(place or "").expanduser()
    return file_digest(file) if place and file.is_file() else place and model_digest(place)
