"""Names in docstrings: a parameter is no link, whatever else has its name; a public name is one."""

from types import SimpleNamespace

import pytest

pytest.importorskip("sphinx", reason="the site needs pip install forgenb[docs]")

import references
from docutils import nodes
from sphinx import addnodes

ENTRY = SimpleNamespace(docname="api/forgenb.ops", node_id="forgenb.ops.mean")


@pytest.fixture
def quoted():
    """A name in the docstring of ``f(x, mean)``, and the link that is made of it."""

    def made(name):
        node = addnodes.pending_xref("", reftarget=name, refdomain="py", reftype="obj", refdoc="api/forgenb.ops")
        parameters = addnodes.desc_parameterlist("", "", addnodes.desc_parameter("", "x"), nodes.Text(", mean"))
        entry = addnodes.desc("", addnodes.desc_signature("", "", nodes.Text("f"), parameters))
        entry += addnodes.desc_content("", nodes.paragraph("", "", node))
        return node

    return made


def resolved(node):
    known = {"forgenb.ops.mean": ENTRY, "forgenb.ops.var": ENTRY}
    env = SimpleNamespace(get_domain=lambda name: SimpleNamespace(objects=known))
    builder = SimpleNamespace(get_relative_uri=lambda origin, target: target)
    return references.resolve(SimpleNamespace(builder=builder), env, node, nodes.literal("", node["reftarget"]))


def test_a_parameter_is_no_link(quoted):
    assert isinstance(resolved(quoted("mean")), nodes.literal)


def test_a_public_name_is_a_link_and_another_is_code(quoted):
    assert resolved(quoted("var"))["reftitle"] == "forgenb.ops.var"
    assert isinstance(resolved(quoted("unheard")), nodes.literal)


def test_outside_an_entry_there_are_no_parameters(quoted):
    node = quoted("mean")
    alone = nodes.paragraph("", "", node.deepcopy())
    assert resolved(alone[0])["reftitle"] == "forgenb.ops.mean"
