"""Between logical forms and abstract syntax trees of their grammars, ``LANGUAGE.asdl``.

What a token is follows from its shape (the released code of TranX has lists of names). In lambda
calculus ``$...`` is a variable, ``...:i`` and ``...:hr`` are numbers, any other leaf is an entity,
and a bracketed head that is no operator is a predicate. In Prolog a leaf in upper case is a
variable, any other a literal.
"""

from robustparse.errors import InputError
from robustparse.grammars.asdl import Constructor, grammar_of
from robustparse.grammars.logical_form import Tree, print_form
from robustparse.grammars.transitions import Node

_OPERATORS = {
    "lambda": (
        *("Argmax", "Argmin", "Sum", "Count", "Exists", "Max", "Min", "The", "Lambda"),
        *("Not", "And", "Or"),
    ),
    "prolog": ("Not", "Or", "And"),
}
_COMPARED = {">": "GreaterThan", "=": "Equal", "<": "LessThan"}
_SIGNS = {name: sign for sign, name in _COMPARED.items()}


def to_ast(tree: Tree, language: str) -> Node:
    """Return the abstract syntax tree of a logical form.

    Raises:
        InputError: an operator has other arguments than the grammar says.
    """
    if isinstance(tree, str):
        return _leaf(tree, language)
    head, children = str(tree[0]), tree[1:]
    name = head.capitalize()
    if name in _OPERATORS[language]:
        return _node(_rule(name, language), children, language)
    if language == "lambda" and head in _COMPARED:
        operator = Node(_rule(_COMPARED[head], language), ())
        compared = _rule("Compare", language)
        if len(children) != 2:
            raise _other_arguments(tree, language, compared)
        return Node(compared, ((operator,), *((to_ast(one, language),) for one in children)))
    values = tuple(to_ast(child, language) for child in children)
    for child, value in zip(children, values, strict=True):
        if value.constructor.type != _rule("Apply", language).fields[1].type:
            form = print_form(child, language)
            raise InputError(f"{form!r:.60} is an argument of {head}", expected="a name")
    return Node(_rule("Apply", language), ((head,), values))


def _leaf(token: str, language: str) -> Node:
    if language == "prolog":
        name = "Variable" if token[0].isupper() else "Literal"
    elif token[0] == "$":
        name = "Variable"
    else:
        name = "Number" if token.endswith((":i", ":hr")) else "Entity"
    return Node(_rule(name, language), ((token,),))


def _node(rule: Constructor, children: tuple[Tree, ...], language: str) -> Node:
    """Return a node whose fields are filled in order; one of any number of values takes all."""
    fields = rule.fields
    if fields[0].repeated:
        return Node(rule, (tuple(to_ast(child, language) for child in children),))
    primitives = grammar_of(language).primitives
    if len(children) != len(fields):
        raise _other_arguments((rule.name.lower(), *children), language, rule)
    values: list[tuple[Node | str, ...]] = []
    for field, child in zip(fields, children, strict=True):
        if field.type not in primitives:
            values.append((to_ast(child, language),))
        elif isinstance(child, str):
            values.append((child,))
        else:
            raise _other_arguments((rule.name.lower(), *children), language, rule)
    return Node(rule, tuple(values))


def _other_arguments(tree: Tree, language: str, rule: Constructor) -> InputError:
    fields = ", ".join(field.name for field in rule.fields)
    return InputError(
        f"{print_form(tree, language)!r:.80}", expected=f"{rule.name.lower()} with {fields}"
    )


def from_ast(node: Node, language: str) -> Tree:
    """Return the logical form of an abstract syntax tree: the inverse of `to_ast`."""
    name = node.constructor.name
    if name in ("Variable", "Entity", "Number", "Literal"):
        return str(node.values[0][0])
    parts = [
        value if isinstance(value, str) else from_ast(value, language)
        for values in node.values
        for value in values
    ]
    if name == "Apply":
        return tuple(parts)
    if name == "Compare":
        operator, *sides = parts
        return (_SIGNS[str(operator[0])], *sides)
    return (name.lower(), *parts) if name not in _SIGNS else (name,)


def _rule(name: str, language: str) -> Constructor:
    return grammar_of(language).by_name[name]
