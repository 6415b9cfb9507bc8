"""Cores, chips and the compilers for them. It knows no model.

`targets`, `toolchain`, `elf` and `cycles` say what cores there are, compile for them, and read what results.
"""
