"""Tests of habits that no other tool checks."""

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from inspect import isclass, isfunction, ismodule, signature
from pathlib import Path

import levelled
import levelled.web
from levelled_studies.manual import described_parameters

TESTS = Path(__file__).parent

MOST_PINNED = 60
"""Exact outputs, such as rows of a table, commands and reprs, are among them."""

EXAMPLE = """
LONG = "the whole pool is labelled"

@pytest.mark.parametrize(("given", "says"), [(1, "k must be at least 2"), (2, r"\\bk\\b.*2")])
def test_refused(given, says):
    with pytest.raises(InputError, match=says):
        draw(given)

def test_said():
    assert LONG in say()
    assert say("with a pool of five words") == "exactly 5"
    helper("five words are too many")

def helper(text):
    assert say().startswith(text)
"""


def test_tests_expect_values_and_key_words_not_sentences() -> None:
    pinned = [
        f"{path.relative_to(TESTS)}:{line}: {text!r}"
        for path in sorted(TESTS.rglob("*.py"))
        for line, text in sorted(pinned_sentences(path.read_text()))
    ]
    assert len(pinned) <= MOST_PINNED, "\n".join(pinned)


def test_sentences_are_found_behind_names() -> None:
    assert sorted(line for line, _ in pinned_sentences(EXAMPLE)) == [2, 4, 12]


def pinned_sentences(source: str) -> set[tuple[int, str]]:
    """The sentences that a test file expects word by word, each with its line.

    A sentence has four words in a pattern (`match=`, `re.search`), or five in a text that an
    assertion compares. A name stands for what it is given in its function or module: by
    assignments, loops, `parametrize`, and calls of the function whose parameter it is.
    """
    tree = ast.parse(source)
    parts = [one for one in tree.body if isinstance(one, ast.FunctionDef | ast.ClassDef)]
    calls = [one for one in ast.walk(tree) if isinstance(one, ast.Call)]
    module = [*_bindings([one for one in tree.body if one not in parts], {})]
    own = ([*_bindings([part], dict(module)), *_arguments(part, calls)] for part in parts)
    return {
        sentence
        for part, names in zip(parts, own, strict=True)
        for sentence in _in_part(part, [*module, *names])
    }


def _in_part(part: ast.AST, bindings: Sequence[tuple[str, ast.expr]]) -> Iterator[tuple[int, str]]:
    values: dict[str, list[ast.expr]] = {}
    for name, value in bindings:
        values.setdefault(name, []).append(value)
    return (
        (line, text)
        for expression, too_many in _expectations(part)
        for line, text in _texts(expression, values)
        if _words(text) >= too_many
    )


def _words(text: str) -> int:
    """The number of words of two letters or more; a path, an option or a name counts as one."""
    plain = re.sub(r"\\[a-zA-Z]|\.[*+]", " ", text)
    return sum(re.search(r"[^\W\d_]{2}", word) is not None for word in plain.split())


def _expectations(tree: ast.AST) -> Iterator[tuple[ast.expr, int]]:
    """Expressions that a message must contain, each with the number of words that is too many."""
    for node in ast.walk(tree):
        match node:
            case ast.keyword(arg="match", value=pattern):
                yield pattern, 4
            case ast.Call(func=ast.Attribute(attr="to_have_text" | "to_contain_text"), args=texts):
                yield from ((text, 5) for text in texts)
            case ast.Assert(test=test):
                yield from _compared(test)


def _compared(test: ast.expr) -> Iterator[tuple[ast.expr, int]]:
    for part in ast.walk(test):
        match part:
            case ast.Compare(left=left, ops=[ast.In() | ast.NotIn()]):
                yield left, 5
            case ast.Compare(left=left, comparators=others):
                yield from ((text, 5) for text in (left, *others))
            case ast.Call(func=ast.Attribute(attr="startswith" | "endswith"), args=texts):
                yield from ((text, 5) for text in texts)
            case ast.Call(
                func=ast.Attribute(attr="match" | "search" | "fullmatch"), args=[text, *_]
            ):
                yield text, 4


def _texts(node: ast.expr | None, values: dict[str, list[ast.expr]]) -> Iterator[tuple[int, str]]:
    """The texts of an expression that are written in the file, each with its line."""
    parts: Sequence[ast.expr | None] = ()
    match node:
        case ast.Constant(value=str(text)):
            yield node.lineno, text
        case ast.JoinedStr(values=pieces):
            text = " ".join(str(one.value) for one in pieces if isinstance(one, ast.Constant))
            yield node.lineno, text
        case ast.BinOp(left=left, right=right):
            both = [text for side in (left, right) for _, text in _texts(side, values)]
            yield node.lineno, " ".join(both)
        case ast.Name(id=name):
            others = {key: value for key, value in values.items() if key != name}
            for value in values.get(name, ()):
                yield from _texts(value, others)
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
            pass
        case ast.Dict(keys=keys, values=given):
            parts = [*keys, *given]
        case ast.IfExp(body=body, orelse=orelse):
            parts = [body, orelse]
        case ast.Call(func=ast.Attribute(attr="escape"), args=parts):
            pass
        case ast.Starred(value=value):
            parts = [value]
    for part in parts:
        yield from _texts(part, values)


def _bindings(
    nodes: Sequence[ast.AST], constants: Mapping[str, ast.expr]
) -> Iterator[tuple[str, ast.expr]]:
    """Names in statements with the expressions they are given there."""
    for node in (inner for outer in nodes for inner in ast.walk(outer)):
        match node:
            case (
                ast.Assign(targets=[target], value=ast.expr() as value)
                | ast.AnnAssign(target=target, value=ast.expr() as value)
            ):
                yield from _unpack(target, value)
            case ast.For(target=target, iter=rows) | ast.comprehension(target=target, iter=rows):
                for row in _rows(rows, constants):
                    yield from _unpack(target, row)
            case ast.Call(func=ast.Attribute(attr="parametrize"), args=[names, rows, *_]):
                for row in _rows(rows, constants):
                    yield from _unpack(names, row)


def _arguments(part: ast.AST, calls: Sequence[ast.Call]) -> Iterator[tuple[str, ast.expr]]:
    """Parameters of a helper with what the calls in its file give them."""
    for call in calls:
        match call.func, part:
            case ast.Name(id=called), ast.FunctionDef(name=name) if called == name:
                yield from zip((one.arg for one in part.args.args), call.args, strict=False)
                yield from ((str(one.arg), one.value) for one in call.keywords)


def _rows(node: ast.expr, constants: Mapping[str, ast.expr]) -> Iterator[ast.expr]:
    """The elements of a list that is written in the file, in place or as a constant."""
    match node:
        case ast.List(elts=rows) | ast.Tuple(elts=rows) | ast.Set(elts=rows):
            for row in rows:
                yield from _rows(row.value, constants) if isinstance(row, ast.Starred) else [row]
        case ast.Name(id=name) if name in constants:
            yield from _rows(constants[name], {})
        case ast.Call(func=ast.Attribute(attr="items" | "values" as method, value=mapping)):
            if isinstance(mapping, ast.Name):
                mapping = constants.get(mapping.id, mapping)
            if isinstance(mapping, ast.Dict):
                for key, value in zip(mapping.keys, mapping.values, strict=True):
                    yield ast.Tuple([key or value, value]) if method == "items" else value


def _unpack(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """Names in a target, of which `parametrize` writes some as text, with what each is given."""
    match target, value:
        case ast.Constant(value=str(names)), _ if "," in names:
            yield from _unpack(ast.parse(names, mode="eval").body, value)
        case _, ast.Call(func=ast.Attribute(attr="param"), args=[single]):
            yield from _unpack(target, single)
        case ((ast.Name(id=name) | ast.Constant(value=str(name))), _):
            yield name, value
        case (
            ast.Tuple(elts=targets) | ast.List(elts=targets),
            ast.Tuple(elts=parts)
            | ast.List(elts=parts)
            | ast.Call(func=ast.Attribute(attr="param"), args=parts),
        ):
            for each, part in zip(targets, parts, strict=False):
                yield from _unpack(each, part)


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
