"""What of a training two runs must have in common. Imports nothing."""


def bits(state):
    """All that a state says, in a form that can be compared."""
    return {name: (array.dtype, array.shape, array.tobytes()) for name, array in state.items()}


def without_clock(reports):
    """What of reports does not depend on the clock."""
    return [(r.step, r.train_loss, r.val_loss, r.lr) for r in reports]
