"""robustparse's attack engine against TextAttack 0.3.11 in one run: speed, overhead, success.

    python bench/vs_textattack.py --folder FOLDER --json

Both attack the same classifier (the same weights, the same probabilities), a BiLSTM, or of pairs
InferSent or ESIM (``--arch``), whose premises nobody changes. It is trained here on
``FOLDER/train.tsv``, or is a fine-tuned classifier of transformers in a folder (``--model``), which
each side wraps in its own way. Attacked are the first texts of ``FOLDER/test.tsv``, with the same
substitutes of every word, each word changed once at most and stop words kept. Substitutes are all
of WordNet's synonyms, as in Ren et al. (2019), or the 50 nearest words among ``--vectors``, as in
Jin et al. (2020). The searches are TextAttack's, as ``parity.py`` sets ours up.

*Speed* is texts a second from the first to the last. *Overhead* is the time outside the victim for
every query that is charged; turning strings into the victim's numbers is the victim's on
TextAttack's side and overhead on ours. Ratios are by the wall's clock; that of speeds is given by
processor time too. TextAttack runs in an environment of its own, made on first use.
Both sides warm up on a few texts and go over all of them in rounds, ours nine times in each, as it
is over in a moment: seconds are medians. Every round has a seed of its own; success and queries of
random searches are means over rounds. Of random order there are ``--seeds`` rounds: after 3 the
luck of two programs that do the same sets them more than half a point apart in three runs of ten,
after 20 in one of fifty. The population searches have one round, as they are slow.

Four recipes can be named too, with ``--vectors`` and ``--masked_lm``: ``textattack_served.py`` says
what both sides get. CLARE attacks ``--clare_texts``, in one round, as it asks thousands of times a
text.
With ``--work`` an interrupted run resumes where it stopped. Run it on an otherwise idle core.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from statistics import mean, median
from typing import Any

import nltk
import torch

from parity import DETERMINISTIC, RANDOM, mean_summary
from robustparse.attacks.candidates.generator import CandidateGenerator
from robustparse.attacks.candidates.neighbours import EmbeddingNeighbours
from robustparse.attacks.candidates.wordnet import WordNetSynonyms
from robustparse.files.digests import folder_digest
from robustparse.files.output_folders import make_folder
from robustparse.files.writing import write_text
from textattack_problem import (
    keep_texts,
    keep_vectors,
    kept_texts,
    read_texts,
    stop_words,
    substitutes,
    train,
)
from textattack_served import RECIPES, serve
from textattack_victim import file_of

BENCH = Path(__file__).resolve().parent
PEER = "0.3.11"
PEER_HOME = Path.home() / ".cache" / "robustparse" / f"textattack-{PEER}"
SEARCHES = [name for name in (*DETERMINISTIC, *RANDOM) if name != "beam8"]
METHODS = [*SEARCHES, *RECIPES]
POPULATIONS = ("pso", "genetic")
NEIGHBOURS = 50  # of a word, unless fewer are asked for
# TextAttack's and Flair's lists of requirements hold each other up; these work together, and the
# rest is what their imports ask for.
PINNED = "transformers==4.57.6 tokenizers==0.22.2 huggingface_hub==0.36.2 datasets==3.6.0"
ALONE = f"""
    textattack=={PEER} flair==0.15.1 transformer-smaller-training-vocab==0.4.2 bert-score==0.3.13
    language_tool_python==3.4.0
"""
IMPORTED = """
    bioc<3 boto3 conllu<5 deprecated editdistance ftfy gdown jieba langdetect lemminflect
    Levenshtein lru-dict lxml matplotlib more-itertools mpld3 nltk num2words OpenHowNet pinyin
    pptree psutil pytorch-revgrad scikit-learn scipy segtok sentencepiece sqlitedict tabulate
    terminaltables toml wikipedia-api word2number
"""
Figures = dict[str, Any]


def peer_packages() -> list[list[str]]:
    """Return what TextAttack's environment holds, as pip's arguments, one call after the other."""
    torch_too = "torch==" + version("torch").split("+")[0]
    return [[torch_too], [*PINNED.split(), *IMPORTED.split()], ["--no-deps", *ALONE.split()]]


def peer_is_there() -> bool:
    """Whether TextAttack's environment was made whole, and of these packages."""
    finished = PEER_HOME / "complete"
    return finished.exists() and finished.read_text("utf-8") == json.dumps(peer_packages())


def peer_python(given: Path | None) -> Path:
    """Return an interpreter with TextAttack, in the cache folder unless one is named; made if
    absent.
    """
    python = given or PEER_HOME / "bin" / "python"
    if given or peer_is_there():
        return python
    print(f"installing TextAttack into {PEER_HOME}", flush=True)
    subprocess.run([sys.executable, "-m", "venv", "--clear", PEER_HOME], check=True)
    for packages in peer_packages():
        subprocess.run([python, "-m", "pip", "install", "-q", *packages], check=True)
    write_text(PEER_HOME / "complete", json.dumps(peer_packages()))
    return python


def prepared(options: argparse.Namespace, work: Path) -> Path:
    """Return the problem's folder, made if it is not there: texts, table, stop words, victim."""
    files = [options.folder / f"{split}.tsv" for split in ("train", "test")]
    files += [options.vectors] if options.vectors else []
    content = b"".join(sha256(path.read_bytes()).digest() for path in files)
    names = "texts population_texts candidates size arch seed rounds population_rounds seeds"
    settings = [getattr(options, name) for name in f"{names} dtype threads".split()]
    settings += [folder_digest(each) for each in (options.model, options.masked_lm) if each]
    folder = work / sha256(content + json.dumps(settings).encode()).hexdigest()[:12]
    if (folder / "victim.pt").exists():
        return folder
    texts = read_texts(files[1], options.texts)
    keep_texts(make_folder(folder) / "texts.jsonl", texts)
    generator: CandidateGenerator = WordNetSynonyms(parts="all")
    most = options.candidates
    if options.vectors:
        most = most or NEIGHBOURS
        # Some are no word to both sides.
        generator = EmbeddingNeighbours(str(options.vectors), k=2 * most)
    table = substitutes(texts, generator, most)
    write_text(folder / "synonyms.json", json.dumps(table))
    write_text(folder / "stopwords.txt", "\n".join(stop_words(texts)) + "\n")
    if options.model:
        (folder / "victim.pt").touch()  # everything is there
        return folder
    model = train(read_texts(files[0]), options.seed, options.size, options.arch)
    torch.save(file_of(model), folder / "victim.part")
    (folder / "victim.part").replace(folder / "victim.pt")
    return folder


def serve_recipes(options: argparse.Namespace, folder: Path) -> None:
    """Write the candidates of the recipes among the methods, and the vectors, if absent."""
    recipes = [name for name in options.methods if name in RECIPES]
    if not recipes:
        return
    if not (options.vectors and options.masked_lm):
        sys.exit(f"{', '.join(recipes)}: give --vectors and --masked_lm")
    if not (folder / "vectors.npz").exists():
        keep_vectors(options.vectors, folder)
    texts = kept_texts(folder / "texts.jsonl")
    kept = (folder / "stopwords.txt").read_text("utf-8").split()
    for recipe in recipes:
        if not (folder / f"{recipe}.json").exists():
            serve(recipe, texts, kept, folder, options.vectors, options.masked_lm)


def amount(method: str, options: argparse.Namespace) -> tuple[int, int]:
    """How many texts a method attacks, and in how many rounds."""
    if method == "clare":
        return min(options.clare_texts, options.texts), options.population_rounds
    if method in POPULATIONS:
        return min(options.population_texts, options.texts), options.population_rounds
    return options.texts, options.seeds if method in RANDOM else options.rounds


def run(
    python: Path, side: str, folder: Path, methods: list[str], size: tuple[int, int], options: Any
) -> Path:
    """Run one side's script on as many texts and rounds as ``size`` says; return its folder."""
    out = make_folder(folder / side)
    command = [str(python), "-W", "ignore", str(BENCH / f"textattack_{side}.py")]
    for name, file in (
        ("victim", options.model.resolve() if options.model else "victim.pt"),
        ("texts", "texts.jsonl"),
        ("synonyms", "synonyms.json"),
        ("stopwords", "stopwords.txt"),
    ):
        command += [f"--{name}", str(folder / file)]
    for name in ("dtype", "threads", "seed"):
        command += [f"--{name}", str(getattr(options, name))]
    command += ["--limit", str(size[0]), "--rounds", str(size[1])]
    command += ["--methods", *methods, "--out", str(out)]
    threads = {key: str(options.threads) for key in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")}
    # TextAttack downloads into its cache on its first import unless this file is there.
    cache = make_folder(folder / "textattack_cache")
    (cache / "post_install_check_3").touch()
    places = {"TA_CACHE_DIR": str(cache), "NLTK_DATA": os.pathsep.join(nltk.data.path)}
    environment = {**os.environ, **threads, **places, "TA_DEVICE": "cpu"}
    done = subprocess.run(command, env=environment, text=True, capture_output=True)
    if done.returncode:
        sys.exit(f"{side} failed:\n{done.stdout}{done.stderr}")
    return out


def figures_of(ours: Figures, theirs: list[Figures]) -> Figures:
    """One method's figures, from what became of the same texts on both sides.

    Args:
        ours: seconds, and by round a line a text.
        theirs: a line a text and round.
    """
    rounds: dict[int, list[Figures]] = {}
    for row in theirs:
        rounds.setdefault(row["round"], []).append(row)
    both = {"ours": ours["rounds"], "textattack": list(rounds.values())}
    found: Figures = {"texts": len(rounds[0]), "rounds": len(rounds)}
    for side, lines in both.items():
        found |= {f"{name}_{side}": value for name, value in mean_summary(lines).items()}
    spent = {
        name: (ours[name], median(sum(row[name] for row in rows) for rows in rounds.values()))
        for name in ("seconds", "cpu_seconds", "victim_seconds")
    }
    overhead = {}
    for place, (side, lines) in enumerate(both.items()):
        seconds, victim = spent["seconds"][place], spent["victim_seconds"][place]
        overhead[side] = (seconds - victim) / mean(
            sum(row["queries"] for row in rows) for rows in lines
        )
        found[f"seconds_{side}"] = seconds
        found[f"sentences_per_second_{side}"] = len(lines[0]) / seconds
        found[f"overhead_microseconds_{side}"] = 1e6 * overhead[side]
        found[f"victim_share_{side}"] = victim / seconds
    for name, end in (("seconds", ""), ("cpu_seconds", "_cpu")):
        found[f"speed_ratio{end}"] = spent[name][1] / spent[name][0]
    # If we took no time but the victim's.
    found["speed_bound"] = found["speed_ratio"] / found["victim_share_ours"]
    found["overhead_ratio"] = overhead["textattack"] / overhead["ours"]
    keys = ("kind", "queries", "changed")
    same = [
        all(one[key] == other[key] for key in keys)
        for one, other in zip(ours["rounds"][0], rounds[0], strict=True)
    ]
    return {**found, "same_outcome_percent": 100 * sum(same) / len(same)}


def measure(options: argparse.Namespace, work: Path) -> dict[str, Figures]:
    """All figures by method."""
    folder = prepared(options, make_folder(work))
    serve_recipes(options, folder)
    peer = peer_python(options.peer_python)
    sizes: dict[tuple[int, int], list[str]] = {}
    for method in options.methods:
        sizes.setdefault(amount(method, options), []).append(method)
    figures = {}
    for size, methods in sizes.items():
        ours = run(Path(sys.executable), "own", folder, methods, size, options)
        theirs = run(peer, "peer", folder, methods, size, options)
        for method in methods:
            rows = map(json.loads, (theirs / f"{method}.jsonl").read_text("utf-8").splitlines())
            kept = sorted(rows, key=lambda row: (row["round"], int(row["index"])))
            own = json.loads((ours / f"{method}.json").read_text("utf-8"))
            figures[method] = figures_of(own, kept)
            shown = {
                name: round(value, 2)
                for name, value in figures[method].items()
                if name.split("_")[0] in ("texts", "speed", "overhead", "success", "charged")
            }
            print(method, shown, flush=True)
    return figures


def main() -> None:
    """Print the figures; with ``--json`` as one object on the last line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, required=True, help="holds train.tsv and test.tsv")
    parser.add_argument("--vectors", type=Path, help="substitutes are neighbours in this file")
    parser.add_argument("--candidates", type=int, help="most substitutes of a word")
    parser.add_argument("--arch", choices=("lstm", "infersent", "esim"), default="lstm")
    parser.add_argument("--model", type=Path, help="attack a classifier of transformers instead")
    parser.add_argument("--size", type=int, default=32, help="of the victim's layers")
    parser.add_argument("--texts", type=int, default=200, help="texts attacked")
    parser.add_argument("--population_texts", type=int, default=200, help="by pso and genetic")
    parser.add_argument("--clare_texts", type=int, default=40, help="texts attacked by clare")
    parser.add_argument("--masked_lm", type=Path, help="proposes the candidates of bae and clare")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=SEARCHES)
    parser.add_argument("--rounds", type=int, default=3, help="over all texts, on both sides")
    parser.add_argument("--population_rounds", type=int, default=1, help="of pso and genetic")
    parser.add_argument("--seeds", type=int, default=20, help="rounds of random order")
    parser.add_argument("--peer_python", type=Path, help="an interpreter that has TextAttack")
    parser.add_argument("--work", type=Path, help="keeps what is done, to resume from")
    parser.add_argument("--dtype", choices=("float32", "float64"), default="float32")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    with tempfile.TemporaryDirectory(prefix="vs_textattack_") as folder:
        figures = measure(options, options.work or Path(folder))
    if options.json:
        print(json.dumps(figures))


if __name__ == "__main__":
    main()
