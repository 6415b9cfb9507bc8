"""Names that exports can have: what cannot compile or hides a file of a system or a module is refused."""

from __future__ import annotations

import keyword
import re

_KEYWORDS = frozenset(  # of C and C++
    """alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t
    class co_await co_return co_yield compl concept const const_cast consteval constexpr constinit continue
    decltype default delete do double dynamic_cast else enum explicit export extern false float for friend
    goto if inline int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private
    protected public register reinterpret_cast requires restrict return short signed sizeof static
    static_assert static_cast struct switch template this thread_local throw true try typedef typeid typename
    typeof typeof_unqual union unsigned using virtual void volatile wchar_t while xor xor_eq
    """.split()  # noqa: SIM905
)
# Headers of C, POSIX, glibc, newlib, avr-libc, Arduino's cores and Zephyr, in lower case. One of the same
# name beside the model would be found first. The last line has targets of make and CMake.
_TAKEN = frozenset(
    """aio alloca ar argp argz arduino arduino_ble assert autoconf binary byteswap client complex cpio ctype
    devctl device dirent dlfcn eeprom elf endian envz err errno error fastmath fcntl features fenv float
    fmtmsg fnmatch fts ftw getopt glob grp hardwareserial iconv ieeefp ifaddrs init intrinsics inttypes
    ipaddress iso646 kernel keyboard langinfo libgen libintl limits link locale machine malloc math mcheck
    memory monetary mouse mqueue ndbm netdb newlib nl_types obstack paths pins_arduino pluggableusb poll
    print printable printf pthread pty pwd reent regdef regex regexp resolv sched search semaphore server
    servo setjmp shadow signal soc softwareserial spawn spi stdalign stdarg stdatomic stdbit stdbool
    stdckdint stddef stdfix stdint stdio stdlib stdnoreturn stream string strings sys syscall sysexits syslog
    tar termio termios tgmath threads time tone uchar ucontext udp ulimit unctrl unistd usbapi utime utmp
    utmpx values varargs version wait wcharacter wchar wctype wire wiring wiring_private wordexp wstring
    zconf zephyr zlib
    all clean help install main package test
    """.split()  # noqa: SIM905
)
_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
# Modules of MicroPython itself, found before any file of the same name.
_MODULES = frozenset(
    """_boot _thread aioble antigravity array asyncio audio binascii bluetooth boot btree builtins cmath
    collections cryptolib deflate dht ds18x20 errno esp esp32 espnow framebuf gc hashlib heapq inisetup io
    json log love lwip machine main marshal math microbit micropython mip music neopixel network ntptime
    onewire openamp os platform power pyb radio random re requests rp2 select socket speech ssl stm struct
    sys this time tls uctypes vfs webrepl websocket zephyr zlib zsensor
    """.split()  # noqa: SIM905
)


def is_identifier(name: str) -> bool:
    """Whether a name can begin names in C and name the files, apart from those of the runtime.

    >>> is_identifier("gestures"), is_identifier("int"), is_identifier("2d"), is_identifier("stdint")
    (True, False, False, False)
    """
    small = name.lower()  # macros and files of some systems do not tell capitals apart
    is_taken = name in _KEYWORDS or small in _TAKEN or re.match(r"et(_|$)", small) is not None
    return re.fullmatch(_NAME, name) is not None and not is_taken


def _plain(name: str) -> str:
    return re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_").lower()


def check_identifier(name: str) -> str:
    """Return `name` if it can be part of the names in C and of files.

    >>> check_identifier("ethereal")
    Traceback (most recent call last):
        ...
    ValueError: name is 'ethereal', but files of the runtime are called so. How about 'model'?
    """
    if re.match(r"ethereal(_|$)", name, re.IGNORECASE):
        raise ValueError(f"name is {name!r}, but files of the runtime are called so. How about 'model'?")
    if not is_identifier(name):
        proposal = _plain(name) or "model"
        proposal = proposal if is_identifier(proposal) else f"model_{proposal}"
        raise ValueError(
            f"name is {name!r}, but C names have letters, digits and _, do not begin with a digit or et_, "
            f"and are not words of C or C++ nor headers of a system. How about {proposal!r}?"
        )
    return name


def check_module_name(name: str) -> None:
    """Refuse a name that a module on a board cannot have.

    >>> check_module_name("time")
    Traceback (most recent call last):
        ...
    ValueError: name is 'time', a module of MicroPython itself. How about 'model_time'?
    """
    plain = _plain(str(name)).removeprefix("ethereal_")
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
    return name not in _MODULES and name.removeprefix("u") not in _MODULES


def code_span(text: str) -> str:
    """Return a text as code in Markdown, where nothing in it has a meaning.

    >>> code_span("a`b"), code_span("<b>"), code_span("new\\nline"), code_span("")
    ('``a`b``', '`<b>`', '`new\\\\nline`', '` `')
    """
    plain = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text) or " "
    fence = "`" * (max(map(len, re.findall("`+", plain)), default=0) + 1)
    edge = " " if plain.startswith("`") or plain.endswith("`") else ""
    return f"{fence}{edge}{plain}{edge}{fence}"
