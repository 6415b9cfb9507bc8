"""What a program of features takes when it gets raw windows: its features are computed first."""

from __future__ import annotations

from dataclasses import replace

from numpy.typing import ArrayLike

from ethereal.device.kernel_prices import features_program
from ethereal.device.measurement import Measurement, measure_program
from ethereal.features.front_end import FrontEnd


def from_samples(measured: Measurement, front_end: FrontEnd, windows: ArrayLike) -> Measurement:
    """Return a measurement from features to class as one from sample to class, on the same windows.

    All features of the front end are computed, one program after the other. So the stack is that of the one
    that needs more, and the rest is added. Instructions from features to class stay what they were.
    """
    features = measure_program(features_program(front_end, windows), measured.target)
    kinds = {*measured.mix, *features.mix}
    return replace(
        measured,
        total_instructions=measured.total_instructions + features.total_instructions,
        total_instructions_min=measured.total_instructions_min + features.total_instructions_min,
        total_instructions_max=measured.total_instructions_max + features.total_instructions_max,
        code_bytes=measured.code_bytes + features.code_bytes,
        table_bytes=measured.table_bytes + features.table_bytes,
        ram_bytes=measured.ram_bytes + features.ram_bytes,
        stack_bytes=max(measured.stack_bytes, features.stack_bytes),
        agreement=min(measured.agreement, features.agreement),
        mix={kind: measured.mix.get(kind, 0.0) + features.mix.get(kind, 0.0) for kind in kinds},
        worst_instructions=None,
        worst_stack_bytes=None,
    )
