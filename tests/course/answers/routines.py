"""Answers to the exercises of chapter 15."""


def peak(lives):
    moments = [at for first, last, _ in lives.values() for at in (first, last)]
    return max(sum(n for a, b, n in lives.values() if a <= at <= b) for at in moments)


def needed(program, results):
    wanted, kept = set(results), []
    for out, op, ins in reversed(program):
        if out in wanted:
            wanted |= set(ins)
            kept.insert(0, (out, op, ins))
    return kept


def users(program, name):
    return [op for _, op, ins in program for used in ins if used == name]


def inlined(program, pointwise, results):
    found = set()
    for out, op, _ in program:
        ops = users(program, out)
        if op in pointwise and len(ops) == 1 and ops[0] in pointwise and out not in results:
            found.add(out)
    return found


RIGHT = {"15-1": peak, "15-2": needed, "15-3": inlined}


def moments(lives):
    return range(max(last for _, last, _ in lives.values()) + 2)


def ends_early(lives):
    return max(sum(n for a, b, n in lives.values() if a <= at < b) for at in moments(lives))


def ends_late(lives):
    return max(sum(n for a, b, n in lives.values() if a <= at <= b + 1) for at in moments(lives))


def counts(lives):
    return max(sum(1 for a, b, _ in lives.values() if a <= at <= b) for at in moments(lives))


def one_step_back(program, results):
    wanted = set(results) | {name for out, _, ins in program if out in results for name in ins}
    return [s for s in program if s[0] in wanted]


def forward(program, results):
    wanted, kept = set(results), []
    for out, op, ins in program:
        if out in wanted or wanted & set(ins):
            wanted.add(out)
            kept.append((out, op, ins))
    return kept


def whatever_is_used(program, results):
    used = set(results) | {name for _, _, ins in program for name in ins}
    return [s for s in program if s[0] in used]


def any_user(program, pointwise, results):
    return {out for out, op, _ in program if op in pointwise and len(users(program, out)) == 1 and out not in results}


def any_maker(program, pointwise, results):
    return {out for out, _, _ in program if out not in results and len(users(program, out)) == 1} & {
        out for out, _, _ in program if set(users(program, out)) <= pointwise
    }


def any_number(program, pointwise, results):
    return {
        out
        for out, op, _ in program
        if op in pointwise and users(program, out) and set(users(program, out)) <= pointwise and out not in results
    }


def by_statements(program, pointwise, results):
    return {out for out in any_number(program, pointwise, results) if sum(out in ins for _, _, ins in program) == 1}


def unused_too(program, pointwise, results):
    return inlined(program, pointwise, results) | {
        out for out, op, _ in program if op in pointwise and not users(program, out) and out not in results
    }


WRONG = [
    ("15-1", "adds everything", lambda lives: sum(n for _, _, n in lives.values()), "all values are added up"),
    ("15-1", "takes the largest", lambda lives: max(n for _, _, n in lives.values()), "the largest value alone"),
    ("15-1", "ends a life early", ends_early, "one statement less"),
    ("15-1", "ends a life late", ends_late, "one statement too long"),
    ("15-1", "counts values", counts, "values are counted"),
    ("15-2", "keeps the makers alone", lambda p, r: [s for s in p if s[0] in r], "what makes their operands"),
    ("15-2", "goes back one step", one_step_back, "after one step back"),
    ("15-2", "goes forward", forward, "this is what depends on the results"),
    ("15-2", "forgets to turn round", lambda p, r: needed(p, r)[::-1], "the last one stands first"),
    ("15-2", "keeps all that is used", whatever_is_used, "even if nothing needs the reader"),
    ("15-2", "leaves nothing out", lambda p, r: p, "nothing is left out"),
    ("15-2", "follows one result", lambda p, r: needed(p, r[:1]), "other results are asked for"),
    ("15-2", "returns names", lambda p, r: [out for out, _, _ in needed(p, r)], "are no statements"),
    ("15-3", "forgets the results", lambda p, w, r: inlined(p, w, ()), "a result is among them"),
    ("15-3", "forgets what uses it", any_user, "what uses a value is not looked at"),
    ("15-3", "forgets what makes it", any_maker, "what makes a value is not looked at"),
    ("15-3", "takes what is used twice", any_number, "used more than once"),
    ("15-3", "counts statements", by_statements, "uses it twice"),
    ("15-3", "takes what nothing uses", unused_too, "that nothing uses"),
    ("15-3", "takes all pointwise", lambda p, w, r: {out for out, op, _ in p if op in w}, "however they are used"),
    ("15-3", "returns a number", lambda p, w, r: 3, "a set of names"),
]
"""Exercise, mistake in words, answer, and what the verdict must say."""
