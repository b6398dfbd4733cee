"""Pages of ops: each op has a derivation and a family, and what pages show is measured, checked and true."""

import dataclasses
import json
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("sphinx", reason="the site needs pip install forgenb[docs]")

import navigation
import op_pages
from op_pages import checks, families, index, measured, page, pictures, sources, subjects, tables, words

import forgenb as fnb
from forgenb.ops import TABLE


@pytest.fixture(autouse=True)
def _interpreted():
    with fnb.use(subjects.BACKEND):
        yield


def test_every_op_has_a_derivation_and_none_is_left_over():
    assert {path.stem for path in words.RULES.glob("*")} == set(TABLE)
    for name in TABLE:
        equation, steps = words.derivation(name)
        assert equation.startswith("$$"), name
        assert len(steps) > 200, name


def test_a_derivation_that_does_not_begin_with_its_equation_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(words, "RULES", tmp_path)
    (tmp_path / "exp.md").write_text("Some words.\n\n$$\ny = e^x\n$$\n")
    with pytest.raises(ValueError, match=r"docs/rules/exp\.md must start with the equation"):
        words.derivation("exp")
    assert words.derivation("log") == ("", "")


def test_every_file_of_ops_is_in_one_family():
    listed = [module for modules, _ in families.FAMILIES.values() for module in modules.split()]
    assert sorted(listed) == sorted({families.module_of(name) for name in TABLE})
    assert families.members("Recurrent cells") == ["lstm_cell", "lstm_cell_grad", "gru_cell", "gru_cell_grad"]
    assert families.members("Arithmetic")[-4:] == ["pow", "pow_grad", "pow_grad_exponent", "pow_number_grad"]
    assert sorted(name for family in families.FAMILIES for name in families.members(family)) == sorted(TABLE)


def test_chapters_are_those_that_show_the_code_then_those_that_call_it():
    assert "07_softmax" in dict(families.chapters("softmax", ["softmax_kernel"]))
    assert dict(families.chapters("layernorm", ["layernorm_kernel"]))["09_layernorm"].startswith("9. ")
    assert [path for path, _ in families.chapters("log1p", [])] == ["02_scalar_tape"]


def test_docstrings_become_myst():
    values, rule = words.prose("sub")
    assert values == "Difference with broadcasting, $out = x - y$."
    assert rule == r"Backward: $dx = dout$, $dy = -dout$. Saves nothing."
    assert "[`take`](take.md)" in words.prose("getitem")[1]
    assert "Raises" not in "".join(words.prose("softmax"))
    assert words.summary("max").startswith("Largest element along axes")
    assert words._linked("exp", "as `log` and `exp` in $x `log` y$") == "as [`log`](log.md) and `exp` in $x `log` y$"


def test_code_is_what_stands_in_the_source():
    forward = sources.forward("softmax")
    assert [piece.name for piece in forward if piece.main] == ["softmax_kernel", "softmax"]
    assert {"before", "_rows"} <= {piece.name for piece in forward if not piece.main}
    kernel, op = forward[0].code, next(piece.code for piece in forward if piece.name == "softmax")
    assert kernel.startswith('@row_kernel("x[rows,n]')
    assert '"""One row;' in kernel
    assert '"""' not in op
    assert "def backward" not in op
    assert "save_output=True" in op
    backward = sources.backward("softmax")
    assert [piece.name for piece in backward] == ["softmax.backward", "softmax_grad", "softmax_grad_kernel"]
    assert backward[0].code == "def backward(dout, out):\n    return (softmax_grad(out, dout, causal, off),)"
    assert sources.backward("mean") == []
    assert sources.forward("neg")[-1].code.startswith("def neg(x) -> Tensor:\n    x = as_tensor(x)\n")


def test_samples_that_are_shown_are_small_and_run():
    for name in TABLE:
        shown = subjects.shown(name)
        assert 1 < sum(a.size for a in shown.sample.arrays) <= 130, name
        assert len(shown.names) == len(shown.sample.arrays)
        assert shown.op == name
    assert subjects.shown("concat").names == ["tensors[0]", "tensors[1]", "tensors[2]"]
    assert subjects.shown("softmax").call == "softmax(x[3, 5])"
    assert (subjects.shown("astype").places, subjects.shown("equal").places) == ([0], [])


def test_a_gradient_check_has_numbers():
    found = checks.gradients(subjects.shown("mul"))
    assert (found["failure"], found["directions"]) == ("", 3)
    assert [(row["name"], row["of"]) for row in found["rows"]] == [("x", 5), ("y", 10)]
    assert all(0 < row["error"] < 1e-9 and 0.1 < row["largest"] < 10 for row in found["rows"])


def test_a_wrong_rule_and_a_wrong_value_fail_the_build(monkeypatch):
    wrong = fnb.custom_op(TABLE["exp"].function, lambda dout, x: dout * x)
    monkeypatch.setitem(TABLE, "exp", dataclasses.replace(TABLE["exp"], function=wrong, second=False))
    shown = subjects.shown("exp")
    failure = checks.gradients(shown)["failure"]
    assert failure.startswith("GradcheckError: ")
    monkeypatch.setitem(TABLE, "exp", dataclasses.replace(TABLE["exp"], reference=np.cosh))
    values = checks.values(shown)
    assert "values differ by" in values["failure"]
    said = op_pages.failures({"exp": {"gradients": {"failure": failure}, "values": values}})
    assert len(said) == 2
    assert "the check of gradients of the op exp fails: GradcheckError" in said[0]


def test_a_missing_derivation_and_a_failed_check_are_warnings(tmp_path, monkeypatch):
    found = {"exp": measured.of_op("exp"), "equal": measured.of_op("equal")}
    found["equal"]["values"]["failure"] = "values differ by 1"
    said = []
    monkeypatch.setattr(measured, "measured", lambda docs: found)
    monkeypatch.setattr(op_pages, "LOGGER", SimpleNamespace(warning=said.append))
    monkeypatch.setattr(words, "derivation", lambda name: ("" if name == "log" else "$$", ""))
    (tmp_path / "ops").mkdir()
    (tmp_path / "ops/no_op.md").write_text("# An op that was\n")
    op_pages.write_pages(SimpleNamespace(srcdir=tmp_path, confdir=tmp_path))
    assert said == [
        "the check of values of the op equal fails: values differ by 1",
        "docs/rules has no derivation of the op log",
    ]
    assert sorted(path.name for path in (tmp_path / "ops").iterdir()) == ["equal.md", "exp.md", "index.md"]


def test_what_is_saved_has_names_and_bytes():
    found = checks.recorded(subjects.shown("softmax"))
    assert found["saved"] == [{"op": "softmax", "name": "out", "shape": [3, 5], "dtype": "float64", "bytes": 120}]
    names = [row["name"] for row in checks.recorded(subjects.shown("layernorm_grad"))["saved"]]
    assert names == ["x", "gamma", "dout"]
    assert checks.recorded(subjects.shown("mean"))["ops"] == ["sum", "mul"]
    assert "sum#1 () <- x#0" in checks.recorded(subjects.shown("mean"))["text"]
    assert "grad: " in checks.recorded(subjects.shown("mean"))["drawing"]


def test_jacobians_are_those_of_the_formulas():
    shown = subjects.shown("softmax")
    y = fnb.ops.softmax(fnb.tensor(shown.values[0])).numpy()
    (found,) = pictures.jacobian(shown)
    wanted = np.zeros((15, 15))
    for row in range(3):
        block = slice(5 * row, 5 * row + 5)
        wanted[block, block] = np.diag(y[row]) - np.outer(y[row], y[row])
    np.testing.assert_allclose(found, wanted, atol=1e-15)
    text = pictures.jacobian_picture(shown)
    assert 'role="img" aria-label="A row for each entry of the result' in text
    assert "not 0 are 75 of 225 for x" in text
    assert text.count("h12v12h-12z") == 75


def test_curves_show_value_and_slope():
    shown = subjects.shown("tanh")
    y, slopes = pictures._value_and_slope(shown, np.linspace(-2, 2, 9))
    np.testing.assert_allclose(slopes, 1 - y**2, rtol=1e-14)
    text = pictures.picture(shown)
    assert '<polyline class="value"' in text
    assert '<polyline class="slope"' in text
    assert len(text) < 5000
    assert pictures.curve(subjects.shown("tanh_grad"))
    assert not pictures.curve(subjects.shown("flip"))
    assert not pictures.curve(subjects.shown("dropout"))
    assert not pictures.curve(subjects.shown("add"))
    assert pictures.picture(subjects.shown("sign")).count('class="value" points') == 2, "a jump is not joined"


@pytest.mark.parametrize(
    ("low", "high", "wanted"),
    [(-2.0, 2.0, [-2, -1, 0, 1, 2]), (0.2, 4.0, [1, 2, 3, 4]), (-0.1, 1.06, [0, 0.5, 1])],
)
def test_ticks_are_round(low, high, wanted):
    assert pictures._ticks(low, high) == wanted


def test_what_other_pages_recorded():
    support = tables.support("softmax")
    assert "| `cpu` | f16 f32 f64 |" in support
    assert "Results are within 4 ulp (a sum" in support
    assert "8 ulp of the largest entry" in support
    assert "`relu(0)`" in tables.conventions("relu")
    assert tables.conventions("matmul") == ""
    assert "| 101 | 99 | 2 | 0 |" in tables.mutation("softmax", tables.equivalent("softmax"))
    assert "the op has checked" in tables.mutation("softmax", tables.equivalent("softmax"))
    assert "[`sum`](sum.md)" in tables.mutation("mean", [])
    assert "nothing to plant" in tables.mutation("equal", [])


def test_a_page_has_its_parts():
    found = {name: measured.of_op(name) for name in ("exp", "mean", "equal", "assign_", "sqrt_grad", "sqrt")}
    texts = {name: page.page(name, found) for name in found}
    for text in texts.values():
        assert [f"\n## {title}\n" in text for title in page.TITLES] == [True] * len(page.TITLES)
    assert "\n## Backward rule\n" in texts["exp"]
    assert "container} side-by-side" in texts["exp"]
    assert "In short: $dx = out\\,dout$." in texts["exp"]
    assert "Together 120 bytes: 8 size(out)." in texts["exp"]
    assert "made of other ops: [`sum`](sum.md), [`mul`](mul.md)" in texts["mean"]
    assert "sum#1" in texts["mean"]
    assert "\n## Why there is no gradient\n" in texts["equal"]
    assert "There is no gradient to check." in texts["equal"]
    assert "writes into the memory of its first operand" in texts["assign_"]
    assert "The backward of [`sqrt`](sqrt.md) launches it" in texts["sqrt_grad"]


def test_the_index_lists_every_op_by_name_and_by_family():
    text = index.index()
    assert [name for name in TABLE if text.count(f"[`{name}`]({name}.md)") < 2] == []
    assert "| [`argmax`](argmax.md) |" in text
    assert "| none |" in text


def test_what_was_measured_is_kept_until_a_source_changes(tmp_path, monkeypatch):
    monkeypatch.setattr(measured, "TABLE", {"exp": TABLE["exp"]})
    hashes = iter(["a", "a", "b"])
    monkeypatch.setattr(measured, "source_hash", lambda root, folders: next(hashes))
    first = measured.measured(tmp_path)
    (path,) = (tmp_path / "_build/ops").iterdir()
    assert json.loads(path.read_text()) == json.loads(json.dumps(first))
    monkeypatch.setattr(measured, "of_op", lambda name: {"again": name})
    assert measured.measured(tmp_path)["exp"]["call"] == "exp(x[3, 5])"
    assert measured.measured(tmp_path) == {"exp": {"again": "exp"}}


def test_pages_of_one_folder_share_the_list_of_pages():
    made = []
    env = SimpleNamespace(toctree_includes={"index": ["ops/index", "design"]}, temp_data={})

    def asked(pagename):
        context = {"toctree": lambda **options: made.append(pagename) or f"list for {pagename}"}
        navigation.reuse(SimpleNamespace(env=env), pagename, "page.html", context, None)
        return context["toctree"](maxdepth=-1)

    pages = ["ops/exp", "ops/log", "design", "ops/index", "search"]
    assert [asked(name) for name in pages] == [
        "list for ops/exp", "list for ops/exp", "list for design", "list for ops/index", "list for search",
    ]  # fmt: skip
    assert made == ["ops/exp", "design", "ops/index", "search"]
