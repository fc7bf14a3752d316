"""YAML documents, read strictly: what would be quietly dropped is refused."""

from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml

from ghost.core.errors import ConfigError


def read_document(path: Path) -> Any:
    """The plain data in a file."""
    try:
        content = path.read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ConfigError(f"cannot read {path}: {reason}") from None
    return parse_document(content, str(path))


def parse_document(content: str, name: str) -> Any:
    try:
        return yaml.load(content, _StrictLoader)  # noqa: S506 - a SafeLoader
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}") from None
    except Exception as error:
        # Any kind: a date like 2026-13-01 or a tag like !!bool x makes PyYAML raise its own.
        raise ConfigError(f"{name} is not YAML: {' '.join(str(error).split())}") from error


class _StrictLoader(yaml.SafeLoader):
    """PyYAML lets the last of two equal keys win; here it is an error."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen = set()
        for key_node, _ in node.value:
            key = key_node.value if isinstance(key_node, yaml.ScalarNode) else None
            if key is not None and key in seen:
                line = key_node.start_mark.line + 1
                raise ConfigError(f"key {key!r} stands twice, again in line {line}")
            seen.add(key)
        return super().construct_mapping(node, deep=deep)
