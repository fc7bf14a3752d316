"""One parsed file, as the rules see it."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ghost.lint.names import Names


class LintError(Exception):
    """A path cannot be linted. Not a GhostError: the linter runs before numpy is installed."""


@dataclass(frozen=True, slots=True)
class Finding:
    path: Path
    line: int
    column: int
    code: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}: {self.code} {self.message}"


@dataclass(frozen=True, slots=True)
class Source:
    path: Path
    text: str
    tree: ast.Module
    names: Names

    @classmethod
    def read(cls, path: Path) -> "Source":
        try:
            text = path.read_text(encoding="utf-8")
            tree = ast.parse(text)
        except (OSError, UnicodeDecodeError, ValueError) as error:
            raise LintError(f"{path}: cannot be read: {error}") from error
        except SyntaxError as error:
            raise LintError(f"{path}:{error.lineno}: not valid Python: {error.msg}") from error
        return cls(path, text, tree, Names(tree))

    def nodes(self) -> Iterator[ast.AST]:
        return ast.walk(self.tree)

    def called(self, node: ast.AST) -> str | None:
        """The dotted name of the function that this call calls."""
        return self.names.dotted(node.func) if isinstance(node, ast.Call) else None
