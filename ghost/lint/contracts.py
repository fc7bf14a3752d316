"""import-linter contract types for the design's table: who may import what.

The built-in types fail on a package that is not written yet. These pass over it, so that
pyproject.toml can state the whole table from the first day.
"""

import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import cast

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output


@dataclass(frozen=True, slots=True)
class Import:
    importer: str
    line: int
    imported: str
    text: str


class AllowedImports(Contract):
    """Each source package imports itself, what `allow` lists, and nothing else.

    Sources are judged one by one: two of them may import each other only if `allow` says so.
    """

    source_modules = fields.ListField(subfield=fields.StringField())
    allow = fields.ListField(subfield=fields.StringField())
    allow_stdlib = fields.BooleanField(default=False)

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:  # noqa: ARG002
        bad = [
            found
            for source in cast("list[str]", self.source_modules)
            for importer in _family(graph, source)
            for found in _imports(graph, importer)
            if not self._is_allowed(source, found)
        ]
        return ContractCheck(kept=not bad, metadata={"bad": bad})

    def render_broken_contract(self, check: ContractCheck) -> None:
        _render(check)
        allowed = ", ".join(cast("list[str]", self.allow)) or "nothing"
        output.print_error(
            f"allowed: itself, {allowed}{', the standard library' if self.allow_stdlib else ''}",
            bold=False,
        )
        output.new_line()

    def _is_allowed(self, source: str, found: Import) -> bool:
        if _within(found.imported, source) or _within(source, found.imported):
            # A package's own parents are imported with it, whether it asks or not.
            return True
        if self.allow_stdlib and found.imported in sys.stdlib_module_names:
            return True
        return any(_matches(found, entry) for entry in cast("list[str]", self.allow))


class OnlyImportedBy(Contract):
    """Each of these modules is imported by itself, by `importers`, and by nothing else."""

    modules = fields.ListField(subfield=fields.StringField())
    importers = fields.ListField(subfield=fields.StringField())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:  # noqa: ARG002
        bad = [
            found
            for module in cast("list[str]", self.modules)
            for imported in _family(graph, module)
            for importer in sorted(graph.find_modules_that_directly_import(imported))
            if not any(_within(importer, home) for home in self._homes(module))
            for found in _details(graph, importer, imported)
        ]
        return ContractCheck(kept=not bad, metadata={"bad": bad})

    def render_broken_contract(self, check: ContractCheck) -> None:
        _render(check)
        importers = ", ".join(cast("list[str]", self.importers)) or "nothing"
        output.print_error(f"only imported by: itself, {importers}", bold=False)
        output.new_line()

    def _homes(self, module: str) -> list[str]:
        return [module, *cast("list[str]", self.importers)]


def _render(check: ContractCheck) -> None:
    bad: Iterable[Import] = check.metadata["bad"]
    for found in bad:
        # Without its comment: `[...]` in one would be read as markup.
        statement = found.text.partition("#")[0].strip()
        line = f"{found.importer}:{found.line} imports {found.imported}: {statement}"
        output.print_error(line, bold=False)


def _family(graph: ImportGraph, package: str) -> list[str]:
    if package not in graph.modules:
        return []
    if graph.is_module_squashed(package):
        return [package]
    return sorted({package, *graph.find_descendants(package)})


def _imports(graph: ImportGraph, importer: str) -> Iterator[Import]:
    for imported in sorted(graph.find_modules_directly_imported_by(importer)):
        yield from _details(graph, importer, imported)


def _details(graph: ImportGraph, importer: str, imported: str) -> Iterator[Import]:
    for detail in graph.get_import_details(importer=importer, imported=imported):
        yield Import(importer, detail["line_number"], imported, detail["line_contents"].strip())


def _matches(found: Import, entry: str) -> bool:
    if _within(found.imported, entry):
        return True
    # The graph knows only the top package of what is external: `collections` for
    # collections.abc, `google` for google.protobuf. The line itself says the rest.
    statement = re.match(rf"(from|import)\s+{re.escape(entry)}\b", found.text)
    return found.imported == entry.partition(".")[0] and statement is not None


def _within(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")
