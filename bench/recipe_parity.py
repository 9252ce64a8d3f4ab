"""Our recipes against TextAttack 0.3.11's on the same texts and the same victim.

    python bench/recipe_parity.py --folder DATA --corpora mr sst2 --vectors VECTORS --work WORK

Each recipe that TextAttack can build without a download attacks the first ``--texts`` test texts of
every corpus; ``textattack_recipes.py`` says how its random misspellings and its word vectors are
given to both sides. The victim of a corpus is a BiLSTM, trained here on ``DATA/CORPUS/train.tsv``.
Deterministic recipes are compared text by text, random ones by distribution over ``--seeds`` seeds.
What TextAttack's settings change in ours is in ``VARIANTS``.
"""

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import nltk
import numpy as np
import torch

from parity import compared, distribution, line
from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.generator import CandidateGenerator, Slot
from robustparse.attacks.constraints.sentence_constraint import Edit, SentenceConstraint
from robustparse.attacks.goals.label_flip import LabelFlip
from robustparse.files.output_folders import make_folder
from robustparse.files.writing import write_text
from robustparse.models import ModelVictim
from robustparse.options.installed import installed_file
from robustparse.options.recipe import make_object
from robustparse.options.yaml_files import read_yaml
from robustparse.tagsets import _PARTS
from robustparse.types import Example, Mask
from robustparse.vectors import read_lowered
from textattack_problem import (
    keep_texts,
    keep_vectors,
    kept_texts,
    read_texts,
    train,
    with_settings,
)
from textattack_victim import file_of, read_victim
from vs_textattack import BENCH, peer_python

TEXTS, SEEDS, SIZE = 40, 3, 32
# NLTK's parts of speech, which a machine may lack; ours are the same.
MAPPING = Path("nltk_data", "taggers", "universal_tagset", "en-ptb.map")
PENN_TAGS = (
    "CC CD DT EX FW IN JJ JJR JJS LS MD NN NNP NNPS NNS PDT POS PRP PRP$ RB RBR RBS RP SYM TO UH "
    "VB VBD VBG VBN VBP VBZ WDT WP WP$ WRB . , : ( ) `` '' # $"
)
POPULATION, GENERATIONS = 10, 5  # as in textattack_recipes.py
IGA: dict[str, dict[str, Any]] = {
    "StopWords": {"fold": False},
    "EditBudget": {"up": True, "combined": False},
    "ImprovedGenetic": {
        "population": POPULATION,
        "generations": GENERATIONS,
        "selection": "textattack",
        "outcome": "last",
    },
}
SWARM: dict[str, dict[str, Any]] = {
    "StopWords": {"fold": False},
    "EditBudget": {"combined": False},
    "LEAP": {"population": POPULATION, "iterations": GENERATIONS, "direction": "textattack"},
}
KEPT = {"class_path": "robustparse.attacks.StopWords", "init_args": {"fold": False}}
# TextAttack ranks the words once.
RANKED_ONCE = {
    "constraints": [],
    "search": {
        "class_path": "robustparse.attacks.Wang2021",
        "init_args": {"gamma": 1.0, "ranking": {"class_path": "robustparse.attacks.DeletedWord"}},
    },
}
ONE_EDIT = {"DifferentialEvolution": {"edits": 1}}
# By TextAttack's recipe: the file of ours, and the settings in which TextAttack's differs:
# arguments by class, or whole parts of the recipe.
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "deepwordbug": ("deepwordbug_textattack", {}),
    "pruthi": ("pruthi", {"StopWords": {"fold": False}, "Greedy": {"outcome": "last"}}),
    "iga": ("iga", IGA),
    "iga_from_original": ("iga", {**IGA, "EditBudget": {"up": True}}),
    "leap": ("leap", SWARM),
    "hotflip": (
        "hotflip",
        {
            "constraints": [
                KEPT,
                {
                    "class_path": "robustparse.attacks.CurrentTag",
                    "init_args": {"noun_verb": True},
                },
                {
                    "class_path": "robustparse.attacks.EditBudget",
                    "init_args": {"gamma": 1.0, "most": 2},
                },
            ],
            "HotFlip": {"flips": 1, "judged": "after"},
        },
    ),
    "input_reduction": ("input_reduction", RANKED_ONCE),
    "input_reduction_repaired": ("input_reduction", RANKED_ONCE),
    "bad_characters_invisible": ("bad_characters_invisible", ONE_EDIT),
    "bad_characters_reorderings": (
        "bad_characters_reorderings",
        {**ONE_EDIT, "ImperceptibleEdits": {"blanks": True}},
    ),
    "bad_characters_deletions": ("bad_characters_deletions", ONE_EDIT),
}
RANDOM = tuple(name for name in VARIANTS if name.startswith(("iga", "leap", "bad_characters")))


class Frozen(CandidateGenerator):
    """What TextAttack proposed for each word, in the order in which it compares equal scores.

    Args:
        table: word -> misspellings.
    """

    verbatim, draws = True, False

    def __init__(self, table: dict[str, list[str]]) -> None:
        self.table = table

    def propose(self, slots: list[Slot], seed: int) -> list[list[str]]:
        """See `CandidateGenerator.propose`."""
        return [self.table[slot.word] for slot in slots]


class LateCosine(SentenceConstraint):
    """The recipe's `WordVectorCosine`, asked about a flip that was already chosen.

    Args:
        vectors: a file of word vectors.
        minimum: the minimum cosine.
    """

    is_model = False

    def __init__(self, vectors: str, minimum: float) -> None:
        self.rows, self.vectors = read_lowered(Path(vectors))
        self.minimum = minimum

    def admits(self, edits: Sequence[Edit]) -> Mask:
        """See `SentenceConstraint.admits`; words without a vector are admitted."""
        pairs = [
            (self.rows.get(edit.sentence.words[edit.position]), self.rows.get(edit.word))
            for edit in edits
        ]
        return np.array(
            [
                None in pair or self.vectors[pair[0]] @ self.vectors[pair[1]] >= self.minimum
                for pair in pairs
            ],
            np.bool_,
        )


def ours(
    recipe: str, texts: list[Example], victim: ModelVictim, folder: Path, seed: int = 0
) -> list[dict[str, Any]]:
    """Return what our recipe makes of each text, as TextAttack's side says it."""
    name, settings = VARIANTS[recipe]
    words = {"vectors": str(folder / "vectors.txt")}
    settings = {**settings, "EmbeddingNeighbours": {**words, "cache": None}}
    settings["WordVectorCosine"] = words
    settings["VocabularyWords"] = {"path": str(folder / "vocabulary.txt")}
    recipe_of = read_yaml(installed_file(name))
    recipe_of |= {part: settings[part] for part in ("search", "constraints") if part in settings}
    attack: Attack = make_object(Attack, {"init_args": with_settings(recipe_of, settings)})
    if (folder / f"{recipe}.json").exists():
        attack.candidates = Frozen(json.loads((folder / f"{recipe}.json").read_text("utf-8")))
    if recipe == "hotflip":
        attack.constraints.append(LateCosine(str(folder / "vectors.txt"), 0.8))
    attack.goal, attack.seed = attack.goal or LabelFlip(), seed
    runs = attack.search_runs(texts, victim)
    return sorted(map(line, runs), key=lambda one: int(one["index"]))


def prepared(options: argparse.Namespace, corpus: str) -> Path:
    """Return the folder of a corpus's problem: texts, victim and vectors, made if absent."""
    files = [options.folder / corpus / f"{split}.tsv" for split in ("train", "test")]
    content = b"".join(sha256(path.read_bytes()).digest() for path in (*files, options.vectors))
    digest = sha256(content + f"{options.texts} {options.seed}".encode()).hexdigest()[:12]
    folder = make_folder(options.work / f"{corpus}-{digest}")
    if (folder / "victim.pt").exists():
        return folder
    keep_texts(folder / "texts.jsonl", read_texts(files[1], options.texts))
    keep_vectors(options.vectors, folder)
    model = train(read_texts(files[0]), options.seed, SIZE)
    known = [word for word in model.vocabulary.words if re.search("[a-zA-Z]", word)]
    write_text(folder / "vocabulary.txt", "".join(f"{word}\n" for word in known))
    tags = "".join(f"{tag}\t{_PARTS.get(tag, 'X')}\n" for tag in PENN_TAGS.split())
    write_text(make_folder(folder / MAPPING.parent) / MAPPING.name, tags)
    torch.save(file_of(model), folder / "victim.part")
    (folder / "victim.part").replace(folder / "victim.pt")
    return folder


def theirs(recipe: str, folder: Path, options: argparse.Namespace) -> list[list[dict[str, Any]]]:
    """Return what TextAttack's recipe makes of each text, by seed."""
    seeds = options.seeds if recipe in RANDOM else 1
    command = [str(peer_python(options.peer_python)), "-W", "ignore"]
    command += [str(BENCH / "textattack_recipes.py"), "--recipe", recipe, "--seeds", str(seeds)]
    for name, file in (("victim", "victim.pt"), ("texts", "texts.jsonl"), ("out", "")):
        command += [f"--{name}", str(folder / file)]
    command += ["--vectors", str(folder / "vectors.npz")]
    # TextAttack downloads into its cache on its first import unless this file is there.
    cache = make_folder(folder / "textattack_cache")
    (cache / "post_install_check_3").touch()
    places = {
        "TA_CACHE_DIR": str(cache),
        "NLTK_DATA": os.pathsep.join([str(folder / "nltk_data"), *nltk.data.path]),
    }
    environment = {**os.environ, **places, "TA_DEVICE": "cpu", "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(command, env=environment, text=True, capture_output=True)
    if done.returncode:
        sys.exit(f"TextAttack's {recipe} failed:\n{done.stdout}{done.stderr}")
    rows = map(json.loads, (folder / f"{recipe}.jsonl").read_text("utf-8").splitlines())
    by_seed: dict[int, list[dict[str, Any]]] = {}
    for row in rows:
        by_seed.setdefault(row["round"], []).append(row)
    return list(by_seed.values())[:seeds]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, required=True, help="a folder for each corpus")
    parser.add_argument("--corpora", nargs="+", default=["mr", "sst2"])
    parser.add_argument("--vectors", type=Path, required=True, help="word vectors of length 1")
    parser.add_argument("--work", type=Path, required=True, help="keeps what is done")
    parser.add_argument("--recipes", nargs="+", choices=list(VARIANTS), default=list(VARIANTS))
    parser.add_argument("--texts", type=int, default=TEXTS)
    parser.add_argument("--seeds", type=int, default=SEEDS, help="of the random recipes")
    parser.add_argument("--seed", type=int, default=0, help="of the victim")
    parser.add_argument("--peer_python", type=Path, help="an interpreter that has TextAttack")
    parser.add_argument("--json", action="store_true", help="print the figures as one line")
    options = parser.parse_args()
    torch.set_num_threads(1)
    figures: dict[str, Any] = {}
    for corpus in options.corpora:
        folder = prepared(options, corpus)
        texts = kept_texts(folder / "texts.jsonl")
        victim = ModelVictim([read_victim(folder / "victim.pt", torch.float64)])
        for recipe in options.recipes:
            reference = theirs(recipe, folder, options)
            if recipe in RANDOM:
                runs = [ours(recipe, texts, victim, folder, seed) for seed in range(options.seeds)]
                found = distribution(runs, reference)
            else:
                found = compared(ours(recipe, texts, victim, folder), reference[0])
            figures[f"{recipe} {corpus}"] = found
            if not options.json:
                print(recipe, corpus, found, flush=True)
    if options.json:
        print(json.dumps(figures))


if __name__ == "__main__":
    main()
