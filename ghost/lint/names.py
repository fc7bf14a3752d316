"""What a name in a file means: `t.time` under `import time as t` is `time.time`."""

import ast
import builtins
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

_OPENS_SCOPE = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


@dataclass(slots=True)
class Scope:
    node: ast.AST
    parent: "Scope | None" = None
    # The dotted origin of each name bound here; None for a variable or a parameter.
    origins: dict[str, str | None] = field(default_factory=dict)

    @property
    def is_class(self) -> bool:
        return isinstance(self.node, ast.ClassDef)

    def origin(self, name: str) -> str | None:
        for scope in self.visible():
            if name in scope.origins:
                return scope.origins[name]
        return f"builtins.{name}" if hasattr(builtins, name) else None

    def visible(self) -> Iterator["Scope"]:
        """Itself and the scopes it sees, nearest first: a method does not see its class body."""
        yield self
        outer = self.parent
        while outer is not None:
            if not outer.is_class:
                yield outer
            outer = outer.parent


class Names:
    """The scopes of one file, and the dotted origin of any expression in it."""

    def __init__(self, tree: ast.Module) -> None:
        self._scopes: dict[ast.AST, Scope] = {}
        self.parents: dict[ast.AST, ast.AST] = {
            child: parent for parent in ast.walk(tree) for child in ast.iter_child_nodes(parent)
        }
        self._enter(Scope(tree), list(tree.body))

    def scope(self, node: ast.AST) -> Scope:
        return self._scopes[node]

    def dotted(self, node: ast.AST) -> str | None:
        return _dotted(node, self._scopes[node]) if node in self._scopes else None

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        while node in self.parents:
            node = self.parents[node]
            yield node

    def _enter(self, scope: Scope, body: list[ast.AST]) -> None:
        members, inner = _members(body)
        _bind(scope, members)
        for member in members:
            self._scopes[member] = scope
        for node in inner:
            nested = Scope(node, scope)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                for arg in ast.walk(node.args):
                    if isinstance(arg, ast.arg):
                        nested.origins[arg.arg] = None
            self._enter(nested, _inner_body(node))


def _members(body: list[ast.AST]) -> tuple[list[ast.AST], list[ast.AST]]:
    """Every node evaluated in this scope, and the nodes that open a scope of their own."""
    members: list[ast.AST] = []
    inner: list[ast.AST] = []
    queue = deque(body)
    while queue:
        node = queue.popleft()
        members.append(node)
        children = list(ast.iter_child_nodes(node))
        if isinstance(node, _OPENS_SCOPE):
            inner.append(node)
            # Decorators, defaults, annotations and bases are evaluated outside.
            inside = _inner_body(node)
            children = [child for child in children if child not in inside]
        queue.extend(children)
    return members, inner


def _inner_body(node: ast.AST) -> list[ast.AST]:
    if isinstance(node, ast.Lambda):
        return [node.body]
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return list(node.body)
    return []


def _bind(scope: Scope, members: list[ast.AST]) -> None:
    # Imports first: `try: import x / except ImportError: x = None` is still x.
    _bind_imports(scope, members)
    _bind_aliases(scope, members)
    # A class field may share its name with a module that the class body still reads.
    if not scope.is_class:
        _bind_variables(scope, members)


def _bind_imports(scope: Scope, members: list[ast.AST]) -> None:
    for node in members:
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                scope.origins[name] = alias.name if alias.asname else name
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            for alias in node.names:
                scope.origins[alias.asname or alias.name] = f"{module}.{alias.name}"


def _bind_aliases(scope: Scope, members: list[ast.AST]) -> None:
    for node in members:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Attribute | ast.Name):
            for target in node.targets:
                if isinstance(target, ast.Name) and target.id not in scope.origins:
                    scope.origins[target.id] = _dotted(node.value, scope)


def _bind_variables(scope: Scope, members: list[ast.AST]) -> None:
    for node in members:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            scope.origins.setdefault(node.id, None)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            scope.origins.setdefault(node.name, None)


def _dotted(node: ast.AST, scope: Scope) -> str | None:
    if isinstance(node, ast.Name):
        return scope.origin(node.id)
    if isinstance(node, ast.Attribute):
        owner = _dotted(node.value, scope)
        return f"{owner}.{node.attr}" if owner else None
    return None
