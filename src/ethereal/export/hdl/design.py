"""A model as Verilog: the core, the stream around it, and what they take."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from numpy.typing import ArrayLike, NDArray

from ethereal.export.c99.ctext import comment, fill, package_version
from ethereal.export.c99.program import Program, make_program
from ethereal.export.description import described
from ethereal.export.hdl.core import Core, table_definitions
from ethereal.export.hdl.stream import SMALL, Column, Stream, columns_of
from ethereal.export.names import code_span
from ethereal.model import Model
from ethereal.model.needs import Supports
from ethereal.model.output import Number

TEMPLATES = "hdl/templates"
SUPPORTS = Supports(
    "Verilog", outputs=frozenset({"classes", "number"}), elsewhere="Export it as C.",
    instead="Prune the model first.", n_literals=1 << 20,
)  # fmt: skip
INPUTS = ("int16", "int8", "uint16", "uint8", "bool")
FEATURES = ("used", "all")
_TAKEN = {4: 1.03, 6: 1.0}  # by yosys, for each that the lines of the core count: lab/notes/verilog.md
_DEPTH = 64  # levels between registers at most
_WORDS = frozenset(  # of Verilog and SystemVerilog, beside those that C has
    """accept_on alias always always_comb always_ff always_latch and assert assign assume automatic before
    begin bind bins binsof bit buf bufif0 bufif1 byte casex casez cell chandle checker clocking cmos config
    constraint context cover covergroup coverpoint cross deassign defparam design disable dist edge end
    endcase endchecker endclass endclocking endconfig endfunction endgenerate endgroup endinterface
    endmodule endpackage endprimitive endprogram endproperty endsequence endspecify endtable endtask event
    expect extends final first_match force foreach forever fork forkjoin function generate genvar global
    highz0 highz1 iff ifnone ignore_bins illegal_bins implements implies import incdir include initial inout
    input inside instance integer interconnect interface intersect join join_any join_none large let liblist
    library local localparam logic longint macromodule matches medium modport module nand negedge nettype
    new nexttime nmos nor noshowcancelled not notif0 notif1 null or output package packed parameter pmos
    posedge primitive priority program property protected pull0 pull1 pulldown pullup pulsestyle_ondetect
    pulsestyle_onevent pure rand randc randcase randsequence rcmos real realtime ref reg reject_on release
    repeat restrict rnmos rpmos rtran rtranif0 rtranif1 s_always s_eventually s_nexttime s_until
    s_until_with scalared sequence shortint shortreal showcancelled small soft solve specify specparam
    string strong strong0 strong1 struct super supply0 supply1 sync_accept_on sync_reject_on table tagged
    task throughout time timeprecision timeunit tran tranif0 tranif1 tri tri0 tri1 triand trior trireg type
    typedef union unique unique0 unsigned until until_with untyped use uwire var vectored virtual wait
    wait_order wand weak weak0 weak1 while wildcard wire with within wor xnor xor core clk rst answer
    """.split()  # noqa: SIM905
)


@dataclass(frozen=True)
class Design:
    """The gates of one model."""

    program: Program  # the same model in C: number types, scales, golden rows
    stream: Stream
    core: Core
    every_feature: bool

    @staticmethod
    def of(model: Model, *, name: str = "model", input: str | None = None, pipeline: int = 2,
           features: str = "used", lut: int = 4, bus: int = 1,
           rows: ArrayLike | None = None) -> Design:  # fmt: skip
        """Return the design of a model, with the options of `ethereal.export.verilog`."""
        from ethereal.base.checks import check_integer

        SUPPORTS.check(model.needs)
        if features not in FEATURES:
            raise ValueError(f"features is {features!r}. It must be {' or '.join(map(repr, FEATURES))}.")
        if lut not in (4, 6):
            raise ValueError(f"lut is {lut!r}. It must be 4 or 6, the inputs of a lookup table of the chip.")
        check_integer("pipeline", pipeline, 0, _DEPTH)
        program = make_program(
            model, "compact", name=check_word(name), input=_input_of(model, input), rows=rows
        )
        slots = program.slots
        notes = _notes(program)
        core = Core(slots.clauses, notes, len(slots.used), model.n_classes, lut, pipeline, model.is_number)
        every = features == "all"
        return Design(program, Stream(slots, every_feature=every, bus=bus), core, every)

    @property
    def name(self) -> str:
        """Name of the module, and of the files."""
        return self.program.name

    @property
    def luts(self) -> int:
        """Lookup tables of the whole design, estimated before place and route."""
        return round(self.stream.luts + _TAKEN[self.core.lut] * self.core.luts)

    @property
    def flip_flops(self) -> int:
        """Flip-flops of the whole design, estimated."""
        return self.stream.flip_flops + self.core.flip_flops

    @property
    def out_bits(self) -> int:
        """Bits of the answer on the stream, whole bytes."""
        return 8 * math.ceil(self.core.answer_bits / 8)

    @property
    def answers(self) -> list[str]:
        """What each number that goes out means, in words."""
        if isinstance(number := self.program.model.output, Number):
            return [f"number = {number.offset:g} + {number.scale:g} * answer {number.unit}".rstrip()]
        return [f"answer {c}: {label}" for c, label in enumerate(self.program.class_names)]

    @property
    def latency(self) -> int:
        """Clocks from the last transfer of a row to its answer."""
        return self.core.latency + 1

    def files(self) -> dict[str, str]:
        """Return the two modules by the names of their files."""
        return {f"{self.name}_core.v": self._core_text(), f"{self.name}.v": self._stream_text()}

    def golden(self, rows: NDArray[Any], sums: NDArray[Any]) -> dict[str, str]:
        """Return the files of the test bench: rows as the C reads them, and the class sums of the host."""
        digits = -(-self.stream.data_bits // 4)
        beats = self.stream.beats(rows)
        sent = "\n".join(" ".join(f"{beat:0{digits}x}" for beat in row) for row in beats.tolist())
        core = self.core
        answers = self.program.model.output.codes(sums).tolist()
        mask, expected = (1 << core.sum_bits) - 1, []
        for answer, row in zip(answers, sums.tolist(), strict=True):
            word = answer & ((1 << core.answer_bits) - 1)
            for c, total in enumerate(row):
                word |= (total & mask) << (core.answer_bits + c * core.sum_bits)
            expected.append(f"{word:x}")
        name = self.name
        return {
            f"{name}_rows.hex": sent + "\n",
            f"{name}_answers.hex": "\n".join(expected) + "\n",
            f"{name}_tb.v": fill("bench.v", self.values | {"rows": str(len(rows))}, TEMPLATES),
        }

    @cached_property
    def values(self) -> dict[str, str]:
        """What all templates are filled with."""
        core, stream, small = self.core, self.stream, self.program.slots.model
        return {
            "name": self.name,
            "about": f"A Tsetlin machine with {small.n_clauses} clauses and {small.n_includes} literals, "
            f"exported by ethereal {package_version()}.",
            "latency": str(core.latency),
            "latency_after": str(self.latency),
            "sum_bits": str(core.sum_bits),
            "all_sum_bits": str(core.sum_bits * core.n_classes),
            "last_boolean": str(core.n_booleans - 1),
            "answer_bits": str(core.answer_bits),
            "last_answer_bit": str(core.answer_bits - 1),
            "last_data_bit": str(stream.data_bits - 1),
            "last_out_bit": str(self.out_bits - 1),
            "beats": str(stream.n_beats),
            "steps": str(len(stream.steps)),
            "answers": "".join(f"// {_said(line)}\n" for line in self.answers),
            "gives": f"{core.answer_bits} signed bits" if core.is_number else "the number of a class",
        }

    def _core_text(self) -> str:
        core, small = self.core, self.program.slots.model
        names = small.boolean_names
        lines, totals = list[str](), core.totals
        for i, level in enumerate(core.levels):
            if i == core.totals_level + 1:
                lines.append("    // The class with the most votes, the first of them on a tie.")
            lines += _level(level, core.registered[i])
        text = "\n".join(lines)
        last = core.latency - 1
        booleans = [
            f"    // b[{i}]: {_said(names[b])}" for i, b in enumerate(self.program.slots.used.tolist())
        ]
        values = self.values | {
            "booleans": "\n".join(booleans),
            "tables": "".join(f"    {line}\n" for line in table_definitions(text)),
            "levels": text,
            "last_stage": str(last),
            "next_valid": f"{{valid[{last - 1}:0], in_valid}}" if last else "in_valid",
            "sums": "\n".join(self._sums(totals)),
            "totals": ", ".join(total.name for total in totals),
        }
        return fill("core.v", values, TEMPLATES)

    def _sums(self, totals: list[Any]) -> list[str]:
        """Return the lines that give the class sums: the totals, some clocks later, and the base."""
        core, lines = self.core, list[str]()
        base = core.base & ((1 << core.sum_bits) - 1)
        held = f"{{{', '.join(total.name for total in reversed(totals))}}}"
        width = sum(total.width for total in totals)
        for d in range(core.sum_delay):
            name = f"held{d}"
            lines += [f"            reg [{width - 1}:0] {name};",
                      f"            always @(posedge clk) if (enable) {name} <= {held};"]  # fmt: skip
            held = name
        lines.append(f"            wire [{width - 1}:0] totals = {held};")
        at, sums = 0, list[str]()
        for total in totals:
            part = f"totals[{at + total.width - 1}:{at}]"
            more = core.sum_bits - total.width
            wide = f"{{{more}'d0, {part}}}" if more > 0 else part
            sums.append(f"                {wide} + {core.sum_bits}'d{base}")
            at += total.width
        return [*lines, "            assign sums = {", ",\n".join(reversed(sums)), "            };"]

    def _stream_text(self) -> str:
        stream, core, model = self.stream, self.core, self.program.model
        columns = columns_of(stream)
        bits = max(1, (len(stream.steps) - 1).bit_length())
        compare, unused = _comparisons(stream)
        chains = []
        for k, chain in enumerate(stream.chains):
            chains += _chain(f"chain{k}", len(chain), f"is_above{k}", f"moves{k}")
        for lane, chain in enumerate(stream.missing_chains):
            name = stream.absent(lane)
            chains += _chain(name, len(chain), f"is_{name}", f"moves_{name}")
        names = {column.name: column for column in columns}
        wanted = [
            column for column in columns
            if not (column.name.startswith(("limit", "moves")) and _is_idle(column.name, stream))
        ]  # fmt: skip
        memory, word = _memory(wanted, len(stream.steps), bits)
        is_done = len(set(names["is_done"].numbers)) > 1
        padding = self.out_bits - core.answer_bits
        answer = f"{{{padding}'d0, answer}}" if padding else "answer"
        if core.is_number and padding:
            answer = f"{{{{{padding}{{answer[{core.answer_bits - 1}]}}}}, answer}}"
        # One assignment of all, because simulators take long for a vector that many bits drive.
        assigned = ",\n".join(
            f"        {stream.boolean(b)}" for b in reversed(self.program.slots.used.tolist())
        )
        unused += _left_over(stream, assigned)
        values = self.values | {
            "counter": _counter(len(stream.steps), bits, is_done, has_memory=bool(word)),
            "memory": memory,
            "compare": "\n".join(compare),
            "and_done": " & is_done" if is_done else "",
            "chains": "\n".join(chains),
            "assigned": assigned,
            "answer": answer,
            "input_note": _input_note(self),
            "features": _features(self, model),
            "unused": f"    wire unused = &{{1'b0, {', '.join(unused)}}};\n" if unused else "",
        }
        return fill("stream.v", values, TEMPLATES)


def check_word(name: str) -> str:
    """Return `name` if modules in Verilog can have it.

    >>> check_word("wire")
    Traceback (most recent call last):
        ...
    ValueError: name is 'wire', a word of Verilog. How about 'model_wire'?
    """
    if name in _WORDS:
        raise ValueError(f"name is {name!r}, a word of Verilog. How about {f'model_{name}'!r}?")
    return name


def _input_of(model: Model, input: str | None) -> str:
    """Return the number type of the features that the program in C knows."""
    if input is not None and input not in INPUTS:
        raise ValueError(f"input is {input!r}. It must be one of {', '.join(INPUTS)}.")
    if model.fitted is None:
        if input not in (None, "bool"):
            raise ValueError(
                f"input is {input!r}, but the model reads Booleans. Give 'bool', or leave it out."
            )
        return "float"  # which Booleans do not have
    if input == "bool":
        raise ValueError(
            "input is 'bool', but the model compares numbers. Give 'int16', or use the module NAME_core, "
            "which takes the results of these comparisons."
        )
    return input or "int16"


def _notes(program: Program) -> list[str]:
    """Return each clause as a rule, with its votes."""
    slots, names = program.slots, program.slots.model.boolean_names
    used, labels, notes = slots.used.tolist(), program.class_names or [""], []
    for clause in slots.clauses:
        parts = [f"NOT {names[used[x - len(used)]]}" if x >= len(used) else names[used[x]]
                 for x in clause.literals]  # fmt: skip
        votes = ", ".join(f"{vote.weight:+d} {labels[vote.class_]}".rstrip() for vote in clause.votes)
        notes.append(f"{votes} IF {' AND '.join(parts)}")
    return notes


def _said(text: str) -> str:
    """Return a text for a comment, in ASCII."""
    return comment(text).encode("ascii", "backslashreplace").decode().rstrip("\\")


def _range(width: int) -> str:
    return f"[{width - 1}:0] " if width > 1 else ""


def _level(level: list[Any], is_registered: bool) -> list[str]:
    """Return the lines of a level of logic."""
    lines, taken = [], []
    for line in level:
        if line.note:
            lines.append(f"    // rule: {_said(line.note)}")
        if is_registered:
            lines.append(f"    reg {_range(line.width)}{line.name};")
            taken.append(f"        {line.name} <= {line.text};")
        else:
            lines.append(f"    wire {_range(line.width)}{line.name} = {line.text};")
    if taken:
        lines += ["    always @(posedge clk) if (enable) begin", *taken, "    end"]
    return [*lines, ""]


def _comparisons(stream: Stream) -> tuple[list[str], list[str]]:
    """Return the lines that compare what comes in, and the signals that nothing reads."""
    lines, unused, missing = list[str](), list[str](), stream.missing_value
    top = stream.value_bits - 1
    for lane in range(stream.bus):
        low, of_lane = lane * stream.value_bits, [k for k, of in enumerate(stream.lane_of) if of == lane]
        is_compared = any(stream.chains[k] for k in of_lane)
        part = f"s_axis_tdata[{low + stream.value_bits - 1}:{low}]"
        value, absent = "s_axis_tdata" if stream.bus == 1 else part, f"is_{stream.absent(lane)}"
        if missing is not None:
            code = missing & ((1 << stream.value_bits) - 1)
            lines.append(f"    wire {absent} = {value} == {stream.value_bits}'d{code};")
            if not stream.missing_chains[lane] and (stream.is_signed or not is_compared):
                unused.append(absent)
        elif not stream.is_boolean and not is_compared:
            unused.append(value)
        if stream.is_signed and is_compared:  # counted from the least value, as the limits are
            lines.append(f"    wire [{top}:0] from_least{lane} = {value} ^ {{1'b1, {top}'d0}};")
            value = f"from_least{lane}"
        for k in of_lane:
            if stream.is_boolean:
                text = f"s_axis_tdata[{k}]"
                lines += [f"    wire is_above{k} = {text};"] if stream.chains[k] else []
                unused += [] if stream.chains[k] else [text]
            elif stream.chains[k]:
                text = (
                    f"carry{k} & ~{absent}" if missing is not None and not stream.is_signed else f"carry{k}"
                )
                lines += [f"    wire [{top}:0] rest{k};",
                          f"    wire carry{k};",
                          f"    assign {{carry{k}, rest{k}}} = {{1'b0, {value}}} + {{1'b0, limit{k}}};",
                          f"    wire is_above{k} = {text};"]  # fmt: skip
                unused.append(f"rest{k}")
    return lines, unused


def _chain(name: str, length: int, bit: str, moves: str) -> list[str]:
    if not length:
        return []
    after = f"{{{name}[{length - 2}:0], {bit}}}" if length > 1 else bit
    return [f"    reg [{length - 1}:0] {name};",
            f"    always @(posedge aclk) if (moves & {moves}) {name} <= {after};"]  # fmt: skip


def _is_idle(column: str, stream: Stream) -> bool:
    """Whether a column belongs to a chain without bits."""
    match = re.fullmatch(r"(?:limit|moves)(\d+)", column)
    return match is not None and not stream.chains[int(match[1])]


def _memory(columns: list[Column], n_steps: int, bits: int) -> tuple[str, int]:
    """Return the memory of what differs between steps, and its width. Other columns become constants."""
    lines, parts = list[str](), list[Column]()
    for column in columns:
        if len(set(column.numbers)) == 1:
            if column.name != "is_done":
                value = f"{column.width}'d{column.numbers[0]}"
                lines.append(f"    wire {_range(column.width)}{column.name} = {value};")
        else:
            parts.append(column)
    width = sum(column.width for column in parts)
    if not width:
        return "\n".join(lines), 0
    digits, words = -(-width // 4), []
    for step in range(n_steps):
        word = 0
        for column in reversed(parts):
            word = word << column.width | column.numbers[step]
        words.append(f"        words[{step}] = {width}'h{word:0{digits}x};")
    at = 0
    for column in parts:
        lines.append(f"    wire {_range(column.width)}{column.name} = word[{at} +: {column.width}];"
                     if column.width > 1 else f"    wire {column.name} = word[{at}];")  # fmt: skip
        at += column.width
    style = '(* rom_style = "block" *) ' if width * n_steps > SMALL else ""
    text = [
        "    // What each step compares with, and which chains move on. The next word is read a clock ahead.",
        f"    {style}reg [{width - 1}:0] words [0:{n_steps - 1}];",
        f"    reg [{width - 1}:0] word;",
        "    initial begin",
        *words,
        "    end",
        "    always @(posedge aclk) word <= words[next];",
        *lines,
    ]
    return "\n".join(text), width


def _counter(n_steps: int, bits: int, is_done: bool, *, has_memory: bool) -> str:
    """Return the counter of the steps of a row."""
    ends = "s_axis_tlast & is_done" if is_done else "s_axis_tlast"
    if n_steps == 1:
        return "    wire is_last = 1'b1;\n    wire unused_last = s_axis_tlast;"
    return f"""    // The step of a row. After the last one, and after a row that ends early, comes the first.
    reg [{bits - 1}:0] step;
    wire is_last = step == {bits}'d{n_steps - 1};
    wire [{bits - 1}:0] next = (~aresetn | (moves & (is_last | ({ends})))) ? {bits}'d0
        : moves ? step + {bits}'d1 : step;
    always @(posedge aclk) step <= next;"""


def _input_note(design: Design) -> str:
    stream, kind = design.stream, design.program.input
    if stream.is_boolean:
        return f"A transfer has {stream.data_bits} Booleans, the first in the lowest bit."
    several = f"{stream.bus} features, the first in the lowest bits, each" if stream.bus > 1 else "a feature"
    absent = "" if stream.missing_value is None else f" {stream.missing_value} is a missing value."
    return f"A transfer is {several} as {kind.name}.{absent}"


def labels_of(design: Design) -> str:
    """Return what goes out, in Markdown: the classes by their numbers, or how to make the number."""
    if design.core.is_number:
        bits = design.core.answer_bits
        return f"{code_span(design.answers[0])}\n\nThe answer is the signed sum of votes, in {bits} bits."
    return "\n".join(f"{c}. {code_span(text)}" for c, text in enumerate(design.program.class_names))


def transfers_of(design: Design) -> str:
    """Return the features in the order of the stream, as a table in Markdown."""
    stream, names, scales = design.stream, design.program.model.input_names, design.program.scales
    lines = ["| transfer | feature | integer |", "|--:|---|---|"]
    for i, f in enumerate(stream.features):
        how = scales[f].note() if scales else "0 or 1"
        lines.append(f"| {place_of(stream, i)} | {code_span(names[f])} | `{how}` |")
    return "\n".join(lines)


def described_design(design: Design, form: str, more: Mapping[str, Any] | None = None) -> str:
    """Return the description of gates as JSON, with `more` of what they are and take."""
    stream, core, program = design.stream, design.core, design.program
    code = {
        "input_type": "bool" if stream.is_boolean else program.input.name,
        "scales": [{"offset": s.offset, "factor": s.factor} for s in program.scales] or None,
        "features": stream.features,
        "features_per_transfer": stream.in_transfer,
        "transfer_bits": stream.data_bits,
        "transfers": stream.n_beats,
        "missing_value": stream.missing_value,
        "clocks": len(stream.steps),
        "latency_clocks": design.latency,
        "sum_bits": core.sum_bits,
        "measured": False,
        "luts": design.luts,
        "flip_flops": design.flip_flops,
    }
    return described(program.model, program.name, form, {**code, **(more or {})})


def place_of(stream: Stream, i: int) -> str:
    """Return in which transfer the i-th feature comes, and where in it."""
    transfer, at = divmod(i, stream.in_transfer)
    if stream.in_transfer == 1:
        return str(transfer)
    low = at * stream.value_bits
    return f"{transfer}, " + (
        f"bit {at}" if stream.is_boolean else f"bits {low + stream.value_bits - 1}:{low}"
    )


def _features(design: Design, model: Model) -> str:
    """Return which feature comes in which transfer, and how it becomes an integer."""
    stream, scales = design.stream, design.program.scales
    lines = []
    for i, f in enumerate(stream.features):
        scale = f", {scales[f].note()}" if scales and scales[f].note() else ""
        lines.append(f"//   {place_of(stream, i)}: {_said(model.input_names[f])} (feature {f}){scale}")
    return "\n".join(lines)


def _left_over(stream: Stream, assigned: str) -> list[str]:
    """Return what the chains hold but no Boolean reads."""
    kept = [(f"chain{k}", len(chain)) for k, chain in enumerate(stream.chains)]
    kept += [(stream.absent(lane), len(chain)) for lane, chain in enumerate(stream.missing_chains)]
    return [f"{name}[{i}]" for name, n in kept for i in range(n) if f"{name}[{i}]" not in assigned]
