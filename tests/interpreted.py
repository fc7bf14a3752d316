"""A kernel as plain Python, beside the compiled one."""

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any


def interpreted(module: ModuleType) -> Any:
    """The same source, never compiled."""
    assert module.__file__ is not None
    source = Path(module.__file__).with_name(f"{module.__name__.rpartition('.')[2]}.py")
    spec = importlib.util.spec_from_file_location("interpreted_kernel", source)
    assert spec is not None
    assert spec.loader is not None
    plain = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(plain)
    return plain
