"""Names in docstrings: `Tensor` finds `forgenb.Tensor`, and a name of nothing public is only set as code."""

from sphinx.util.nodes import make_refnode


def resolve(app, env, node, contnode):
    """Link the one public object that ends in the name; leave what single backticks say of parameters as it is."""
    if node.get("refdomain") != "py":
        return None
    wanted = node["reftarget"].removeprefix("fnb.").strip("()")
    domain = env.get_domain("py")
    found = [(name, o) for name, o in domain.objects.items() if name == wanted or name.endswith("." + wanted)]
    best = sorted(found, key=lambda pair: (pair[0].count("."), pair[0]))
    if best:
        name, entry = best[0]
        return make_refnode(app.builder, node["refdoc"], entry.docname, entry.node_id, contnode, name)
    return contnode if node["reftype"] in ("obj", "exc", "class") else None


def setup(app):
    app.connect("missing-reference", resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
