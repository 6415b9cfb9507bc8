"""Run by the interpreter that has Larq, never imported by the package: `larq_runner.py GIVEN.npz RESULT.npz`.

The layout is the study's: two layers of binarized weights without bias or normalisation, the input of 0 and 1
as it is, the hidden layer's output binarized. All rows are learnt from, and the last epoch counts, as in the
study. No row chooses an epoch.
"""

from __future__ import annotations

import sys


def main(given: str, result: str) -> None:
    """Train on the arrays of `given` and write the +-1 weights to `result`."""
    import larq
    import numpy as np
    import tensorflow as tf

    with np.load(given, allow_pickle=False) as arrays:
        bits, codes = arrays["bits"].astype(np.float32), arrays["codes"]
        n_classes, n_units, seed, epochs, batch_size = (
            int(arrays[k]) for k in ("n_classes", "n_units", "seed", "epochs", "batch_size")
        )
        learning_rate = float(arrays["learning_rate"])
    # One thread and fixed operations: the same seed gives the same bits.
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    tf.config.experimental.enable_op_determinism()
    tf.keras.utils.set_random_seed(seed)
    binary = {"use_bias": False, "kernel_quantizer": "ste_sign", "kernel_constraint": "weight_clip"}
    model = tf.keras.Sequential(
        [
            larq.layers.QuantDense(n_units, input_shape=bits.shape[1:], **binary),
            larq.layers.QuantDense(n_classes, input_quantizer="ste_sign", **binary),
            tf.keras.layers.Activation("softmax"),
        ]
    )
    # Many steps in one call: the same weights, and a call costs as much as several steps.
    model.compile(
        tf.keras.optimizers.Adam(learning_rate), "sparse_categorical_crossentropy", steps_per_execution=64
    )
    model.fit(bits, codes, batch_size=batch_size, epochs=epochs, verbose=0)
    hidden, output = (np.where(w >= 0, 1, -1).astype(np.int8) for w in model.get_weights())
    np.savez(result, hidden=hidden, output=output)


if __name__ == "__main__":
    main(*sys.argv[1:])
