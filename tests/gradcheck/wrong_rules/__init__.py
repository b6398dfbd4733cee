"""Wrong backward rules written by hand in the style of learners, one file a family; `CASES` are all of them."""

from . import broadcasting, elementwise, layers, losses, products, reductions, shapes
from .case import NONE, VOCABULARY, Problem, Wrong

FAMILIES = (elementwise, broadcasting, reductions, shapes, products, losses, layers)
PROBLEMS = [problem for family in FAMILIES for problem in family.PROBLEMS]
CASES = [(problem, wrong) for problem in PROBLEMS for wrong in problem.wrong]

__all__ = ["CASES", "FAMILIES", "NONE", "PROBLEMS", "VOCABULARY", "Problem", "Wrong"]
