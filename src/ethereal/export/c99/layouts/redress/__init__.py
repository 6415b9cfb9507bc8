"""The layout "redress": the paper's words, one per include, scanned one after the other."""

from ethereal.export.c99.layouts.plan import CLayout
from ethereal.model.needs import ANSWERS, Supports

SUPPORTS = Supports(
    "layout redress",
    n_classes=1 << 16,
    n_booleans=1 << 13,  # that a word can number
    heaviest_vote=(1 << 15) - 1,
    outputs=ANSWERS,
)
# "fast" is quicker and its smallest form is smaller, so there is no model for which "auto" should take it.
REDRESS = CLayout("redress", "the paper's words", SUPPORTS, code_bytes=700, by_name=True)
