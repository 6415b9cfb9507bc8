"""What is normal in C: the host's scores, answers and own normal, on this computer and on emulated cores."""

import subprocess

import numpy as np
import pytest

from c_on_host import answers_of
from ethereal import EtherealClassifier, EtherealDetector, WindowFeatures, device, export
from ethereal.adapt import Normal
from ethereal.device import EmulatedCore, compile_elf, find_target
from ethereal.model.needs import NotSupported
from random_models import random_model
from reference_normal import ReferenceBoard
from sketches import sketch
from thinned import few
from windows import hard_windows

CORES = ["cortex-m7", "cortex-m0plus", "cortex-m4", "cortex-m33", "riscv32"]
RNG = np.random.default_rng(1)
MACHINE = RNG.normal([3.0, -200, 0.001, 5], [1.0, 20, 0.0001, 0.5], (400, 4))
FLEET = np.concatenate([RNG.normal([3.0, -200, 0.001, 5], [9.0, 90, 0.002, 4], (300, 4)), MACHINE[:50]])
WILD = np.array([[np.inf, -np.inf, np.nan, 1e-45], [-0.0, 0, 3e38, -3e38], [9e6, -9e6, 1, 5.1]])
CALLS = """
#include <stdio.h>
#include "model.h"
/* Reads pairs of a call and a row, and prints what each call returns. */
int main(void)
{
    static uint8_t saved[MODEL_NORMAL_STATE_BYTES];
    unsigned size = 0, call, i;
    int n;

    while ((n = getchar()) != EOF) {
        union {
            model_input features[MODEL_FEATURES];
            uint8_t bytes[sizeof(model_input) * MODEL_FEATURES];
        } row;
        long given = 0;

        call = (unsigned)n;
        for (i = 0; i < sizeof row.bytes; i++)
            row.bytes[i] = (uint8_t)getchar();
        switch (call) {
        case 0: given = model_normal_learn(row.features); break;
        case 1: given = (long)model_score(row.features); break;
        case 2: given = model_is_normal(row.features); break;
        case 3: given = model_normal_end(); break;
        case 4: model_normal_begin(); break;
        case 5: given = (long)model_normal_drift(model_score(row.features)); break;
        case 6: size = model_normal_save(saved); given = (long)size; break;
        case 7: given = model_normal_restore(saved, size); break;
        case 8:
            saved[size / 2] ^= 4u;
            given = model_normal_restore(saved, size);
            saved[size / 2] ^= 4u;
            break;
        default: given = (long)model_normal_limit(); break;
        }
        printf("%ld\\n", given);
    }
    return 0;
}
"""
NAMES = ("learn", "score", "is_normal", "end", "begin", "drift", "save", "restore", "damaged", "limit")


# FLEET, MACHINE and what random models are given come in an order that drifts.
pytestmark = pytest.mark.filterwarnings("ignore:Later rows differ")


def fleet_model(**options):
    return EtherealDetector(0.05, **options).fit(FLEET).model_


def on_host(board, calls, rows):
    """What the same calls return on the host."""
    given, saved = [], b""
    for call, i in calls:
        row = rows[i : i + 1]
        match NAMES[call]:
            case "learn":
                given.append(board.learn(row[0]))
            case "score":
                given.append(int(board.score(row)[0]))
            case "is_normal":
                given.append(int(board.is_normal(row)[0]))
            case "end":
                given.append(board.end())
            case "begin":
                board.begin()
                given.append(0)
            case "drift":
                given.append(board.drift(int(board.score(row)[0])))
            case "save":
                saved = board.save()
                given.append(len(saved))
            case "restore":
                given.append(board.restore(saved))
            case "damaged":
                half = len(saved) // 2
                given.append(
                    board.restore(saved[:half] + bytes([saved[half] ^ 4]) + saved[half + 1 :]) if saved else 0
                )
            case _:
                given.append(board.limit if board.is_own else board.general.limit)
    return given


def draw_calls(n, n_rows, seed):
    rng = np.random.default_rng(seed)
    rates = np.array([0.7, 0.1, 0.05, 0.02, 0.004, 0.07, 0.02, 0.012, 0.01, 0.01])
    return np.column_stack([rng.choice(10, n, p=rates / rates.sum()), rng.integers(0, n_rows, n)]).tolist()


@pytest.mark.parametrize("n_calls", few([1500, 10_000]))
def test_random_calls_return_what_they_return_on_the_host(n_calls, tmp_path):
    model = fleet_model()
    rows = np.concatenate([MACHINE, FLEET[:20], np.nan_to_num(WILD, posinf=3e38, neginf=-3e38)]).astype(
        np.float32
    )
    calls = draw_calls(n_calls, len(rows), 3)
    program = export.choose(model, own_normal=4)
    (tmp_path / "driver.c").write_text(CALLS)
    sent = b"".join(bytes([call]) + rows[i].tobytes() for call, i in calls)
    given = list(map(int, answers_of(program, sent, tmp_path).split()))
    expected = on_host(Normal(model, 4), calls, rows)
    assert given == expected
    ended = [f for (call, _), f in zip(calls, given, strict=True) if call == 3]
    assert {0, 1} <= set(ended)


def test_the_host_follows_the_plain_rule():
    model = fleet_model()
    board, plain = Normal(model, 3), ReferenceBoard(model.normal, 3)
    rows = np.concatenate([MACHINE[:120], FLEET[:15], MACHINE[120:160]])
    assert [board.learn(row) for row in rows] == [plain.learn(row) for row in rows]
    assert board.end() == plain.end() == 1
    assert board.limit == plain.limit
    asked = np.concatenate([MACHINE[:20], FLEET[:20]])
    assert board.score(asked).tolist() == [plain.score(row) for row in asked]
    assert board.is_normal(MACHINE[200:]).mean() > 0.9
    assert board.is_normal(FLEET[:300]).mean() < 0.2


def test_states_of_others_are_refused():
    model = fleet_model()
    board = Normal(model, 3)
    assert board.save() == b""
    assert board.end() == 0
    for row in MACHINE[:60]:
        board.learn(row)
    assert board.end() == 1
    state = board.save()
    again = Normal(model, 3)
    assert again.restore(state) == 1
    assert again.score(MACHINE).tolist() == board.score(MACHINE).tolist()
    assert again.limit == board.limit
    assert (Normal(model, 4).restore(state), Normal(fleet_model(n_features=3), 3).restore(state)) == (0, 0)
    for damaged in (state[:-1], b"", state[:9] + b"?" + state[10:]):
        assert again.restore(damaged) == 0
    assert again.is_own


def test_an_abnormal_start_is_not_noticed_but_a_jump_is():
    board = Normal(fleet_model(), 3)
    assert all(board.learn(row) for row in MACHINE[:60])
    assert sum(board.learn(row) for row in MACHINE[:60] * 10) == 0
    assert board.end() == 0  # too many were refused
    for row in MACHINE[60:]:
        board.learn(row)
    assert board.end() == 1
    assert board.drift(0) < 250 < board.drift(2**30) + 2
    for _ in range(9000):
        share = board.drift(board.limit + 1)
    assert share > 900


@pytest.mark.parametrize("target", few(CORES, 2))
def test_cores_score_like_the_host(target):
    model, chip = fleet_model(), find_target(target)
    rows = np.concatenate([FLEET[:8], WILD[1:]]).astype(np.float32)
    measured = device.measure(model, rows, target, worst=True)
    assert measured.agreement == 1.0
    assert (
        measured.total_instructions_max <= measured.worst_instructions < 1.2 * measured.total_instructions_max
    )
    program = export.choose(model, own_normal=2, target=target)
    functions = ["model_score", "model_normal_learn", "model_normal_end", "model_normal_limit"]
    core = EmulatedCore(compile_elf(program.files, chip, functions, optimize="-Os"), chip)
    board, address = Normal(model, 2), core.buffer(np.zeros(4, dtype=np.float32))
    for row in MACHINE[:40].astype(np.float32):
        core.write(address, row)
        assert core.call("model_normal_learn", address) == board.learn(row)
    assert core.call("model_normal_end") == board.end() == 1
    assert core.call("model_normal_limit") == board.limit
    for row in rows:
        core.write(address, row)
        assert core.call("model_score", address) == board.score(row[None])[0]


def on_core(core, model, calls, rows):
    """What the same calls return on an emulated core."""
    address = core.buffer(np.zeros(4, dtype=np.float32))
    state = core.buffer(np.zeros(Normal(model, 4).state_bytes, dtype=np.uint8), writable=True)
    size, answers = 0, []
    for call, i in calls:
        core.write(address, rows[i])
        name = NAMES[call]
        if name in ("learn", "score", "is_normal"):
            answer = core.call(f"model_{'normal_' * (name == 'learn')}{name}", address)
        elif name == "drift":
            answer = core.call("model_normal_drift", core.call("model_score", address))
        elif name == "save":
            answer = size = core.call("model_normal_save", state)
        elif name == "restore":
            answer = core.call("model_normal_restore", state, size)
        elif name == "damaged":
            answer = core.call("model_normal_restore", state, size - 1 if size else 0)
        else:
            answer = core.call(f"model_normal_{name}")
        answers.append(answer if name != "begin" else 0)
    return answers


@pytest.mark.parametrize(
    ("target", "n_calls"), few([("cortex-m0plus", 400), *((core, 10_000) for core in CORES)])
)
def test_random_calls_on_cores(target, n_calls):
    model, chip = fleet_model(), find_target(target)
    rows = np.concatenate([MACHINE, FLEET[:20]]).astype(np.float32)
    calls = draw_calls(n_calls, len(rows), 4)
    program = export.choose(model, own_normal=4, target=target)
    functions = [f"model_{name}" for name in ("score", "is_normal")]
    functions += [
        f"model_normal_{name}" for name in ("learn", "end", "begin", "drift", "save", "restore", "limit")
    ]
    core = EmulatedCore(compile_elf(program.files, chip, functions, optimize="-Os"), chip)
    assert on_core(core, model, calls, rows) == on_host(Normal(model, 4), calls, rows)


def built(folder, *flags):
    command = (
        "gcc -std=c99 -pedantic -Wall -Wextra -Wconversion -Wshadow -Werror -fsanitize=address,undefined"
    )
    sources = sorted(path.name for path in folder.glob("*.c"))
    subprocess.run([*command.split(), *flags, *sources, "-o", "test"], cwd=folder, check=True)
    return subprocess.run(["./test"], cwd=folder, capture_output=True, text=True).stdout


def whole_numbers():
    rows = np.rint(np.random.default_rng(0).normal(120, 30, (200, 5))).clip(0, 255)
    return EtherealDetector(0.05).fit(rows).model_, rows


@pytest.mark.parametrize("name", few(["int16", "unknown", "uint8", "beside", "integers"], 2))
def test_self_tests_pass(name, tmp_path):
    whole, rows = whole_numbers()
    model, X = random_model(31, missing="some")
    beside = model.with_normal(np.nan_to_num(X))
    clf = EtherealClassifier(epochs=2, random_state=0).fit(
        X=np.arange(400).reshape(-1, 4) % 7, y=np.arange(100) % 2
    )
    integers = clf.model_.with_normal(np.arange(400).reshape(-1, 4) % 7)
    ways = {
        "int16": (whole, {"input": "int16", "rows": rows[:30], "own_normal": 3}),
        "uint8": (whole, {"input": "uint8", "single_header": True}),
        "beside": (beside, {"rows": X[:40], "own_normal": 2}),
        "integers": (integers, {"input": "int8", "layout": "compact"}),
        "unknown": (beside.with_unknown(2), {"layout": "sliced"}),
    }
    each, options = ways[name]
    assert "0 failures" in built(export.c(each, tmp_path / name, **options))
    if name == "unknown":
        header = (tmp_path / "unknown" / "model.h").read_text()
        assert "MODEL_UNKNOWN" in header
        assert "int model_is_normal(" in header
        assert "model_novelty" not in header
        assert "model_drift" in header


def test_windows_on_cores_and_in_arduino(tmp_path):
    windows = np.concatenate([hard_windows(32, 2, 10, seed) for seed in range(2)])
    front_end = WindowFeatures(["std", "step", "haar"], axes=["a", "b"], hop=32)
    model = EtherealDetector(0.1, front_end=front_end, n_features=7).fit(windows).model_
    assert device.measure(model, windows[:12], "cortex-m0plus", worst=True).worst_instructions
    library = export.arduino(model, tmp_path / "watch", name="watch", own_normal=2, rows=windows[:8])
    assert (
        "0 failures"
        in subprocess.run([sketch(library, "SelfTest", tmp_path)], capture_output=True, text=True).stdout
    )
    source = next(library.rglob("watch.c")).read_text()  # without the kernels that nothing asks for
    assert f"IDENTITY 0x{Normal(model, 2).identity:08X}u" in source
    still = np.random.default_rng(0).normal(0, 300, (70 * 32, 2)).astype(int)
    sent = "".join(f"{a},{b}\n" for a, b in np.concatenate([still, still[:320] * 40]).tolist())
    said = subprocess.run(
        [sketch(library, "Watch", tmp_path)], capture_output=True, text=True, input=sent
    ).stdout
    lamp = [line for line in said.split("\n") if line in ("on", "off")]
    assert lamp[0] == "off"
    assert lamp[-9:] == ["on"] * 9


def test_what_cannot_be_is_refused(tmp_path):
    model = fleet_model()
    with pytest.raises(ValueError, match="numbers that are not whole"):
        export.c(model, tmp_path / "c", input="int16")
    with pytest.raises(NotSupported, match="layout fast does not take output of the kind 'normal'"):
        export.c(model, tmp_path / "c", layout="fast")
    classifier, X = random_model(31)
    with pytest.raises(ValueError, match="own_normal is 4, but the model does not know what is normal"):
        export.c(classifier, tmp_path / "c", own_normal=4)
    with pytest.raises(ValueError, match="A board learns one of them"):
        export.c(classifier.with_normal(X), tmp_path / "c", own_normal=4, learn="votes")
    with pytest.raises(ValueError, match="n_centres is 1"):
        Normal(model, 1)
    with pytest.raises(ValueError, match=r"bytes of RAM, .* more than"):
        export.c(
            EtherealDetector().fit(np.random.default_rng(0).normal(size=(90, 30))).model_,
            tmp_path / "c",
            own_normal=64,
            target="atmega328p",
        )
