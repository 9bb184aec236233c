"""Tests of habits that no other tool checks."""

import ast
import re
from collections.abc import Callable, Iterator
from inspect import isclass, isfunction, ismodule, signature
from pathlib import Path

import levelled
import levelled.web
from levelled_studies.manual import described_parameters

TESTS = Path(__file__).parent

MOST_PINNED = 30
"""Exact outputs, such as rows of a table, commands and reprs, are among them."""

EXAMPLE = """
@pytest.mark.parametrize(("given", "says"), [(1, "k must be at least 2"), (2, r"\\bk\\b.*2")])
def test_refused(given, says):
    with pytest.raises(InputError, match=says):
        draw(given)

def test_said():
    assert "the whole pool is labelled" in say()
    assert say("with a pool of five words") == "exactly 5"
    assert say().startswith(f"{1} of the four words here")
"""


def test_tests_expect_values_and_key_words_not_sentences() -> None:
    pinned = [
        f"{path.relative_to(TESTS)}:{line}: {text!r}"
        for path in sorted(TESTS.rglob("*.py"))
        for line, text in sorted(pinned_sentences(path.read_text()))
    ]
    assert len(pinned) <= MOST_PINNED, "\n".join(pinned)


def test_sentences_are_found() -> None:
    assert sorted(line for line, _ in pinned_sentences(EXAMPLE)) == [2, 8, 10]


def pinned_sentences(source: str) -> set[tuple[int, str]]:
    """The sentences that a test file expects word by word, each with its line.

    A sentence is a text of four words in `match=`, or of five in a comparison of an assertion,
    written there or in a list of `parametrize` under the name that stands there. Not seen are
    texts behind other names (variables, loops, arguments of helpers, `pytest.param`), sums of
    texts, and what `re.search` or a browser expects.
    """
    return {
        (line, text)
        for function in ast.walk(ast.parse(source))
        if isinstance(function, ast.FunctionDef)
        for expected, too_many in _expectations(function)
        for line, text in _texts(expected, _parametrized(function))
        if _words(text) >= too_many
    }


def _words(text: str) -> int:
    """The number of words of two letters or more; a path, an option or a name counts as one."""
    plain = re.sub(r"\\[a-zA-Z]|\.[*+]", " ", text)
    return sum(re.search(r"[^\W\d_]{2}", word) is not None for word in plain.split())


def _expectations(function: ast.FunctionDef) -> Iterator[tuple[ast.expr, int]]:
    """Expressions that a message must contain, each with the number of words that is too many."""
    for node in ast.walk(function):
        if isinstance(node, ast.keyword) and node.arg == "match":
            yield node.value, 4
        for part in ast.walk(node.test) if isinstance(node, ast.Assert) else ():
            match part:
                case ast.Compare(left=left, comparators=others):
                    yield from ((one, 5) for one in (left, *others))
                case ast.Call(func=ast.Attribute(attr="startswith" | "endswith"), args=texts):
                    yield from ((one, 5) for one in texts)


def _parametrized(function: ast.FunctionDef) -> dict[str, list[ast.expr]]:
    """The names that `parametrize` gives to a function, each with the column of its values."""
    columns: dict[str, list[ast.expr]] = {}
    for decorator in function.decorator_list:
        match decorator:
            case ast.Call(args=[ast.Constant(value=str(name)), ast.List(elts=values), *_]):
                columns[name] = values
            case ast.Call(args=[ast.Tuple() as names, ast.List(elts=rows), *_]):
                tuples = [row.elts for row in rows if isinstance(row, ast.Tuple)]
                for name, *values in zip(ast.literal_eval(names), *tuples, strict=True):
                    columns[name] = values
    return columns


def _texts(node: ast.expr, columns: dict[str, list[ast.expr]]) -> Iterator[tuple[int, str]]:
    """The texts of an expression that are written in the file, each with its line."""
    match node:
        case ast.Constant(value=str(text)):
            yield node.lineno, text
        case ast.JoinedStr(values=pieces):
            texts = (str(one.value) for one in pieces if isinstance(one, ast.Constant))
            yield node.lineno, " ".join(texts)
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
            yield from (text for part in parts for text in _texts(part, columns))
        case ast.Name(id=name):
            yield from (text for part in columns.get(name, ()) for text in _texts(part, {}))


SOURCE = Path(levelled.__file__).parent
MATHEMATICS = (
    *("advice", "estimators", "learning", "losses.py", "metrics", "proposals", "samplers"),
    *("scores", "simulation", "surrogates"),
)


def public_functions() -> Iterator[tuple[str, Callable[..., object], object]]:
    """Functions, methods and constructors of public names, each with what its docstring is of."""
    parts = [one for one in map(levelled.__getattribute__, levelled.__all__) if ismodule(one)]
    for module in (levelled, *parts, levelled.web):
        for name in module.__all__:
            thing = getattr(module, name)
            if isfunction(thing):
                yield f"{module.__name__}.{name}", thing, thing
            for method, each in vars(thing).items() if isclass(thing) else ():
                function = getattr(each, "__func__", each)
                written = isfunction(function) and function.__code__.co_filename != "<string>"
                if written and (method == "__init__" or not method.startswith("_")):
                    where = thing if method == "__init__" else function
                    yield f"{module.__name__}.{name}.{method}", function, where


def test_many_parameters_are_described_one_by_one() -> None:
    wrong = []
    for name, function, described in public_functions():
        takes = [each for each in signature(function).parameters if each not in ("self", "cls")]
        lines = described_parameters(described)
        names = [each for line in lines for each in line.split(", ")]
        if (len(takes) > 3 or names) and (
            sorted(names) != sorted(takes) or not all(lines.values())
        ):
            wrong.append(f"{name}: takes {', '.join(takes)}; describes {', '.join(names)}")
    assert not wrong, "\n".join(wrong)


def is_numeric(value: ast.expr | None) -> bool:
    """True for numbers, tuples and arrays of them, and what is computed from them."""
    match value:
        case ast.Constant(value=constant):
            return isinstance(constant, int | float) and not isinstance(constant, bool)
        case ast.UnaryOp(operand=operand):
            return is_numeric(operand)
        case ast.BinOp(left=left, right=right):
            return is_numeric(left) or is_numeric(right)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return bool(parts) and all(map(is_numeric, parts))
        case ast.Call(args=given):
            return any(map(is_numeric, given))
    return False


def unexplained_constants(source: str) -> Iterator[int]:
    """The lines of numeric constants without a comment at them or above, or a text below them.

    A comment above, or a text below, is about all the assignments that follow each other there.
    """
    lines, group = ["", *source.splitlines()], list[ast.Assign | ast.AnnAssign]()
    for node in [*ast.parse(source).body, ast.Pass(lineno=0)]:
        follows = bool(group) and node.lineno - 1 == group[-1].end_lineno
        if isinstance(node, ast.Assign | ast.AnnAssign) and follows:
            group.append(node)
            continue
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if group and not (is_text and follows) and not lines[group[0].lineno - 1].startswith("#"):
            numbers = [one for one in group if is_numeric(one.value)]
            yield from (one.lineno for one in numbers if "#" not in lines[one.end_lineno or 0])
        group = [node] if isinstance(node, ast.Assign | ast.AnnAssign) else []


def test_unexplained_constants_are_found() -> None:
    explained = "A = 1  # of two\nB = (0.5, 1)\nC = 4\n'''Of a paper.'''\n\n# Of another\nD = -1\n"
    assert [*unexplained_constants(f"{explained}\nE = 2.5\n\nF = 'text'\nG = 1e-3\n")] == [9, 12]


def test_each_constant_of_the_mathematics_says_where_it_comes_from() -> None:
    files = [
        file
        for part in MATHEMATICS
        for file in (
            [SOURCE / part] if part.endswith(".py") else sorted((SOURCE / part).rglob("*.py"))
        )
    ]
    wrong = [f"{file}:{line}" for file in files for line in unexplained_constants(file.read_text())]
    assert not wrong, "\n".join(wrong)
