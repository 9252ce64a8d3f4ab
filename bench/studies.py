"""What the studies of ``docs/results.md`` consist of: rows of (configuration, attack, budgets)."""

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"


@dataclass(frozen=True)
class Row:
    """One system: a configuration, the checkpoint it ends with, and what it is called.

    Args:
        name: of the run's folder.
        title: in the table.
        checkpoint: the one to attack.
        base: the row whose configuration it is trained with, on that row's adversarial copies of
            half of the training sentences too (Zheng et al. 2020, section 3.4); None trains its own
            configuration, on clean data unless that says otherwise.
        pretrained: its encoder is a pretrained Transformer, which ``--encoder`` names.
        recipe: of the attack.
    """

    name: str
    title: str
    checkpoint: str = "last.ckpt"
    base: "Row | None" = None
    pretrained: bool = False
    recipe: str = "zheng2020_blackbox"

    @property
    def config(self) -> Path:
        """The row's configuration."""
        name = self.name if self.base is None else self.base.name
        return ROOT / "configs" / "experiment" / f"{name}.yaml"

    @property
    def folder(self) -> Path:
        """Where its run lives, as the configuration says."""
        return ROOT / "runs" / self.name

    @property
    def copies(self) -> Path:
        """Adversarial copies of half of the training sentences, made against this row."""
        return self.folder / "augmentation" / "adversarial.conllu"

    def attacked(self, gamma: float) -> Path:
        """The folder of an attack on the test sentences."""
        return self.folder / f"{self.recipe}_{round(100 * gamma):02d}"


@dataclass(frozen=True)
class Study:
    """Rows that are attacked alike.

    Args:
        rows: the first is the baseline of shares won back, the second the control.
        gammas: budgets of the attack.
        share: of the test sentences that is attacked, drawn from seed 0.
    """

    rows: tuple[Row, ...]
    gammas: tuple[float, ...] = (0.15,)
    share: float = 1.0


BEST, CHARACTER = "best.ckpt", "zheng2020_blackbox_character"
ZHENG2020 = (
    Row("ewt_biaffine_word", "word", BEST),
    Row("ewt_biaffine_word_pos", "word + POS", BEST),
    Row("ewt_biaffine_character", "character", BEST, recipe=CHARACTER),
    Row("ewt_biaffine_minilm", "MiniLM", BEST, pretrained=True),
)
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
                base=row,
                pretrained=row.pretrained,
                recipe=row.recipe,
            )
            for row in ZHENG2020
        ),
        share=0.25,
    ),
}


def result(study: str, row: Row, gamma: float) -> Path:
    """Where the figures of a row are kept."""
    budget = "" if len(STUDIES[study].gammas) == 1 else f"_{round(100 * gamma):02d}"
    return RESULTS / f"{study}_{row.name}{budget}.json"
