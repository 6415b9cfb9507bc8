"""Features of windows in plain numpy, with 64-bit integers. The C must give the same bits."""

from dataclasses import replace

import numpy as np

from ethereal.features.front_end import KERNELS, band_ends, magnitudes, sines, transform_size


def features(front_end, windows):
    """The features of windows x samples x axes, as `FrontEnd.transform` gives them."""
    if front_end.frames is not None:
        length, step = front_end.frames
        first = (windows.shape[1] - length) % step
        frames = [windows[:, s : s + length] for s in range(first, windows.shape[1] - length + 1, step)]
        if front_end.is_sound:
            return _sound(np.stack(frames, axis=1)[..., 0].astype(np.int64), front_end.rate)
        whole = replace(front_end, window=length, hop=0, frames=None) if length >= 32 else None
        return np.stack([_whole(whole or front_end, frame) for frame in frames], axis=1)
    return _whole(front_end, windows)


def _whole(front_end, windows):
    axes = {name: windows[:, :, i].astype(np.int64) for i, name in enumerate(front_end.axes)}
    for name, parts in magnitudes(front_end.axes).items():
        axes[name] = np.minimum(sum(np.abs(axes[axis]) for axis in parts) >> 1, 32767)
    columns = []
    for kernel, source in front_end.groups:
        if kernel == "cov":
            x, y = (axes[part] for part in source.split("*"))
            total = ((x - _mean(x)) * (y - _mean(y))).sum(axis=1)
            columns.append((np.sign(total) * squash(np.abs(total).astype(np.uint64)))[:, None])
        elif kernel == "corr":
            columns.append(_corr(*(axes[part] - _mean(axes[part]) for part in source.split("*"))))
        elif kernel == "mel":
            columns.append(_mel(axes[source], front_end.rate))
        else:
            columns.append(_KERNELS[kernel](axes[source]))
    return np.concatenate(columns, axis=1).astype(np.int16)


def squash(values):
    """Return exponents and nine bits of mantissa. Numbers below 512 stay as they are."""
    values = np.asarray(values, dtype=np.uint64)
    shift = np.zeros(values.shape, dtype=np.uint64)
    for bits in (32, 16, 8, 4, 2, 1):
        large = (values >> shift) >> np.uint64(bits) >= np.uint64(512)
        shift += np.uint64(bits) * large.astype(np.uint64)
    shift += ((values >> shift) >= np.uint64(1024)).astype(np.uint64)
    return (shift * np.uint64(512) + (values >> shift)).astype(np.int16)


def _corr(x, y):
    total = (x * y).sum(axis=1)
    logs = [_log(sums) for sums in (np.abs(total), (x * x).sum(axis=1), (y * y).sum(axis=1))]
    return (np.sign(total) * np.maximum(8192 + 2 * logs[0] - logs[1] - logs[2], 0))[:, None]


def _log(values):
    """512 for each power of two, linear between them, in Python's integers."""
    bits = [int(v).bit_length() for v in values]
    return np.array([512 * b + (int(v) << 10 >> b) for v, b in zip(values, bits, strict=True)])


def _mean(x):
    return x.sum(axis=1, keepdims=True) // x.shape[1]


def _clip(x):
    return np.clip(x, -32768, 32767)


def _squashed(sums):
    return np.stack([squash(s.astype(np.uint64)) for s in sums], axis=1)


def _stats(x):
    low, high = x.min(axis=1), x.max(axis=1)
    return np.stack([_mean(x)[:, 0], low, high, _clip(high - low)], axis=1)


def _shape(x):
    above, rises = x > _mean(x), np.diff(x, axis=1) > 0
    return np.stack([(np.diff(flags, axis=1) != 0).sum(axis=1) for flags in (above, rises)], axis=1)


def _parts(x):
    length = x.shape[1] // 8
    means = x[:, : 8 * length].reshape(len(x), 8, length).sum(axis=2) // length
    return _clip(means - _mean(x))


def _haar(x):
    sums = []
    for _ in range(5):
        a, b = x[:, : x.shape[1] // 2 * 2 : 2], x[:, 1::2]
        sums.append(np.abs(a - b).sum(axis=1))
        x = (a + b) >> 1
    return _squashed(sums)


def _bands(gather):
    def kernel(x):
        kernel_of = KERNELS["bands" if gather == 4 else "spectrum"]
        size = transform_size(kernel_of, x.shape[1])
        newest = (x - _mean(x))[:, x.shape[1] - size * gather :]
        power, exponent = _powers(newest.reshape(len(x), size, gather).sum(axis=2))
        return _scaled(_sums(power, band_ends(kernel_of, x.shape[1])), exponent)

    return kernel


def _sums(power, ends):
    starts = [0, *ends[:-1].tolist()]
    return np.stack([power[:, a:b].sum(axis=1) for a, b in zip(starts, ends.tolist(), strict=True)], axis=1)


def _scaled(energies, exponent):
    """Squash energies, below 2^53, times a power of two. The products may need more than 64 bits."""
    bits = np.frexp(energies.astype(np.float64))[1].astype(np.int64)
    total = np.where(energies > 0, bits + exponent[:, None], 0)
    highest = np.ldexp(energies.astype(np.float64), 10 - bits).astype(np.int64)
    return np.where(
        total < 10, energies << np.where(total < 10, exponent[:, None], 0), (total - 10) * 512 + highest
    )


def _powers(x):
    """Power of bins 1 to n/2 of rows of n real numbers, and the exponent that gives the shift back."""
    n, m = x.shape[1], x.shape[1] // 2
    wave = sines(n).astype(np.int64)
    bits = np.frexp(np.abs(x).max(axis=1).astype(np.float64))[1].astype(np.int64)
    left = np.maximum(14 - bits, 0)[:, None]
    x = x << left >> np.maximum(bits - 14, 0)[:, None]
    re, im = _fft(x[:, 0::2], x[:, 1::2], wave, n)
    power = np.zeros((len(x), m), dtype=np.int64)
    for k in range(1, m // 2 + 1):
        even = re[:, k] + re[:, m - k], im[:, k] - im[:, m - k]
        odd = im[:, k] + im[:, m - k], re[:, m - k] - re[:, k]
        turned = _turn(*odd, wave[k + n // 4], wave[k])
        for at, sign in ((k, 1), (m - k, -1)):  # of the bin in the middle the second stays
            parts = [(e + sign * t + 2) >> 2 for e, t in zip(even, turned, strict=True)]
            power[:, at - 1] = parts[0] ** 2 + parts[1] ** 2
    power[:, m - 1] = ((re[:, 0] - im[:, 0] + 1) >> 1) ** 2
    return power, 2 * bits


def _turn(re, im, c, s):
    return (c * re + s * im + 16384) >> 15, (c * im - s * re + 16384) >> 15


def _fft(re, im, wave, n):
    m = re.shape[1]
    order = [int(f"{i:0{m.bit_length() - 1}b}"[::-1], 2) for i in range(m)]
    re, im = re[:, order].copy(), im[:, order].copy()
    half = 1
    while half < m:
        for k in range(half):
            c, s = wave[k * n // (2 * half) + n // 4], wave[k * n // (2 * half)]
            a, b = slice(k, m, 2 * half), slice(k + half, m, 2 * half)
            t_re, t_im = _turn(re[:, b], im[:, b], c, s)
            re[:, b], im[:, b] = (re[:, a] - t_re) >> 1, (im[:, a] - t_im) >> 1
            re[:, a], im[:, a] = (re[:, a] + t_re) >> 1, (im[:, a] + t_im) >> 1
        half *= 2
    return re, im


def _mel_bands(frames, rate):
    """Squashed energies of the mel bands of frames of 256 samples."""
    wave = sines(256).astype(np.int64)
    hann = (32767 - wave[np.minimum(np.arange(256), 256 - np.arange(256)) + 64]) >> 1
    power, exponent = _powers((frames * hann) >> 15)
    return _scaled(_sums(power, band_ends(KERNELS["mel"], 256, rate)), exponent)


def _sound(frames, rate):
    """Bands of windows x frames x 256 samples, less the mean of the frame and less that of active frames."""
    rows = []
    for window in frames:
        bands = _mel_bands(window, rate)
        loudness = bands.sum(axis=1) >> 4
        level = loudness[loudness >= loudness.max() - 2560]
        level = level.sum() // len(level)
        parts = bands - loudness[:, None], bands - level, (loudness - loudness.max())[:, None]
        rows.append(np.concatenate(parts, axis=1))
    return np.array(rows)


def _mel(x, rate):
    n_frames = x.shape[1] // 256
    rows = []
    for window in x:
        codes = _mel_bands(window[: n_frames * 256].reshape(n_frames, 256), rate)
        loudness = codes.sum(axis=1) >> 4
        active = np.flatnonzero(loudness >= loudness.max() - 2560)
        codes = codes[active[0] : active[-1] + 1]
        n, every = len(codes), codes.sum() // codes.size
        parts = [codes[p * n // 10 : max((p + 1) * n // 10, p * n // 10 + 1)] for p in range(10)]
        rows.append([*np.concatenate([part.sum(axis=0) // len(part) - every for part in parts]), n])
    return np.array(rows)


_KERNELS = {
    "stats": _stats,
    "std": lambda x: _squashed([((x - _mean(x)) ** 2).sum(axis=1)]),
    "mad": lambda x: _squashed([np.abs(x - _mean(x)).sum(axis=1)]),
    "step": lambda x: _squashed([np.abs(np.diff(x, axis=1)).sum(axis=1)]),
    "shape": _shape,
    "parts": _parts,
    "haar": _haar,
    "bands": _bands(4),
    "spectrum": _bands(1),
}
