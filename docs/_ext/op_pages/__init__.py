"""A page for each op of the table, written into docs/ops before pages are looked for.

What has to be run for them is run here, in one process, and kept until the sources change. A check that fails is a
warning, so it fails a build with ``-W``, and so is an op without a derivation.
"""

from pathlib import Path

from sphinx.util import logging
from written import write_page

from forgenb.ops import TABLE

from . import index, measured, page, words

LOGGER = logging.getLogger(__name__)


def failures(found: dict[str, dict]) -> list[str]:
    """What is wrong with the ops, a sentence each."""
    wrong = []
    for name, row in found.items():
        for kind in ("gradients", "values"):
            if row[kind] and row[kind]["failure"]:
                wrong.append(f"the check of {kind} of the op {name} fails: {row[kind]['failure']}")
    return wrong + [f"docs/rules has no derivation of the op {name}" for name in TABLE if not words.derivation(name)[0]]


def write_pages(app):
    """Write what has changed into docs/ops, and remove what no op has."""
    folder = Path(app.srcdir) / "ops"
    folder.mkdir(exist_ok=True)
    found = measured.measured(Path(app.confdir))
    wrong = failures(found)
    for text in wrong:
        LOGGER.warning(text)
    checked = [name for name, row in found.items() if not (row["gradients"] or {}).get("failure")]
    texts = {"index": index.index(), **{name: page.page(name, found) for name in checked}}
    for path in folder.glob("*.md"):
        if path.stem not in texts:
            path.unlink()
    for name, text in texts.items():
        write_page(folder / f"{name}.md", text)


def add_styles(app, config):
    """Serve the style sheet that lies beside this file."""
    config.html_static_path.append(str(Path(__file__).parent / "static"))


def setup(app):
    app.connect("config-inited", add_styles)
    app.connect("builder-inited", write_pages)
    app.add_css_file("op_pages.css")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
