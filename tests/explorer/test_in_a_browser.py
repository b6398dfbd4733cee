"""The page in headless Chromium: numbers, keys, sizes, colours, and that nothing is asked of a network."""

import itertools
import json

import numpy as np
import pytest
from support.browser import chromium, opened

import forgenb as fnb

__all__ = ["chromium"]

X, W, B = np.array([[1.0, 2.0], [3.0, -4.0]]), np.array([[0.5], [-0.25]]), np.array([0.1])
HOSTILE = "</script><b>\"w'&"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A layer of one neuron, its loss and its sweep, with a name that would break out if it could."""
    x, w = fnb.tensor(X, name="x"), fnb.tensor(W, name=HOSTILE, requires_grad=True)
    b = fnb.tensor(B, name="b", requires_grad=True)
    with fnb.Tape(keep=True) as tape:
        loss = fnb.ops.square(fnb.ops.tanh(x @ w + b)).sum()
        loss.backward()
    path = tmp_path_factory.mktemp("explorer") / "tape.html"
    tape.explore(path)
    return path


def arrays(found):
    """Heading -> numbers of the arrays that are shown."""
    script = "[...document.querySelectorAll('.array')].map(a => [...a.children].map(part => part.textContent))"
    return {title: json.loads(rest[0]) if len(rest) == 2 else rest[0] for title, *rest in found.page.evaluate(script)}


def where(found):
    return found.text("#where")


def test_it_steps_to_the_end_and_shows_the_right_numbers(chromium, page):
    out = np.tanh(X @ W + B)
    dout = 2 * out
    dsum = dout * (1 - out * out)
    with opened(chromium, page) as found:
        seen = [(where(found), arrays(found))]
        while found.page.is_enabled("#next"):
            found.page.click("#next")
            seen.append((where(found), arrays(found)))
        assert found.page.is_hidden("#rule")
        found.page.keyboard.press("ArrowLeft")
        found.page.keyboard.press("ArrowLeft")
        assert found.text("#rule").startswith("def backward(")
        assert (found.errors, found.requests) == ([], [])
    told = [text.partition(", ")[2] for text, _ in seen]
    assert [text.partition(",")[0] for text, _ in seen] == [f"Step {n} of 14" for n in range(1, 15)]
    shown = dict(zip(told, (values for _, values in seen), strict=True))
    close = {"rtol": 1e-5, "atol": 1e-12}
    np.testing.assert_allclose(shown["forward: tanh#4 is computed"]["Value"], out, **close)
    tanh = shown["backward: the rule of tanh#4 is called"]
    np.testing.assert_allclose(tanh["Gradient that arrives"], dout, **close)
    np.testing.assert_allclose(tanh["Gradient for input 1, add#3"], dsum, **close)
    product = shown["backward: the rule of matmul#1 is called"]
    assert product["Gradient for input 1, a constant"] == "none"
    np.testing.assert_allclose(product[f"Gradient for input 2, {HOSTILE}#0"], X.T @ dsum, **close)
    complete = shown[f"backward: the gradient of {HOSTILE}#0 is complete"]
    np.testing.assert_allclose(complete["Gradient that is complete"], X.T @ dsum, **close)
    bias = shown["backward: the gradient of b#2 is complete"]
    np.testing.assert_allclose(bias["Gradient that is complete"], dsum.sum(0), **close)


def test_keys_buttons_slider_list_and_boxes_agree(chromium, page):
    with opened(chromium, page) as found:
        press, at = found.page.keyboard.press, lambda: int(where(found).split()[1])
        places = [at()]
        for key in ("ArrowRight", "ArrowRight", "ArrowLeft", "End", "ArrowRight", "Home", "ArrowLeft"):
            press(key)
            places.append(at())
        assert places == [1, 2, 3, 2, 14, 14, 1, 1]
        found.page.focus("#slider")
        press("ArrowRight")
        press("End")
        assert at() == 14
        found.page.click("#back")
        assert (at(), found.page.input_value("#slider")) == (13, "12")
        found.page.click("#first")
        assert (at(), found.page.is_disabled("#back"), found.page.is_disabled("#last")) == (1, True, False)
        found.page.click("summary")
        found.page.click("#list li:nth-child(5) button")
        assert at() == 5
        assert found.page.get_attribute("#list li:nth-child(5) button", "aria-current") == "step"
        found.page.click("#picture .entry[data-entry='5']")
        assert found.text("#name") == "square#5: forward"
        found.page.click("#picture .entry[data-entry='5']")
        assert found.text("#name") == "square#5: backward"
        assert found.errors == []


def test_the_picture_shows_what_is_known_at_each_step(chromium, page):
    def box(number):
        return found.page.evaluate(
            "n => { const box = document.querySelector(`#picture .entry[data-entry='${n}']`); return [box.className."
            "baseVal, ...[...box.querySelectorAll('text')].map(text => text.textContent)] }",
            number,
        )

    with opened(chromium, page) as found:
        assert box(0) == ["entry leaf now", f"{HOSTILE}#0 (2, 1)", "[[0.5], [-0.25]]", "grad: none"]
        assert box(1)[0] == "entry later"
        assert box(1)[2] == ""
        found.page.keyboard.press("ArrowRight")
        assert box(1) == ["entry now", "matmul#1 (2, 1)", "[[0], [2.5]]", "grad: none"]
        found.page.keyboard.press("End")
        assert box(6)[3] == "grad: 1"
        assert box(0)[3].startswith("grad: [[")


@pytest.mark.parametrize(("width", "scheme"), list(itertools.product((360, 1300), ("light", "dark"))))
def test_it_fits_a_phone_and_follows_the_colour_scheme(chromium, page, width, scheme):
    with opened(chromium, page, width, 740, scheme) as found:
        found.page.keyboard.press("End")
        assert found.overflow() <= 0
        dark = found.page.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
        assert dark == (scheme == "dark")
        small = "[...document.querySelectorAll('.controls button')].some(b => b.getBoundingClientRect().height < 24)"
        assert found.page.evaluate(small) is False
        inside = found.page.evaluate(
            "(() => { const [box, frame] = ['#picture .now', '#picture'].map(name => document.querySelector(name)."
            "getBoundingClientRect()); return box.top >= frame.top - 1 && box.bottom <= frame.bottom + 1 })()"
        )
        assert inside


def test_controls_have_names_and_text_is_read_out(chromium, page):
    with opened(chromium, page) as found:
        tree = found.page.locator("body").aria_snapshot()
        for part in ('button "Step forward"', 'button "First step"', 'slider "Step"', "status: Step 1 of 14", "img"):
            assert part in tree
        assert found.page.get_attribute("#where", "aria-live") == "polite"
        found.page.keyboard.press("Tab")
        found.page.keyboard.press("Tab")
        assert found.page.evaluate("document.activeElement.id") == "next"


@pytest.mark.parametrize("kind", ["empty", "without keep", "without a sweep", "cut"])
def test_a_page_says_what_it_has_not(chromium, tmp_path, monkeypatch, kind):
    monkeypatch.setattr("forgenb.explorer.page.MOST", 3 if kind == "cut" else 100)
    with fnb.Tape(keep=kind != "without keep") as tape:
        if kind != "empty":
            x = tape.leaf(fnb.tensor(2.0))
            y = x * x + 1.0
        if kind in ("without keep", "cut"):
            y.backward()
    tape.explore(tmp_path / "tape.html")
    note = {
        "empty": "Nothing was recorded.",
        "without keep": "fnb.Tape(keep=True) notes them as they come by",
        "without a sweep": "No sweep went through this tape yet",
        "cut": "The 3 steps after these are left out.",
    }
    with opened(chromium, tmp_path / "tape.html") as found:
        assert note[kind] in found.text("#note")
        assert found.page.is_disabled("#next") is (kind == "empty")
        found.page.keyboard.press("End")
        assert (found.errors, found.requests) == ([], [])
        if kind == "without keep":
            assert found.text("#rule") == "freed by the sweep that called it"


def test_the_frame_of_a_notebook_works(chromium, page, tmp_path):
    with fnb.Tape(keep=True) as tape:
        tape.leaf(fnb.tensor(2.0, name="x"))
    outer = tmp_path / "notebook.html"
    outer.write_text(f"<!doctype html><title>notebook</title>{tape.explore()._repr_html_()}", encoding="utf-8")
    with opened(chromium, outer) as found:
        frame = found.page.frame_locator("iframe")
        assert frame.locator("#where").text_content() == "Step 1 of 1, x#0 is used for the first time"
        assert (found.errors, [asked for asked in found.requests if asked != "about:srcdoc"]) == ([], [])
