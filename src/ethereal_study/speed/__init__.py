"""Measure training and prediction, alone or against other Tsetlin machine libraries, all in the same way.

Every library runs in a process of its own: `runner.py` is the main program of that process, an adapter
(`adapter.py` here, `lab/benchmarks/baselines/NAME.py` for a baseline) drives one library. The parent hands
over a request as JSON and packed rows in a file, and checks what comes back before it believes it.
"""
