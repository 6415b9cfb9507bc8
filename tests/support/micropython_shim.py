"""The runtime of MicroPython packages under CPython: `micropython.viper` with its pointers."""

from __future__ import annotations

import functools
import inspect
import struct
import sys
import types
from unittest import mock

import numpy as np

from ethereal.export.mpy import runtime


class Pointer:
    """Memory as unsigned integers of one size, as viper's ptr8, ptr16 and ptr32 see it."""

    kind = "B"

    def __init__(self, memory):
        self._view = memoryview(memory).cast("B").cast(self.kind)

    def __getitem__(self, i):
        assert i >= 0
        return self._view[i]

    def __setitem__(self, i, value):
        assert i >= 0
        self._view[i] = value & (1 << 8 * self._view.itemsize) - 1


class Pointer16(Pointer):
    kind = "H"


class Pointer32(Pointer):
    kind = "I"


def viper(function):
    """Convert pointer arguments as the machine code does."""
    kinds = [p.annotation for p in inspect.signature(function).parameters.values()]
    assert len(kinds) <= 4, "viper functions take at most four arguments"

    @functools.wraps(function)
    def converted(*arguments):
        return function(
            *(k(a) if issubclass(k, Pointer) else a for k, a in zip(kinds, arguments, strict=True))
        )

    return converted


def load_runtime(code: str, *, single: bool = False, model: object = None) -> dict:
    """Names of the runtime; `single`: as on a board whose floats have single precision."""
    source = runtime(code, model)
    if single:
        source = source.replace("double = 1.0 + 1e-9 > 1.0", "double = False")
        source = source.replace("SINGLE = 1.0 + 1e-9 == 1.0", "SINGLE = True")
    names = {"ptr8": Pointer, "ptr16": Pointer16, "ptr32": Pointer32}
    modules = {
        "micropython": types.SimpleNamespace(viper=viper),
        "gc": types.SimpleNamespace(collect=lambda: None, mem_free=lambda: 200_000),
    }
    with mock.patch.dict(sys.modules, modules):
        exec(compile(source, f"<{code} runtime>", "exec", dont_inherit=True), names)
    if single:
        names["unpack"] = unpack_single
    return names


def unpack_single(form, data):
    """`struct.unpack` where floats have single precision."""
    with np.errstate(over="ignore"):
        return tuple(float(np.float32(x)) if isinstance(x, float) else x for x in struct.unpack(form, data))
