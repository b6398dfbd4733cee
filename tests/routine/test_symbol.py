"""Static symbols: one routine for every batch and step, with cells of its own and checks before a launch."""

import threading

import numpy as np
import pytest

import forgenb as fnb
from forgenb import ops, optim
from forgenb.errors import ArgumentError, BindingError, IndexRangeError, MemoryModeError, ShapeError
from forgenb.routine import Late

DATA = np.arange(24, dtype="float32").reshape(4, 3, 2)


def sliced(range=4):
    data, i = fnb.tensor(DATA), fnb.symbol("batch", range=range)
    return data, i, fnb.compile(lambda: ops.exp(data[i] * 0.1), "slices")


def test_a_slice_at_a_symbol_reads_another_part_each_run():
    data, _, run = sliced()
    for number in (0, 3, 1):
        np.testing.assert_array_equal(run(batch=number).numpy(), ops.exp(data[number] * 0.1).numpy())
    assert len(run.routines) == 1
    assert len(run.routine.program) == 1
    assert run.routine.memory()["constant"] == 4


def test_products_rows_and_inner_axes_take_slices_too():
    data, i = fnb.tensor(DATA), fnb.symbol("i", range=2)
    run = fnb.compile(
        lambda: (data[i] @ data[i + 1].T, ops.softmax(data[i * 2]), data[:, i].sum(), data[0, 1, i] * 2.0)
    )
    for number in (1, 0):
        one, two, three, four = run(i=number)
        np.testing.assert_allclose(one.numpy(), DATA[number] @ DATA[number + 1].T)
        np.testing.assert_array_equal(two.numpy(), ops.softmax(fnb.tensor(DATA[number * 2])).numpy())
        assert three.item() == DATA[:, number].sum()
        assert four.item() == 2 * DATA[0, 1, number]


def test_the_gradient_of_a_slice_lands_in_its_place():
    w, i = fnb.Parameter(fnb.tensor(DATA)), fnb.symbol("i", range=4)

    def step():
        w.grad = None
        (w[i] * 3.0).sum().backward()
        return w.grad

    run = fnb.compile(step)
    for number in (2, 0):
        wanted = np.zeros_like(DATA)
        wanted[number] = 3
        np.testing.assert_array_equal(run(i=number).numpy(), wanted)


def test_ids_at_a_symbol_are_checked_before_each_run():
    table, i = fnb.tensor(DATA[0]), fnb.symbol("i", range=3)
    ids = fnb.tensor(np.array([[0, 1], [2, 0], [3, 0]]))
    run = fnb.compile(lambda: ops.embedding(ids[i], table))
    np.testing.assert_array_equal(run(i=1).numpy(), DATA[0][[2, 0]])
    with pytest.raises(IndexRangeError, match="embedding got token id 3: it must be in 0 .. 2"):
        run(i=2)


def test_arithmetic_gives_a_late_number_for_schedules():
    step = fnb.symbol("step")
    x = fnb.tensor([1.0, 2.0])
    run = fnb.compile(lambda: (x * (0.5 * (10 - step) / 10), 2**step - x, x + step))
    for number in (0, 4):
        one, two, three = run(step=number)
        np.testing.assert_allclose(one.numpy(), np.array([1, 2]) * 0.5 * (10 - number) / 10, rtol=1e-6)
        np.testing.assert_array_equal(two.numpy(), 2**number - np.array([1.0, 2.0]))
        np.testing.assert_array_equal(three.numpy(), number + np.array([1.0, 2.0]))


def test_a_schedule_is_mapped_over_a_symbol():
    step, p = fnb.symbol("step"), fnb.Parameter(fnb.tensor([1.0]))
    optimizer = optim.SGD([p], lr=0.0)

    def train():
        optimizer.zero_grad()
        optimizer.lr = step.map(lambda s: optim.schedules.linear(s, 11, 1.0))
        loss = p.sum()
        loss.backward()
        optimizer.step()
        return loss

    run = fnb.compile(train)
    for number in (0, 10, 5):
        before = p.item()
        run(step=number)
        assert p.item() == pytest.approx(before - (1 - number / 10))
    with pytest.raises(MemoryModeError, match="compares step.*map"):
        fnb.compile(lambda: p * optim.schedules.linear(step, 10, 1.0))()


def test_cells_are_those_of_each_routine_in_the_order_of_declaration():
    i, j = fnb.symbol("i", range=4), fnb.symbol("j", range=3)
    data = fnb.tensor(DATA)
    runs = [fnb.compile(lambda: data[i, j] * 1.0, name, (j, i)) for name in ("one", "two")]
    for run in runs:
        run()
    one, two = (run.routine.bindings for run in runs)
    assert list(one) == [j, i]
    one[i] = 3
    one["j"] = 2
    assert (one[i], one[j], two[i], two["j"]) == (3, 2, 0, 0)
    assert repr(one) == "bindings(j=2, i=3)"
    assert i in one
    assert "k" not in one
    runs[0].routine.run()
    np.testing.assert_array_equal(runs[0].routine._outputs[0].numpy(), DATA[3, 2])
    assert len(two) == 2


def test_indices_of_a_run_leave_the_cells_alone():
    _, i, run = sliced()
    run()
    run.routine.bindings[i] = 2
    run.routine.run(batch=1)
    assert run.routine.bindings[i] == 2


def test_unknown_symbols_are_named_with_the_routine():
    _, _, run = sliced()
    run()
    for wrong in (lambda: run(other=1), lambda: run.routine.bindings[fnb.symbol("other")]):
        with pytest.raises(BindingError, match="routine 'slices' has no symbol 'other'; it declares: batch"):
            wrong()
    assert issubclass(BindingError, KeyError)


@pytest.mark.parametrize("value", [-1, 4])
def test_ranges_are_checked_before_anything_runs(value):
    _, i, run = sliced()
    run()
    with pytest.raises(IndexRangeError, match=f"routine 'slices' got batch = {value}: its range is 0 .. 3"):
        run(batch=value)
    run.routine.bindings[i] = value
    with pytest.raises(IndexRangeError, match="its range is 0 .. 3"):
        run.routine.run()
    assert run.routine.runs == 1


def test_symbols_without_a_range_are_free_but_indices_stay_inside():
    data, _, run = sliced(range=None)
    run(batch=3)
    with pytest.raises(IndexRangeError, match="batch is 4, but axis 0 of shape"):
        run(batch=4)
    free = fnb.symbol("free")
    assert fnb.compile(lambda: data.sum() * 0.0 + free)(free=-7).item() == -7


def test_a_range_beyond_the_axis():
    with pytest.raises(ShapeError, match="symbol 'batch' with range 5 .*axis 0 of shape .4, 3, 2."):
        sliced(range=5)[2]()


def test_outside_of_a_recording_a_symbol_has_no_value():
    data, i, _ = sliced()
    with pytest.raises(MemoryModeError, match="indexed by batch outside of a recording.*index with a number"):
        data[i]
    with pytest.raises(MemoryModeError, match="outside of a recorded step"):
        data * i
    with fnb.capture():
        part = data[i]
        with pytest.raises(MemoryModeError, match="read while the step was being recorded"):
            part.numpy()
    with pytest.raises(MemoryModeError, match="'batch' has a value only while a routine runs"):
        part.numpy()


def test_values_are_whole_numbers():
    _, i, run = sliced()
    with pytest.raises(ArgumentError, match="symbol 'batch' takes whole numbers, got 1.5 of type float"):
        run(batch=1.5)
    data = fnb.tensor(DATA)
    with pytest.raises(ArgumentError, match="0.5 is not whole"):
        fnb.compile(lambda: data[i / 2] * 1.0)(batch=1)


def test_declarations():
    for name, range in (("1st", None), ("a b", 3), (3, 3)):
        with pytest.raises(ArgumentError, match="a symbol needs a Python name"):
            fnb.symbol(name, range)
    for range in (0, -2, 1.5, True):
        with pytest.raises(ArgumentError, match="give a whole number above 0"):
            fnb.symbol("i", range)
    data = fnb.tensor(DATA)
    one, two = fnb.symbol("i", 2), fnb.symbol("i", 2)
    with pytest.raises(ArgumentError, match="two symbols of the name 'i'"):
        fnb.compile(lambda: data[one] + data[two])()
    with pytest.raises(ArgumentError, match="uses the symbols i: declare them"):
        fnb.compile(lambda: data[one] * 1.0, bindings=())()


def test_late_numbers_refuse_what_would_freeze_them():
    i = fnb.symbol("i")
    for wrong in (bool, int, float, lambda n: n == 0, lambda n: n != 0, lambda n: n < 3):
        with fnb.capture(), pytest.raises(MemoryModeError, match="i, a number that changes from run to run"):
            wrong(i)
    assert isinstance(-i + 1, Late)
    assert repr(i) == "symbol('i')"
    assert (i + 1).symbols == (i,)
    assert i != 0  # outside of a recording it is an object like any other
    assert i == i
    assert i != i + 0


def test_indices_are_taken_when_run_is_called():
    data, i, _ = sliced()

    def meddle():
        run.routine.bindings[i] = 3
        return 1.0

    run = fnb.compile(lambda: data[i] * fnb.routine.late(meddle))
    np.testing.assert_array_equal(run(batch=1).numpy(), DATA[1])
    run.routine.bindings[i] = 2
    run.routine.run()
    np.testing.assert_array_equal(run.routine._outputs[0].numpy(), DATA[2])
    assert run.routine.bindings[i] == 3


def test_threads_run_routines_with_their_own_indices():
    data, i = fnb.tensor(DATA), fnb.symbol("i", range=4)
    runs = [fnb.compile(lambda: data[i] * 1.0, f"thread {number}") for number in range(4)]
    found: dict[int, list] = {}

    def work(number):
        found[number] = [(number + n) % 4 for n in range(50)]
        for wanted in found[number]:
            np.testing.assert_array_equal(runs[number](i=wanted).numpy(), DATA[wanted])
        found[number] = []

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {0: [], 1: [], 2: [], 3: []}


def test_a_function_of_a_symbol_must_return_a_number():
    s, given = fnb.symbol("s"), [2.0]
    run = fnb.compile(lambda x: x * s.map(lambda _: given[0]))
    assert run(np.ones(1, "float32")).tolist() == [2]
    for wrong in (None, "3"):
        given[0] = wrong
        with pytest.raises(ArgumentError, match=f"before each run of a routine was {wrong!r} of type"):
            run(np.ones(1, "float32"))
    given[0] = np.array(4.0)
    assert run(np.ones(1, "float32")).tolist() == [4]


def test_a_rate_that_is_computed_before_each_run_must_be_a_number():
    w = fnb.Parameter(fnb.tensor([1.0]))
    with fnb.capture():
        loss = (w * w).sum()
    update = fnb.train.grad_update(loss)
    routine = fnb.train.to_routine(fnb.train.sequence([update, fnb.train.sgd_update(loss, lambda: None)]))
    with pytest.raises(ArgumentError, match="before each run of a routine was None of type NoneType"):
        routine.run()
    assert w.tolist() == [1.0]
