"""What a recorded step is made of: launches and products, with places instead of addresses.

Plain data; it imports kernels and planned memory, and must not run or plan anything.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..kernel import Kernel, MapArguments, RowArguments, map_arguments, map_block, row_arguments, row_block
from .late import Late, value_of


@dataclass(frozen=True)
class Place:
    """An operand: some bytes into a block of memory. The offset may be a late number."""

    memory: object
    offset: int | Late = 0

    def base(self) -> int:
        """Where the block lies."""
        memory = self.memory
        return memory.placed if hasattr(memory, "placed") else memory.address  # type: ignore[attr-defined]

    def address(self) -> int:
        """Where the operand lies now."""
        return self.base() + value_of(self.offset)


@dataclass
class Launch:
    """A kernel over ``0 .. extent``. `values` is its argument block with places and late numbers in it."""

    kernel: Kernel
    real: str
    storage: tuple[str, ...]
    extent: int
    chunk: int
    values: list
    shapes: tuple[tuple[int, ...], ...]
    scope: str = ""
    reads: tuple = field(default=())
    writes: tuple = field(default=())

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self.kernel.name

    @property
    def ndim(self) -> int:
        """The collapsed dimensions of a map."""
        return self.values[len(self.kernel.scalars)]

    @property
    def packer(self):
        """The `struct.Struct` of the argument block."""
        return map_block(self.kernel, self.ndim) if self.kernel.form == "map" else row_block(self.kernel)

    def of_map(self) -> MapArguments:
        """The argument block of a map, taken apart."""
        return map_arguments(self.kernel, self.values)

    def of_rows(self) -> RowArguments:
        """The argument block of a row kernel, taken apart."""
        return row_arguments(self.kernel, self.values)


@dataclass
class Product:
    """A matrix product; the fields are those of `Backend.gemm`, with places instead of addresses."""

    real: str
    shape: tuple[int, int, int]
    flags: tuple
    scales: tuple
    places: tuple
    steps: tuple
    batch: tuple
    shapes: tuple[tuple[int, ...], ...]
    scope: str = ""
    reads: tuple = field(default=())
    writes: tuple = field(default=())

    @property
    def name(self) -> str:
        """The name in a printed program."""
        return "gemm"
