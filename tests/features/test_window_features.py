"""Features of windows: the C equals plain numpy, and whatever cannot be right is refused."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline

import reference_windows
from ethereal import WindowFeatures
from ethereal.features.front_end import KERNELS, FrontEnd, band_ends, header, sines, unsquash
from windows import RAW, everything, hard_windows


@pytest.mark.parametrize("n", [64, 100, 128, 250, 257, 512])
def test_every_kernel_equals_plain_numpy(n):
    windows = hard_windows(n)
    extractor = everything().fit(windows)
    assert np.array_equal(
        extractor.transform(windows), reference_windows.features(extractor.front_end_, windows)
    )


@pytest.mark.parametrize(("n", "rate"), [(8000, 8000), (256, 16000), (1500, 4000)])
def test_mel_equals_plain_numpy(n, rate):
    windows = hard_windows(n, 1, 3)
    windows[-1, : n // 2] = 0  # silence, then sound
    extractor = WindowFeatures(["mel"], rate=rate).fit(windows)
    assert np.array_equal(
        extractor.transform(windows), reference_windows.features(extractor.front_end_, windows)
    )


@pytest.mark.parametrize("name", ["har", "watch", "gesture", "fsdd"])
def test_real_windows_equal_plain_numpy(name):
    if not (RAW / f"{name}.npz").exists():
        pytest.skip(f"{name} is not there")
    with np.load(RAW / f"{name}.npz", allow_pickle=False) as data:
        windows, rate = data["X"][:: 20 if name != "fsdd" else 150], float(data["rate"])
    extractor = (
        WindowFeatures(["mel"], rate=rate) if name == "fsdd" else everything(windows.shape[2], rate=rate)
    )
    extractor.fit(windows)
    assert np.array_equal(
        extractor.transform(windows), reference_windows.features(extractor.front_end_, windows)
    )


def test_threads_give_the_same_bits():
    windows = np.tile(hard_windows(128), (8, 1, 1))
    extractor = everything().fit(windows)
    once = extractor.transform(windows)
    for n_jobs in (2, 3, -1):
        assert np.array_equal(extractor.set_params(n_jobs=n_jobs).transform(windows), once)


def test_groups_do_not_depend_on_each_other():
    windows = hard_windows(128)
    whole = everything().fit(windows)
    front_end, features = whole.front_end_, whole.transform(windows)
    for g in range(len(front_end.groups)):
        alone = front_end.keep([g]).transform(windows)
        assert np.array_equal(alone, features[:, front_end.group_of == g])


def test_features_say_what_their_names_say():
    rng = np.random.default_rng(3)
    t = np.arange(128) / 50
    waves = np.sin(2 * np.pi * t[None, :, None] * rng.uniform(0.5, 5.5, (200, 1, 3)))
    x = rng.uniform(0.01, 1.5, (200, 1, 3)) * waves + rng.uniform(-1, 1, (200, 1, 3))
    extractor = everything(3, rate=50, scale=1000, units="g").fit(x)
    front_end, features = extractor.front_end_, extractor.transform(x)
    column = {name: features[:, i] for i, name in enumerate(front_end.names)}

    def value(name):
        f = front_end.names.index(name)
        return np.array([front_end.in_units(f, v) for v in column[name]])

    assert np.allclose(value("ax.mean"), x[:, :, 0].mean(axis=1), atol=0.002)
    assert np.allclose(value("ay.std"), x[:, :, 1].std(axis=1), rtol=0.01, atol=0.002)
    assert np.allclose(value("az.range"), np.ptp(x[:, :, 2], axis=1), atol=0.003)
    mean_difference = np.abs(np.diff(x[:, :, 0], axis=1)).mean(axis=1)
    assert np.allclose(value("ax.step"), mean_difference, rtol=0.02, atol=0.002)
    assert np.allclose(value("|a|.mean"), np.abs(x).sum(axis=2).mean(axis=1), atol=0.004)
    centred = x - x.mean(axis=1, keepdims=True)
    assert np.allclose(
        value("ax*ay.cov"), (centred[:, :, 0] * centred[:, :, 1]).mean(axis=1), rtol=0.02, atol=0.002
    )
    exact = [np.corrcoef(window[:, 0], window[:, 1])[0, 1] for window in x]
    assert np.allclose(value("ax*ay.corr"), exact, rtol=0.07, atol=0.006)
    power = np.abs(np.fft.rfft(centred[:, :, 2], axis=1)) ** 2 / 128**2
    for band in range(1, 8):
        a, b = (0, *front_end.band_ends["spectrum"])[band - 1 : band + 1]
        wanted = np.sqrt(2 * power[:, a + 1 : b + 1].sum(axis=1))
        assert np.allclose(value(f"az.fine{band}"), wanted, rtol=0.02, atol=0.002)
    gathered = centred[:, :, 2].reshape(200, 32, 4).sum(axis=2)
    power = np.abs(np.fft.rfft(gathered, axis=1)) ** 2 / 32**2
    for band in range(1, 8):
        a, b = (0, *front_end.band_ends["bands"])[band - 1 : band + 1]
        wanted = np.sqrt(2 * power[:, a + 1 : b + 1].sum(axis=1)) / 4
        assert np.allclose(value(f"az.band{band}"), wanted, rtol=0.02, atol=0.002)


def test_quiet_windows_keep_the_order_of_their_bands():
    windows = np.random.default_rng(5).integers(-9, 10, (300, 128, 1)).astype(np.int16)
    features = WindowFeatures(["bands"]).fit(windows).transform(windows)
    centred = windows[:, :, 0] - (windows[:, :, 0].astype(int).sum(axis=1) // 128)[:, None]
    power = np.abs(np.fft.rfft(centred.reshape(300, 32, 4).sum(axis=2), axis=1)) ** 2
    ends = band_ends(KERNELS["bands"], 128).tolist()
    for band, (a, b) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
        wanted = power[:, a + 1 : b + 1].sum(axis=1)
        ranks = [np.argsort(np.argsort(values)) for values in (features[:, band], wanted)]
        assert np.corrcoef(*ranks)[0, 1] > 0.999


def test_squashed_numbers_keep_their_order_and_come_back():
    rng = np.random.default_rng(1)
    values = np.unique((2.0 ** rng.uniform(0, 63.9, 5000)).astype(np.uint64))
    codes = reference_windows.squash(values)
    assert (np.diff(codes) >= 0).all()
    assert max(abs(unsquash(int(c)) / float(v) - 1) for c, v in zip(codes, values, strict=True)) < 1 / 512
    assert reference_windows.squash(np.array([2**64 - 1], dtype=np.uint64))[0] == 55 * 512 - 512 + 1023


def test_tables_do_not_hang_on_the_last_bit_of_a_library():
    exact = 32767 * np.sin(2 * np.pi * np.arange(769) / 1024)
    assert np.abs(exact - np.floor(exact) - 0.5).min() > 1e-6
    assert np.array_equal(sines(1024)[::8], sines(128))
    for rate in (4000, 8000, 16000, 44100):
        bins = band_ends(KERNELS["mel"], 8000, rate).astype(int)
        assert (np.diff(bins) > 0).all()
        assert bins[-1] == 128
    for window in (64, 100, 128, 512, 1024):
        for name in ("bands", "spectrum"):
            bins = band_ends(KERNELS[name], window).astype(int)
            assert (np.diff(bins) > 0).all()


def test_codes_and_widths_are_those_of_the_header():
    text = header()
    for kernel in KERNELS.values():
        name = {"step": "STEP"}.get(kernel.name, kernel.name.upper())
        assert f"#define ET_{name} {kernel.code} " in text
        assert f"{len(kernel.features)} features" in text or f": {len(kernel.features)} */" in text


def test_floats_are_counts_times_the_scale():
    counts = hard_windows(64, 3)
    extractor = everything(3, scale=1000).fit(counts)
    assert np.array_equal(extractor.transform(counts / 1000.0), extractor.transform(counts))
    wide = np.full((1, 64, 3), 1e9)
    assert np.array_equal(
        extractor.transform(wide), extractor.transform(np.full((1, 64, 3), 32767, np.int16))
    )


@pytest.mark.parametrize(
    ("change", "windows", "message"),
    [
        ({}, np.zeros((2, 64, 3)), r"counts per unit are not known\. Give scale="),
        ({"scale": 1.0}, np.full((2, 64, 3), np.nan), r"X\[0, 0, 0\] is nan"),
        ({}, np.full((2, 64, 3), 40000), r"samples from 40000 to 40000"),
        ({}, np.zeros((2, 64, 3), "U1"), r"dtype <U1"),
        ({}, np.zeros((2, 16, 3), "i2"), r"window is 16\. It must be an integer from 32"),
        ({"kernels": ["bands"]}, np.zeros((2, 40, 3), "i2"), r"kernel bands takes windows of 64 to"),
        ({"kernels": ["fft"]}, np.zeros((2, 64, 3), "i2"), r"kernel 'fft' does not exist\. Kernels are"),
        ({"kernels": {"std": ["gx"]}}, np.zeros((2, 64, 3), "i2"), r"no source 'gx'\. Its sources are ax"),
        ({"kernels": {"cov": ["ax*ax"]}}, np.zeros((2, 64, 3), "i2"), r"no source 'ax\*ax'"),
        ({"kernels": {"mel": ["|a|"]}}, np.zeros((2, 512, 3), "i2"), r"no source '\|a\|'"),
        ({"kernels": ["mel"]}, np.zeros((2, 512, 1), "i2"), r"needs the rate"),
        ({"kernels": []}, np.zeros((2, 64, 3), "i2"), r"has no group"),
        ({"axes": ["a", "b"]}, np.zeros((2, 64, 3), "i2"), r"3 axes, but axes has 2 names"),
        ({"axes": ["a", "b", "a"]}, np.zeros((2, 64, 3), "i2"), r"1 to 16 different names"),
        ({"scale": [1, 2]}, np.zeros((2, 64, 3), "i2"), r"scale has 2 entries for 3 axes"),
        ({"scale": 0}, np.zeros((2, 64, 3), "i2"), r"scale is 0"),
        ({"hop": 65}, np.zeros((2, 64, 3), "i2"), r"hop is 65\. It must be an integer from 1 to 64"),
        ({"rate": -1}, np.zeros((2, 64, 3), "i2"), r"rate is -1"),
        ({"window": 128}, np.zeros((2, 64, 3), "i2"), r"windows of 64 samples, but window is 128"),
        ({}, np.zeros((0, 64, 3), "i2"), r"no windows"),
        ({}, np.zeros((64,), "i2"), r"shape \(64,\)"),
        ({"kernels": "std"}, np.zeros((2, 64, 3), "i2"), r"Give a list such as \['std'\]"),
    ],
)
def test_what_cannot_be_right_is_refused(change, windows, message):
    with pytest.raises((ValueError, TypeError), match=message):
        WindowFeatures(**change).fit(windows)


def test_other_windows_than_in_fit_are_refused():
    extractor = WindowFeatures(["std"]).fit(np.zeros((2, 64, 3), "i2"))
    with pytest.raises(ValueError, match=r"\b64\b.*\b3\b"):
        extractor.transform(np.zeros((2, 64, 2), "i2"))
    with pytest.raises(ValueError, match=r"not fitted|NotFitted"):
        WindowFeatures().transform(np.zeros((2, 64, 3), "i2"))


def test_it_is_a_transformer_like_others():
    windows = hard_windows(64, 3)
    extractor = WindowFeatures({"stats": ["axes"], "haar": ["|a|"]}, rate=50.0, hop=32, scale=1000, units="g")
    assert clone(extractor).get_params() == extractor.get_params()
    extractor.fit(windows)
    again = pickle.loads(pickle.dumps(extractor))
    assert again.front_end_ == extractor.front_end_
    assert np.array_equal(again.transform(windows), extractor.transform(windows))
    back = WindowFeatures.from_front_end(extractor.front_end_)
    assert clone(back).fit(windows).front_end_ == extractor.front_end_
    assert FrontEnd.from_dict(extractor.front_end_.as_dict()) == extractor.front_end_
    names = extractor.get_feature_names_out()
    assert names[:4].tolist() == ["ax.mean", "ax.min", "ax.max", "ax.range"]
    assert names[-1] == "|a|.haar5"
    pipeline = make_pipeline(extractor, RandomForestClassifier(5, random_state=0))
    labels = np.arange(len(windows)) % 2
    assert pipeline.fit(windows, labels).predict(windows).shape == labels.shape
    assert pipeline[:-1].get_feature_names_out().tolist() == names.tolist()


def test_windows_of_a_recording_follow_the_hop():
    front_end = WindowFeatures(["std"], hop=16).fit(np.zeros((1, 32, 2), "i2")).front_end_
    recording = np.arange(2 * 70).reshape(70, 2).astype(np.int16)
    cut = front_end.windows(recording)
    assert cut.shape == (3, 32, 2)
    assert np.array_equal(cut[2], recording[32:64])
    assert front_end.windows(recording[:31]).shape == (0, 32, 2)
