"""What a tape with ``keep=True`` notes: each value and gradient as it was when it came by, in order."""

import numpy as np

import forgenb as fnb


def steps(tape):
    """(kind, entry, numbers that were seen, [(entry, numbers) that left])."""
    return [
        (
            step.kind,
            step.entry,
            [numbers(seen) for seen in step.seen],
            [(gone.entry, numbers(gone.grad)) for gone in step.leaving],
        )
        for step in tape._known.steps()
    ]


def numbers(seen):
    return seen.missing if seen.numbers is None else seen.numbers.tolist()


def test_a_product_forward_and_backward():
    with fnb.Tape(keep=True) as tape:
        x = tape.leaf(fnb.tensor([1.0, 2.0]))
        (x * 3.0).sum().backward()
    assert steps(tape) == [
        ("leaf", 0, [[1, 2]], []),
        ("forward", 1, [[3, 6]], []),
        ("forward", 2, [9], []),
        ("backward", 2, [1], [(1, [1, 1])]),
        ("backward", 1, [[1, 1]], [(0, [3, 3]), (None, "none")]),
        ("arrived", 0, [[3, 3]], []),
    ]


def test_contributions_are_seen_before_they_are_added_up():
    """In x * x both go to x, and the sweep adds the second to the first in place."""
    with fnb.Tape(keep=True) as tape:
        x = tape.leaf(fnb.tensor([1.0, 5.0]))
        y = x * x
    tape.backward(y, fnb.tensor([1.0, 10.0]))
    assert steps(tape)[2:] == [
        ("backward", 1, [[1, 10]], [(0, [1, 50]), (0, [1, 50])]),
        ("arrived", 0, [[2, 100]], []),
    ]


def test_values_written_in_place_are_steps_of_their_own():
    w = fnb.tensor([2.0], requires_grad=True)
    with fnb.Tape(keep=True) as tape:
        first = w * w
        with fnb.no_grad():
            w.assign_(5.0)
        second = w + w
        with fnb.no_grad():
            w[...] = 7.0
    del first, second
    found = [("leaf", 0, [[2]]), ("forward", 1, [[4]]), ("changed", 0, [[5]]), ("forward", 2, [[10]])]
    assert [step[:3] for step in steps(tape)] == [*found, ("changed", 0, [[7]])]
    assert len(steps(tape)) == 5


def test_results_written_in_place_are_steps_too():
    x = fnb.tensor([2.0], requires_grad=True)
    with fnb.Tape(keep=True) as tape:
        y = x + 1.0
        with fnb.no_grad():
            y.assign_(10.0)
        z = y + 2.0
    assert z.item() == 12.0
    assert [step[:3] for step in steps(tape)[1:]] == [
        ("forward", 1, [[3]]),
        ("changed", 1, [[10]]),
        ("forward", 2, [[12]]),
    ]
    assert len(steps(tape)) == 4


def test_of_several_outputs_one_is_written_in_place_and_one_is_gone():
    pair = fnb.custom_op(lambda x: (x * 2.0, x * 3.0), lambda da, db, x: db * 3.0)
    with fnb.Tape(keep=True) as tape:
        gone, written = pair(tape.leaf(fnb.tensor(2.0)))
        del gone
        with fnb.no_grad():
            written.assign_(7.0)
    assert steps(tape)[-1] == ("changed", 1, [4, 7], [])


def test_several_outputs_and_one_without_a_gradient():
    pair = fnb.custom_op(lambda x: (x * 2.0, x * 3.0), lambda da, db, x: db * 3.0)
    with fnb.Tape(keep=True) as tape:
        x = tape.leaf(fnb.tensor(2.0))
        (pair(x)[1] * 5.0).backward()
    assert steps(tape)[1] == ("forward", 1, [4, 6], [])
    assert steps(tape)[4] == ("backward", 1, ["none", 5], [(0, 15)])
    assert [gone.index for gone in tape._known.steps()[3].leaving] == [1, 0]


def test_a_recorded_sweep_is_a_list_of_forward_steps_too():
    with fnb.Tape(keep=True) as tape:
        x = tape.leaf(fnb.tensor(3.0))
        (x * x).backward(create_graph=True)
        x.grad.backward()
    kinds = [step[0] for step in steps(tape)]
    assert kinds[:2] == ["leaf", "forward"]
    assert kinds.index("backward") > 2
    assert kinds.count("arrived") == 2
    assert x.grad.item() == 8.0


def test_gradients_that_go_nowhere_else_arrive_too():
    with fnb.Tape(keep=True) as tape:
        slope = fnb.grad(lambda x: x * x)(fnb.tensor(3.0))
    assert slope.item() == 6.0
    assert steps(tape)[-1] == ("arrived", 0, [6], [])


def test_nested_tapes_each_note_their_own():
    x = fnb.tensor(2.0, requires_grad=True)
    with fnb.Tape(keep=True) as outer:
        y = x * x
        with fnb.Tape(keep=True) as inner:
            z = y * 3.0
            z.backward()
        with fnb.Tape() as plain:
            x * 2.0
    kinds = [step[0] for step in steps(outer)]
    assert kinds == ["leaf", "forward", "forward", "backward", "backward", "arrived", "forward"]
    assert steps(inner) == [("forward", 0, [12], []), ("backward", 0, [1], [(None, 3), (None, "none")])]
    assert plain._known.journal is None


def test_without_keep_the_steps_are_the_entries_with_what_is_still_there():
    with fnb.Tape() as tape:
        x = tape.leaf(fnb.tensor(2.0))
        y = (x + 1.0) * 2.0
        y.backward()
    assert steps(tape) == [
        ("leaf", 0, [2], []),
        ("forward", 1, ["freed"], []),
        ("forward", 2, [6], []),
    ]


def test_what_is_kept_does_not_grow_with_the_arrays():
    with fnb.Tape(keep=True) as tape:
        x = tape.leaf(fnb.tensor(np.ones(100_000)))
        (x * x).sum().backward()
    kept = [array for step in tape._known.steps() for array in step.seen if array.numbers is not None]
    assert len(kept) == 6
    assert sum(array.numbers.nbytes for array in kept) < 1000


def test_a_step_that_is_compiled_is_noted_without_values():
    x = fnb.tensor([1.0, 2.0], requires_grad=True)
    with fnb.Tape(keep=True) as tape, fnb.capture():
        (x * x).sum().backward()
    seen = {part for step in steps(tape)[1:] for part in step[2]}
    assert seen == {"not computed yet", "not read while a step is recorded"}
