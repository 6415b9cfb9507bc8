"""Tables of the layout "compact": the compact code of the model's clauses over the Booleans in use."""

from __future__ import annotations

from ethereal.export.c99.device_rows import Slots
from ethereal.model import Model
from ethereal.model.codes import compact


def compact_stream(slots: Slots) -> compact.Payload:
    """Clauses of `slots` in the compact code, see docs/codes.md."""
    model = slots.model
    return compact.payload(Model.of(model.clauses.over(slots.used), classes=model.classes))
