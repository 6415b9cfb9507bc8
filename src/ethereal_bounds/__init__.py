"""Bounds of instructions and stack that hold for all inputs of a compiled function. It knows no model.

    bound(elf, isa, entry, inputs)

Nothing is executed. The machine code is followed for all inputs at once:

1. `thumb` and `riscv` decode machine code to the few words of `instruction`. What they do not know has no
   bound.
2. `flow` cuts a function into blocks and finds its stack. `loops` says where blocks are among loops.
3. `paths` follows a function for all inputs at once, from point to point. `walk` executes the instructions
   between points, and `choices` parts ways where a condition is not known. `joins` brings ways together.
4. A `State` (`state`) has registers, `memory` and what is `known` of bits. A register has one of the
   `values`: a number, one for each value of an input, some bits, or one of `ranges`. `arithmetic` computes
   with numbers.
5. The graph of all ways goes to `longest`, which finds the longest one.

A new instruction set is a module like `riscv`, and a line in `DECODERS` of `flow`.
"""

from ethereal_bounds.bound import Bound, Inputs, bound
from ethereal_bounds.flow import DECODERS

__all__ = ["DECODERS", "Bound", "Inputs", "bound"]
