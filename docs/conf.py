"""The site: pages, chapters that run, a page for each op and the reference.

``python -m sphinx -n -W --keep-going -b html docs docs/_build/html`` builds it; nothing is fetched while it does.
"""

import logging
import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
for folder in (HERE / "_ext", HERE.parent, HERE.parent / "backends"):
    sys.path.insert(0, str(folder))

from source_hash import source_hash  # noqa: E402  # found by the path above

import forgenb  # noqa: E402  # the same

project = "forgenb"
author = "the forgenb authors"
release = version = forgenb.__version__
copyright = f"2026, {author}"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "mathml",
    "chapters",
    "navigation",
    "references",
    "api_pages",
    "op_pages",
]
exclude_patterns = ["_build", "_ext", "rules", "*.py"]
nitpicky = True
numfig = True
suppress_warnings = ["config.cache"]  # the hash below is no value that is kept between builds

html_theme = "furo"
html_title = "forgenb"
html_math_renderer = "mathml"
html_static_path: list[str] = []
html_copy_source = False

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

nb_custom_formats = {".py": ["jupytext.reads", {"fmt": "py:percent"}]}
nb_execution_mode = "cache"
nb_execution_cache_path = str(HERE / "_build" / "executed" / source_hash(HERE.parent))
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True
nb_output_stderr = "warn"

os.environ["JUPYTER_PATH"] = str(HERE / "_ext" / "jupyter")  # a kernel of this Python, which reports errors alone
logging.getLogger("traitlets").setLevel(logging.WARNING)  # no line for each kernel; importing furo's styles asks for it

default_role = "py:obj"
autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_use_param = napoleon_use_rtype = False
napoleon_use_ivar = True
