"""Which expressions are sets, and where their order would leak out.

Strings hash differently in every process, so a set of them iterates differently in every run.
"""

import ast
from collections.abc import Iterator

from ghost.lint.source import Source

_SET_CALLS = frozenset({"builtins.set", "builtins.frozenset"})
_SET_TYPES = _SET_CALLS | {
    f"{module}.{name}"
    for module in ("typing", "collections.abc")
    for name in ("Set", "AbstractSet", "MutableSet", "FrozenSet")
}
_SET_METHODS = frozenset({"union", "intersection", "difference", "symmetric_difference", "copy"})
_SET_OPERATORS = (ast.BitOr, ast.BitAnd, ast.Sub, ast.BitXor)

_ORDERED_CALLS = frozenset(
    f"builtins.{name}" for name in ("list", "tuple", "enumerate", "iter", "map", "filter", "zip")
) | {"builtins.dict.fromkeys"}
_ORDERED_METHODS = frozenset({"join", "extend", "fromkeys", "writelines"})
# What these answer does not depend on the order of what they are given.
_ORDER_FREE_CALLS = frozenset(
    f"builtins.{name}"
    for name in ("sorted", "set", "frozenset", "len", "min", "max", "any", "all", "sum")
)


class Sets:
    def __init__(self, source: Source) -> None:
        self._source = source
        # True where every assignment to that variable is a set, or its annotation says so.
        self._variables: dict[tuple[ast.AST, str], bool] = {}
        self._annotated: set[tuple[ast.AST, str]] = set()
        # Twice, so that a variable assigned from a later-found set is one too.
        for _ in range(2):
            self._variables.clear()
            for node in source.nodes():
                self._learn(node)

    def is_set(self, node: ast.expr) -> bool:
        match node:
            case ast.Set() | ast.SetComp():
                return True
            case ast.Call() if self._source.called(node) in _SET_CALLS:
                return True
            case ast.BinOp(op=op, left=left, right=right) if isinstance(op, _SET_OPERATORS):
                return any(self.is_set(side) or _is_keys(side) for side in (left, right))
            case ast.Name() | ast.Attribute():
                return any(self._variables.get(key, False) for key in self._keys(node))
            case ast.Call(func=ast.Attribute(value=owner, attr=method)) if method in _SET_METHODS:
                parts = [owner]
            case ast.IfExp(body=body, orelse=orelse):
                parts = [body, orelse]
            case _:
                parts = []
        return any(self.is_set(part) for part in parts)

    def _learn(self, node: ast.AST) -> None:
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._note(target, self.is_set(value))
            case ast.AnnAssign(target=target, annotation=annotation):
                self._annotate(next(self._keys(target), None), annotation)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                for arg in ast.walk(node.args):
                    if isinstance(arg, ast.arg) and arg.annotation:
                        self._annotate((node, arg.arg), arg.annotation)

    def _note(self, target: ast.expr, is_set: bool) -> None:
        key = next(self._keys(target), None)
        if key and key not in self._annotated:
            self._variables[key] = is_set and self._variables.get(key, True)

    def _annotate(self, key: tuple[ast.AST, str] | None, annotation: ast.expr) -> None:
        if key:
            self._annotated.add(key)
            self._variables[key] = self._is_set_type(annotation)

    def _is_set_type(self, annotation: ast.expr) -> bool:
        match annotation:
            case ast.Subscript(value=base):
                return self._is_set_type(base)
            case ast.BinOp(left=left, right=right):
                return self._is_set_type(left) or self._is_set_type(right)
        return self._source.names.dotted(annotation) in _SET_TYPES

    def _keys(self, node: ast.expr) -> Iterator[tuple[ast.AST, str]]:
        """Where this variable may be declared, the nearest scope first."""
        match node:
            case ast.Name(id=name):
                for scope in self._source.names.scope(node).visible():
                    yield scope.node, name
                    if name in scope.origins:
                        return
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name):
                for ancestor in self._source.names.ancestors(node):
                    if isinstance(ancestor, ast.ClassDef):
                        yield ancestor, name
                        return


def ordered_uses(source: Source) -> Iterator[ast.expr]:
    """Every expression whose order decides what happens next."""
    for node in source.nodes():
        match node:
            case ast.For(iter=iterated) | ast.AsyncFor(iter=iterated):
                yield iterated
            case ast.ListComp() | ast.DictComp() | ast.GeneratorExp():
                if not order_free(source, node):
                    yield from (generator.iter for generator in node.generators)
            case ast.Call(args=args) if not order_free(source, node):
                if source.called(node) in _ORDERED_CALLS or _is_ordered_method(node):
                    yield from args
            case ast.Starred(value=value) | ast.YieldFrom(value=value):
                if not order_free(source, node):
                    yield value
            case ast.Assign(targets=[ast.Tuple(elts=[_, _, *_])], value=value):
                yield value


def popped(source: Source) -> Iterator[ast.expr]:
    """The receiver of every argument-less `.pop()`: of a set, it is any element."""
    for node in source.nodes():
        match node:
            case ast.Call(func=ast.Attribute(value=owner, attr="pop"), args=[], keywords=[]):
                yield owner


def order_free(source: Source, node: ast.AST) -> bool:
    """True when the order of this iterable is lost or mended on its way out: sorted(list(x))."""
    for parent in source.names.ancestors(node):
        if isinstance(parent, ast.Set | ast.SetComp):
            return True
        if isinstance(parent, ast.Call):
            if source.called(parent) in _ORDER_FREE_CALLS:
                return True
            if source.called(parent) not in _ORDERED_CALLS:
                return False
        elif not isinstance(parent, ast.comprehension | ast.GeneratorExp | ast.ListComp):
            return False
    return False


def _is_ordered_method(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Attribute) and node.func.attr in _ORDERED_METHODS


def _is_keys(node: ast.expr) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr="keys" | "items"), args=[]):
            return True
    return False
