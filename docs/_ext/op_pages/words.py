"""An op's words as MyST: its docstring, and the derivation of its rule that stands in docs/rules."""

import inspect
import re
from pathlib import Path

from forgenb.ops import TABLE

RULES = Path(__file__).resolve().parents[2] / "rules"
SECTION = re.compile(r"\n\n\w[^\n]*\n-{3,}\n")
"""The title of a numpydoc section, with which a docstring's prose ends."""
ROLES = re.compile(r":math:`([^`]+)`|``(.+?)``|`([^`]+)`", re.DOTALL)
QUOTED = re.compile(r"(\$\$.+?\$\$|\$.+?\$)|`([^`\n]+)`", re.DOTALL)
EQUATION = re.compile(r"\$\$\n(.+?)\n\$\$\n", re.DOTALL)


def link(name: str) -> str:
    """A link from one op's page to another's."""
    return f"[`{name}`]({name}.md)"


def links(names) -> str:
    """Links to several, as a list in a sentence."""
    return ", ".join(map(link, names))


def prose(name: str) -> tuple[str, str]:
    """What the docstring of an op says of its values, and what it says of its backward, before the first section."""
    text = SECTION.split(inspect.getdoc(TABLE[name].function) or "")[0]
    values, backward, rule = text.partition("Backward")
    return _as_myst(name, values).strip(), _as_myst(name, backward + rule).strip()


def summary(name: str) -> str:
    """The first sentence of an op's docstring."""
    return re.split(r"(?<=[.;])\s", " ".join(prose(name)[0].split()))[0].rstrip(".;") + "."


def derivation(name: str) -> tuple[str, str]:
    """The equation of an op, and the steps from it to the rule; both are empty where nobody wrote them.

    Raises
    ------
    ValueError
        If the file does not start with the equation.
    """
    path = RULES / f"{name}.md"
    if not path.exists():
        return "", ""
    text = path.read_text(encoding="utf-8")
    found = EQUATION.match(text)
    if found is None:
        raise ValueError(f"docs/rules/{name}.md must start with the equation, between two lines of two dollars")
    return found[0], _linked(name, text[found.end() :]).strip()


def _as_myst(name: str, text: str) -> str:
    def replaced(found: re.Match) -> str:
        formula, code, quoted = found.groups()
        if formula:
            return f"${' '.join(formula.split())}$"
        return f"`{' '.join((code or quoted).split())}`" if code else _quoted(name, quoted)

    return ROLES.sub(replaced, text)


def _linked(name: str, text: str) -> str:
    return QUOTED.sub(lambda found: found[1] or _quoted(name, found[2]), text)


def _quoted(name: str, word: str) -> str:
    return link(word) if word in TABLE and word != name else f"`{word}`"
