"""The FPGAs that exported gates can be built for, and the programs that build and simulate them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from ethereal.base.package import lacks

_PATIENCE = 3600  # seconds, after which a tool is stopped


@dataclass(frozen=True)
class Fpga:
    """A chip in a package, with what it has, and the tools that know it."""

    name: str
    chip: str
    synthesis: str  # command of yosys
    place: tuple[str, ...]  # nextpnr with the flags of chip and package
    luts: int  # of four inputs
    block_rams: int

    def build(self, folder: Path, top: str) -> tuple[dict[str, int], dict[str, float]]:
        """Build the Verilog of a folder.

        Return the cells by type after synthesis, and the clock in MHz by its name after place and route. It
        is empty where the design does not fit.
        """
        import json

        files = " ".join(sorted(path.name for path in folder.glob("*.v") if not path.stem.endswith("_tb")))
        script = f"read_verilog {files}; {self.synthesis} -top {top} -json {top}.json; tee -o stat.txt stat"
        done = run_tool("yosys", ["-q", "-p", script], folder)
        if done.returncode:
            raise RuntimeError(f"yosys failed for {self.name}: {done.stderr.strip()[-400:]}")
        cells = _cells((folder / "stat.txt").read_text(encoding="utf-8"))
        program, *flags = self.place
        given = ["-q", "--json", f"{top}.json", "--report", "report.json", *flags]
        done = run_tool(program, given, folder)
        if done.returncode or not (folder / "report.json").exists():
            return cells, {}
        report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
        return cells, {clock: float(speed["achieved"]) for clock, speed in report["fmax"].items()}

    def counts(self, cells: dict[str, int]) -> tuple[int, int, int]:
        """Return lookup tables, flip-flops and block RAMs from cells by type."""
        carries = 2 * cells.get("CCU2C", 0)  # each takes two lookup tables
        luts = cells.get("SB_LUT4", 0) + cells.get("LUT4", 0) + carries
        flip_flops = sum(n for cell, n in cells.items() if cell.startswith(("SB_DFF", "TRELLIS_FF")))
        rams = sum(n for cell, n in cells.items() if cell.startswith(("SB_RAM40", "DP16KD", "PDPW16KD")))
        return luts, flip_flops, rams


def _cells(text: str) -> dict[str, int]:
    """Return the cells by type of the last module in what yosys prints.

    >>> _cells("=== m ===\\n   Number of cells:   3\\n     SB_LUT4    2\\n     SB_DFF   1\\n")
    {'SB_LUT4': 2, 'SB_DFF': 1}
    """
    cells: dict[str, int] = {}
    for line in text.rpartition("===")[2].splitlines():
        words = line.split()
        if len(words) > 2:  # newer versions have areas, and the number first
            words = [word for word in words if word != "-"]
        if len(words) == 2 and words[0].isdigit():
            words.reverse()
        if len(words) == 2 and words[1].isdigit() and words[0].isidentifier() and words[0].isupper():
            cells[words[0]] = int(words[1])
    return cells


_ICE40, _ECP5 = "nextpnr-ice40", "nextpnr-ecp5"
FPGAS: dict[str, Fpga] = {
    fpga.name: fpga
    for fpga in (
        Fpga("ice40-up5k", "iCE40UP5K-SG48", "synth_ice40",
             (_ICE40, "--up5k", "--package", "sg48", "--pcf-allow-unconstrained"), 5280, 30),
        Fpga("ice40-hx8k", "iCE40HX8K-CT256", "synth_ice40",
             (_ICE40, "--hx8k", "--package", "ct256", "--pcf-allow-unconstrained"), 7680, 32),
        Fpga("ecp5-25k", "LFE5U-25F-CABGA381", "synth_ecp5",
             (_ECP5, "--25k", "--package", "CABGA381", "--lpf-allow-unconstrained"), 24288, 56),
    )
}  # fmt: skip


def find_fpga(name: str) -> Fpga:
    """Return the FPGA of that name.

    >>> find_fpga("ice40-up5k").luts
    5280
    """
    if name not in FPGAS:
        raise ValueError(f"unknown FPGA {name!r}. FPGAs are {', '.join(FPGAS)}.")
    return FPGAS[name]


def find_tool(name: str) -> str | None:
    """Return the path of a program of the system, or of the extra `fpga`, None where there is neither."""
    beside = str(Path(sys.executable).parent)
    return shutil.which(name) or shutil.which(f"yowasp-{name}") or shutil.which(f"yowasp-{name}", path=beside)


def run_tool(name: str, arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a tool in a folder, and return what it said."""
    path = find_tool(name)
    if path is None:
        package = f"yowasp-{name}"
        raise ModuleNotFoundError(lacks(f"Building gates with {name}", package, "fpga"))
    return subprocess.run([path, *arguments], cwd=folder, capture_output=True, text=True, timeout=_PATIENCE)


def missing_builders(fpga: str) -> str:
    """Return what to install where a tool that builds for an FPGA is not found, else nothing."""
    for name in ("yosys", FPGAS[fpga].place[0]):
        if find_tool(name) is None:
            return lacks(f"Building gates with {name}", f"yowasp-{name}", "fpga")
    return ""


def missing_simulator() -> str:
    """Return what to install where no simulator of Verilog is found, else nothing."""
    if shutil.which("iverilog") or shutil.which("verilator"):
        return ""
    return "A simulator is missing. Install iverilog or verilator, such as with apt-get install iverilog."


def simulate(folder: Path, top: str, n_rows: int, *, quick: bool, stalls: bool = True) -> str:
    """Run the test bench of a folder, and return the last line that it prints.

    verilator takes longer to build and far less for a clock. It is used where `quick` asks for it.
    """
    if why := missing_simulator():
        raise FileNotFoundError(why)
    bench, values = f"{top}_tb", {"ROWS": n_rows, "STALLS": int(stalls)}
    files = [f"{top}.v", f"{top}_core.v", f"{bench}.v"]
    if shutil.which("iverilog") and not (quick and shutil.which("verilator")):
        given = [f"-P{bench}.{key}={value}" for key, value in values.items()]
        commands = [["iverilog", "-g2001", "-s", bench, *given, "-o", "bench.vvp", *files],
                    ["vvp", "-n", "bench.vvp"]]  # fmt: skip
    else:
        given = [f"-G{key}={value}" for key, value in values.items()]
        build = ["verilator", "--binary", "-Wno-lint", "-Wno-style", "-Wno-fatal", "-O3", "-CFLAGS", "-O1"]
        commands = [[*build, "--top-module", bench, *given, *files], [f"./obj_dir/V{bench}"]]
    for command in commands:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=_PATIENCE)
        if done.returncode:
            raise RuntimeError(f"{command[0]} failed: {(done.stderr or done.stdout).strip()[-400:]}")
    return next((line for line in done.stdout.splitlines()[::-1] if "answered" in line), "")
