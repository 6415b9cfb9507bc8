"""Which options of an export come from the model, because it was pruned for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ethereal.model import Model
    from ethereal.model.deployment import Deployment

_FORM = ("layout", "clause_bytes", "flash")  # one of them given replaces all three


@dataclass(frozen=True)
class Kept:
    """The options that a model's record adds to those that were given."""

    deployment: Deployment | None
    options: dict[str, Any]

    @classmethod
    def of(cls, model: Model, given: Mapping[str, Any]) -> Kept:
        """Return what is kept beside the options that were `given`, where None is not given.

        The core and the number type stay unless others are given. The layout, its `clause_bytes` and the
        bound on flash stay together: they were found together, so one of them replaces all three. An export
        that learns has code that the bound did not count, so nothing but the core and the type stays.

        >>> from ethereal import Model
        >>> from ethereal.model.deployment import Deployment
        >>> model = Model([0], [0, 1], [[1, 0]], n_booleans=1, classes=["a", "b"])
        >>> model = model.with_deployment(Deployment(target="cortex-m4", layout="compact", flash=4096))
        >>> Kept.of(model, {}).options
        {'target': 'cortex-m4', 'layout': 'compact', 'flash': 4096}
        >>> Kept.of(model, {"layout": "auto"}).options
        {'target': 'cortex-m4'}
        """
        own = model.deployment
        if own is None:
            return cls(None, {})
        names = ["target", "input"]
        if all(given.get(name) is None for name in _FORM) and given.get("learn") is None:
            names += ["flash"] if given.get("early") else _FORM
        kept = {name: getattr(own, name) for name in names if given.get(name) is None}
        kept = {name: value for name, value in kept.items() if value is not None}
        if "flash" in kept:
            kept["flash"] = int(kept["flash"])
        return cls(own, kept)

    @property
    def keeps_layout(self) -> bool:
        """Whether the layout is the model's own."""
        return "layout" in self.options

    @property
    def keeps_flash(self) -> bool:
        """Whether the bound on flash is the model's own."""
        return "flash" in self.options

    @property
    def worst_instructions(self) -> float | None:
        """The bound for every row, if the layout that keeps it is the model's own."""
        return (
            None if self.deployment is None or not self.keeps_layout else self.deployment.worst_instructions
        )

    @property
    def told(self) -> str:
        """What the model was pruned for, in words."""
        return "" if self.deployment is None else self.deployment.describe()
