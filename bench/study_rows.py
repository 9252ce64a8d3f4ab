"""What a study is: rows of (configuration, attack, budgets), the copies some are trained on."""

from dataclasses import dataclass, replace
from pathlib import Path

import yaml

from robustparse.tasks import task as tasks

ROOT = Path(__file__).resolve().parent.parent
RUNS = ROOT / "runs"
BEST = "best.ckpt"


@dataclass(frozen=True)
class Copies:
    """Adversarial copies of training sentences, made against a row's parser.

    Args:
        of: the row, which also says by which attack.
        share: of the training sentences that is attacked.
        keep: the copies that the attack ``changed``, or ``all``.
        ranking: of the words to attack; None keeps the recipe's.
        used: share of the copies that is trained on.
        precision: of the parser's passes.
        merged: words of the copies have embeddings too (Wang et al. 2021).
        split: of the corpus, whose sentences are attacked.
    """

    of: "Row"
    share: float
    keep: str
    ranking: str | None = None
    used: float = 1.0
    precision: str = "bf16-mixed"
    merged: bool = False
    split: str = "train"

    @property
    def path(self) -> Path:
        """The file."""
        ending = tasks.named(self.of.task).ending("")
        split = "" if self.split == "train" else f"_{self.split}"
        return self.of.folder / f"copies{percent(self.share)}{split}{ending}"


@dataclass(frozen=True)
class Row:
    """One system: how it is trained and attacked, and what it is called.

    Args:
        name: of the run's folder.
        title: in the table.
        checkpoint: the one to attack.
        configs: in ``configs``, that it is trained with; by default the experiment of its name.
        steps: of training, instead of the configuration's steps and epochs.
        copies: that it is trained on too.
        seed: of dropout, batches and adversaries, instead of the configurations'; the parser
            that it continues from and its copies stay the same.
        pretrained: its encoder is a pretrained Transformer, which ``--encoder`` names.
        recipe: of the attack.
        gammas: budgets of its attack, instead of the study's; None is the recipe's own.
        filters: how many of the recipe's constraints are kept after the tags that no attack may
            touch; None keeps all.
        fraction: the attack visits this share of a text's words at most, in random order.
        references: runs of the same study's home whose parsers, all of them, must keep their own
            trees.
        strict: the goal leaves out arcs that touch a changed word.
        task: the kind of its answers.
        word_vectors: it reads word vectors, which ``--word_vectors`` names.
        max_vectors: the first N of them only.
        seen: the attack substitutes only words that the parser has seen in training.
        copulas: the attack changes copulas and auxiliaries too, which its recipe leaves alone.
        members: rows whose models answer together; the row trains nothing itself.
        home: the folder of its run's folder.
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
    fraction: float | None = None
    references: tuple[str, ...] = ()
    strict: bool = False
    task: str = "dependency"
    word_vectors: bool = False
    max_vectors: int | None = None
    seen: bool = False
    copulas: bool = False
    members: tuple["Row", ...] = ()
    home: Path = RUNS

    @property
    def attack(self) -> str:
        """What tells its attack from the others on the same parser."""
        filters = "" if self.filters is None else f"_{self.filters}_filters"
        demands = {"references": self.references, "strict": self.strict, "seen": self.seen}
        demands["copulas"] = self.copulas
        ends = "".join(f"_{name}" for name, made in demands.items() if made)
        ends += "" if self.fraction is None else f"_random{percent(self.fraction)}"
        return f"{self.recipe}{filters}{ends}"

    @property
    def config_files(self) -> list[Path]:
        """The row's configurations; what a later one says holds."""
        names = self.configs or (() if self.members else (f"experiment/{self.name}",))
        return [ROOT / "configs" / f"{name}.yaml" for name in names]

    @property
    def folder(self) -> Path:
        """Where its run lives."""
        return self.home / self.name

    @property
    def start(self) -> Path | None:
        """The checkpoint that it continues from, which lies among the runs of its study."""
        for first in self.config_files[:1]:
            content = yaml.safe_load(first.read_text("utf-8"))
            if path := content["model"]["init_args"].get("init_from"):
                return self.home / Path(path).relative_to("runs")
        return None

    @property
    def checkpoints(self) -> list[Path]:
        """Those that are attacked, together."""
        return [row.folder / row.checkpoint for row in self.members or (self,)]

    def elsewhere(self, home: Path, seed: int | None) -> "Row":
        """Return the same with its run, and that of the parser of its copies, in another folder.

        Another seed is that of training; a row with a seed of its own gets as many more.
        """
        own = self.seed if seed is None else seed + (self.seed or 0)
        title = self.title.replace(f"seed {self.seed}", f"seed {own}")
        copies = self.copies and replace(self.copies, of=self.copies.of.elsewhere(home, seed))
        members = tuple(member.elsewhere(home, seed) for member in self.members)
        return replace(self, home=home, seed=own, title=title, copies=copies, members=members)


@dataclass(frozen=True)
class Study:
    """Rows that are attacked on the same test sentences, drawn from seed 0.

    Args:
        rows: for a table of defenses the first is the clean model, the second the control.
        gammas: budgets of the attack.
        share: of the test sentences that is attacked.
        sentences: instead, this many of those that have five words or more, or all of them.
        measured: the quality of the adversarial examples is measured, by English models.
    """

    rows: tuple[Row, ...]
    gammas: tuple[float, ...] = (0.15,)
    share: float = 1.0
    sentences: int | None = None
    measured: bool = True

    @property
    def task(self) -> str:
        """The kind of answers."""
        return self.rows[0].task

    @property
    def home(self) -> Path:
        """The folder of the runs, which lie together."""
        return self.rows[0].home

    @property
    def results(self) -> Path:
        """The folder of its figures: those that the documentation shows, or beside its runs."""
        shipped = self.home.is_relative_to(RUNS)
        return ROOT / "bench" / "results" if shipped else self.home / "results"

    def elsewhere(self, home: Path, seed: int | None) -> "Study":
        """Return the same in another folder, trained with another seed."""
        return replace(self, rows=tuple(row.elsewhere(home, seed) for row in self.rows))

    @property
    def cases(self) -> list[tuple[Row, float | None]]:
        """Each row with each of its budgets."""
        return [(row, gamma) for row in self.rows for gamma in row.gammas or self.gammas]

    def attacked(self, row: Row, gamma: float | None) -> Path:
        """Return the folder of an attack on the test sentences."""
        folder = row.folder if self.sentences is None else row.folder / f"test_{self.sentences}"
        return folder / f"{row.attack}{percent(gamma)}"


def percent(gamma: float | None) -> str:
    """Return a budget as the end of a file's name."""
    return "" if gamma is None else f"_{round(100 * gamma):02d}"
