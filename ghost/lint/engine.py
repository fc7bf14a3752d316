"""Rules, policy and excuses applied to files and folders."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from ghost.lint.excuses import Excuse, excuses
from ghost.lint.policy import applies, module_of
from ghost.lint.rules import RULES, UNREASONED, UNUSED
from ghost.lint.source import Finding, LintError, Source


def lint_paths(paths: Iterable[Path]) -> list[Finding]:
    """The findings of every Python file in these files and folders, in order."""
    files = dict.fromkeys(file for path in paths for file in _python_files(path))
    return [finding for file in files for finding in lint_file(file)]


def lint_file(path: Path) -> list[Finding]:
    source = Source.read(path)
    module = module_of(path)
    found = {
        Finding(path, hit.line, hit.column, rule.code, rule.message(hit.what))
        for rule in RULES
        if applies(rule.code, module)
        for hit in rule.check(source)
    }
    excused = list(excuses(source.text))
    kept = {finding for finding in found if not any(_covers(e, finding) for e in excused)}
    kept.update(_bad_excuses(path, excused, found))
    return sorted(kept, key=lambda finding: (finding.line, finding.column, finding.code))


def _covers(excuse: Excuse, finding: Finding) -> bool:
    return bool(excuse.reason) and excuse.line == finding.line and finding.code in excuse.codes


def _bad_excuses(path: Path, excused: list[Excuse], found: set[Finding]) -> Iterator[Finding]:
    for excuse in excused:
        here = {finding.code for finding in found if finding.line == excuse.line}
        if not excuse.codes or not excuse.reason:
            rule, what = UNREASONED, "excuse without a rule or a reason"
        elif unused := [code for code in excuse.codes if code not in here]:
            rule, what = UNUSED, f"excuse for {', '.join(unused)}, which does not fire here"
        else:
            continue
        yield Finding(path, excuse.line, excuse.column, rule.code, rule.message(what))


def _python_files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise LintError(f"{path}: no such file or folder")
    return sorted(
        file
        for file in path.rglob("*.py")
        if not any(part.startswith(".") for part in file.relative_to(path).parts)
    )
