"""The paper's experiment in small, cell by cell: vanilla against ETHEREAL, size in words and bytes, a board.

    python examples/paper.py [SET]        # digits without; any set of `ethereal datasets`, say har

`ethereal study` does it for all sets with the paper's settings; lab/notes/results.md has what came out.
"""

# %% Data, Booleanized by quantiles of the training rows.
import sys

from ethereal import Booleanizer, EtherealClassifier, datasets, device
from ethereal.model import codes as encode

data = datasets.load(sys.argv[1] if len(sys.argv) > 1 else "digits")
train, test = ~data.test, data.test
print(f"{data.name}: {train.sum()} training rows, {test.sum()} test rows, {data.completeness}")

# %% Two machines that differ in one thing: whether literals are excluded while training.
machines = {}
for name, exclude_every in (("vanilla", None), ("ETHEREAL", 1)):
    clf = EtherealClassifier.paper(
        n_clauses=50,
        T=12,
        s=5.0,
        epochs=20,
        exclude_every=exclude_every,
        booleanizer=Booleanizer(n_bins=3),
        random_state=0,
    )
    machines[name] = clf.fit(data.X[train], data.y[train])

# %% The paper's Table 2: accuracy and includes per clause. The epoch is chosen on validation rows.
for name, clf in machines.items():
    model = clf.model_
    print(
        f"{name:9}{clf.score(data.X[test], data.y[test]):7.1%}"
        f"{model.n_includes / model.n_clauses:7.1f} includes per clause"
    )

# %% How training goes: exclusion lowers the includes, the next epoch learns back what it needs.
for record in machines["ETHEREAL"].history_[:6]:
    print(f"epoch {record['epoch']:2} {record['phase']:8}{record['includes']:6} includes")

# %% Sizes: 16 bits per include in REDRESS words, fewer in the compact code.
for name, clf in machines.items():
    sizes = encode.sizes(clf.model_.simplify())
    print(f"{name:9} {sizes}")

# %% On a Cortex-M7: compiled, executed in an emulator, instructions counted, answers compared.
try:
    cost = device.measure(machines["ETHEREAL"].model_.simplify(), data.X[test][:50], target="cortex-m7")
except ImportError as error:
    print(f"not measured: {error}")
else:
    print(cost)
