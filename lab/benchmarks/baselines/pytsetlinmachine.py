"""pyTsetlinMachine with its defaults: indexed clauses, boosted true positives, 8 state bits.

`fit` encodes the rows and then calls one native function, which shuffles and trains. Only that function is
timed. Its random numbers are libc's `rand` (rows, negative class) and a generator with a fixed start.
"""

import ctypes
import time
from importlib.metadata import version

import numpy as np
from pyTsetlinMachine.tm import MultiClassTsetlinMachine, _lib

LIBRARY = "pyTsetlinMachine"
VERSION = version("pyTsetlinMachine")
ROWS = np.uint32
INDEXED = True


def train(task):
    ctypes.CDLL(None).srand(task.seed)
    machine = MultiClassTsetlinMachine(task.n_clauses, task.T, task.s, indexed=INDEXED)
    labels = task.labels("train", np.uint32)
    machine.fit(task.rows("train", np.uint32), labels, epochs=0)  # creates and encodes, trains nothing
    encoded = machine.encoded_X  # predict() overwrites the attribute
    for _ in range(task.epochs):
        start = time.perf_counter()
        if INDEXED:
            _lib.itm_fit(machine.itm, encoded, labels, len(labels), 1)
        else:
            _lib.mc_tm_fit(machine.mc_tm, encoded, labels, len(labels), 1)
        seconds = time.perf_counter() - start
        accuracy = task.score(predict(machine, task.rows("test", np.uint32))) if task.evaluate else None
        task.record(seconds, count_includes(machine), accuracy)
    return lambda rows: predict(machine, rows)


def predict(machine, rows):
    return machine.predict(rows)


def count_includes(machine):
    return sum(int(clauses.sum()) for clauses in includes(machine))


def includes(machine):
    """Yield per class which literals are included, clauses x literals: the highest bit of each state.

    States are kept as clauses x words of 32 literals x bit planes.
    """
    for _, states in machine.get_state():
        planes = states.reshape(machine.number_of_clauses, -1, machine.number_of_state_bits)
        words = np.ascontiguousarray(planes[:, :, -1])
        bits = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")
        yield bits[:, : machine.number_of_features]
