"""Hostile bytes for every reader: kept findings, and seeds that hypothesis cuts, repeats and changes."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzz_targets import TARGETS
from thinned import examples

CORPUS = Path(__file__).parents[1] / "corpus"
KEPT = sorted(path for path in CORPUS.glob("*/*") if path.is_file())


@pytest.mark.parametrize("path", KEPT, ids=lambda path: f"{path.parent.name}-{path.name[:20]}")
def test_kept_inputs(path):
    TARGETS[path.parent.name](path.read_bytes())


def test_every_target_has_seeds():
    assert {path.parent.name for path in KEPT} == set(TARGETS)


@pytest.mark.parametrize("name", TARGETS)
@given(data=st.data())
@examples(80, suppress_health_check=[HealthCheck.too_slow])
def test_changed_bytes(name, data):
    seeds = [path.read_bytes() for path in KEPT if path.parent.name == name]
    content = data.draw(st.sampled_from(seeds))
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(content)))
        end = min(start + data.draw(st.sampled_from([0, 1, 2, 4, 8, 64])), len(content))
        new = data.draw(
            st.one_of(
                st.binary(max_size=8),
                st.sampled_from([b"\0", b"\xff" * 4, b"\xff" * 8, b"-1", b"1e999", b"\n", b'"', b"["]),
                st.just(content[start:end] * 2),
            )
        )
        content = content[:start] + new + content[end:]
    TARGETS[name](content)


@pytest.mark.parametrize("name", TARGETS)
@given(content=st.binary(max_size=300))
@settings(max_examples=20)
def test_noise(name, content):
    TARGETS[name](content)
