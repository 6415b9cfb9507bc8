"""The commands `ethereal study` and `ethereal benchmark`, which `pyproject.toml` names as entry points."""

from ethereal.base.package import AddedCommand

_PANEL = "The paper, comparisons"
STUDY = AddedCommand(
    module="ethereal_study.cli.study",
    panel=_PANEL,
    help="Make the paper's tables and figures: table1, table2 (with sizes and speed), table3 (on the board), "
    "tradeoff, mnist, or all. Or make frontier: accuracy against flash and instructions, beside forests, "
    "boosted trees and the paper's scan.",
    common="part sets seeds protocol out as_json",
)
BENCHMARK = AddedCommand(
    module="ethereal_study.cli.benchmark",
    panel=_PANEL,
    help="Measure rows per second, accuracy, size and memory, alone or against other libraries.",
)
