"""Reading generated x86-64 assembly (AT&T syntax): how much of the hottest loop is packed."""

import re

_ARITHMETIC = r"v?(?:add|sub|mul|div|max|min|sqrt|f[n]?m(?:add|sub)\d{3}|cmp\w*|ucomi|comi)"
_PACKED = re.compile(rf"^{_ARITHMETIC}p[sd]$")
_SCALAR = re.compile(rf"^{_ARITHMETIC}s[sd]$")
_LABEL = re.compile(r"^(\.?[\w$.]+):")
_JUMP = re.compile(r"^j\w+\s+(\.?[\w$.]+)")


def loops(asm):
    """The instruction names of every innermost loop: a backward jump's span that holds no other."""
    position, spans, names = {}, [], []
    for line in asm.splitlines():
        text = line.strip()
        if label := _LABEL.match(text):
            position[label.group(1)] = len(names)
        elif text and text[0] not in ".#":
            names.append(text.split()[0])
            jump = _JUMP.match(text)
            if jump and jump.group(1) in position:
                spans.append((position[jump.group(1)], len(names)))
    inner = [
        (first, last)
        for first, last in spans
        if not any(first <= other[0] and other[1] <= last and other != (first, last) for other in spans)
    ]
    return [names[first:last] for first, last in inner]


def packed_and_scalar(asm):
    """Counts of packed and of scalar float arithmetic in the innermost loop that has most packed instructions.

    Parameters
    ----------
    asm : str
        The text of `inspect_asm`.

    Returns
    -------
    tuple of int
        (packed, scalar); (0, n) if no loop is packed, n being the most scalar arithmetic in a loop.
    """
    counts = [(tally(_PACKED, names), tally(_SCALAR, names)) for names in loops(asm)]
    packed, scalar = max(counts, default=(0, 0))
    if packed:
        return packed, scalar
    return 0, max((scalar for _, scalar in counts), default=0)


def tally(kind, names):
    """How many of the instruction names match a pattern."""
    return sum(kind.match(name) is not None for name in names)


def features():
    """The vector extensions that Numba compiles for."""
    import llvmlite.binding as llvm

    host = llvm.get_host_cpu_features()
    return {name for name, present in host.items() if present}
