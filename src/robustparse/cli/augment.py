"""``robustparse augment``: adversarial copies of training sentences, to train on besides them.

Zheng et al. (2020, section 3.4) attack a random half of the training sentences and add every copy,
the unchanged ones too (``--share 0.5 --keep all``); Wang et al. (2021) attack all and add the
changed ones. The attack runs in a folder beside the copies, where it goes on after a stop.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from rich.console import Console

from robustparse.attacks.attack import Attack
from robustparse.cli.attack import attack_options, recipe_name
from robustparse.cli.inputs import (
    SAMPLE,
    digest,
    instantiate_options,
    load_examples,
    load_parser,
    options_of,
)
from robustparse.cli.progress import attack_progress
from robustparse.cli.tables import summary_table
from robustparse.data.conllu import file_ending, write_treebank
from robustparse.errors import InputError
from robustparse.evaluation.lines import EXAMPLES, read_lines
from robustparse.evaluation.robustness import Summary, attack_into, perturbed_blocks
from robustparse.files import write_text
from robustparse.parsers.decoders import Decoder
from robustparse.parsers.victim import ParserVictim
from robustparse.types import Example


def augment(
    attack: Attack,
    checkpoint: str,
    data: str,
    out: str,
    share: float | None = None,
    tokens: float | None = None,
    keep: Literal["changed", "all"] = "changed",
    limit: int | None = None,
    seed: int = 0,
    decoder: Decoder | None = None,
    device: str = "auto",
) -> None:
    """Write adversarial copies of training sentences; run again with the same --out, it goes on.

    Args:
        attack: a recipe, for example configs/attack/zheng2020_blackbox.yaml.
        checkpoint: the parser to attack.
        data: a CoNLL-U or CoNLL-X file, or ``sample`` for the embedded training sentences.
        out: file of the copies, in the data's format and with its gold trees; figures go into a
            .json file beside it, the attack into an .attack folder.
        share: copy only this share of the sentences, drawn at random from the seed.
        tokens: instead: sentences drawn until they hold this share of the words.
        keep: copies that the attack changed, or all.
        limit: attack only so many sentences, from the front.
        seed: of the attack's random choices, and of the sample's grammar.
        decoder: instead of the one the parser was trained with.
        device: where the parser computes: auto, cpu or cuda.
    """


def command(arguments: Sequence[str]) -> None:
    """Parse options, run, print a table."""
    parser = options_of(augment, "augment")
    options = attack_options(parser, arguments)
    settings = json.loads(parser.dump(options, format="json"))["attack"]
    name = recipe_name(options.attack)
    given: dict[str, Any] = instantiate_options(parser, options)
    chosen: Attack = given["attack"]
    chosen.seed = given["seed"]
    out = _checked_out(Path(given["out"]), given["data"])
    examples, victim, drawn = _read(given)
    run = {
        "attack": name,
        "victims": [given["checkpoint"]],
        "settings": settings,
        **{key: given[key] for key in ("seed", "limit", "decoder", "data")},
        **drawn,
        "sha256": {key: digest(given[key]) for key in ("checkpoint", "data")},
    }
    with attack_progress(len(examples), name) as progress:
        summary = attack_into(attack_folder(out), chosen, examples, victim, run, progress)
    written = write_copies(out, examples, given["keep"])
    report = {**summary, "data": given["data"], **drawn, "keep": given["keep"], **written}
    write_text(out.with_suffix(".json"), json.dumps(report, indent=2) + "\n")
    Console().print(summary_table({Path(given["checkpoint"]).stem: summary}))
    Console().print(f"{written['n_copies']} copies in {out}", soft_wrap=True)


def attack_folder(out: Path) -> Path:
    """Where the attack that makes a file of copies keeps its own files."""
    return out.with_suffix(".attack")


def write_copies(
    out: Path, examples: Sequence[Example], keep: Literal["changed", "all"]
) -> Summary:
    """Write the copies; how many there are, their words, and how many of them are changed."""
    lines = read_lines(attack_folder(out) / EXAMPLES)
    kept = [line for line in lines if line["edited"] or keep == "all"]
    write_treebank(out, perturbed_blocks(examples, kept))
    return {
        "n_copies": len(kept),
        "n_copied_words": sum(len(line["tokens"]) for line in kept),
        "n_changed": sum(bool(line["edited"]) for line in kept),
    }


def _checked_out(out: Path, data: str) -> Path:
    """Refuse a name of another format, and the data's own."""
    expected = file_ending(data)
    if file_ending(out) != expected or not out.suffix.startswith(".conll"):
        raise InputError(
            f"--out {out}: the copies are in the format of {data}; name a file that ends in "
            f"{expected}"
        )
    if data != SAMPLE and out.exists() and out.samefile(data):
        raise InputError(f"--out {out}: that is the data itself; name another file")
    return out


def _read(given: dict[str, Any]) -> tuple[list[Example], ParserVictim, dict[str, Any]]:
    """The sentences to attack, the parser, and how the sentences were drawn."""
    if given["share"] is not None and given["tokens"] is not None:
        raise InputError("--share counts sentences and --tokens words; give one of them")
    by_words = given["tokens"] is not None
    share = next((s for s in (given["tokens"], given["share"]) if s is not None), 1.0)
    if not 0 < share <= 1:
        name = "--tokens" if by_words else "--share"
        raise InputError(f"{name} must be above 0 and at most 1, got {share}")
    module = load_parser(given["checkpoint"], given["decoder"], given["device"])
    unit: Literal["tokens", "sentences"] = "tokens" if by_words else "sentences"
    examples = load_examples(
        *(given["data"], given["limit"], given["seed"], module),
        share=share,
        unit=unit,
        split="train",
    )
    return examples, ParserVictim(module), {"share": share, "share_of": unit}
