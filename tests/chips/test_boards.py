"""Boards by name: a core with the chip, the memory and the clock of a board, wherever a target is named."""

from __future__ import annotations

import json

import pytest

from ethereal import device
from ethereal.chips.boards import BOARDS, OTHERS
from ethereal.chips.cycles import KINDS, estimate_cycles
from ethereal.chips.targets import TARGETS, find_core, find_target
from random_models import random_model


@pytest.mark.parametrize("name", BOARDS)
def test_every_board_is_a_core_with_other_memory(name):
    board, target = BOARDS[name], find_target(name)
    assert name not in TARGETS
    assert target.core == board.core
    assert (target.isa, target.zig_target) == (TARGETS[board.core].isa, TARGETS[board.core].zig_target)
    for platform in ("", "arduino"):
        left = target.memory_left(platform)
        assert 0 < left.flash_bytes < target.flash_bytes
        assert 0 < left.ram_bytes <= target.ram_bytes


def test_names_that_are_none():
    with pytest.raises(ValueError, match=r"Did you mean 'nucleo-f446re'\?.*`ethereal boards`"):
        find_target("nucleo-f446")
    with pytest.raises(ValueError, match="esp32-devkit has an Xtensa core"):
        find_target("esp32-devkit")
    with pytest.raises(ValueError, match="uno is an AVR"):
        find_core("uno")
    assert not BOARDS.keys() & OTHERS.keys()


def test_cycles_are_those_of_the_core():
    mix = dict.fromkeys(KINDS, 0) | {"instructions": 10, "loads": 2, "jumps": 1}
    assert estimate_cycles("pico", mix) == estimate_cycles("cortex-m0plus", mix)


def test_a_board_takes_what_its_core_takes_in_its_own_time():
    pytest.importorskip("ziglang")
    model, X = random_model(1)
    on_core = device.measure(model, X, target="cortex-m4", layout="compact")
    on_board = device.measure(model, X, target="nucleo-f446re", layout="compact")
    assert on_board.target == "nucleo-f446re"
    assert on_board.flash_bytes == on_core.flash_bytes
    assert on_board.total_instructions == on_core.total_instructions
    assert on_board.estimated_seconds == pytest.approx(on_core.estimated_seconds * 84 / 180)
    assert device.measure(model, X, target="esp32-c3-devkit", layout="compact").agreement == 1


def test_commands_take_boards(call, tmp_path):
    pytest.importorskip("ziglang")
    model, _ = random_model(1)
    model.save(tmp_path / "m.etm")
    out = call(
        "export", str(tmp_path / "m.etm"), "--board", "pico2", "-o", str(tmp_path / "x"), "--json"
    ).stdout
    assert json.loads(out)["target"] == "pico2"
    assert json.loads((tmp_path / "x" / "m.json").read_text())["code"]["clock_hz"] == 150e6
    listed = json.loads(call("boards", "--json").stdout)["boards"]
    assert {one["name"] for one in listed} == {*TARGETS, *BOARDS}
    assert "nucleo-f446re" in call("boards").stdout
