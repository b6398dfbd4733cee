"""`no_grad` as a context and as a decorator of functions, generators and coroutines."""

import asyncio

import pytest

import forgenb as fnb


@pytest.fixture
def x():
    return fnb.tensor([1.0], requires_grad=True)


def test_one_object_may_be_entered_again_and_again(x):
    off = fnb.no_grad()
    with off, off:
        assert not (x + x).requires_grad
    with off:
        assert not (x + x).requires_grad
    assert (x + x).requires_grad


@pytest.mark.parametrize("decorate", [fnb.no_grad, fnb.no_grad()])
def test_decorated_functions_record_nothing(x, decorate):
    @decorate
    def f():
        return (x + x).requires_grad

    assert f.__name__ == "f"
    assert [f(), f()] == [False, False]


def test_a_decorated_generator_records_nothing_and_leaves_its_caller_alone(x):
    noted = []

    @fnb.no_grad()
    def steps():
        try:
            sent = yield (x + x).requires_grad
            noted.append(sent)
            try:
                yield (x + x).requires_grad
            except KeyError:
                noted.append((x + x).requires_grad)
            yield 3
        finally:
            noted.append((x + x).requires_grad)

    generator = steps()
    assert next(generator) is False
    assert (x + x).requires_grad
    assert generator.send("sent") is False
    assert generator.throw(KeyError()) == 3
    generator.close()
    assert noted == ["sent", False, False]
    assert (x + x).requires_grad


def test_a_decorated_generator_returns_its_value():
    @fnb.no_grad
    def inner():
        yield 1
        return 2

    def outer():
        return (yield from inner())

    generator = outer()
    next(generator)
    with pytest.raises(StopIteration) as end:
        next(generator)
    assert end.value.value == 2


def test_a_decorated_coroutine_records_nothing(x):
    @fnb.no_grad
    async def f():
        await asyncio.sleep(0)
        return (x + x).requires_grad

    assert asyncio.run(f()) is False
