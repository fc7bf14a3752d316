"""Ghost's determinism linter (ADR-0002): `python -m ghost.lint PATH...`."""

from ghost.lint.engine import lint_file, lint_paths
from ghost.lint.source import Finding, LintError

__all__ = ["Finding", "LintError", "lint_file", "lint_paths"]
