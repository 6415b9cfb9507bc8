"""Boards by name: the core, the chip, the clock and the memory of those that people have in a drawer."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Board:
    """A board. Memory is in KiB, and what its usual core or operating system takes is assumed.

    Flash is that of the chip, or of the partition for a program where a boot loader divides it.
    """

    name: str
    about: str
    core: str  # name of a `Target`
    chip: str
    flash: int
    ram: int
    clock_mhz: float
    # Flash and RAM that start-up code takes, and Arduino's core with a sketch. None is what the core has.
    start: tuple[int, int] | None = None
    arduino: tuple[int, int] | None = None
    zig_cpu: str = ""  # where the chip lacks what its core usually has


_MBED = (90, 50)  # Arduino's core with Mbed OS
_IDF, _IDF_ARDUINO = (200, 60), (280, 80)  # an application of ESP-IDF without Wi-Fi, and Arduino's core on it

BOARDS: dict[str, Board] = {
    board.name: board
    for board in (
        Board("uno", "Arduino Uno R3", "atmega328p", "ATmega328P", 32, 2, 16),
        Board("nano", "Arduino Nano", "atmega328p", "ATmega328P", 32, 2, 16),
        Board("mega", "Arduino Mega 2560", "atmega2560", "ATmega2560", 256, 8, 16),
        Board("zero", "Arduino Zero and MKR", "cortex-m0plus", "SAMD21G18A", 256, 32, 48, arduino=(24, 4)),
        Board("nano33ble", "Arduino Nano 33 BLE", "cortex-m4", "nRF52840", 1024, 256, 64, arduino=_MBED),
        Board("uno-r4", "Arduino Uno R4 Minima", "cortex-m4", "RA4M1", 256, 32, 48, arduino=(48, 5)),
        Board("portenta-h7", "Arduino Portenta H7", "cortex-m7", "STM32H747XI", 2048, 512, 480,
              arduino=_MBED),
        Board("teensy41", "Teensy 4.1", "cortex-m7", "MIMXRT1062", 7936, 512, 600),
        Board("pico", "Raspberry Pi Pico", "cortex-m0plus", "RP2040", 2048, 264, 125),
        Board("pico2", "Raspberry Pi Pico 2", "cortex-m33", "RP2350", 4096, 520, 150),
        Board("microbit", "BBC micro:bit V2", "cortex-m4", "nRF52833", 512, 128, 64),
        Board("nrf52840-dk", "Nordic nRF52840 DK", "cortex-m4", "nRF52840", 1024, 256, 64),
        Board("nucleo-g071rb", "ST Nucleo G071RB", "cortex-m0plus", "STM32G071RB", 128, 36, 64),
        Board("nucleo-f401re", "ST Nucleo F401RE", "cortex-m4", "STM32F401RE", 512, 96, 84),
        Board("nucleo-f446re", "ST Nucleo F446RE", "cortex-m4", "STM32F446RE", 512, 128, 180),
        Board("nucleo-l476rg", "ST Nucleo L476RG", "cortex-m4", "STM32L476RG", 1024, 96, 80),
        Board("nucleo-u575zi-q", "ST Nucleo U575ZI-Q", "cortex-m33", "STM32U575ZI", 2048, 768, 160),
        Board("stm32f746g-disco", "ST Discovery F746G", "cortex-m7", "STM32F746NG", 1024, 320, 216),
        Board("esp32-c3-devkit", "ESP32-C3-DevKit", "riscv32", "ESP32-C3", 1024, 320, 160,
              _IDF, _IDF_ARDUINO, zig_cpu="generic_rv32+m+c"),
        Board("esp32-c6-devkit", "ESP32-C6-DevKit", "riscv32", "ESP32-C6", 1024, 448, 160,
              _IDF, _IDF_ARDUINO),
        Board("longan-nano", "Sipeed Longan Nano", "riscv32", "GD32VF103CB", 128, 32, 108),
    )
}  # fmt: skip

# Boards whose core has no compiler or emulator here. Their export is the same C.
OTHERS = {
    "esp32-devkit": "an Xtensa core",
    "esp32-s3-devkit": "an Xtensa core",
    "esp8266": "an Xtensa core",
    "bluepill": "a Cortex-M3",
}
