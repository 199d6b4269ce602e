"""Ostiary's public interface: what a project may import.

Each module is about one subject, such as `ostiary.resources` and `ostiary.rules`. The package `app`
behind them is internal, and changes between releases without notice.
"""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

_CODE = Path(__file__).parent.parent / "app" / "__init__.py"


def _import_own_app() -> None:
    """Import the package `app` of Ostiary, although a project may have a folder of this name.

    Raises ImportError if another package `app` was imported before.
    """
    if imported := sys.modules.get("app"):
        if Path(imported.__file__ or "").resolve() != _CODE.resolve():
            raise ImportError(
                "Another package app was imported before Ostiary, which has one of this name; "
                "import ostiary first."
            )
        return
    spec = spec_from_file_location("app", _CODE, submodule_search_locations=[str(_CODE.parent)])
    if spec is None or spec.loader is None:
        raise ImportError(f"Ostiary's code is missing: {_CODE}")
    sys.modules["app"] = module_from_spec(spec)
    spec.loader.exec_module(sys.modules["app"])


_import_own_app()
