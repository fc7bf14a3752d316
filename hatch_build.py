"""Compile the kernels: each plain Python module that has a .pxd with its C signatures beside it.

A module works the same without this, bit for bit, only slower; so a machine without a compiler
gets a warning, not an error. `python hatch_build.py` compiles in place, for work in a checkout.
"""

import os
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parent
# Contracting a * b + c into one rounding would give other bits on machines that can.
COMPILE_ARGUMENTS = ["-O2", "-ffp-contract=off"]
DIRECTIVES = {
    "annotation_typing": False,  # the .pxd alone says what is a C type
    "boundscheck": False,
    "cdivision": True,
    "infer_types": True,
    "initializedcheck": False,
    "language_level": 3,
    "wraparound": False,
}


class KernelHook(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        del version
        try:
            compiled = compile_kernels()
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever setuptools makes of it
            self.app.display_warning(f"kernels not compiled, Ghost will be slower: {error}")
            return
        build_data["artifacts"] += [str(path.relative_to(ROOT)) for path in compiled]
        build_data["infer_tag"] = True
        build_data["pure_python"] = False


def compile_kernels() -> list[Path]:
    """Compile every kernel in place; the shared objects made."""
    from Cython.Build import cythonize  # noqa: PLC0415 - absent where nothing can be compiled
    from setuptools import Distribution, Extension  # noqa: PLC0415 - same
    from setuptools.command.build_ext import build_ext  # noqa: PLC0415 - same

    sources = [
        path.with_suffix(".py").relative_to(ROOT) for path in sorted(ROOT.glob("ghost/**/*.pxd"))
    ]
    extensions = cythonize(
        [
            Extension(
                ".".join(source.with_suffix("").parts),
                [str(source)],
                extra_compile_args=COMPILE_ARGUMENTS,
            )
            for source in sources
        ],
        compiler_directives=DIRECTIVES,
        build_dir="build",
        quiet=True,
    )
    command = build_ext(Distribution({"name": "ghost", "ext_modules": extensions}))
    command.inplace = True
    command.parallel = os.cpu_count()
    command.build_temp = "build"
    command.ensure_finalized()
    command.run()
    return [ROOT / command.get_ext_fullpath(extension.name) for extension in extensions]


if __name__ == "__main__":
    for made in compile_kernels():
        print(made.relative_to(ROOT), file=sys.stderr)
