"""Names that a module on a board can have."""

from __future__ import annotations

import keyword
import re

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
# Modules of MicroPython itself, found before any file of the same name.
_TAKEN = frozenset(
    """_boot _thread aioble antigravity array asyncio audio binascii bluetooth boot btree builtins cmath
    collections cryptolib deflate dht ds18x20 errno esp esp32 espnow framebuf gc hashlib heapq inisetup io
    json log love lwip machine main marshal math microbit micropython mip music neopixel network ntptime
    onewire openamp os platform power pyb radio random re requests rp2 select socket speech ssl stm struct
    sys this time tls uctypes vfs webrepl websocket zephyr zlib zsensor
    """.split()  # noqa: SIM905
)


def check_name(name: str) -> None:
    """Refuse a name that a module on a board cannot have.

    >>> check_name("time")
    Traceback (most recent call last):
        ...
    ValueError: name is 'time', a module of MicroPython itself. How about 'model_time'?
    """
    plain = re.sub(r"\W+", "_", str(name), flags=re.ASCII).strip("_").lower().removeprefix("ethereal_")
    proposal = plain if is_module_name(plain) else f"model_{plain}".rstrip("_")
    if not isinstance(name, str) or not re.fullmatch(_NAME, name) or keyword.iskeyword(name):
        raise ValueError(
            f"name is {name!r}. It must be a Python identifier of ASCII letters, digits and _. How about "
            f"{proposal!r}?"
        )
    if not is_module_name(name):
        of = "of the runtime" if name.startswith("ethereal_") else "of MicroPython itself"
        raise ValueError(f"name is {name!r}, a module {of}. How about {proposal!r}?")


def is_module_name(name: str) -> bool:
    """Whether a module on a board can have a name.

    >>> is_module_name("gestures"), is_module_name("lambda"), is_module_name("utime")
    (True, False, False)
    """
    if not re.fullmatch(_NAME, name) or keyword.iskeyword(name) or name.startswith("ethereal_"):
        return False
    return name not in _TAKEN and name.removeprefix("u") not in _TAKEN
