"""Where the values of a training step live, said before its routine is made: kept, materialised, inlined, or given.

Planning decides for every value that nobody speaks of: inline, scratch or stored (docs/routines.md). These functions
decide for one, or for all. A decision holds from then on, the same decision again changes nothing, and one that
contradicts an earlier one raises and names the places of both. Imports routines and programs; nothing is computed here.
"""

from forgenb.backend.planned import PlannedMemory, place_of_call
from forgenb.errors import ArgumentError, MemoryModeError
from forgenb.routine import INPUT, RESULT, Program, give_role, needed, recorder_of, retain_undecided
from forgenb.tensor import Tensor

__all__ = ["retain_all", "set_hosted", "set_materialized", "set_on_host", "set_virtual"]


def set_on_host(t: Tensor, from_device: bool = True) -> Tensor:
    """Say in which direction the values of `t` pass between the host and routines.

    Parameters
    ----------
    t : Tensor
    from_device : bool
        True: routines compute it and the host reads it after each run, so it is stored. False: the host writes it
        between runs (``t[...] = values``) and routines read what was written last; none may write it.

    Returns
    -------
    Tensor
        `t` itself.

    Raises
    ------
    MemoryModeError
        If that contradicts an earlier decision, or comes after planning; with ``from_device=True``, for a constant of a
        recorded step, which no routine changes; with ``from_device=False``, for what a recorded step or a routine
        computes. A routine that would write an input is refused by `to_routine`.
    """
    where, memory = place_of_call(1), _memory(t, "set_on_host")
    if not isinstance(from_device, bool):
        raise ArgumentError(f"set_on_host needs from_device to be True or False, got {from_device!r}")
    if not from_device:
        if isinstance(memory, PlannedMemory):
            what = "is a constant of" if memory.mode == "constant" else "is computed by"
            raise MemoryModeError(
                f"set_on_host(from_device=False) at {where}: a tensor of shape {t.shape} {what} a recorded step, and "
                "the host writes only what was made outside of it: make it before the capture"
            )
        give_role(memory, INPUT, f"set_on_host(from_device=False) at {where}")
    elif _constant(memory):
        raise MemoryModeError(
            f"set_on_host() at {where}: a tensor of shape {t.shape} is a constant of a recorded step, which no routine "
            "changes: it can be read as it is"
        )
    else:
        _keep(memory, "set_on_host", where)
    return t


def set_hosted(t: Tensor) -> Tensor:
    """Have a value where the host can read it: stored after each run, or there already (constants, parameters, data).

    Returns
    -------
    Tensor
        `t` itself.

    Raises
    ------
    MemoryModeError
        If it was to be inlined or is an input that the host writes, or if a routine that is planned did not keep it.
    """
    memory = _memory(t, "set_hosted")
    if not _constant(memory):
        _keep(memory, "set_hosted", place_of_call(1))
    return t


def set_materialized(t: Tensor) -> Tensor:
    """Have a buffer for a value: stored or scratch, and not inlined. What has one already is left alone.

    Returns
    -------
    Tensor
        `t` itself.

    Raises
    ------
    MemoryModeError
        If it was to be inlined, or a routine that is planned has inlined it.
    """
    memory = _memory(t, "set_materialized")
    if isinstance(memory, PlannedMemory) and memory.mode in ("undecided", "inline"):
        memory.decide("materialize", f"{place_of_call(1)} (set_materialized)")
    return t


def set_virtual(t: Tensor) -> Tensor:
    """Have no buffer for a value: it is computed inside the one statement that uses it. An inlined one stays so.

    Returns
    -------
    Tensor
        `t` itself.

    Raises
    ------
    MemoryModeError
        If it has storage: data, parameters, constants, what a planned routine keeps; or was to have some, such as the
        gradient of a parameter. Whether it can be inlined at all shows in `to_routine`, which says why not.
    """
    memory = _memory(t, "set_virtual")
    if not isinstance(memory, PlannedMemory) or _constant(memory):
        raise MemoryModeError(
            f"set_virtual() at {place_of_call(1)}: a tensor of shape {t.shape} was made with storage of its own; only "
            "what a recorded step computes can be inlined"
        )
    if memory.mode != "inline":
        memory.decide("inline", f"{place_of_call(1)} (set_virtual)")
    return t


def retain_all(t: Tensor | Program) -> Tensor | Program:
    """Store every value on the way to `t`, for looking at them after a run; call it before `to_routine`.

    Constants, which can be read anyway, and values that were to be inlined stay as they are. Tensors of the step can be
    read by name; ``routine.values()`` has the others too, by the labels of ``print(routine)``.

    Parameters
    ----------
    t : Tensor or Program
        A captured tensor: all that its forward code computes. A program: all that it computes, so
        ``retain_all(grad_update(loss))`` keeps forward, inner gradients and gradients.

    Returns
    -------
    Tensor or Program
        `t` itself.

    Raises
    ------
    MemoryModeError
        If a routine has been made of it already, or a tensor has a value.
    ArgumentError
        For anything else than a tensor or a program.
    """
    if isinstance(t, Program):
        statements = t.statements
    elif isinstance(t, Tensor):
        statements = needed(recorder_of(t, "retain_all"), t).statements
    else:
        raise ArgumentError(f"retain_all needs a captured tensor or a program, got {type(t).__name__}")
    retain_undecided(statements, f"{place_of_call(1)} (retain_all)")
    return t


def _memory(t: Tensor, caller: str):
    if not isinstance(t, Tensor):
        raise ArgumentError(f"{caller} needs a tensor, got {type(t).__name__}")
    return t.memory


def _constant(memory) -> bool:
    return isinstance(memory, PlannedMemory) and memory.mode == "constant"


def _keep(memory, caller: str, where: str) -> None:
    if isinstance(memory, PlannedMemory):
        memory.decide("retain", f"{where} ({caller})")
    else:
        give_role(memory, RESULT, f"{caller}() at {where}")
