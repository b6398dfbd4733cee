"""The page of one op, as MyST: its parts in order, each from the file that knows it."""

from math import prod

from forgenb.ops import TABLE
from forgenb.testing.markdown import table

from . import families, tables, words

TITLES = ("Equation", "Code", "Saved for backward", "Check", "Slopes", "Support", "Planted faults", "See also")
"""The sections of every page; beside them a page has "Backward rule" or "Why there is no gradient"."""


def page(name: str, measured: dict[str, dict]) -> str:
    """The text of the page; `measured` is what was found of every op."""
    found = measured[name]
    values, rule = words.prose(name)
    equation, steps = words.derivation(name)
    why = "Backward rule" if found["recorded"] else "Why there is no gradient"
    conventions = tables.conventions(name)
    parts = [
        f"---\norphan: true\nhide-toc: true\n---\n\n# {name}\n\n{values}\n\n{_kind(name, measured)}",
        f"## Equation\n\n{equation}",
        f"## {why}\n\n" + "\n\n".join(part for part in (rule.replace("Backward: ", "In short: "), steps) if part),
        f"## Code\n\n{_code(name, found)}",
        f"## Saved for backward\n\n{_saved(name, found)}",
        f"## Check\n\n{_check(name, found)}",
        f"## Slopes\n\n{_slopes(found)}",
        f"## Ties and ends\n\n{conventions}" if conventions else "",
        f"## Support\n\n{tables.support(name)}",
        f"## Planted faults\n\n{tables.mutation(name, found['equivalent'])}",
        f"## See also\n\n{_see_also(name, found)}",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _kind(name: str, measured: dict[str, dict]) -> str:
    """What sort of op it is, and where its reference is."""
    said, found = [f"Reference: {{py:func}}`forgenb.ops.{name}`."], measured[name]
    if TABLE[name].in_place:
        said.append("It writes into the memory of its first operand.")
    launching = [other for other, row in measured.items() if name in row["gradient ops"] and other != name]
    if launching:
        said.append(f"The backward of {words.links(launching)} launches it; its own rule is the gradient's gradient.")
    if _composite(found):
        said.append(f"It is made of other ops: {words.links(dict.fromkeys(found['recorded']['ops']))}.")
    return " ".join(said)


def _composite(found: dict) -> bool:
    return bool(found["borrowed"]) and not found["backward"]


def _code(name: str, found: dict) -> str:
    """Forward and backward side by side; one column where there is no rule."""
    columns = [("Forward", found["forward"]), ("Backward", found["backward"])][: 1 + bool(found["backward"])]
    shown = "\n\n".join(f":::{{container}} column\n{_column(title, pieces)}\n:::" for title, pieces in columns)
    kind = "side-by-side" if len(columns) > 1 else "alone"
    text = f"From `forgenb/ops/{families.module_of(name)}.py`.\n\n::::{{container}} {kind}\n{shown}\n::::"
    if found["backward"]:
        return text
    if found["recorded"]:
        return f"{text}\n\nIt has no backward of its own: a sweep runs those of {words.links(found['borrowed'])}."
    return f"{text}\n\nThere is no backward."


def _column(title: str, pieces: list[dict]) -> str:
    main = [_fence(piece["code"]) for piece in pieces if piece["main"]]
    helpers = [_fence(piece["code"]) for piece in pieces if not piece["main"]]
    text = f"```{{rubric}} {title}\n:heading-level: 3\n```\n\n" + "\n\n".join(main)
    if not helpers:
        return text
    names = ", ".join(f"<code>{piece['name']}</code>" for piece in pieces if not piece["main"])
    inner = "\n\n".join(helpers)
    return f"{text}\n\n<details>\n<summary>Helpers: {names}</summary>\n\n{inner}\n\n</details>"


def _fence(code: str) -> str:
    return f"```python\n{code}\n```"


def _saved(name: str, found: dict) -> str:
    """Each tensor that is kept, its bytes on the sample, and their sum as a formula."""
    if not found["recorded"]:
        return "Nothing: the op is never on the tape."
    rows, drawing = found["recorded"]["saved"], ""
    if _composite(found):
        drawing = f"\n\nWhat the tape of this call holds:\n\n```text\n{found['recorded']['text']}\n```"
    call = f"Recorded for `{found['call']}` in float64"
    if not rows:
        return f"{call}: nothing, 0 bytes. Shapes and numbers that the closure holds do not count.{drawing}"
    total = sum(row["bytes"] for row in rows)
    formula = " + ".join(f"{r['bytes'] // max(prod(r['shape']), 1)} size({label})" for r, label in _labelled(rows))
    cells = [(f"`{r['op']}`", f"`{r['name']}`", _shape(r["shape"]), r["dtype"], r["bytes"]) for r in rows]
    listed = table(("recorded by", "tensor", "shape", "dtype", "bytes"), cells)
    return (
        f"{call}:\n\n{listed}\n\nTogether {total} bytes: {formula}. An operand that lives anyway is counted, though it "
        f"costs nothing more.{drawing}"
    )


def _labelled(rows: list[dict]) -> list[tuple[dict, str]]:
    """Each row with the name of its tensor, and of its op where several have kept something."""
    several = len({row["op"] for row in rows}) > 1
    return [(row, f"{row['name']} of {row['op']}" if several else row["name"]) for row in rows]


def _shape(shape: list[int]) -> str:
    return "x".join(map(str, shape)) or "one number"


def _check(name: str, found: dict) -> str:
    """Numbers of the gradient check, and of the values."""
    error = found["values"]["error"]
    apart = f"differ from the NumPy reference by {error:.1e} of the largest"
    values = apart if error else "equal the NumPy reference to the last bit"
    call = f"Run when this page was built, in float64, for `{found['call']}`: the values {values}."
    if not found["gradients"]:
        return f"{call} There is no gradient to check."
    gradients = found["gradients"]
    tolerance = f"{gradients['tolerance']:g}"
    cells = [
        (f"`{r['name']}`", r["of"], f"{r['largest']:.3g}", r["entries"], f"{r['error']:.1e}", tolerance)
        for r in gradients["rows"]
    ]
    listed = table(("operand", "entries", "largest slope", "compared", "largest error", "tolerance"), cells)
    order = " and those of gradients of gradients" if TABLE[name].second else ""
    return (
        f"{call} [`fnb.gradcheck`](../gradcheck.md) accepts the gradients{order}, along {gradients['directions']} "
        "random directions for each operand. One entry after another, against central differences, errors in parts "
        f"of the largest slope:\n\n{listed}"
    )


def _slopes(found: dict) -> str:
    """The picture of the op, and of a composite the tape with values and gradients."""
    if not found["picture"]:
        return "No gradient flows through this op, so there is nothing to draw."
    if not _composite(found):
        return found["picture"]
    words = "Values and gradients of the call on the tape, for a seed of ones."
    drawing = found["recorded"]["drawing"].strip()
    return f"{found['picture']}\n\n<figure>\n{drawing}\n<figcaption>{words}</figcaption>\n</figure>"


def _see_also(name: str, found: dict) -> str:
    family = families.family_of(name)
    others = [other for other in families.members(family) if other != name]
    pieces = [piece["name"].partition(".")[0] for piece in found["forward"] + found["backward"]]
    lines = [f"- [{title}](../tutorials/{path}.py)" for path, title in families.chapters(name, pieces)]
    lines.append(f"- Reference: {{py:func}}`forgenb.ops.{name}`")
    if found["gradient ops"]:
        lines.append(f"- Its gradient as an op: {words.links(found['gradient ops'])}")
    if others:
        lines.append(f"- {family}: {words.links(others)}")
    return "\n".join([*lines, "- [All ops](index.md)"])
