"""The bounds of a compiled function: its most instructions for any input, and the most stack of any call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ethereal_bounds.flow import Code, Elf
from ethereal_bounds.instruction import Unbounded
from ethereal_bounds.longest import longest
from ethereal_bounds.state import INPUT, OUTPUT, Input, Memory, row_of
from ethereal_bounds.walk import MOST_STEPS, Paths


@dataclass(frozen=True)
class Assumed:
    """What is assumed of a number in a variable: all values that it can have, or those that take the most."""

    variable: str
    values: tuple[int, ...]  # unsigned
    offset: int = 0  # where the number begins in the variable
    width: int = 0  # bytes of the number, those of the variable if 0
    always: bool = False  # whenever it is read, whatever is stored there, and not only before the call
    points_to: str = ""  # the variable that it points to, where it is a pointer


@dataclass(frozen=True)
class Inputs:
    """What a function reads: a row of numbers, and variables of which something is assumed."""

    values: Sequence[Sequence[int]]  # of each number of the row. They stand for all others, and are unsigned
    width: int = 4  # bytes of one
    rows: int = 0  # of a call `function(rows, n, out)`, whose bound is that of a row; 0 for `function(row)`
    variable: str = ""  # which has the row that the function makes itself, "" for an argument
    is_read_only: bool = True  # whether the function makes no row in `variable` before it reads it
    keeps_ranges: bool = False  # whether numbers that differ where ways meet become ranges
    assumed: Sequence[Sequence[Assumed]] = ((),)  # the function is followed for each of these lists


@dataclass(frozen=True)
class Bound:
    """Bounds that hold for all inputs, or None with the reason."""

    instructions: int | None
    stack_bytes: int | None  # of any call
    why_not: str = ""
    calls: dict[str, int] = field(default_factory=dict)  # instructions of other functions, by their names


def bound(
    elf: Elf,
    isa: str,
    entry: str,
    inputs: Inputs | None,
    *,
    others: Mapping[str, Inputs | None] | None = None,
    beside: Sequence[str] = (),
    most_steps: int = MOST_STEPS,
) -> Bound:
    """Return bounds of a function of a compiled program.

    No call of `entry` executes more instructions, whatever the inputs are, and no call takes more stack. A
    bound may be above what any input takes, but never below it. Where no bound follows from the code, it is
    None, and `why_not` says why.

    Parameters
    ----------
    elf
        The program, compiled and linked.
    isa
        Its instruction set, one of the `DECODERS`.
    entry
        The function. It may call others, but not itself.
    inputs
        What it reads, None where it does not read a row. It then has a bound of the stack alone.
    others
        Functions that have a bound of instructions of their own, as far as the program has them.
    beside
        Functions whose stack counts as well.
    most_steps
        How many instructions are followed at most, some 20,000 in a second.
    """
    code, why_not = Code(elf, isa), []
    stack = instructions = None
    try:
        stack = max(map(code.stack_bytes, (entry, *beside)))
    except Unbounded as error:
        why_not.append(f"The stack has no bound: {error}.")
    try:
        instructions = _instructions(code, entry, inputs, most_steps)
    except Unbounded as error:
        why_not.append(f"Instructions have no bound: {error}.")
    calls = {}
    for name, their_inputs in (others or {}).items() if instructions is not None else ():
        try:
            if name in elf.symbols:
                calls[name] = _instructions(code, name, their_inputs, most_steps)
        except Unbounded as error:
            why_not.append(f"Instructions of {name} have no bound: {error}.")
    return Bound(instructions, stack, " ".join(why_not), calls)


def _instructions(code: Code, entry: str, inputs: Inputs | None, most_steps: int) -> int:
    if inputs is None:
        raise Unbounded("it does not read features")
    if inputs.rows:
        memory = Memory(code, row_of([*inputs.values] * inputs.rows, inputs.width))
        graph = Paths(memory, most_steps).follow(entry, INPUT, inputs.rows, OUTPUT)
        return -(-longest(graph, excludes=False) // inputs.rows)
    at = code.variable(inputs.variable).address if inputs.variable else INPUT
    row, most = row_of(inputs.values, inputs.width, at), 0
    for assumed in inputs.assumed:
        memory = Memory(code, row, *(_variables(code, assumed, always) for always in (False, True)))
        graph = Paths(memory, most_steps).follow(
            entry, INPUT, makes_row=not inputs.is_read_only, keeps_ranges=inputs.keeps_ranges
        )
        most = max(most, longest(graph))
    return most


def _variables(code: Code, assumed: Sequence[Assumed], always: bool) -> list[Input]:
    """Return the variables that have values before a call, or those that have them whenever they are read."""
    inputs = []
    for each in assumed:
        if each.always == always and (each.variable in code.elf.symbols or not each.points_to):
            symbol = code.variable(each.variable)
            values = (code.variable(each.points_to).address,) if each.points_to else each.values
            inputs.append(Input(symbol.address + each.offset, each.width or symbol.size, values))
    return inputs
