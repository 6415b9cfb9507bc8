"""Prove that exported C does nothing undefined for any input, with Frama-C's value analysis.

Each analysis begins with features, samples or bytes that may have any value, and follows every way through
one function of the export. It is proven when there is no alarm, the function returns, and its answer is one
of the answers that the header names.
"""

from __future__ import annotations

import csv
import math
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from ethereal.base.atomic import write_scratch
from ethereal.export.c99.program import Program

MACHINES = {16: "x86_16", 32: "x86_32"}  # bits of an int: an AVR, and a Cortex-M or RISC-V
_SECONDS = 600.0
# Tables are constant, so walks over them become exact when every loop is unrolled. Sets of 16 numbers hold
# any word of four Booleans.
_OPTIONS = (
    "-warn-special-float", "none", "-eva-min-loop-unroll", "100000", "-eva-slevel", "0", "-eva-ilevel", "32",
    "-eva-split-limit", "100000", "-eva-interprocedural-splits", "-eva-msg-key=-summary,-final-states",
    "-eva-verbose", "0", "-cpp-extra-args=-I. -U__GNUC__",
)  # fmt: skip
# What is shown, what the tool's own library says of itself, and what no way leads to.
_SETTLED = ("Valid", "Considered valid", "Dead")
_CONTRACTS = ("user", "precondition", "postcondition")
_NORMAL = (
    "score",
    "is_normal",
    "normal_learn",
    "normal_end",
    "normal_drift",
    "normal_save",
    "normal_restore",
)
_LEARNING = ("learn", "learn_last", "adapt_step", "adapt", "unlearn", "forget", "save", "restore", "entry",
             "learn_entry")  # fmt: skip
_COMPACT = ("predict", "class_sums", "predict_batch", "predict_32_rows", "sum", "sum_row")


@dataclass(frozen=True)
class Analysis:
    """What an analysis of one function found."""

    function: str  # what was called, without the model's name
    int_bits: int
    alarms: int  # places that may do something undefined
    unproven: int  # contracts and assertions that were not shown, the answer's among them
    seconds: float  # of CPU
    findings: tuple[str, ...]  # each alarm and each assertion that was not shown, with its place
    is_finished: bool = True

    @property
    def is_proven(self) -> bool:
        """Whether there is nothing left to show."""
        return self.is_finished and not self.alarms and not self.unproven

    def as_dict(self) -> dict[str, Any]:
        """Return everything for JSON."""
        return asdict(self) | {"is_proven": self.is_proven}


@dataclass(frozen=True)
class Source:
    """The exported C of one model, as texts by the names of their files."""

    name: str  # of the model, which begins its names in C
    files: dict[str, str]

    @classmethod
    def of(cls, program: Program) -> Source:
        """Return what a program consists of."""
        return cls(program.name, program.files)

    @classmethod
    def read(cls, folder: Path) -> Source:
        """Read an exported folder as it stands."""
        files = {path.name: path for pattern in ("*.h", "*.c") for path in sorted(folder.rglob(pattern))}
        for path in files.values():
            text = path.read_text(encoding="utf-8")
            if match := re.search(r"^#define (\w+)_LAYOUT \"", text, re.MULTILINE):
                kept = [p for p in path.parent.iterdir() if p.suffix in (".h", ".c")]
                texts = {p.name: p.read_text(encoding="utf-8") for p in kept}
                name = next(n for n in (path.stem, match[1].lower()) if n.upper() == match[1])
                return cls(name, texts)
        raise ValueError(f"{folder} has no C that `ethereal export` wrote: no header names a layout.")

    @property
    def header(self) -> str:
        """The model's header, which is everything if there is no other file."""
        return self.files[f"{self.name}.h"]

    @property
    def text(self) -> str:
        """The file that has the functions."""
        return self.files.get(f"{self.name}.c", self.header)

    def has(self, function: str) -> bool:
        """Whether the header declares a function."""
        return re.search(rf"\b{self.name}_{function}\(", self.header) is not None

    @property
    def is_compact(self) -> bool:
        """Whether clauses are a stream that is read bit by bit."""
        return f'{self.name.upper()}_LAYOUT "compact"' in self.header

    @property
    def functions(self) -> list[str]:
        """What can be proven, by the names of the functions in proof.c."""
        if self.has("value_of"):
            names = ["check", "sum", "value"] + ["sum_row"] * self.has("booleanize")
        else:
            names = ["check", "predict", "class_sums", "predict_batch"]
            names += ["predict_32_rows"] * self.has("booleanize")
        others = ("missing", "convert", "novelty", "drift", "window", "push")
        names += [what for what in (*others, *_NORMAL) if self.has(what)]
        names += ["crc32"] * ("et_crc32" in self.text)
        if "LEADING_ZEROS 1" in self.text:
            names.append("leading_zeros")
        if self.has("learn"):
            names += ["answer_learned", *_LEARNING]
        return names + ["names"] * self.has("feature_name")

    def harness(self, function: str) -> str:
        """Return the C that the analysis of a function reads."""
        name, upper = self.name, self.name.upper()
        is_single = f"{name}.c" not in self.files
        prefixes = (f"{name}_", f"{upper}_") if is_single else ("", "")
        lines = [
            f'#define PROVE_SOURCE "{name}.{"h" if is_single else "c"}"',
            f"#define MODEL(x) {name}_##x",
            f"#define LIMIT(x) {upper}_##x",
            f"#define RUNTIME(x) {prefixes[0]}et_##x",
            f"#define RUNTIME_LIMIT(x) {prefixes[1]}ET_##x",
        ]
        known = ("booleanize", "missing", "convert", "novelty", "drift", "score", "normal_learn",
                 "feature_name", "window", "learn")  # fmt: skip
        lines += [f"#define HAS_{what.upper()}" for what in known if self.has(what)]
        if self.has("value_of"):
            lines.append("#define HAS_NUMBER")
        if f"#define {upper}_UNKNOWN " in self.header:
            lines.append("#define HAS_UNKNOWN")
        if f"{name}_missing(const float " in self.header:
            lines.append("#define HAS_CONVERT_FIRST")
        if f'{upper}_LAYOUT "sliced"' in self.header:
            lines.append("#define BATCH_ROWS 33u")
        if self.has("window"):
            majority = re.search(rf"^#define {upper}_MAJORITY (-?\d+)", self.header, re.MULTILINE)
            lines.append(f"#define PROVE_MAJORITY {0 if majority is None else int(majority[1])}")
            if "et_frame_row[" in self.text:
                frames = f"{prefixes[1]}ET_FRAME"
                lines += ["#define HAS_FRAME_ROW", f"#define PROVE_KEPT {frames}_SAMPLES"]
                lines += ["#define HAS_BANDS"] if "et_bands[" in self.text else []
                least = [int(n) for n in re.findall(rf"\b{prefixes[0]}et_frames = (-?\d+);", self.text)]
                lines.append(f"#define PROVE_FRAMES_FROM ({min(least)})")
            elif "et_bands_of_frames[" in self.text:
                frame = f"{prefixes[1]}ET_FRAME"
                lines += ["#define HAS_FRAMES", f"#define PROVE_KEPT {frame}"]
                lines.append(f"#define PROVE_FRAMES ({upper}_WINDOW / {frame})")
                lines.append(f"#define PROVE_BANDS (PROVE_FRAMES * {prefixes[1]}ET_MEL_BANDS)")
            else:
                lines.append(f"#define PROVE_KEPT {upper}_WINDOW")
        # In `compact` every number is known, so that few steps count more than cases.
        if function == "leading_zeros" or self.is_compact:
            lines.append(f"#define {prefixes[1]}ET_AS_COMPILED")
        if function != "crc32":
            lines.append(f"#define {prefixes[1]}ET_CRC_BYTE CRC_BYTE")
            if f"{prefixes[1]}ET_CRC_TABLE" in self.text:
                lines += ["#define HAS_CRC_TABLE", f"#define {prefixes[1]}ET_CRC_TABLE crc_pieces"]
        harness = resources.files("ethereal.device").joinpath("proof.c").read_text(encoding="utf-8")
        return "\n".join([*lines, harness])


def prove(source: Source, *, functions: Sequence[str] | None = None,
          int_bits: Sequence[int] = tuple(MACHINES),
          seconds: float = _SECONDS) -> Iterator[Analysis]:  # fmt: skip
    """Analyse functions of exported C, all of them unless some are named, for each size of an int.

    An analysis that takes longer than so many `seconds` is stopped, and is not proven.
    """
    if shutil.which("frama-c") is None:
        raise ModuleNotFoundError(
            "Frama-C is not installed: there is no `frama-c` on the PATH. On Debian run "
            "`apt-get install frama-c-base`."
        )
    for bits in int_bits:
        for function in functions or source.functions:
            yield _analyse(source, function, bits, seconds)


def _analyse(source: Source, function: str, bits: int, seconds: float) -> Analysis:
    with tempfile.TemporaryDirectory(prefix="ethereal-proof-") as name:
        folder = Path(name)
        for path, text in source.files.items():
            write_scratch(folder / path, text)
        write_scratch(folder / "prove.c", source.harness(function))
        more = []
        if function in _LEARNING:
            # Adapting has fewer passes than these rounds of its loop, so its bounds are found one by one.
            more += ["-eva-widening-delay", "64"]
        if source.is_compact and function in _COMPACT:
            # Nobody reads the values of variables afterwards, and keeping them takes a third of the time.
            # Without them the cases of a split function multiply, and these functions split nothing.
            more.append("-eva-no-results")
        command = ["frama-c", "-machdep", MACHINES[bits], *_OPTIONS, *more, "-main", f"prove_{function}",
                   "-eva", "prove.c", "-then", "-report-csv", "found.csv"]  # fmt: skip
        said, code, used = _run(command, folder, seconds)
        table = folder / "found.csv"
        if code is None:
            return Analysis(function, bits, 0, 1, used, (f"not finished in {seconds:g} s",), False)
        if code or not table.exists():
            raise RuntimeError(f"Frama-C failed on {source.name}_{function}:\n{said[-2000:]}")
        alarms, others = _read(table, f"prove_{function}")
    return Analysis(function, bits, len(alarms), len(others), used, (*alarms, *others))


def _run(command: Sequence[str], folder: Path, seconds: float) -> tuple[str, int | None, float]:
    """Return what a command said, how it ended (None when it was stopped), and its seconds of CPU."""
    import resource  # which Windows lacks, as it lacks Frama-C

    def bounded() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(seconds), math.ceil(seconds) + 5))

    # Frama-C believes PWD. A larger young heap takes a fifth from its time.
    environment = os.environ | {"LC_ALL": "C", "PWD": str(folder), "OCAMLRUNPARAM": "s=4M,o=200"}
    before = os.times()
    done = subprocess.run(
        command, cwd=folder, env=environment, preexec_fn=bounded, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return done.stdout, None if done.returncode == -signal.SIGXCPU else done.returncode, used


def _read(table: Path, function: str) -> tuple[list[str], list[str]]:
    """Return alarms, and contracts and assertions that were not shown. The last one is the function's own.

    A precondition has a row of its own for each call that some way leads to, which is read. The row for all
    calls together is not, because without the values of variables it counts calls that no way leads to.
    """
    alarms, others, last = list[str](), list[str](), ""
    with table.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            kind, status = row["property kind"], row["status"]
            if row["function"] in (function, "returned") and kind == "user assertion" and status != "Dead":
                last = status
            if status not in _SETTLED and kind != "precondition":
                text = f"{row['file']}:{row['line']} {row['function']}: {kind} {row['property']}"
                (others if kind.startswith(_CONTRACTS) else alarms).append(text)
    if last != "Valid" and not others:
        others.append("The function was not shown to return.")
    return alarms, others
