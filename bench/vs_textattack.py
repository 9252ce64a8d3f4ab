"""robustparse's attack engine against TextAttack 0.3.11 in one run: speed, overhead, success.

    python bench/vs_textattack.py --folder FOLDER --json

Both attack the same BiLSTM classifier (the same weights, the same probabilities), trained here on
``FOLDER/train.tsv``, on the first texts of ``FOLDER/test.tsv``, with the same substitutes of every
word, each word changed once at most and stop words kept. Substitutes are WordNet's synonyms, or the
nearest words among ``--vectors``. The searches are TextAttack's, as ``parity.py`` sets ours up.

*Speed* is texts a second from the first to the last. *Overhead* is the time outside the victim for
every query that is charged; turning strings into the victim's numbers is the victim's on
TextAttack's side and overhead on ours. Ratios are by the wall's clock, and one of speeds by
processor time stands beside them. TextAttack runs in an environment of its own, made on first use.
Its population searches get fewer texts, as they are slow; both sides always attack the same ones,
warm up on a few of them, and go over all so many times: seconds are medians over these rounds.
With ``--work`` a run that was cut off goes on where it stopped. Run it on an otherwise idle core.
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
from statistics import median
from typing import Any

import nltk
import torch

from parity import DETERMINISTIC, RANDOM, summary
from robustparse.attacks.candidates.generator import CandidateGenerator
from robustparse.attacks.candidates.neighbours import EmbeddingNeighbours
from robustparse.attacks.candidates.wordnet import WordNetSynonyms
from robustparse.files import make_folder, write_text
from textattack_problem import keep_texts, read_texts, stop_words, substitutes, train

BENCH = Path(__file__).resolve().parent
PEER = "0.3.11"
METHODS = [name for name in (*DETERMINISTIC, *RANDOM) if name != "beam8"]
POPULATIONS = ("pso", "genetic")
# TextAttack's and Flair's lists of requirements hold each other up; these work together, and the
# rest is what their imports ask for.
PINNED = "transformers==4.57.6 tokenizers==0.22.2 huggingface_hub==0.36.2 datasets==3.6.0"
ALONE = "flair==0.15.1 transformer-smaller-training-vocab bert-score language_tool_python"
IMPORTED = """
    bioc<3 boto3 conllu<5 deprecated editdistance ftfy gdown jieba langdetect lemminflect
    Levenshtein lru-dict lxml matplotlib more-itertools mpld3 nltk num2words OpenHowNet pinyin
    pptree pytorch-revgrad scikit-learn scipy segtok sentencepiece sqlitedict tabulate
    terminaltables toml wikipedia-api word2number
"""
Figures = dict[str, Any]


def peer_python(given: Path | None) -> Path:
    """An interpreter with TextAttack, in the cache folder unless one is named; made if absent."""
    home = Path.home() / ".cache" / "robustparse" / f"textattack-{PEER}"
    python, finished = given or home / "bin" / "python", home / "complete"
    if given or finished.exists():
        return python
    print(f"installing TextAttack into {home}", flush=True)
    subprocess.run([sys.executable, "-m", "venv", "--clear", home], check=True)
    torch_too = "torch==" + version("torch").split("+")[0]
    alone = ["--no-deps", f"textattack=={PEER}", *ALONE.split()]
    for packages in ([torch_too], [*PINNED.split(), *IMPORTED.split()], alone):
        subprocess.run([python, "-m", "pip", "install", "-q", *packages], check=True)
    finished.touch()
    return python


def prepared(options: argparse.Namespace, work: Path) -> Path:
    """The folder of the problem, made if it is not there: texts, table, stop words, victim."""
    files = [options.folder / f"{split}.tsv" for split in ("train", "test")]
    content = b"".join(sha256(path.read_bytes()).digest() for path in files)
    names = ("texts", "population_texts", "candidates", "size", "seed", "rounds")
    settings = [str(options.vectors), *(getattr(options, name) for name in names)]
    folder = work / sha256(content + json.dumps(settings).encode()).hexdigest()[:12]
    if (folder / "victim.pt").exists():
        return folder
    texts = read_texts(files[1], options.texts)
    keep_texts(make_folder(folder) / "texts.jsonl", texts)
    generator: CandidateGenerator = WordNetSynonyms(parts="all")
    if options.vectors:
        generator = EmbeddingNeighbours(str(options.vectors), k=2 * options.candidates)
    table = substitutes(texts, generator, options.candidates)
    write_text(folder / "synonyms.json", json.dumps(table))
    write_text(folder / "stopwords.txt", "\n".join(stop_words(texts)) + "\n")
    network, vocabulary = train(read_texts(files[0]), options.seed, options.size)
    saved = {"arch": "lstm", "vocab": vocabulary, "state_dict": network.weights()}
    torch.save(saved, folder / "victim.part")
    os.replace(folder / "victim.part", folder / "victim.pt")
    return folder


def run(
    python: Path, side: str, folder: Path, methods: list[str], limit: int, options: Any
) -> Path:
    """One side's script on some methods; the folder of its files."""
    out = make_folder(folder / side)
    command = [str(python), "-W", "ignore", str(BENCH / f"textattack_{side}.py")]
    for name, file in (
        ("victim", "victim.pt"),
        ("texts", "texts.jsonl"),
        ("synonyms", "synonyms.json"),
        ("stopwords", "stopwords.txt"),
    ):
        command += [f"--{name}", str(folder / file)]
    for name in ("dtype", "threads", "seed", "rounds"):
        command += [f"--{name}", str(getattr(options, name))]
    command += ["--methods", *methods, "--limit", str(limit), "--out", str(out)]
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
        ours: seconds, and a line a text.
        theirs: a line a text and round.
    """
    rounds: dict[int, list[Figures]] = {}
    for row in theirs:
        rounds.setdefault(row["round"], []).append(row)
    both = {"ours": ours["texts"], "textattack": rounds[0]}
    found: Figures = {"texts": len(rounds[0])}
    for side, rows in both.items():
        found |= {f"{name}_{side}": value for name, value in summary(rows).items()}
    spent = {
        name: (ours[name], median(sum(row[name] for row in rows) for rows in rounds.values()))
        for name in ("seconds", "cpu_seconds", "victim_seconds")
    }
    overhead = {}
    for place, (side, rows) in enumerate(both.items()):
        seconds, victim = spent["seconds"][place], spent["victim_seconds"][place]
        overhead[side] = (seconds - victim) / sum(row["queries"] for row in rows)
        found[f"seconds_{side}"] = seconds
        found[f"sentences_per_second_{side}"] = len(rows) / seconds
        found[f"overhead_microseconds_{side}"] = 1e6 * overhead[side]
        found[f"victim_share_{side}"] = victim / seconds
    for name, end in (("seconds", ""), ("cpu_seconds", "_cpu")):
        found[f"speed_ratio{end}"] = spent[name][1] / spent[name][0]
    found["overhead_ratio"] = overhead["textattack"] / overhead["ours"]
    keys = ("kind", "queries", "changed")
    same = [
        all(one[key] == other[key] for key in keys)
        for one, other in zip(ours["texts"], rounds[0], strict=True)
    ]
    return {**found, "same_outcome_percent": 100 * sum(same) / len(same)}


def measure(options: argparse.Namespace, work: Path) -> dict[str, Figures]:
    """All figures by method."""
    folder = prepared(options, make_folder(work))
    peer = peer_python(options.peer_python)
    figures = {}
    for populations in (False, True):
        methods = [name for name in options.methods if (name in POPULATIONS) == populations]
        limit = min(options.population_texts if populations else options.texts, options.texts)
        if not methods:
            continue
        ours = run(Path(sys.executable), "own", folder, methods, limit, options)
        theirs = run(peer, "peer", folder, methods, limit, options)
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
    parser.add_argument("--candidates", type=int, default=3, help="most substitutes of a word")
    parser.add_argument("--size", type=int, default=32, help="of the victim's layers")
    parser.add_argument("--texts", type=int, default=200, help="texts attacked")
    parser.add_argument("--population_texts", type=int, default=30, help="by pso and genetic")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--rounds", type=int, default=3, help="over all texts, on both sides")
    parser.add_argument("--peer_python", type=Path, help="an interpreter that has TextAttack")
    parser.add_argument("--work", type=Path, help="keeps what is done, to go on from")
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
