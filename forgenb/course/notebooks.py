"""Chapters as notebooks.

Imports jupytext when it is asked for one; prose that only the site understands is the matter of `plain_markdown`.
"""

from __future__ import annotations

from ..errors import ArgumentError
from .contents import Chapter
from .plain_markdown import plain

KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}


def notebook(chapter: Chapter) -> bytes:
    """A chapter as a notebook file without outputs; the same bytes each time.

    Parameters
    ----------
    chapter : Chapter
        Which one.

    Returns
    -------
    bytes
        The content of an ``.ipynb`` file.

    Raises
    ------
    ArgumentError
        If jupytext, which reads chapters as notebooks, is not installed.
    """
    try:
        import jupytext
        import nbformat
    except ImportError as error:
        raise ArgumentError(
            f"chapters become notebooks by jupytext, which is not installed ({error}): pip install 'forgenb[docs]', or "
            "work in the Python file, which has the same text"
        ) from error
    made = jupytext.reads(chapter.path.read_text(encoding="utf-8"), fmt="py:percent")
    made.metadata = nbformat.from_dict({"kernelspec": KERNEL, "language_info": {"name": "python"}})
    for place, cell in enumerate(made.cells):
        cell.id, cell.metadata = f"cell-{place}", nbformat.from_dict({})
        if cell.cell_type == "markdown":
            cell.source = plain(cell.source)
    nbformat.validate(made)
    return (nbformat.writes(made) + "\n").encode()
