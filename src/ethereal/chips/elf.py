"""Read the segments, sections and symbols of a 32-bit little-endian ELF file."""

from __future__ import annotations

import struct
from dataclasses import dataclass

_SHT_NOBITS, _SHF_WRITE, _SHF_ALLOC, _SHF_EXECINSTR = 8, 1, 2, 4
_STT_FUNC = 2


@dataclass(frozen=True)
class Segment:
    """A piece of memory to load: `data` at `address` while running, at `load_address` in flash."""

    address: int
    load_address: int
    data: bytes
    memory_bytes: int  # at least len(data), with zeros for the rest


@dataclass(frozen=True)
class Section:
    """A named piece that occupies memory."""

    name: str
    address: int
    size: int
    is_code: bool
    is_writable: bool
    is_stored: bool  # has contents in the file (.bss has none)


@dataclass(frozen=True)
class Symbol:
    """A function or object."""

    name: str
    address: int  # for Thumb functions without the lowest bit
    size: int
    is_function: bool


class Elf:
    """A linked program."""

    def __init__(self, data: bytes) -> None:
        if data[:7] != b"\x7fELF\x01\x01\x01":
            raise ValueError("the data is not a 32-bit little-endian ELF file")
        header = struct.unpack_from("<HHIIIIIHHHHHH", data, 16)
        _, _, _, self.entry, phoff, shoff, _, _, phentsize, phnum, shentsize, shnum, shstrndx = header
        self.segments: list[Segment] = []
        for i in range(phnum):
            kind, offset, vaddr, paddr, filesz, memsz = struct.unpack_from("<6I", data, phoff + i * phentsize)
            if kind == 1 and memsz:  # PT_LOAD
                self.segments.append(Segment(vaddr, paddr, data[offset : offset + filesz], memsz))
        raw = [struct.unpack_from("<10I", data, shoff + i * shentsize) for i in range(shnum)]
        names = raw[shstrndx]
        self.sections: list[Section] = []
        self.symbols: dict[str, Symbol] = {}
        self.code_marks: list[int] = []  # where code begins, at the start or behind constants
        for name, kind, flags, address, offset, size, link, _, _, _ in raw:
            if flags & _SHF_ALLOC and size:
                is_code, is_writable = bool(flags & _SHF_EXECINSTR), bool(flags & _SHF_WRITE)
                place = _text(data, names[4] + name), address, size
                self.sections.append(Section(*place, is_code, is_writable, kind != _SHT_NOBITS))
            if kind == 2:  # SHT_SYMTAB
                strings = raw[link][4]
                for at in range(offset, offset + size, 16):
                    label, value, length, info, _, index = struct.unpack_from("<IIIBBH", data, at)
                    text = _text(data, strings + label)
                    if text.startswith("$t"):
                        self.code_marks.append(value & ~1)
                    if text and not text.startswith("$") and index:
                        is_function = info & 15 == _STT_FUNC
                        address = value & ~1 if is_function else value
                        self.symbols[text] = Symbol(text, address, length, is_function)

    @property
    def code_bytes(self) -> int:
        """Bytes of instructions."""
        return sum(s.size for s in self.sections if s.is_code)

    @property
    def table_bytes(self) -> int:
        """Bytes of constants in flash, initial values of variables among them."""
        return sum(s.size for s in self.sections if s.is_stored and not s.is_code)

    @property
    def ram_bytes(self) -> int:
        """Bytes of variables."""
        return sum(s.size for s in self.sections if s.is_writable)

    def image(self, origin: int = 0) -> bytes:
        """Contents of the flash, initial values of variables among them."""
        stored = [s for s in self.segments if s.data]
        image = bytearray(max(s.load_address + len(s.data) for s in stored) - origin)
        for s in stored:
            at = s.load_address - origin
            image[at : at + len(s.data)] = s.data
        return bytes(image)

    def symbol_at(self, address: int) -> str:
        """Name of the function that contains `address`, or the address itself."""
        for symbol in self.symbols.values():
            if symbol.is_function and symbol.address <= address < symbol.address + max(symbol.size, 1):
                return f"{symbol.name}+{address - symbol.address}"
        return f"{address:#010x}"


def _text(data: bytes, offset: int) -> str:
    return data[offset : data.index(b"\0", offset)].decode()
