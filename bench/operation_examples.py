r"""Print examples of the operations of Huang et al. (2021) on GEO and JOBS, as a page of docs.

    python bench/operation_examples.py --raw semparse_raw --parser best.ckpt \
        --vectors vectors.txt.gz > docs/guides/perturbation_examples.md

The raw texts of both training sets are drawn in one order for all operations. The first ones are
shown of which an operation makes a copy that keeps all slots and differs in its stems.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from itertools import islice
from pathlib import Path

import numpy as np

from robustparse.evaluation.perturbed import perturbed
from robustparse.perturbations import Perturbation
from robustparse.recipes.recipe import made
from robustparse.tasks.semantic import SemanticTask
from robustparse.types import Example
from semantic_study import OPERATIONS, operation

CORPORA = ("geo", "jobs")
SHOWN = 20
TEXTS_AT_ONCE = 50
TASK = SemanticTask()
HEAD = """# Examples of paraphrases

{shown} examples of each of the [operations](perturbations.md#paraphrases) that are meant to keep
the meaning of an utterance, on the training sets of GEO and JOBS. The texts are in random order,
and the first of which an operation makes a copy are shown; none was chosen by hand. Words that an
operation removes or inserts are in bold. This page is the output of

```
python bench/operation_examples.py --raw semparse_raw --parser best.ckpt --vectors vectors.txt.gz
```

where `semparse_raw` holds `geo/train.tsv` and `jobs/train.tsv` with
[raw texts and slots](semantic.md#data). Exchanged words are neighbours among counter-fitted
vectors, back translation is Apertium's through Spanish, and reordering goes by the trees of the
parser of `experiment/ewt_biaffine_word_character`. In the paper, people judged the perturbed
sentences, and dropped 17 % of those of word substitution, 18 % of back translation and 39 % of
reordering; [`augment --similarity`](perturbations.md#copies-that-mean-something-else) stands in
for these judges.
"""


def operation_of(name: str, options: argparse.Namespace) -> Perturbation:
    """Make an operation with what it needs."""
    found: Perturbation = made(Perturbation, operation(name, options))
    return found


def drawn(raw: Path, seed: int) -> list[Example]:
    """Return the different raw texts of all corpora in a random order, numbered in it."""
    every = [one for corpus in CORPORA for one in TASK.read(raw / corpus / "train.tsv")]
    different = [*{TASK.surface(one).words: one for one in every}.values()]
    order = np.random.default_rng(seed).permutation(len(different)).tolist()
    return [replace(different[at], id=id_) for id_, at in enumerate(order)]


def copies(one: Perturbation, examples: Sequence[Example], seed: int) -> Iterator[tuple[int, str]]:
    """Yield copies with their originals as rows of a table, after how many texts were drawn."""
    for begin in range(0, len(examples), TEXTS_AT_ONCE):
        for copy in perturbed(TASK, [one], examples[begin : begin + TEXTS_AT_ONCE], seed):
            before = TASK.surface(examples[copy.example.id]).words
            yield copy.example.id + 1, "| {} | {} |".format(*marked(before, copy.text))


def marked(before: Sequence[str], after: Sequence[str]) -> tuple[str, str]:
    """Return both texts, the words that differ in bold."""
    old: list[str] = []
    new: list[str] = []
    changes = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    for kind, begin, end, start, stop in changes:
        for text, words in ((old, before[begin:end]), (new, after[start:stop])):
            if words:
                text.append(" ".join(words) if kind == "equal" else f"**{' '.join(words)}**")
    return " ".join(old), " ".join(new)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--raw", type=Path, required=True)
    parser.add_argument("--parser", required=True)
    parser.add_argument("--vectors", required=True)
    parser.add_argument("--home", type=Path, default=Path("runs"), help="keeps translations")
    parser.add_argument("--operations", nargs="+", choices=OPERATIONS, default=[*OPERATIONS])
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    options.home.mkdir(parents=True, exist_ok=True)
    print(HEAD.format(shown=SHOWN))
    examples = drawn(options.raw, options.seed)
    for name in options.operations:
        found = [*islice(copies(operation_of(name, options), examples, options.seed), SHOWN)]
        print(f"## {name.replace('_', ' ').capitalize()}\n")
        print(f"{len(found)} copies from the first {found[-1][0] if found else 0} texts:\n")
        print("| original | perturbed |\n|---|---|")
        print(*(row for _, row in found), "", sep="\n", flush=True)


if __name__ == "__main__":
    main()
