"""The studies of ``docs/results.md``: rows of (configuration, attack, budgets), resumable.

    python bench/study.py --study zheng2020_table1 --folder UD_English-EWT --masked_lm MODEL

A row trains with ``robustparse fit`` unless its checkpoint is there, attacks the test set with
``robustparse attack`` (which resumes where it stopped), and keeps its figures in
``bench/results/STUDY_ROW_ATTACK.json``. ``--table`` prints the table of the rows that are finished.
Figures of another treebank or seed need a separate folder: ``--home FOLDER --seed 3``.
A row that was trained in another way than it would be now is refused: with other steps, seed or
configurations, from another checkpoint, over another encoder, on other copies or another treebank.
So is a row, and the table, where two rows rest on different parsers of one name or on different
recipes (``study_origin.py``).
``--study huang2021`` is that of semantic parsers, with the options of ``semantic_study.py``, and
``--study yoo2020`` that of searches, with the options of ``search_study.py``. ``--study jin2020``
stands for the studies of TextFooler on every corpus, whose folders ``--folder`` holds.
"""

import argparse
import json
import resource
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import yaml

import search_study
import semantic_study
from robustparse.data import text_files
from robustparse.data.conllu import find_split
from robustparse.data.fractions import draw_fraction
from robustparse.files import file_digest, make_folder, write_text
from robustparse.tasks import task as tasks
from studies import STUDIES
from study_figures import keep, kept, qualities, static_folder
from study_origin import agree, planned, without_origin
from study_recipes import Inputs, model_digest, proposes, recipe_of, with_files
from study_rows import ROOT, Copies, Row, Study, percent
from study_tables import table

OTHERS = {"huang2021": semantic_study, "yoo2020": search_study}
JIN2020 = "jin2020"


def run(command: list[str]) -> float:
    """Run ``robustparse``; the seconds of processor time it took: a clock would count others'."""
    print("robustparse", *command, flush=True)
    begin = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "train.py", *command], cwd=ROOT, check=True)
    end = resource.getrusage(resource.RUSAGE_CHILDREN)
    return end.ru_utime + end.ru_stime - begin.ru_utime - begin.ru_stime


def train(row: Row, inputs: Inputs) -> None:
    """Train a row whose ``finished.json`` is not there, resuming from its last checkpoint."""
    if row.members:
        for member in row.members:
            train(member, inputs)
        return
    done = row.folder / "finished.json"
    if row.copies is not None and not (done.exists() and row.copies.path.exists()):
        augment(row.copies, inputs)
    wanted = training_of(row, inputs)
    if done.exists():
        found = json.loads(done.read_text("utf-8")).get("training")
        # Rows that were trained before it was kept do not say on which treebank, or which encoder.
        later = {key: wanted[key] for key in ("treebank", "encoder") if key in wanted}
        if found is None or {**later, **found} != wanted:
            sys.exit(f"{row.folder} was trained as {found}, now it is {wanted}: move it away")
        return
    command = ["fit", *(part for path in configs(row, inputs) for part in ("--config", str(path)))]
    command += ["--data.init_args.folder", str(inputs.folder)]
    command += ["--trainer.default_root_dir", str(row.folder)]
    if begun := row.start:
        command += ["--model.init_args.init_from", str(begun)]
    if row.pretrained:
        command += ["--model.init_args.encoder.init_args.model", inputs.encoder]
    if row.word_vectors:
        command += ["--model.init_args.encoder.init_args.vectors", str(inputs.word_vectors)]
    if row.max_vectors is not None:
        command += ["--model.init_args.encoder.init_args.max_vectors", str(row.max_vectors)]
    if row.steps is not None:
        command += ["--trainer.max_epochs", "-1", "--trainer.max_steps", str(row.steps)]
    if row.seed is not None:
        command += ["--model.init_args.seed", str(row.seed)]
        command += ["--data.init_args.seed", str(row.seed)]
    if row.copies is not None:
        command += ["--data.init_args.augmented_files", json.dumps([str(row.copies.path)])]
        command += ["--data.init_args.augmented_fraction", str(row.copies.used)]
        command += ["--data.init_args.vocabulary_of", "merged"] if row.copies.merged else []
    whole = not (row.folder / "last.ckpt").exists()
    seconds = run([*command, "--ckpt_path", "last"])
    # What came before a stop took seconds too, which nobody knows.
    write_text(done, json.dumps({"seconds": seconds if whole else None, "training": wanted}))


def training_of(row: Row, inputs: Inputs) -> dict[str, Any]:
    """Return what decides on the weights of a row."""
    contents = [yaml.safe_load(path.read_text("utf-8")) for path in row.config_files]
    digest = sha256(json.dumps(contents, sort_keys=True).encode()).hexdigest()
    found = {"steps": row.steps, "seed": row.seed, "copies": None, "configs": digest}
    parts = [split_of(row.task, inputs, part) for part in ("train", "dev")]
    found["treebank"] = [file_digest(part) for part in parts]
    if row.pretrained:
        found["encoder"] = model_digest(inputs.encoder)
    if row.word_vectors:
        found["word_vectors"] = file_digest(Path(str(inputs.word_vectors)))
    if row.max_vectors is not None:
        found["max_vectors"] = row.max_vectors
    if row.copies is not None:
        merged = ["merged"] if row.copies.merged else []
        found["copies"] = [row.copies.used, file_digest(row.copies.path), *merged]
    if begun := row.start:
        if not begun.exists():
            sys.exit(f"{row.name} continues from {begun}, which is not there: run that row first")
        found["start"] = file_digest(begun)
    return found


def split_of(task: str, inputs: Inputs, split: str) -> Path:
    """Return the file of a split."""
    found = find_split if task == "dependency" else text_files.find_split
    return found(inputs.folder, split)


def configs(row: Row, inputs: Inputs) -> list[Path]:
    """Return a row's configurations, this machine's files in them; its seed is its adversaries'."""
    paths = []
    for shipped in row.config_files:
        content = yaml.safe_load(shipped.read_text("utf-8"))
        own = with_files(content, inputs)
        trainer = own.get("trainer", {})
        for callback in (*trainer.get("callbacks", ()), *trainer.get("callbacks+", ())):
            callback["init_args"] |= {} if row.seed is None else {"seed": row.seed}
        paths.append(shipped)
        if own != content:
            paths[-1] = make_folder(row.folder / "configs") / shipped.name
            write_text(paths[-1], yaml.safe_dump(own, sort_keys=False))
    return paths


def attack_command(row: Row, inputs: Inputs, gamma: float | None = None) -> list[str]:
    """``attack`` with a row's recipe, the machine's files in it, and checkpoint."""
    path = row.folder / f"recipes{percent(gamma)}" / f"{row.attack}.yaml"
    make_folder(path.parent)
    write_text(path, yaml.safe_dump(recipe_of(row, inputs, gamma), sort_keys=False))
    trusted = ["--trust", "commands"]  # such as link-parser
    return ["attack", "--attack", str(path), *trusted, "--checkpoint", *map(str, row.checkpoints)]


def sentences_of(study: Study, inputs: Inputs) -> list[str]:
    """Return the test sentences of a study, as options of ``attack``."""
    whole, task = split_of(study.task, inputs, "test"), tasks.named(study.task)
    if study.sentences is None:
        return ["--data", str(whole), "--fraction", str(study.share)]
    path = study.home / f"test_{study.sentences}{task.ending(whole)}"
    make_folder(path.parent)
    long = [example for example in task.read(whole) if len(example.sentence.words) >= 5]
    share = min(1.0, study.sentences / max(1, len(long)))
    drawn = draw_fraction([1] * len(long), share, "sentences", seed=0)
    write_text(path, "".join(task.write(long[index]) for index in drawn))
    return ["--data", str(path)]


def augment(copies: Copies, inputs: Inputs) -> None:
    """Make the copies, after their parser; where they are whole, `augment` finds nothing to do."""
    train(copies.of, inputs)
    _, *recipe = attack_command(copies.of, inputs)
    if copies.ranking is not None:
        recipe += ["--attack.search.init_args.ranking", copies.ranking]
    run(
        [
            *("augment", *recipe, "--fraction", str(copies.share), "--keep", copies.keep),
            *("--precision", copies.precision, "--out", str(copies.path)),
            *("--data", str(split_of(copies.of.task, inputs, copies.split))),
        ]
    )


def attack(study: Study, row: Row, gamma: float | None, inputs: Inputs) -> None:
    """Attack a row's checkpoint; one trained on copies parses their parser's adversaries too."""
    folder = study.attacked(row, gamma)
    command = [*attack_command(row, inputs, gamma), *sentences_of(study, inputs)]
    run([*command, "--out", str(folder)])
    if row.copies is not None:
        source = replace(row.copies.of, recipe=row.recipe)
        name = f"adversarial{tasks.named(study.task).ending('')}"
        static = study.attacked(source, gamma) / name
        if not static.exists():
            attack(study, source, gamma, inputs)
        checkpoint = str(row.folder / row.checkpoint)
        where = ["--out", str(static_folder(row, gamma))]
        run(["evaluate", "--checkpoint", checkpoint, "--data", str(static), *where])
    models = ["--language_model", inputs.masked_lm, "--kind", "masked"]
    wanted = ["perplexity", "word_similarity"]
    if inputs.similarity is not None:
        models += ["--sentence_encoder", inputs.similarity]
        wanted += ["sentence_similarity"]
    if measures(study) and None in map(qualities(folder).get, wanted):
        run(["measure", str(folder), *models, "--vectors", inputs.vectors])


def measures(study: Study) -> bool:
    """Tell whether the quality of a study's adversarial examples is measured."""
    return study.measured and (study.sentences is not None or study.task != "dependency")


def compares_sentences(row: Row) -> bool:
    """Tell whether a row's recipe needs a sentence encoder."""
    recipe = yaml.safe_load((ROOT / "configs" / "attack" / f"{row.recipe}.yaml").read_text("utf-8"))
    kept = recipe.get("constraints", [])[: None if row.filters is None else 1 + row.filters]
    return any(part["class_path"].endswith(".SentenceSimilarity") for part in kept)


def missing(study: Study, inputs: Inputs) -> list[str]:
    """Options that a study needs and lacks; the quality of examples is measured by vectors."""
    wanted = ["folder"]
    proposing = study.measured or any(proposes(row) for row in study.rows)
    wanted += ["masked_lm"] if proposing else []
    wanted += ["encoder"] if any(row.pretrained for row in study.rows) else []
    wanted += ["vectors"] if measures(study) or study.task != "dependency" else []
    wanted += ["similarity"] if any(map(compares_sentences, study.rows)) else []
    wanted += ["word_vectors"] if any(row.word_vectors for row in study.rows) else []
    return [f"--{name}" for name in wanted if getattr(inputs, name) is None]


def read_options() -> argparse.Namespace:
    """Return what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = sorted([*STUDIES, *OTHERS, JIN2020])
    parser.add_argument("--study", choices=names, required=True)
    parser.add_argument("--folder", type=Path, help="the treebank or corpus")
    parser.add_argument("--masked_lm", help="folder or name of the masked language model")
    parser.add_argument("--encoder", help="folder or name of the pretrained encoder")
    parser.add_argument("--vectors", help="file of counter-fitted word vectors")
    parser.add_argument("--word_vectors", help="file of word vectors that models read")
    parser.add_argument("--similarity", help="folder or name of the sentence encoder")
    parser.add_argument("--home", type=Path, help="folder of runs and figures, for other inputs")
    parser.add_argument("--seed", type=int, help="of training, instead of the configurations'")
    parser.add_argument("--rows", nargs="*", help="only the rows of these runs")
    parser.add_argument("--attacks", nargs="*", help="only the rows with these attacks")
    steps = ["train", "attack"]
    parser.add_argument("--steps", nargs="*", choices=steps, default=steps)
    parser.add_argument("--table", action="store_true", help="only print the table")
    parser.add_argument("--json", action="store_true", help="print one JSON object, as last line")
    options = parser.parse_args()
    if options.seed is not None and options.home is None:
        parser.error("runs of another seed need a folder of their own: --home FOLDER")
    for _, study, inputs in () if options.table else asked_for(options):
        if lacking := missing(study, inputs):
            parser.error(f"--study {options.study} needs {', '.join(lacking)} too")
    return options


def asked_for(options: argparse.Namespace) -> Iterator[tuple[str, Study, Inputs]]:
    """Yield each study that is asked for, where it shall live, by its name and with its inputs.

    ``jin2020`` stands for one study or two of each corpus in the folder.
    """
    every = options.study == JIN2020
    for name in (one for one in STUDIES if one.startswith(JIN2020)) if every else [options.study]:
        study, folder = STUDIES[name], options.folder
        if options.home is not None:
            study = study.elsewhere(options.home.resolve(), options.seed)
        if every and folder is not None:
            folder = folder / name.split("_")[1]
        inputs = (folder, options.masked_lm, options.encoder, options.vectors)
        yield name, study, Inputs(*inputs, options.word_vectors, options.similarity)


def main() -> None:
    """Measure what is not there yet, then print the tables."""
    which = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    which.add_argument("--study")
    asked, others = which.parse_known_args()
    if asked.study in OTHERS:
        OTHERS[asked.study].main(others)
        return
    options = read_options()
    figures = []
    for name, study, inputs in asked_for(options):
        if not options.table:
            measure(name, study, inputs, options)
        print(*([f"\n{name}:\n"] if options.study == JIN2020 else []), table(name, study), sep="\n")
        figures += kept(name, study)
    print(without_origin(figures), end="")
    if options.json:
        print(json.dumps([{k: v for k, v in row.items() if k != "counts"} for row in figures]))


def measure(name: str, study: Study, inputs: Inputs, options: argparse.Namespace) -> None:
    """Train and attack the rows of a study that are asked for and not finished."""
    for row, gamma in study.cases:
        wanted = not options.rows or row.name in options.rows
        if not wanted or (options.attacks and row.attack not in options.attacks):
            continue
        agree([*kept(name, study, row, gamma), planned(row, gamma, inputs)])
        if "train" in options.steps:
            train(row, inputs)
        if "attack" in options.steps:
            own = planned(row, gamma, inputs)
            agree([*kept(name, study, row, gamma), own])
            attack(study, row, gamma, inputs)
            keep(name, study, row, gamma, own["origin"])


if __name__ == "__main__":
    main()
