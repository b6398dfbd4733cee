"""Names in docstrings: `Tensor` finds `forgenb.Tensor`, and a name of nothing public is only set as code."""

import re

from sphinx import addnodes
from sphinx.util.nodes import make_refnode


def resolve(app, env, node, contnode):
    """Link the one public object that ends in the name; leave what single backticks say of parameters as it is."""
    if node.get("refdomain") != "py":
        return None
    wanted = node["reftarget"].removeprefix("fnb.").strip("()")
    if _is_parameter(node, wanted):
        return contnode
    domain = env.get_domain("py")
    found = [(name, o) for name, o in domain.objects.items() if name == wanted or name.endswith("." + wanted)]
    best = sorted(found, key=lambda pair: (pair[0].count("."), pair[0]))
    if best:
        name, entry = best[0]
        return make_refnode(app.builder, node["refdoc"], entry.docname, entry.node_id, contnode, name)
    return contnode if node["reftype"] in ("obj", "exc", "class") else None


def _is_parameter(node, name: str) -> bool:
    """Whether a name is a parameter of the function whose docstring it stands in."""
    around = node
    while around is not None and not isinstance(around, addnodes.desc):
        around = around.parent
    lists = [] if around is None else list(around.findall(addnodes.desc_parameterlist))[:1]
    words = {word for found in lists for word in re.findall(r"\w+", found.astext())}
    return name in words


def setup(app):
    app.connect("missing-reference", resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
