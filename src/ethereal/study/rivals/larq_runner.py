"""Run by the interpreter that has Larq, never imported by the package: `larq_runner.py GIVEN.npz RESULT.npz`.

The layout is the study's: two layers of binarized weights without bias or normalisation, the input of 0 and 1
as it is, the hidden layer's output binarized. Of the epochs, the one that does best on a tenth of the rows,
held out, is returned: from one epoch to the next the accuracy moves by several points.
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
    tf.keras.utils.set_random_seed(seed)
    binary = {"use_bias": False, "kernel_quantizer": "ste_sign", "kernel_constraint": "weight_clip"}
    model = tf.keras.Sequential(
        [
            larq.layers.QuantDense(n_units, input_shape=bits.shape[1:], **binary),
            larq.layers.QuantDense(n_classes, input_quantizer="ste_sign", **binary),
            tf.keras.layers.Activation("softmax"),
        ]
    )
    model.compile(tf.keras.optimizers.Adam(learning_rate), "sparse_categorical_crossentropy", ["accuracy"])

    best: dict[str, object] = {"accuracy": -1.0}

    class KeepBest(tf.keras.callbacks.Callback):  # type: ignore[misc]
        def on_epoch_end(self, epoch: int, logs: dict[str, float]) -> None:
            if logs["val_accuracy"] > best["accuracy"]:  # type: ignore[operator]
                best.update(accuracy=logs["val_accuracy"], weights=model.get_weights())

    order = np.random.default_rng(seed).permutation(len(bits))
    held, used = np.split(order, [max(1, len(order) // 10)])
    model.fit(
        bits[used],
        codes[used],
        batch_size=batch_size,
        epochs=epochs,
        validation_data=(bits[held], codes[held]),
        callbacks=[KeepBest()],
        verbose=0,
    )
    hidden, output = (np.where(w >= 0, 1, -1).astype(np.int8) for w in best["weights"])  # type: ignore[attr-defined]
    np.savez(result, hidden=hidden, output=output)


if __name__ == "__main__":
    main(*sys.argv[1:])
