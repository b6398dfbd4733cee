"""Formulas as MathML, which browsers show without any script or font of the page's own."""

from docutils import nodes
from latex2mathml.converter import convert


def inline(self, node):
    self.body.append(convert(node.astext()))
    raise nodes.SkipNode


def block(self, node):
    self.body.append(self.starttag(node, "div", CLASS="math"))
    if node["number"]:
        self.body.append(f'<span class="eqno">({node["number"]})</span>')
    self.body.append(convert(_lines(node.astext()), display="block") + "</div>\n")
    raise nodes.SkipNode


def _lines(formula: str) -> str:
    """A formula of several lines stands in an aligned environment, as LaTeX's own display does."""
    if r"\\" in formula and r"\begin" not in formula:
        return rf"\begin{{aligned}}{formula}\end{{aligned}}"
    return formula


def setup(app):
    app.add_html_math_renderer("mathml", inline_renderers=(inline, None), block_renderers=(block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
