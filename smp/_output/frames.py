"""Results as data frames of pandas, which users install themselves: ``to_frame()``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def frame(columns: Mapping[str, Any]) -> Any:
    """Return a ``pandas.DataFrame`` of some columns of the same length.

    Raises
    ------
    ModuleNotFoundError
        If pandas is not installed.
    """
    try:
        import pandas  # type: ignore[import-untyped, unused-ignore]  # its types are a package of their own
    except ImportError:
        raise ModuleNotFoundError("to_frame() needs pandas: pip install pandas", name="pandas") from None
    return pandas.DataFrame(dict(columns))
