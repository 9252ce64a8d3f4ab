"""What the studies of ``docs/results.md`` consist of: rows of (configuration, attack, budgets)."""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"


@dataclass(frozen=True)
class Copies:
    """Adversarial copies of training sentences, made against a row's parser.

    Args:
        of: the row, which also says by which attack.
        share: of the training sentences that is attacked.
        keep: the copies that the attack ``changed``, or ``all``.
        ranking: of the words to attack, instead of the recipe's.
        used: share of the copies that is trained on.
    """

    of: "Row"
    share: float
    keep: str
    ranking: str
    used: float = 1.0

    @property
    def path(self) -> Path:
        """The file."""
        return self.of.folder / f"copies{percent(self.share)}.conllu"


@dataclass(frozen=True)
class Row:
    """One system: how it is trained and attacked, and what it is called.

    Args:
        name: of the run's folder.
        title: in the table.
        checkpoint: the one to attack.
        configs: in ``configs``, that it is trained with; by default the experiment of its name.
        steps: of training, instead of the configuration's.
        copies: that it is trained on too.
        seed: of dropout, batches and adversaries, instead of the configurations'; the parser gone
            on from and its copies stay the same.
        pretrained: its encoder is a pretrained Transformer, which ``--encoder`` names.
        recipe: of the attack.
        gammas: budgets of its attack, instead of the study's; None is the recipe's own.
        filters: behind the tags that no attack may touch, only so many of the recipe's constraints;
            None keeps all.
    """

    name: str
    title: str
    checkpoint: str = "last.ckpt"
    configs: tuple[str, ...] = ()
    steps: int | None = None
    copies: Copies | None = None
    seed: int | None = None
    pretrained: bool = False
    recipe: str = "zheng2020_blackbox"
    gammas: tuple[float | None, ...] = ()
    filters: int | None = None

    @property
    def attack(self) -> str:
        """What tells its attack from the others on the same parser."""
        return self.recipe if self.filters is None else f"{self.recipe}_{self.filters}_filters"

    @property
    def config_files(self) -> list[Path]:
        """The row's configurations; what a later one says holds."""
        names = self.configs or (f"experiment/{self.name}",)
        return [ROOT / "configs" / f"{name}.yaml" for name in names]

    @property
    def folder(self) -> Path:
        """Where its run lives."""
        return ROOT / "runs" / self.name


@dataclass(frozen=True)
class Study:
    """Rows that are attacked on the same test sentences, drawn from seed 0.

    Args:
        rows: for a table of defences the first is the baseline of shares won back, the second the
            control.
        gammas: budgets of the attack.
        share: of the test sentences that is attacked.
        sentences: instead, this many of those that have five words or more.
    """

    rows: tuple[Row, ...]
    gammas: tuple[float, ...] = (0.15,)
    share: float = 1.0
    sentences: int | None = None

    @property
    def cases(self) -> list[tuple[Row, float | None]]:
        """Each row with each of its budgets."""
        return [(row, gamma) for row in self.rows for gamma in row.gammas or self.gammas]

    def attacked(self, row: Row, gamma: float | None) -> Path:
        """The folder of an attack on the test sentences."""
        home = row.folder if self.sentences is None else row.folder / f"test_{self.sentences}"
        return home / f"{row.attack}{percent(gamma)}"


def percent(gamma: float | None) -> str:
    """A budget as the end of a file's name."""
    return "" if gamma is None else f"_{round(100 * gamma):02d}"


BEST, CHARACTER = "best.ckpt", "zheng2020_blackbox_character"
ZHENG2020 = (
    Row("ewt_biaffine_word", "word", BEST),
    Row("ewt_biaffine_word_pos", "word + POS", BEST),
    Row("ewt_biaffine_character", "character", BEST, recipe=CHARACTER),
    Row("ewt_biaffine_minilm", "MiniLM", BEST, pretrained=True),
)
WORD_CHARACTER, MINILM = "ewt_biaffine_word_character", "ewt_biaffine_minilm"
WANG = "wang2021_open"


def attacks(name: str, title: str, pretrained: bool) -> tuple[Row, ...]:
    """Every dependency attack on one parser; those on phrases change three words at most."""
    row = partial(Row, name, title, BEST, pretrained=pretrained)
    return (
        row(gammas=(0.05, 0.10, 0.15)),
        row(recipe="zheng2020_whitebox"),
        row(recipe=WANG),
        row(recipe="zheng2020_phrase_blackbox", gammas=(None,)),
        row(recipe="zheng2020_phrase_whitebox", gammas=(None,)),
    )


# A training step with each defense in steps without, as `cost.py` prints them for each parser in
# bf16-mixed (`--hidden 400 --layers 3`; `--encoder MODEL --batch_words 1000`); with both, FGM is
# applied to what substitution has made.
WAYS = ("fgm", "pgd", "freelb", "substitution", "substitution_fgm")
COSTS = {
    WORD_CHARACTER: dict(zip(WAYS, (1.9, 3.8, 2.9, 1.8, 2.7), strict=True)),
    MINILM: dict(zip(WAYS, (2.0, 3.4, 3.0, 1.8, 2.8), strict=True)),
}
JOINED = {"substitution_fgm": ("substitution", "fgm")}
TITLES = {
    "fgm": "+ FGM",
    "pgd": "+ PGD-3",
    "freelb": "+ FreeLB-3",
    "substitution": "+ online substitution",
    "substitution_fgm": "+ online substitution and FGM",
}
CLEAN = (
    Row(WORD_CHARACTER, "clean training", BEST),
    Row(MINILM, "clean training", BEST, pretrained=True),
)
UNSEEN = "pwws"


def defenses(clean: Row, steps: int, twice: tuple[str, ...] = ()) -> tuple[Row, ...]:
    """A clean parser, and ways to go on from it that take the time of so many clean steps.

    Args:
        clean: the parser.
        steps: without a defense.
        twice: ends of the names of ways that are gone with another seed too.
    """
    start = f"experiment/{clean.name}_finetuning"
    way = partial(Row, pretrained=clean.pretrained)
    rows = [
        clean,
        way(f"{clean.name}_control", "+ clean only (control)", configs=(start,), steps=steps),
    ]
    for name, cost in COSTS[clean.name].items():
        configs = (start, *(f"defense/{part}" for part in JOINED.get(name, (name,))))
        own = round(steps / cost)
        rows.append(way(f"{clean.name}_{name}", TITLES[name], configs=configs, steps=own))
    for used in (0.5, 1.0):
        copies = Copies(clean, 1.0, "changed", "random", used)
        name, title = f"{clean.name}_offline{percent(used)}", f"+ {used:.0%} of copies made before"
        configs = (start, "defense/copies")
        rows.append(way(name, title, configs=configs, steps=steps, copies=copies))
    rows += [
        replace(row, name=f"{row.name}_seed_2", title=f"{row.title}, seed 2", seed=2)
        for row in rows
        if row.name.removeprefix(f"{clean.name}_") in twice
    ]
    unseen = (replace(row, recipe=UNSEEN, gammas=(None,)) for row in rows)
    return tuple(one for pair in zip(rows, unseen, strict=True) for one in pair)


STUDIES = {
    "ewt_blackbox": Study(
        (
            Row("ewt_biaffine", "clean training", BEST),
            Row("ewt_biaffine_control", "+ clean only (control)"),
            Row("ewt_biaffine_fgm", "+ FGM"),
            Row("ewt_biaffine_substitution", "+ online substitution"),
        )
    ),
    "zheng2020_table1": Study(ZHENG2020, gammas=(0.05, 0.10, 0.15), share=0.25),
    "zheng2020_table2": Study(
        tuple(
            Row(
                f"{row.name}_adversarial",
                f"{row.title}, Adv[b]",
                BEST,
                configs=(f"experiment/{row.name}",),
                copies=Copies(row, 0.5, "all", "random"),
                pretrained=row.pretrained,
                recipe=row.recipe,
            )
            for row in ZHENG2020
        ),
        share=0.25,
    ),
    "ewt_attacks": Study(
        (
            *attacks(WORD_CHARACTER, "word + character", False),
            *attacks(MINILM, "MiniLM", True),
            *(
                Row(WORD_CHARACTER, "word + character", BEST, recipe=name, gammas=(None,))
                for name in ("pwws", "beam", "genetic")
            ),
        ),
        sentences=500,
    ),
    "defenses_word_character": Study(
        defenses(CLEAN[0], steps=1104, twice=("substitution", "offline_100")), sentences=500
    ),
    "defenses_minilm": Study(defenses(CLEAN[1], steps=1024), sentences=500),
    "wang2021_filters": Study(
        tuple(
            Row(WORD_CHARACTER, title, BEST, recipe=WANG, filters=count)
            for count, title in enumerate(("none", "tag", "+ embedding", "+ grammar"))
        ),
        sentences=500,
    ),
}


# Attacks that other work on the machine held up: a clock says nothing of their speed.
HELD_UP = {
    ("ewt_attacks", WORD_CHARACTER, "beam", None),
}


def result(study: str, row: Row, gamma: float | None) -> Path:
    """Where the figures of a row are kept."""
    return RESULTS / f"{study}_{row.name}_{row.attack}{percent(gamma)}.json"
