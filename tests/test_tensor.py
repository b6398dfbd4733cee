"""The tensor itself: what it lists, what it is made of, and what it refuses."""

import pytest

import forgenb as fnb
from forgenb import interop
from forgenb.errors import DTypeError, TapeError
from forgenb.members import Members
from forgenb.ops import indexing_methods, methods


def test_the_class_lists_all_that_ops_put_on_it_and_nothing_else():
    installed = {**methods.installed(), **indexing_methods.METHODS, **interop.METHODS}.keys()
    without_line = {"__hash__", "__repr__", "__str__", "__format__"}  # as every object has them
    assert Members.__annotations__.keys() == installed - without_line


def test_the_names_of_a_tensor():
    x = fnb.tensor([[1.0, 2.0, 3.0]], name="x")
    assert (x.shape, x.ndim, x.size, x.dtype.name, x.name) == ((1, 3), 2, 3, "float32", "x")
    assert x.backend.name == "cpu"
    assert x.to("cpu") is x
    assert x.detach().numpy().tolist() == [[1.0, 2.0, 3.0]]
    assert len(x) == 1


def test_axes_of_one_element_do_not_count_for_contiguity():
    x = fnb.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    assert x[:1].contiguous
    assert x[:1].T.contiguous
    assert x.view((1, 3), (99, 1)).contiguous
    assert x[:0].T.contiguous
    assert not x.T.contiguous
    assert not x[:, :1].contiguous
    assert not x[:, :2].contiguous


def test_length_of_a_tensor_without_dimensions_is_a_type_error():
    with pytest.raises(DTypeError, match="len\\(\\) of a tensor without dimensions"):
        len(fnb.tensor(1.0))


def test_a_list_of_tracked_tensors_is_refused():
    x = fnb.tensor(1.0, requires_grad=True)
    with pytest.raises(TapeError, match="gradient would be lost: join tensors with stack"):
        fnb.tensor([x, x * 2])
    assert fnb.tensor([x.detach(), fnb.tensor(2.0)]).tolist() == [1.0, 2.0]
