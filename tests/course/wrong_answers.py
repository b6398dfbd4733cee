"""The page of wrong answers, as Markdown: ``PYTHONPATH=tests python -m course.wrong_answers > docs/wrong_answers.md``.

Each row is one that the tests judge: the mistake in words, and the sentence of the verdict that explains it.
"""

import importlib
import pkgutil
import re

from course import answers

from forgenb.course import chapters, check

FILES = [importlib.import_module(f"course.answers.{found.name}") for found in pkgutil.iter_modules(answers.__path__)]
WRONG = sorted((row for file in FILES for row in file.WRONG), key=lambda row: row[0])
HEAD = """\
# Wrong answers

What learners write instead, and how the check explains it, chapter by chapter. The tests judge an answer of each kind,
so the words in the last column are those of a verdict. They say what is wrong, and not what is right. In a verdict they
follow the inputs with which it shows.
"""


def page(told):
    """The page; `told` has the explanation of a row."""
    lines = [HEAD]
    for each in chapters():
        lines += [f"## {int(each.number)}. {each.title}", ""]
        for exercise in each.exercises:
            lines += [f"**{exercise.number}.** {exercise.title}.", "", "| the answer | the verdict |", "|---|---|"]
            lines += [line(row, told(row)) for row in WRONG if row[0] == exercise.number]
            lines.append("")
    return "\n".join(lines)


def line(row, explanation):
    """The row of a table."""
    return f"| {literal(row[1])} | {literal(explanation)} |"


def sentence(explanation, words):
    """The sentence that has the words, without the inputs that may come first, or the place in the answer."""
    explanation = re.sub(r" \(line \d+: .*\)$", "", explanation)
    found = [part for part in re.split(r"(?<=[.!?])\s+", explanation) if words in part]
    text = found[0] if found else explanation
    start = re.match(r"With .*?: (?=.)", text)
    return text[start.end() :] if start and words in text[start.end() :] else text


def literal(text):
    """Text that Markdown shows as it is."""
    return re.sub(r"([\\`*_|<>$\[\]{}])", r"\\\1", text)


if __name__ == "__main__":
    print(page(lambda row: sentence(check(row[0], row[2]).explanation, row[3])), end="")
