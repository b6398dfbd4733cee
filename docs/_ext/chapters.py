"""Chapters, which lie in tutorials/, are copied under the site's root before pages are looked for."""

import shutil
from pathlib import Path


def copy_chapters(app):
    """Files keep their times, so an unchanged chapter is not read again; removed ones vanish."""
    source, target = Path(app.confdir).parent / "tutorials", Path(app.srcdir) / "tutorials"
    if target.is_dir():
        shutil.rmtree(target)
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))


def setup(app):
    app.connect("builder-inited", copy_chapters)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
