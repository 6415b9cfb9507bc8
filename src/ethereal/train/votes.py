"""What `fit` does once the machine is trained: clauses for noisy labels, and votes fitted again.

A machine that learns quickly also learns wrong labels. A few noise clauses that learn slowly do not,
and their votes are added. Then a logistic regression on the outputs of all clauses gives other votes, which
replace those of the machine only where held-out rows say so.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal import _native
from ethereal.compress import join
from ethereal.model import Model, checks
from ethereal.model.calibration import fit_temperature, log_losses
from ethereal.train.automata import Feedback, Training, Watch
from ethereal.train.fitting import Fitting

CLAUSES_PER_NOISE_CLAUSE = 6  # measured, see lab/notes/defaults.md, like the numbers below
_NOISE_T, _NOISE_S = 1.5, 3.9  # T per clause, and s
_SEED = 0x9E3779B97F4A7C15 >> 2  # changes the seed of the machine to that of its noise clauses
_STRENGTHS = 0.03, 0.3  # C of the logistic regressions that are tried
_ITERATIONS = 20  # later ones change no vote that matters
_LARGEST_VOTE = 15
_MOSTLY_CHANCE = 0.9  # of the log loss of answers by chance
_MOST_OUTPUTS = 1 << 26  # clause outputs that votes are fitted on, a byte each


@dataclass(frozen=True)
class _Candidate:
    model: Model
    how: str  # its votes were found, for the provenance
    T: float  # class sum to expect of a sure row


def noise_clauses(wanted: int | str, n_clauses: int) -> int:
    """Return the number of clauses for noise per class."""
    return n_clauses // CLAUSES_PER_NOISE_CLAUSE if isinstance(wanted, str) else int(wanted)


def improve(model: Model, fitting: Fitting, n_noise: int, refit: bool, n_threads: int, verbose: int) -> Model:
    """Return the model of a finished training with its noise clauses, and the best votes for all clauses.

    Without held-out rows the votes stay as they were trained, because nothing could choose.
    """
    T: float = fitting.training.feedback.T
    facts: dict[str, Any] = {}
    if n_noise:
        noise = _train_noise_clauses(fitting, n_noise, n_threads, verbose)
        model = join([model, model._with(clauses=noise.clauses)])
        T += min(noise.feedback.T, n_noise / 2)
        facts["noise"] = {"n_clauses": n_noise, **asdict(noise.feedback), "seed": noise.seed}
    chosen = _Candidate(model, "as trained", T)
    temperature = T / 3
    held_out, weights = fitting.watch.validation, fitting.watch.weights
    if held_out is not None:
        known = held_out.classes >= 0  # no clause votes for a label that training does not know
        weights = None if weights is None else weights[known]
        words, codes = held_out.words[known], held_out.classes[known]
        if refit and len(codes):
            chosen = _best([chosen, *_refitted(model.simplify(), fitting)], words, codes, weights)
        temperature = fit_temperature(chosen.model.class_sums(words, packed=True), codes, chosen.T, weights)
    facts["votes"] = chosen.how
    provenance = checks.provenance({**model.provenance, **facts})
    return chosen.model._with(provenance=provenance).with_temperature(temperature)


def _best(
    candidates: list[_Candidate], words: NDArray[Any], codes: NDArray[Any], weights: NDArray[Any] | None
) -> _Candidate:
    """Return the candidate with the least log loss on held-out rows. The first one wins a tie.

    A small difference decides nothing on held-out rows whose labels are mostly chance. There
    another candidate must be better by two standard errors.
    """
    losses = []
    for one in candidates:
        sums = one.model.class_sums(words, packed=True)
        losses.append(log_losses(sums / fit_temperature(sums, codes, one.T, weights, prior=0.0), codes))
    share = np.ones(len(codes)) if weights is None else weights
    gains = [np.average(losses[0] - each, weights=share) for each in losses]
    best = int(np.argmax(gains))
    chance = math.log(candidates[0].model.n_classes)
    if np.average(losses[0], weights=share) > _MOSTLY_CHANCE * chance:
        error = float(np.std(losses[0] - losses[best])) / math.sqrt(len(codes))
        best = best if gains[best] > 2 * error else 0
    return candidates[best]


def _train_noise_clauses(fitting: Fitting, n_clauses: int, n_threads: int, verbose: int) -> Training:
    """Train clauses without boosting and with a margin that no sum reaches, on the rows of the machine."""
    machine = fitting.training
    margin = max(1, round(_NOISE_T * n_clauses))
    noise_training = Training(
        n_classes=machine.parameters["n_classes"],
        n_clauses=n_clauses,
        n_booleans=machine.parameters["n_booleans"],
        feedback=Feedback(margin, _NOISE_S, False, machine.feedback.literal_budget),
        seed=machine.seed ^ _SEED,
        patch=machine.patch,
    )
    noise_fitting = Fitting(noise_training, fitting.rows, fitting.visits, Watch(), None, None)
    noise_fitting.run(machine.epochs_done, n_threads, verbose, name="noise")
    return noise_training


def _refitted(model: Model, fitting: Fitting) -> Iterator[_Candidate]:
    """Yield the model with votes from logistic regressions, none where the rows lack a class.

    A larger C goes on from the votes of a smaller one.
    """
    chosen = _sample(fitting, _MOST_OUTPUTS // max(1, model.n_clauses))
    codes, n_classes = fitting.rows.classes[chosen], model.n_classes
    if model.n_clauses == 0 or len(np.unique(codes)) < n_classes:
        return
    outputs = model.clause_outputs(fitting.rows.words[chosen], packed=True)
    weights = np.ones(len(codes)) if fitting.visits is None else fitting.visits[chosen]
    regression = _native.VoteFitting(outputs, codes, weights, n_classes)
    for strength in _STRENGTHS:
        # Two classes have opposite votes, which count twice in the penalty.
        regression.fit(strength / 2 if n_classes == 2 else strength, _ITERATIONS)
        votes = regression.votes().reshape(-1, n_classes)
        largest = float(np.abs(votes).max())
        if not 0 < largest < math.inf:
            continue
        scale = _LARGEST_VOTE / largest  # votes per logit
        whole = np.rint(votes * np.float32(scale)).astype(np.int32)
        clauses = model.clauses.voting(whole).merged()  # without those whose votes became 0
        yield _Candidate(model._with(clauses=clauses), f"fitted again, C={strength}", 3 * scale)


def _sample(fitting: Fitting, most: int) -> NDArray[np.intp]:
    """Return rows that are visited, the same share of every class when they are too many."""
    rows, visits = fitting.rows, fitting.visits
    visited = np.arange(len(rows)) if visits is None else np.flatnonzero(visits > 0)
    share = most / max(1, len(visited))
    if share >= 1:
        return visited
    order = np.random.default_rng(fitting.training.seed).permutation(visited)
    of_class = [order[rows.classes[order] == c] for c in np.unique(rows.classes[order])]
    return np.sort(np.concatenate([chosen[: math.ceil(share * len(chosen))] for chosen in of_class]))
