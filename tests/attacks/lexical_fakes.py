"""A WordNet of a few senses, and sentences whose words carry their tags."""

from attack_fakes import example

from robustparse.attacks.candidates.generator import Slot


def slots(text: str) -> list[Slot]:
    """Slots of words written as word/TAG."""
    pairs = [token.rsplit("/", 1) for token in text.split()]
    sentence = example(" ".join(w for w, _ in pairs), " ".join(t for _, t in pairs)).sentence
    return [Slot(0, sentence, position) for position in range(len(sentence))]


class Sense:
    def __init__(self, *names: str) -> None:
        self.names = list(names)

    def lemma_names(self, lang: str = "eng") -> list[str]:
        return self.names


BASES = {"dogs": "dog", "dogged": "dog", "hounds": "hound", "cows": "cow", "chased": "chase"}
SYNSETS = {
    ("dog", "n"): [Sense("dog", "domestic_dog"), Sense("hound", "Dog", "frank")],
    ("dog", "v"): [Sense("chase", "track", "be", "dog")],
    ("saws", "n"): [Sense("saws", "saw", "proverb"), Sense("see", "adage")],
    ("big", "a"): [Sense("large", "big"), Sense("large", "great")],
}


class FakeWordNet:
    """A few senses; like the real one, it returns longer forms too."""

    def __init__(self, language: str = "eng") -> None:
        self.language = language

    def _morphy(self, word: str, part: str) -> list[str]:
        if word == "saws":
            return ["saws", "saw", "see"]
        return [word + "ly", BASES[word]] if word in BASES else []

    def synsets(self, word: str, part: str, lang: str = "eng") -> list[Sense]:
        return SYNSETS.get((BASES.get(word, word), part), [])

    def get_version(self) -> str:
        return "made by hand"
