"""Packages with commands of `ostiary`, installed in a folder as pip does."""

from collections.abc import Mapping
from pathlib import Path

GROUP = "ostiary.commands"


def install_package(site: Path, name: str, code: str, commands: Mapping[str, str]) -> str:
    """Install a package of one module with these entry points; return the name of the module."""
    module = name.replace("-", "_")
    (site / f"{module}.py").write_text(code)
    metadata = site / f"{module}-1.0.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0.0\n")
    lines = [f"{command} = {value}\n" for command, value in commands.items()]
    (metadata / "entry_points.txt").write_text(f"[{GROUP}]\n{''.join(lines)}")
    return module
