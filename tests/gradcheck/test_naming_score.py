"""At least nine of ten collected wrong rules are named as their authors name them, and the page says how many."""

from pathlib import Path

from gradcheck.naming import report, score
from gradcheck.wrong_rules import CASES, VOCABULARY
from gradcheck.wrong_rules.words import WORDS

from forgenb.gradcheck.diagnosis import BROADCAST, MISTAKES

PAGE = Path(__file__).parents[2] / "docs" / "gradcheck.md"
LEAST = 0.9


def test_nine_of_ten_are_named():
    cases = score()
    assert len(cases) == len(CASES) == 155
    assert sum(case.right for case in cases) >= LEAST * len(cases)


def test_the_page_has_the_score_and_the_misses():
    assert f"```text\n{report()}\n```" in PAGE.read_text(encoding="utf-8")


def test_each_name_stands_for_words_of_the_collection():
    assert {m.name for m in MISTAKES} | {BROADCAST.name, "not-spread", "kept-axes", None} == set(WORDS)
    assert set().union(*WORDS.values()) == VOCABULARY
    assert max(map(len, WORDS.values())) == 2  # none stands for nearly everything
