"""Languages of users: operators in any casing, binders, and forms that do not come back."""

from collections.abc import Callable
from pathlib import Path

import pytest

from robustparse.data.utterances.forms import read_forms
from robustparse.data.vocab import Vocabulary
from robustparse.errors import InputError
from robustparse.grammars import Language, Node, exact_match, language_named, tranx_match
from robustparse.grammars.language import MAX_DEPTH
from robustparse.models import Coarse2Fine, LSTMEncoder, SemanticParser, Seq2Seq, TranX
from robustparse.trust import trust
from robustparse.types import Example, LogicalForm, Sentence

GRAMMAR = """name
call = Apply(name function, call* arguments) | Constant(name constant) | Select(call a, call b)
"""
# A language of calls, ``map ( lambda ( x , f ( x ) ) , prices )``.
MODULE = """
from robustparse.grammars import Language, TokenReader


class Calls(Language):
    asdl = "calls.asdl"
    operators = {operators}

    def read(self, text):
        reader = TokenReader(text)
        tree = self.call(reader)
        reader.end()
        return tree

    def call(self, reader):
        name, arguments = reader.leaf(), []
        while reader.next == ("," if arguments else "("):
            reader.take(reader.next)
            arguments.append(self.call(reader))
        if arguments:
            reader.take(")")
        return (name, *arguments) if arguments else name

    def print(self, tree):
        if isinstance(tree, str):
            return tree
        return f"{{tree[0]}} ( {{' , '.join(map(self.print, tree[1:]))}} )"

    def leaf(self, token):
        return "Constant"

{more}
"""
Make = Callable[..., Language]
KINDS: list[tuple[type[SemanticParser], dict[str, int]]] = [
    (Seq2Seq, {}),
    (Coarse2Fine, {"input_dim": 4}),
    (TranX, {}),
]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Make:
    def made(operators: str = "()", more: str = "", grammar: str = GRAMMAR) -> Language:
        name = f"calls_{abs(hash((request.node.name, operators, more, grammar)))}"
        (tmp_path / f"{name}.py").write_text(MODULE.format(operators=operators, more=more))
        (tmp_path / "calls.asdl").write_text(grammar)
        monkeypatch.syspath_prepend(str(tmp_path))
        trust([name])
        return language_named(f"{name}.Calls")

    return made


def examples_of(tmp_path: Path, language: Language, *forms: str) -> list[Example]:
    (tmp_path / "forms.tsv").write_text("".join(f"some words\t{form}\n" for form in forms))
    return read_forms(tmp_path / "forms.tsv", language=language.name)


def check(kind: type[SemanticParser], settings: dict[str, int], examples: list[Example]) -> None:
    encoder = LSTMEncoder(word_dim=4, hidden=4, layers=1)
    vocabulary = Vocabulary.from_examples(examples, 1)
    parser = kind(encoder, hidden=4, vocabulary=vocabulary, **settings)
    parser.check_readable(examples, "forms.tsv")


@pytest.mark.parametrize("head", ["SELECT", "select", "seLect", "Select"])
def test_operators_come_back_as_they_were(make: Make, head: str) -> None:
    language = make(f"({head!r},)")
    tree = (head, ("f", "x"), "y")
    node = language.to_ast(tree)
    assert node.constructor.name == "Select"
    assert language.from_ast(node) == tree


@pytest.mark.parametrize("operators", ["('SELECT', 'select')", "('group-by',)"])
def test_operators_without_a_constructor_each_are_refused(make: Make, operators: str) -> None:
    language = make(operators)
    with pytest.raises(InputError) as error:
        language.to_ast(("select", "x", "y"))
    assert error.value.key == f"{language.name}: operators"
    assert "operator" in str(error.value)


@pytest.mark.parametrize(("kind", "settings"), KINDS)
def test_forms_with_a_head_named_lambda_can_be_answered(
    make: Make, tmp_path: Path, kind: type[SemanticParser], settings: dict[str, int]
) -> None:
    forms = ["map ( lambda ( x , add ( x , n0 ) ) , prices )", "lambda ( x , y )", "x"]
    check(kind, settings, examples_of(tmp_path, make(), *forms))


# What is wrong with a language, in a method, and the parsers that the second form is refused for.
LOSSY = {
    "print": ("def print(self, tree): return tree if isinstance(tree, str) else 'x'", {0, 1, 2}),
    "from_ast": ("def from_ast(self, node): return 'x'", {2}),
    "to_ast": ("def to_ast(self, tree): return super().to_ast('x')", {2}),
    "a constructor": ("def leaf(self, token): return 'Other' if token == 'y' else 'Constant'", {2}),
}


@pytest.mark.parametrize("name", LOSSY)
@pytest.mark.parametrize("kind", range(3))
def test_a_form_that_does_not_come_back_is_refused_by_its_line(
    make: Make, tmp_path: Path, name: str, kind: int
) -> None:
    method, refused = LOSSY[name]
    examples = examples_of(tmp_path, make(more=f"    {method}"), "x", "f ( y )")
    if kind not in refused:
        check(*KINDS[kind], examples)
        return
    with pytest.raises(InputError) as error:
        check(*KINDS[kind], examples)
    assert (error.value.path, error.value.line) == (examples[0].path, 2)


# A string would contain the heads ``an`` and ``a`` as well as ``and``.
@pytest.mark.parametrize(
    "attribute",
    [
        *("operators = 'and'", "unordered = 'and'", "repeatable = 'and'", "binders = 'lambda'"),
        *("operators = (1,)", "unordered = None", "variable_types = {'lambda'}"),
        "def __init__(self): raise ValueError('no language')",
    ],
)
def test_attributes_of_other_types_are_refused(make: Make, attribute: str) -> None:
    with pytest.raises(InputError):
        make(more=f"    {attribute}")


METHODS = {
    "read": (0, 1, 2),
    "print": (0, 1, 2),
    "canonical": (0, 1, 2),
    "by_heads": (0, 1, 2),
    "leaf": (2,),
    "to_ast": (2,),
    "from_ast": (2,),
}


@pytest.mark.parametrize("body", ["raise IndexError(2)", "return None", "return {}['x']"])
@pytest.mark.parametrize("method", METHODS)
def test_a_method_that_fails_is_refused_by_the_line_of_the_form(
    make: Make, tmp_path: Path, method: str, body: str
) -> None:
    language = make(more=f"    def {method}(self, given): {body}")
    for kind in METHODS[method]:
        with pytest.raises(InputError) as error:
            check(*KINDS[kind], examples_of(tmp_path, language, "f ( y )"))
        assert error.value.line == 1


def test_a_form_on_which_a_method_fails_never_matches(make: Make) -> None:
    language = make(more="    def read(self, text): return ('f', text.split()[2])")
    assert exact_match("f ( x )", "f ( x )", language.name)
    assert not exact_match("f", "f ( x )", language.name)
    assert not tranx_match("f", "f ( x )", language.name)


@pytest.mark.parametrize(
    "rules",
    [
        *("Apply(name function) | Constant(name constant)", "Constant(name constant)"),
        "Apply(call* arguments, name function) | Constant(name constant)",
        "Apply(name function, call* arguments) | Constant(name a) | Constant(name b)",
        "Apply(name function, call* arguments) | Constant(name constant) | Select",
    ],
)
def test_grammars_without_the_usual_constructors_are_refused(make: Make, rules: str) -> None:
    language = make("('select',)", grammar=f"name\ncall = {rules}\n")
    with pytest.raises(InputError):
        [language.to_ast((head, "x", "y")) for head in ("f", "select")]


def test_what_read_returns_has_to_be_a_tree(make: Make, tmp_path: Path) -> None:
    language = make(more="    def read(self, text): return [text]")
    with pytest.raises(InputError) as error:
        examples_of(tmp_path, language, "x")
    assert (error.value.line, error.value.key) == (1, "Calls.read")


DEEP: dict[str, Callable[[int], str]] = {
    "lambda": lambda depth: "( f:t " * depth + "$0" + " )" * depth,
    "prolog brackets": lambda depth: "f ( " * depth + "ANS" + " )" * depth,
    "prolog groups": lambda depth: "( ANS , " * depth + "ANS" + " )" * depth,
    "prolog negations": lambda depth: "\\+ " * depth + "f ( ANS )",
    "prolog disjunctions": lambda depth: "f ( ANS ) ; " * depth + "f ( ANS )",
    "calls": lambda depth: "f ( " * depth + "x" + " )" * depth,
}


@pytest.mark.parametrize("kind", DEEP)
def test_forms_nested_too_deep_are_refused_by_their_line(
    make: Make, tmp_path: Path, kind: str
) -> None:
    language = make() if kind == "calls" else language_named(kind.split()[0])
    form = DEEP[kind]
    parts = [form(1), form(MAX_DEPTH - 2)]
    assert len(examples_of(tmp_path, language, *parts)) == 2
    assert exact_match(parts[1], parts[1], language.name)
    for depth in (MAX_DEPTH, 900, 5_000, 100_000):
        with pytest.raises(InputError) as error:
            examples_of(tmp_path, language, parts[0], form(depth))
        assert (error.value.path, error.value.line) == (str(tmp_path / "forms.tsv"), 2)
        assert str(MAX_DEPTH) in error.value.found
        assert not exact_match(form(depth), parts[0], language.name)


def test_a_deep_answer_is_none() -> None:
    language = language_named("lambda")
    examples = [Example(0, Sentence(("a",)), LogicalForm("$0", "lambda"))]
    parser = TranX(
        LSTMEncoder(word_dim=4, hidden=4, layers=1),
        hidden=4,
        vocabulary=Vocabulary.from_examples(examples, 1),
    )
    node = language.to_ast("$0")
    for _ in range(5_000):
        node = Node(language.rule("Not"), ((node,),))
    assert parser._printed(node) == ""
    assert parser._printed(language.to_ast("$0")) == "$0"
