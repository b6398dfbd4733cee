"""Formulas as MathML, which browsers show without any script or font of the page's own."""

import re

from docutils import nodes
from latex2mathml.converter import convert

NAMES = "(?:log|exp|sinh?|cosh?|tanh?|arctan)"
FUNCTION = re.compile(
    rf"(</(?:mi|mn|msub|msup)>)?(<(msu[bp])><mi>{NAMES}</mi><mn>\d</mn></\3>|(?<!<msub>)(?<!<msup>)<mi>{NAMES}</mi>)"
    r'(?=<m(?!space|o stretchy="false">&#x00028;))'
)
"""The name of a function without a bracket behind it, and what it follows if that is no sign."""
THIN = '<mspace width="0.167em" />'

BASE = re.compile(r"<(msub|msup|msubsup)>(<mi>[^<]*</mi>|<mn>[^<]*</mn>|<mover\b.*?</mover>)")
"""What carries an index or an exponent, if it is a letter, a number, or one with something above it."""
DEPTH, HEIGHT = "0.3em", "0.5em"


def inline(self, node):
    self.body.append(_placed(_spaced(convert(node.astext()))))
    raise nodes.SkipNode


def block(self, node):
    self.body.append(self.starttag(node, "div", CLASS="math", STYLE="overflow-y: hidden"))
    if node["number"]:
        self.body.append(f'<span class="eqno">({node["number"]})</span>')
    self.body.append(_aligned(_placed(_spaced(convert(_lines(node.astext()), display="block")))) + "</div>\n")
    raise nodes.SkipNode


def _lines(formula: str) -> str:
    """A formula of several lines stands in an align* environment, which is the one that the converter knows."""
    if r"\\" in formula and r"\begin" not in formula:
        return rf"\begin{{align*}}{formula}\end{{align*}}"
    return formula.replace("{aligned}", "{align*}")


def _spaced(markup: str) -> str:
    """A thin space between the name of a function and its argument, and before it, where TeX has one."""
    return FUNCTION.sub(lambda found: f"{found[1] + THIN if found[1] else ''}{found[2]}{THIN}", markup)


def _placed(markup: str) -> str:
    """Indices below the line, also of letters that do not reach below it, and exponents not above the letter.

    A font for formulas says where they stand. Without one, browsers go by the box of the base alone.
    """
    return BASE.sub(lambda found: f"<{found[1]}><mpadded {_box(found[1], found[2])}>{found[2]}</mpadded>", markup)


def _box(kind: str, base: str) -> str:
    low, high = "sub" in kind, "sup" in kind and not base.startswith("<mover")
    return " ".join([f'depth="{DEPTH}"'] * low + [f'height="{HEIGHT}"'] * high)


def _aligned(markup: str) -> str:
    """Cells say in a style what browsers do not read in the attribute."""
    return re.sub(r'columnalign="(\w+)"', r'style="text-align: \1"', markup)


def setup(app):
    app.add_html_math_renderer("mathml", inline_renderers=(inline, None), block_renderers=(block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
