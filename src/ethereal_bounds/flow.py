"""The instructions of a compiled program, and the blocks, loops and stack of its functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

from ethereal_bounds import riscv, thumb
from ethereal_bounds.instruction import ALWAYS, LINK, SP, Instruction, Unbounded
from ethereal_bounds.values import MASK, Value, compute, signed

_PC = 15
DECODERS = {"thumb": thumb.decode, "riscv": riscv.decode}
_BRANCHES = ("branch", "compare")
_ASKING = (*_BRANCHES, "table", "to register", "store", "stores", "call")
Place = int | tuple[str, int]  # a register, or a word of the stack by its distance from where it began


class Segment(Protocol):
    """A piece of memory that is loaded."""

    @property
    def address(self) -> int:
        """Where it lies."""

    @property
    def data(self) -> bytes:
        """What is loaded there."""


class Piece(Protocol):
    """A named piece of memory."""

    @property
    def address(self) -> int:
        """Where it lies. For Thumb functions it is without the lowest bit."""

    @property
    def size(self) -> int:
        """Bytes."""


class Section(Piece, Protocol):
    """A piece with all that is alike."""

    @property
    def is_writable(self) -> bool:
        """Whether instructions may change it."""


class Symbol(Piece, Protocol):
    """A function or a variable."""

    @property
    def is_function(self) -> bool:
        """Whether it is a function."""


class Elf(Protocol):
    """A program that was compiled and linked."""

    @property
    def segments(self) -> Sequence[Segment]:
        """What is loaded."""

    @property
    def sections(self) -> Sequence[Section]:
        """What lies where."""

    @property
    def symbols(self) -> Mapping[str, Symbol]:
        """Functions and variables by their names."""

    @property
    def code_marks(self) -> Sequence[int]:
        """Where code begins, at the start or behind constants."""

    def symbol_at(self, address: int) -> str:
        """Return the name of the function that contains an address."""


@dataclass
class Block:
    """Instructions that are executed one after the other."""

    start: int
    steps: list[tuple[int, Instruction]] = field(default_factory=list)
    following: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Spot:
    """Where a block is among loops: the place and header of each loop around it, and its own place."""

    loops: tuple[tuple[int, int], ...]
    place: int


def spots(blocks: Mapping[int, Block], entry: int) -> dict[int, Spot]:
    """Return where each block is among loops. Without the ways back, places ascend along every way."""
    places: dict[int, Spot] = {}

    def arrange(inside: set[int], first: int, loops: tuple[tuple[int, int], ...]) -> None:
        parts = components(inside, first, lambda x: (y for y in blocks[x].following if y in inside))
        for place, part in enumerate(parts):
            header = part[-1]
            if len(part) == 1 and header not in blocks[header].following:
                places[header] = Spot(loops, place)
                continue
            around = (*loops, (place, header))
            places[header] = Spot(around, -1)
            rest = set(part) - {header}
            while rest:  # what the header leads to comes first
                begin = next((x for x in blocks[header].following if x in rest), min(rest))
                arrange(rest.copy(), begin, around)
                rest -= places.keys()

    arrange(set(blocks), entry, ())
    return places


def components(nodes: set[int], first: int, following: Callable[[int], Iterable[int]]) -> list[list[int]]:
    """Return the strongly connected parts in an order along the edges. The entry of each is its last."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: dict[int, None] = {}
    work: list[tuple[int, Iterator[int]]] = []
    parts: list[list[int]] = []

    def enter(node: int) -> None:
        index[node] = low[node] = len(index)
        stack[node] = None
        work.append((node, iter(list(following(node)))))

    for root in (first, *sorted(nodes - {first})):
        if root not in index:
            enter(root)
        while work:
            node, rest = work[-1]
            for other in rest:
                if other not in index:
                    enter(other)
                    break
                if other in stack:
                    low[node] = min(low[node], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    part = [stack.popitem()[0]]
                    while part[-1] != node:
                        part.append(stack.popitem()[0])
                    parts.append(part)
    return parts[::-1]


def last_change(trail: list[Instruction], register: int | None) -> int:
    """Return the place of the last instruction that changes a register."""
    for i in reversed(range(len(trail))):
        if register in trail[i].writes:
            return i
    raise Unbounded("it jumps to an address in a register")


def moved(step: Instruction) -> int:
    """Return by how much an instruction moves the stack, as far as it says so itself."""
    if _PC in step.registers and step.condition != ALWAYS:
        return 0  # it returns, or does nothing
    if step.kind in ("loads", "stores") and step.back and step.operands[0].register == SP:
        if step.name == "pair":
            return signed(step.operands[1].constant)
        return 4 * len(step.registers) * (-1 if step.name == "down" else 1)
    if step.kind in ("load", "store") and step.back and step.operands[0].register == SP:
        return signed(step.operands[1].constant)
    return 0


def returns_if(step: Instruction) -> bool:
    """Whether an instruction returns on a condition."""
    is_return = step.kind == "to register" or (step.kind == "loads" and _PC in step.registers)
    return is_return and step.condition != ALWAYS


class Code:
    """The instructions and constants of a program for a core of one of the `DECODERS`."""

    def __init__(self, elf: Elf, isa: str = "thumb") -> None:
        self.elf = elf
        self._decode = DECODERS[isa]
        self._pieces = [(s.address, s.data) for s in elf.segments if s.data]
        self._writable = [(s.address, s.address + s.size) for s in elf.sections if s.is_writable]
        self._decoded: dict[int, Instruction] = {}
        self._functions: dict[int, Function] = {}
        self._under_way: set[int] = set()  # entries of functions that are being looked at
        self._stacks: dict[int, int] = {}

    def constant(self, at: int, width: int) -> int | None:
        """Return the number at an address that no instruction changes, or None."""
        for start, data in self._pieces:
            if start <= at and at + width <= start + len(data):
                if any(low <= at < high for low, high in self._writable):
                    return None
                return int.from_bytes(data[at - start : at - start + width], "little")
        return None

    def instruction(self, at: int) -> Instruction:
        """Return the instruction at an address."""
        if at not in self._decoded:
            decoded = self._decode(at, lambda where: self.constant(where, 2) or 0)
            if decoded.kind == "call" and not decoded.is_piece and self._is_within(at, decoded.target):
                decoded = replace(decoded, kind="jump", name="far")
            self._decoded[at] = decoded
            where = at + decoded.size
            for condition in decoded.conditions:
                follower = self.instruction(where)
                self._decoded[where] = follower.under(condition)
                where += follower.size
        return self._decoded[at]

    def _is_within(self, at: int, target: int) -> bool:
        """Return whether a call leads into the middle of its own function, as far jumps of short code do."""
        return any(
            s.address <= at < s.address + s.size and s.address < target < s.address + s.size
            for s in self.elf.symbols.values()
            if s.is_function
        )

    def function(self, entry: int) -> Function:
        """Return the function that begins at an address."""
        if entry not in self._functions:
            if entry in self._under_way:
                raise Unbounded(f"{self.elf.symbol_at(entry)} calls itself")
            self._under_way.add(entry)
            self._functions[entry] = Function(self, entry)
            self._under_way.discard(entry)
        return self._functions[entry]

    def extent(self, entry: int) -> tuple[int, int]:
        """Return where the function begins that has this address, and where it ends."""
        for s in self.elf.symbols.values():
            if s.is_function and s.address <= entry < s.address + s.size:
                return s.address, s.address + s.size
        return entry, entry

    def variable(self, name: str) -> Symbol:
        """Return the variable of that name."""
        if name not in self.elf.symbols:
            raise Unbounded(f"the compiled program does not tell where {name} is")
        return self.elf.symbols[name]

    def stack_bytes(self, name: str) -> int:
        """Return the most stack that a function and those that it calls take."""
        return self._stack(self.elf.symbols[name].address, ())

    def _stack(self, entry: int, callers: tuple[int, ...]) -> int:
        if entry in callers:
            raise Unbounded(f"{self.elf.symbol_at(entry)} calls itself")
        if entry not in self._stacks:
            function, most = self.function(entry), 0
            for block in function.blocks.values():
                for at, step in block.steps:
                    depth = function.depth(at) - min(0, moved(step))
                    if step.kind == "call":
                        depth += self._stack(step.target, (*callers, entry))
                    most = max(most, depth)
            self._stacks[entry] = most
        return self._stacks[entry]


class Function:
    """A function with its blocks, loops and stack."""

    def __init__(self, code: Code, entry: int) -> None:
        self.code = code
        self.entry = entry
        self.blocks: dict[int, Block] = {}
        self._find_blocks()
        self._depths = self._find_depths()
        self.spots = spots(self.blocks, entry)
        self._relevant: dict[int, dict[int, frozenset[Place]]] = {}

    @cached_property
    def takes_bits_of_link(self) -> bool:
        """Whether it looks for the highest bit of a word in the link register, as a loop over bits does."""
        steps = (step for block in self.blocks.values() for _, step in block.steps)
        return any(step.name == "clz" and step.operands[0].register == LINK for step in steps)

    def _find_blocks(self) -> None:
        ends: dict[int, list[int]] = {}  # of the instructions that end a block, where they lead
        seen: set[int] = set()
        starts, waiting = {self.entry}, [self.entry]
        while waiting:
            at, trail = waiting.pop(), list[Instruction]()
            while at not in seen:
                seen.add(at)
                step = self.code.instruction(at)
                if step.name == "clz":
                    starts.add(at)  # ways may meet there
                following = self._following(at, step) if step.name != "listed" else self._listed(trail, step)
                trail.append(step)
                if following is None:
                    at += step.size
                    continue
                ends[at] = following
                waiting += [x for x in following if x not in seen]
                starts.update(following)
                break
        for start in sorted(starts):
            block = self.blocks[start] = Block(start)
            at = start
            while True:
                step = self.code.instruction(at)
                block.steps.append((at, step))
                if at in ends:
                    block.following = list(dict.fromkeys(ends[at]))
                    break
                at += step.size
                if at in starts:
                    block.following = [at]
                    break

    def _following(self, at: int, step: Instruction) -> list[int] | None:
        """Return where an instruction that ends a block leads, or None if it ends none."""
        after = at + step.size
        on = [] if step.condition == ALWAYS else [after]
        match step.kind:
            case "jump":
                return [step.target, *on]
            case "branch" | "compare":
                return [step.target, after]
            case "call":
                return [after]
            case "to register":
                return self._targets(at + 2, at + 4, step.width) if step.name == "add" else on
            case "loads" if _PC in step.registers:
                return on
            case "table":
                return self._targets(at + 4, at + 4, step.width)
        return None

    def _listed(self, trail: list[Instruction], jump: Instruction) -> list[int]:
        """Return where a table of addresses leads. The instructions before the jump tell where it is."""
        load = last_change(trail, jump.operands[0].register)
        add = last_change(trail[:load], trail[load].operands[0].register)
        if trail[load].kind != "load" or trail[add].name != "add":
            raise Unbounded("it jumps to an address in a register")
        numbers: dict[int, Value] = {}
        for step in trail[:add]:
            self._after(step, 0, numbers)
        known = [n for o in trail[add].operands if isinstance(n := numbers.get(o.register or 0), int)]
        if len(known) != 1:
            raise Unbounded("it jumps along a table that is not found")
        where, extent = known[0] + trail[load].operands[1].constant, self.code.extent(self.entry)
        targets = []
        while (target := self.code.constant(where, 4)) is not None and extent[0] <= target < extent[1]:
            targets.append(target)
            where += 4
        return list(dict.fromkeys(targets))

    def _targets(self, table: int, base: int, width: int) -> list[int]:
        """Return where a table of jumps behind its instruction leads."""
        targets = []
        end = min((x for x in self.code.elf.code_marks if x > table), default=table)
        for where in range(table, end, width):
            number = self.code.constant(where, width)
            if number is not None and base + 2 * number >= end:
                targets.append(base + 2 * number)
        return list(dict.fromkeys(targets))

    def _find_depths(self) -> dict[int, int | None]:
        """Return how deep the stack is before each instruction, None where that is not known."""
        depths: dict[int, int | None] = {}
        waiting: list[tuple[int, int | None]] = [(self.entry, 0)]
        while waiting:
            start, depth = waiting.pop()
            if start in depths:
                if depths[start] != depth and depths[start] is not None:
                    depth = None
                else:
                    continue
            numbers: dict[int, Value] = {}  # registers with constants
            for at, step in self.blocks[start].steps:
                depths[at] = depth
                if depth is not None:
                    depth = self._after(step, depth, numbers)
            waiting += [(x, depth) for x in self.blocks[start].following]
        return depths

    @cached_property
    def _steps(self) -> dict[int, Instruction]:
        return {at: step for block in self.blocks.values() for at, step in block.steps}

    @cached_property
    def _deeper(self) -> int | None:
        """By how much the stack is deeper when a piece of code comes back, None if that is not known."""
        depths = {self._depths[at] for at, step in self._steps.items() if step.kind == "to register"}
        return depths.pop() if len(depths) == 1 else None

    def _after(self, step: Instruction, depth: int, numbers: dict[int, Value]) -> int | None:
        if step.is_piece:
            numbers.clear()
            deeper = self.code.function(step.target)._deeper
            return None if deeper is None else depth + deeper
        known = [numbers.get(o.register) if o.register is not None else o.constant for o in step.operands]
        if step.kind == "alu" and step.to == SP:
            by = known[-1]
            if step.operands[0].register != SP or step.name not in ("add", "sub") or not isinstance(by, int):
                return None
            return depth + (by if step.name == "sub" else -signed(by))
        depth -= moved(step)
        for r in step.writes:
            numbers.pop(r, None)
        operands = [k for k in known if isinstance(k, int)]
        is_plain = len(operands) == len(known) and not any(o.shift for o in step.operands)
        if step.to is None or not is_plain or step.condition != ALWAYS:
            return depth
        if step.kind == "load" and step.width == 4:
            number = self.code.constant(sum(operands) & MASK, 4)
            if number is not None:
                numbers[step.to] = number
        elif step.kind == "alu" and step.name in ("mov", "mvn", "add", "sub", "lsl", "rsb"):
            numbers[step.to] = compute(step.name, *operands)
        return depth

    def depth(self, at: int) -> int:
        """Return how deep the stack is before an instruction."""
        depth_there = self._depths.get(at)
        if depth_there is None:
            raise Unbounded(f"the stack of {self.code.elf.symbol_at(at)} is not known")
        return depth_there

    def relevant(self, start: int) -> frozenset[Place]:
        """Return what decides where a loop goes from a block on, nothing outside of loops."""
        loops = self.spots[start].loops
        if not loops:
            return frozenset()
        header = loops[0][1]
        if header not in self._relevant:
            inside = {b for b, spot in self.spots.items() if spot.loops[:1] == loops[:1]}
            self._relevant[header] = self._find_relevant(inside)
        return self._relevant[header][start]

    @cached_property
    def ends(self) -> dict[int, frozenset[Place]]:
        """What decides, from each block on, where loops end."""
        return self._find_relevant(set(self.blocks), ends=True)

    def _ends_loop(self, start: int) -> bool:
        """Whether a way leads out of a loop at the end of a block, or back to where one begins."""
        around = {header for _, header in self.spots[start].loops}
        if around and returns_if(self.blocks[start].steps[-1][1]):
            return True
        following = self.blocks[start].following
        return any(x in around or around - {header for _, header in self.spots[x].loops} for x in following)

    def _find_relevant(self, inside: set[int], ends: bool = False) -> dict[int, frozenset[Place]]:
        relevant: dict[int, frozenset[Place]] = dict.fromkeys(inside, frozenset())
        changed = True
        while changed:
            changed = False
            for start in sorted(inside, reverse=True):
                block = self.blocks[start]
                places: set[Place] = set().union(*(relevant[x] for x in block.following if x in inside))
                asking = _ASKING if not ends else _BRANCHES if self._ends_loop(start) else ()
                for at, step in reversed(block.steps):
                    self._before(at, step, places, asking)
                if places != relevant[start]:
                    relevant[start], changed = frozenset(places), True
        return relevant

    def _before(self, at: int, step: Instruction, places: set[Place], asking: tuple[str, ...]) -> None:
        """Turn what is relevant after an instruction into what is relevant before it.

        Instructions of the kinds `asking` make relevant what they read.
        """
        if slots := self.slots(at, step):
            is_load = step.kind in ("load", "loads")
            moves = [(r, place) if is_load else (place, r) for r, place in slots]
            asked = [before for after, before in moves if after in places]
            places.difference_update(after for after, _ in moves)
            places.update(asked)
            return
        if step.is_piece:
            self._before_piece(at, step, places, asking)
            return
        writes, reads = step.writes, step.reads
        if step.kind in ("store", "stores"):
            reads = {o.register for o in step.operands if o.register is not None}
        kind = "branch" if returns_if(step) else step.kind
        if kind in asking or places & writes:
            places -= writes
            places |= reads
        places -= {SP, _PC}

    def _before_piece(self, at: int, step: Instruction, places: set[Place], asking: tuple[str, ...]) -> None:
        """Do so for a call of a piece, which changes registers and the stack as its caller does."""
        piece = self.code.function(step.target)
        depth = self._depths.get(at) or 0

        def moved_by(by: int) -> None:
            step_there = {place if isinstance(place, int) else (place[0], place[1] + by) for place in places}
            places.clear()
            places.update(step_there)

        moved_by(depth)
        for where, step_there in sorted(piece._steps.items(), reverse=True):
            piece._before(where, step_there, places, asking)
        moved_by(-depth)

    @cached_property
    def block_of(self) -> dict[int, int]:
        """The start of the block that each instruction belongs to."""
        return {at: start for start, block in self.blocks.items() for at, _ in block.steps}

    def slots(self, at: int, step: Instruction) -> list[tuple[int, Place]]:
        """Return the words of the stack that an instruction names, with the registers that it moves."""
        is_pair = step.name == "pair"
        is_one = step.kind in ("load", "store") and step.width == 4 and step.to is not None
        if not (is_one or is_pair) or step.back or step.condition != ALWAYS or len(step.operands) < 2:
            return []
        depth = self._depths.get(at)
        if step.operands[0].register != SP or step.operands[1].register is not None or depth is None:
            return []
        first = signed(step.operands[1].constant) - depth
        registers = step.registers if is_pair else (step.to or 0,)
        return [(r, ("stack", first + 4 * i)) for i, r in enumerate(registers)]
