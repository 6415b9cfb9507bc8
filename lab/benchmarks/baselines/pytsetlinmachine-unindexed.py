"""pyTsetlinMachine with `indexed=False`: not its default, yet often the faster of the two in training."""

import runpy
from pathlib import Path

default = runpy.run_path(str(Path(__file__).with_name("pytsetlinmachine.py")))
LIBRARY = "pyTsetlinMachine indexed=False"
VERSION, ROWS, train = default["VERSION"], default["ROWS"], default["train"]
train.__globals__["INDEXED"] = False
