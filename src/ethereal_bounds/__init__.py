"""Bounds of instructions and stack that hold for all inputs of a compiled function. It knows no model.

    bound(elf, isa, entry, inputs)

Nothing is executed. The machine code is followed for all inputs at once:

1. `thumb` and `riscv` decode machine code to the few words of `instruction`. What they do not know has no
   bound.
2. `flow` cuts a function into blocks, and finds its loops and its stack.
3. `values` has what may be known of a register: a number, one for each value of an input, some bits, or a
   range. It computes with them.
4. `state` has what is known at a point of the program, and joins the states of ways that meet.
5. `walk` follows a function for all inputs at once, from point to point. Ways part where a condition is not
   known.
6. The graph of all ways goes to `longest`, which finds the longest one. `bound` does all of it.

A new instruction set is a module like `riscv`, and a line in `DECODERS` of `flow`.
"""

from ethereal_bounds.bound import Assumed, Bound, Inputs, bound
from ethereal_bounds.flow import DECODERS

__all__ = ["DECODERS", "Assumed", "Bound", "Inputs", "bound"]
