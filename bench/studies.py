"""What the studies of ``docs/results.md`` consist of: rows of (configuration, attack, budgets)."""

from dataclasses import replace
from functools import partial
from typing import Any

from studies_jin2020 import JIN2020, SWAP
from study_rows import BEST, RUNS, Copies, Row, Study, percent

CHARACTER = "zheng2020_blackbox_character"
ZHENG2020 = (
    Row("ewt_biaffine_word", "word", BEST),
    Row("ewt_biaffine_word_pos", "word + POS", BEST),
    Row("ewt_biaffine_character", "character", BEST, recipe=CHARACTER),
    Row("ewt_biaffine_minilm", "MiniLM", BEST, pretrained=True),
)
WORD_CHARACTER, MINILM = "ewt_biaffine_word_character", "ewt_biaffine_minilm"
WANG = "wang2021_open"
UNSEEN = "pwws"
BLACK, WHITE = "zheng2020_blackbox_released", "zheng2020_whitebox_released"


def released(row: Row, recipe: str = BLACK) -> Row:
    """Return a row attacked as the released code does, copulas and auxiliaries included."""
    return replace(row, title=f"{row.title}, released code", recipe=recipe)


# Their copies are others, so that all of them are trained in folders of their own.
ZHENG2020_RELEASED = tuple(
    replace(released(row), name=f"{row.name}_released", configs=(f"experiment/{row.name}",))
    for row in ZHENG2020
    if row.recipe != CHARACTER
)


def copied(parsers: tuple[Row, ...]) -> tuple[Row, ...]:
    """Return each parser, one of as many steps as the copies take, and one on copies."""
    rows = []
    for row in parsers:
        again = replace(row, configs=row.configs or (f"experiment/{row.name}",))
        steps = 3110 if row.pretrained else 1860  # of 10 and 12 epochs with copies of half
        title = f"{row.title}, equal steps"
        equal = replace(again, name=f"{row.name}_equal_steps", title=title, steps=steps)
        copies = Copies(row, 0.5, "all", "random")
        title = f"{row.title}, Adv[b]"
        rows += [
            replace(row, title=f"{row.title}, clean"),
            equal,
            replace(again, name=f"{row.name}_adversarial", title=title, copies=copies),
        ]
    return tuple(rows)


def attacks(name: str, title: str, pretrained: bool) -> tuple[Row, ...]:
    """Every dependency attack on one parser; those on phrases change three words at most."""
    row = partial(Row, name, title, BEST, pretrained=pretrained)
    return (
        row(gammas=(0.05, 0.10, 0.15)),
        released(row()),
        row(recipe="zheng2020_whitebox"),
        released(row(), WHITE),
        row(recipe=WANG),
        row(recipe="zheng2020_phrase_blackbox", gammas=(None,)),
        row(recipe="zheng2020_phrase_whitebox", gammas=(None,)),
    )


def demands(name: str, title: str, reference: str, pretrained: bool) -> tuple[Row, ...]:
    """Attacks on one parser as they are, where another one must keep its trees, and strict ones."""
    row = partial(Row, name, title, BEST, pretrained=pretrained)
    pairs = (
        (
            row(recipe=recipe, gammas=gammas),
            row(recipe=recipe, gammas=gammas, references=(reference,)),
        )
        for recipe, gammas in (
            ("zheng2020_blackbox", ()),
            ("zheng2020_whitebox", ()),
            (WANG, ()),
            (UNSEEN, (None,)),
        )
    )
    return (*(one for pair in pairs for one in pair), row(strict=True))


def relations(name: str, title: str, pretrained: bool = False) -> tuple[Row, ...]:
    """Attacks on one parser as they are, and where they change copulas and auxiliaries too."""
    row = partial(Row, name, title, BEST, pretrained=pretrained)
    return tuple(
        row(recipe=recipe, copulas=copulas)
        for recipe in ("zheng2020_blackbox", "zheng2020_whitebox")
        for copulas in (False, True)
    )


CACHED = "substitution_masked_lm"
# A training step with each defense in steps without, as `cost.py` prints them for each parser in
# bf16-mixed (`--hidden 400 --layers 3`; `--encoder MODEL --batch_words 1000`); with both, FGM is
# applied to what substitution has made; a masked language model's candidates are in the cache.
WAYS = ("fgm", "pgd", "freelb", "substitution", "substitution_fgm", CACHED)
COSTS = {
    WORD_CHARACTER: dict(zip(WAYS, (1.9, 3.8, 2.9, 1.8, 2.7, 1.9), strict=True)),
    MINILM: dict(zip(WAYS, (2.0, 3.4, 3.0, 1.8, 2.8, 1.7), strict=True)),
}
JOINED = {"substitution_fgm": ("substitution", "fgm")}
TITLES = {
    "fgm": "+ FGM",
    "pgd": "+ PGD-3",
    "freelb": "+ FreeLB-3",
    "substitution": "+ online substitution",
    "substitution_fgm": "+ online substitution and FGM",
    CACHED: "+ online substitution, the attack's candidates",
}
CLEAN = (
    Row(WORD_CHARACTER, "clean training", BEST),
    Row(MINILM, "clean training", BEST, pretrained=True),
)


def defenses(clean: Row, steps: int, twice: tuple[str, ...] = ()) -> tuple[Row, ...]:
    """Return a clean parser, and ways to continue from it in the time of ``steps`` clean steps.

    Args:
        clean: the parser.
        steps: without a defense.
        twice: ends of the names of ways that are gone with another seed too.
    """
    start = f"experiment/{clean.name}_finetuning"
    way = partial(Row, pretrained=clean.pretrained, recipe=clean.recipe)
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


def universal(language: str, steps: int | None = None) -> tuple[Row, ...]:
    """Return a small parser of a language, and ways to continue from it, under the same attack.

    A step with online substitution takes two to four without: of a small network the attack is
    most. ``steps`` are those of clean training, instead of the configuration's.
    """
    name, start = "ud_biaffine", "experiment/ud_biaffine_finetuning"
    way = partial(Row, recipe="zheng2020_universal", home=RUNS / language)
    return (
        way(name, "clean training", BEST, steps=steps),
        way(f"{name}_control", "+ clean only (control)", configs=(start,), steps=640),
        way(
            f"{name}_substitution",
            TITLES["substitution"],
            configs=(start, "defense/substitution"),
            steps=200,
        ),
    )


OVER_MINILM = defenses(CLEAN[1], steps=1024, twice=("offline_50", "offline_100"))
# Rows that were made together on another machine, whose clean parser is another one.
WITH_COPIES = ("", "_control", "_offline_100")


STACK_POINTER = "ewt_stack_pointer"
VECTORS = "ewt_biaffine_vectors"
FIRST_VECTORS = 6000  # of 45,793, about an eighth, as 50,000 of 400,000 in the paper


def again(one: Row, end: str, title: str, **changes: Any) -> Row:
    """Return a row whose parser is trained in another way."""
    configs = (f"experiment/{one.name}",)
    name, title = f"{one.name}_{end}", f"{one.title}, {title}"
    return replace(one, name=name, title=title, configs=configs, **changes)


def wang2021() -> tuple[Row, ...]:
    """Return the rows of Tables 6 and 7 of Wang et al. (2021), and those of their ensembles."""
    row = partial(Row, checkpoint=BEST, recipe=WANG)
    biaffine = (
        row(VECTORS, "biaffine, vectors", word_vectors=True),
        row(WORD_CHARACTER, "biaffine, word + character"),
        row(MINILM, "biaffine, MiniLM", pretrained=True),
    )
    pointing = (
        row(f"{STACK_POINTER}_vectors", "stack-pointer, vectors", word_vectors=True),
        row(STACK_POINTER, "stack-pointer, word + character"),
        row(f"{STACK_POINTER}_minilm", "stack-pointer, MiniLM", pretrained=True),
    )

    def together(name: str, title: str, *members: Row) -> Row:
        return row(f"ewt_{name}", title, members=members)

    seeds = tuple(again(one, "seed_2", "seed 2", seed=2) for one in biaffine)
    third = again(biaffine[1], "seed_3", "seed 3", seed=3)
    full = biaffine[0]
    return (
        *(*biaffine, *pointing, *seeds, third),
        again(full, "capped", f"first {FIRST_VECTORS}", max_vectors=FIRST_VECTORS),
        replace(full, title=f"{full.title}, seen in training", seen=True),
        together(
            "biaffine_seeds", "3 seeds of biaffine, word + character", biaffine[1], seeds[1], third
        ),
        together("biaffine_embeddings", "biaffine, all embeddings", *biaffine),
        together("stack_pointer_embeddings", "stack-pointer, all embeddings", *pointing),
    )


def wang2021_copies() -> tuple[Row, ...]:
    """Return the rows of Table 8 of Wang et al. (2021): trained on adversarial copies.

    A study of its own, so that no other row rests on the parsers that the copies are made against.
    """
    clean = (
        Row(WORD_CHARACTER, "biaffine, word + character", BEST, recipe=WANG),
        Row(STACK_POINTER, "stack-pointer, word + character", BEST, recipe=WANG),
    )
    copied = (
        again(one, "adversarial", "on copies", copies=Copies(one, 0.25, "changed", merged=True))
        for one in clean
    )
    return tuple(one for pair in zip(clean, copied, strict=True) for one in pair)


REVIEWS = partial(Row, task="classification", word_vectors=True, gammas=(None,))
WORD_CNN, WORD_LSTM = "mr_cnn", "mr_lstm"
# A training step with each defense in steps without, in processor time on one thread.
REVIEW_COSTS = {"fgm": 1.9, "substitution": 3.0}


def reviews() -> tuple[Row, ...]:
    """Return the classifiers of three seeds, each under two attacks."""
    return tuple(
        REVIEWS(
            name if seed == 0 else f"{name}_seed_{seed}",
            f"{title}, seed {seed}",
            BEST,
            configs=(f"experiment/{name}",),
            seed=seed or None,
            recipe=recipe,
            filters=filters,
        )
        for name, title in ((WORD_CNN, "WordCNN"), (WORD_LSTM, "WordLSTM"))
        for seed in range(3)
        for recipe, filters in ((SWAP, 2), (UNSEEN, None))
    )


def review_defenses(steps: int) -> tuple[Row, ...]:
    """Return WordCNN and ways to continue from it in the time of ``steps`` clean steps."""
    clean = REVIEWS(WORD_CNN, "clean training", BEST, recipe=SWAP, filters=1)
    start = f"experiment/{WORD_CNN}_finetuning"
    way = partial(REVIEWS, recipe=SWAP, filters=1)
    copies = Copies(clean, 1.0, "changed", "RandomOrder", precision="32-true")
    ways = [
        way(f"{WORD_CNN}_{name}", TITLES[name], configs=(start, config), steps=round(steps / cost))
        for name, config, cost in (
            ("fgm", "defense/fgm_texts", REVIEW_COSTS["fgm"]),
            ("substitution", "defense/substitution_neighbours", REVIEW_COSTS["substitution"]),
        )
    ]
    return (
        clean,
        way(f"{WORD_CNN}_control", "+ clean only (control)", configs=(start,), steps=steps),
        *ways,
        way(
            f"{WORD_CNN}_offline",
            "+ copies made before",
            configs=(start, "defense/copies"),
            steps=steps,
            copies=copies,
        ),
    )


STUDIES = {
    **JIN2020,
    "mr_attacks": Study(reviews(), share=0.3, measured=False),
    "mr_defenses": Study(review_defenses(steps=1464), share=0.5, measured=False),
    "universal_french": Study(universal("french"), sentences=300, measured=False),
    "universal_english": Study(universal("english", 600), sentences=150, measured=False),
    "zheng2020_table1": Study(
        (*ZHENG2020, *(released(row) for row in ZHENG2020 if row.recipe != CHARACTER)),
        gammas=(0.05, 0.10, 0.15),
        share=0.25,
    ),
    "zheng2020_table2": Study(copied(ZHENG2020), share=0.25),
    "zheng2020_table2_released": Study(copied(ZHENG2020_RELEASED), share=0.25),
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
    "ewt_references": Study(
        (
            *demands(WORD_CHARACTER, "word + character", MINILM, False),
            *demands(MINILM, "MiniLM", WORD_CHARACTER, True),
        ),
        sentences=500,
    ),
    "ewt_relations": Study(
        (
            *relations(WORD_CHARACTER, "biaffine, word + character"),
            *relations(MINILM, "biaffine, MiniLM", pretrained=True),
            *relations(STACK_POINTER, "stack-pointer, word + character"),
        ),
        sentences=500,
        measured=False,
    ),
    "defenses_word_character": Study(
        defenses(CLEAN[0], steps=1104, twice=("substitution", "offline_100")), sentences=500
    ),
    "defenses_minilm": Study(OVER_MINILM, sentences=500),
    "defenses_minilm_copies": Study(
        tuple(row for row in OVER_MINILM if row.name.removeprefix(MINILM) in WITH_COPIES),
        sentences=500,
    ),
    "wang2021": Study(wang2021(), sentences=500),
    "wang2021_copies": Study(wang2021_copies(), sentences=500),
    "wang2021_filters": Study(
        (
            *(
                Row(WORD_CHARACTER, title, BEST, recipe=WANG, filters=count)
                for count, title in enumerate(("none", "tag", "+ embedding", "+ grammar"), start=1)
            ),
            Row(WORD_CHARACTER, "+ perplexity", BEST, recipe=WANG),
        ),
        sentences=500,
    ),
}
