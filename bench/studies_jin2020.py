"""The studies of TextFooler (Jin et al. 2020) on reviews and on entailment.

Each corpus has one study for Tables 3, 4, 6 and 7 and the ablations of Tables 8 and 9, and one for
Table 11, adversarial training; ``study_transfer.py`` prints Table 10. ``--folder`` names the
corpus.
"""

from dataclasses import replace
from functools import partial

from study_rows import BEST, Copies, Row, Study

# With one of its filters it needs neither a tagger nor a sentence encoder, with two no encoder.
SWAP = "textfooler"


def attacked(corpus: str, share: float, *classifiers: tuple[str, str]) -> tuple[Row, ...]:
    """Return the classifiers of a corpus under TextFooler, and the ablations on the first one.

    Args:
        corpus: begins the names of the configurations.
        share: of the words that TextFooler changes according to Tables 3 and 4. One ablation visits
            as many in random order, as in Table 8, another one all of them.
        classifiers: the ends of the names, and titles.
    """
    rows = [
        Row(
            *(f"{corpus}_{name}", title, BEST),
            **{"task": "classification", "recipe": SWAP, "gammas": (None,)},
            pretrained=name == "minilm",
            word_vectors=name != "minilm",
        )
        for name, title in (*classifiers, ("minilm", "MiniLM"))
    ]
    first = rows[0]
    return (
        *rows,
        replace(first, title=f"{first.title}, released code", recipe=f"{SWAP}_released"),
        replace(first, title=f"{first.title}, random positions", fraction=share),
        replace(first, title=f"{first.title}, random order", fraction=1.0),
        replace(first, title=f"{first.title}, no similarity filter", filters=2),
    )


def trained(clean: Row, steps: int, share: float, tested: float) -> tuple[Row, ...]:
    """Return a classifier, and ways to continue from it for as many steps (Table 11).

    Args:
        clean: the classifier.
        steps: of each way.
        share: of the training texts whose adversaries are trained on.
        tested: of the test texts, those that are attacked: Jin et al. train on their adversaries.
    """
    way = partial(replace, clean, checkpoint="last.ckpt", steps=steps)
    start = f"experiment/{clean.name}_finetuning"
    copies = partial(Copies, clean, keep="changed", ranking="DeletedWord", precision="32-true")
    return (
        replace(clean, title="clean training"),
        way(name=f"{clean.name}_control", title="+ clean only (control)", configs=(start,)),
        way(
            name=f"{clean.name}_adversaries",
            title="+ adversaries of training texts",
            configs=(start, "defense/copies"),
            copies=copies(share=share),
        ),
        way(
            name=f"{clean.name}_test_adversaries",
            title="+ adversaries of the attacked test texts",
            configs=(start, "defense/copies"),
            copies=copies(share=tested, split="test"),
        ),
    )


MR = attacked("mr", 0.167, ("cnn", "WordCNN"), ("lstm", "WordLSTM"))
SNLI = attacked("snli", 0.185, ("infersent", "InferSent"), ("esim", "ESIM"))
# Of 1,000 and of 2,000 test texts 300 are attacked.
MR_SHARE, SNLI_SHARE = 0.3, 0.15
JIN2020 = {
    "jin2020_mr": Study(MR, share=MR_SHARE),
    "jin2020_snli": Study(SNLI, share=SNLI_SHARE),
    "jin2020_mr_training": Study(
        trained(MR[0], 1464, 0.5, MR_SHARE), share=MR_SHARE, measured=False
    ),
    "jin2020_snli_training": Study(
        trained(SNLI[0], 1014, 0.2, SNLI_SHARE), share=SNLI_SHARE, measured=False
    ),
}
