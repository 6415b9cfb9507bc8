"""Features of windows in plain words, for readers who do not know the names of kernels."""

from __future__ import annotations

import re

from ethereal.features.front_end import FrontEnd

_WORDS = {
    "mean": "the mean",
    "min": "the lowest sample",
    "max": "the highest sample",
    "range": "the highest sample less the lowest",
    "std": "the standard deviation",
    "mad": "the mean distance of the samples from their mean",
    "step": "the mean change from one sample to the next",
    "crossings": "how often it crosses its mean",
    "turns": "how often it turns from rising to falling, or back",
    "cov": "the covariance of the two axes",
    "corr": "the correlation of the two axes",
    "frames": "how long the sound is, from its first loud moment to its last",
}
_NUMBERED = {
    "part": "the mean of eighth {0} of the window, less the mean of all of it",
    "band": "the strength of band {0} of 8, from slow to fast changes",
    "fine": "the strength of band {0} of 8, from slow to fast changes",
}


def plain_words(front_end: FrontEnd, feature: int) -> str:
    """Return what a feature measures.

    >>> front_end = FrontEnd(("az",), 128, (("haar", "az"), ("std", "az")))
    >>> plain_words(front_end, 0), plain_words(front_end, 1)
    ('the standard deviation', 'the mean difference between neighbouring samples')
    """
    _, source = front_end.groups[front_end.group_of[feature]]
    name = front_end.names[feature].removeprefix(source + ".")
    if name in _WORDS:
        return _WORDS[name]
    numbers = re.findall("[0-9]+", name)
    if name.startswith("mel"):
        return (
            f"the strength of tones in band {numbers[0]} of 16, from low, in tenth {numbers[1]} of the sound"
        )
    if name.startswith("haar"):
        n = 2 ** (int(numbers[0]) - 1)
        return f"the mean difference between neighbouring {'samples' if n == 1 else f'means of {n} samples'}"
    return _NUMBERED[name.rstrip("0123456789")].format(*numbers)
