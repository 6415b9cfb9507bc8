"""The rule by which votes learn, in plain Python lists, written for reading and not for speed."""

from __future__ import annotations

NEVER = -(1 << 30)


class ReferenceLearner:
    """Rows are pairs of a class and a list of fired clauses. Votes are sixteenths."""

    def __init__(self, weights, n_new, n_rows, margin, *, guard=True, is_bias=False, anchors=()):
        self.weights = [[16 * w for w in weight] + [0] * n_new for weight in weights]
        self.n_classes = len(self.weights[0])
        self.n_new, self.n_rows, self.margin = n_new, n_rows, margin
        self.guard, self.is_bias, self.anchors = guard, is_bias, list(anchors)
        self.rows = []
        self.forget_votes()

    def forget_votes(self):
        self.votes = {}  # (clause, class) -> sixteenths, or (None, class) for a bias
        self.taught = set()

    def sums(self, fired, *, personal=True):
        sums = []
        for c in range(self.n_classes):
            if c >= self.n_classes - self.n_new and not (personal and c in self.taught):
                sums.append(NEVER)
                continue
            total = sum(self.weights[j][c] for j in fired)
            if personal:
                total += sum(self.votes.get((j, c), 0) for j in ([None] if self.is_bias else fired))
            sums.append(total)
        return sums

    def learn(self, class_, fired):
        if len(self.rows) == self.n_rows:
            counts = [sum(label == c for label, _ in self.rows) for c in range(self.n_classes)]
            most = counts.index(max(counts))
            self.rows.pop([label for label, _ in self.rows].index(most))
        self.rows.append((class_, list(fired)))

    def checks(self):
        """Numbers of the rows that check: the second of each class, and every third after it."""
        collected = []
        for i, (class_, _) in enumerate(self.rows):
            before = sum(label == class_ for label, _ in self.rows[:i])
            if before in range(1, 100000, 3):
                collected.append(i)
        return collected

    def passes(self, options):
        """Twenty passes over rows and general rows. Returns the moves of the last."""
        rows = options + self.anchors
        self.forget_votes()
        self.taught = {c for c, _ in self.rows if c >= self.n_classes - self.n_new}
        moves = [0] * len(rows)
        for _ in range(20):
            moved = 0
            for i, (right, fired) in enumerate(rows):
                if moves[i] == (32 if self.n_new and i < len(options) else 4):
                    continue
                is_new = right >= self.n_classes - self.n_new
                sums = self.sums(fired)
                rival = max((c for c in range(self.n_classes) if c != right), key=lambda c: (sums[c], -c))
                if sums[right] - sums[rival] >= self.margin * (2 if is_new else 1):
                    continue
                moves[i] += 1
                moved += 1
                for j in [None] if self.is_bias else fired:
                    self.votes[j, right] = min(self.votes.get((j, right), 0) + 1, 127)
                    self.votes[j, rival] = max(self.votes.get((j, rival), 0) - 1, -127)
            if not moved:
                break
        return moved

    def right(self, i, *, personal):
        class_, fired = self.rows[i]
        sums = self.sums(fired, personal=personal)
        return sums.index(max(sums)) == class_

    def adapt(self):
        """Returns the moves of the last pass, None when nothing is kept."""
        if not self.rows:
            self.forget_votes()
            return None
        if self.guard:
            checks = self.checks()
            self.passes([row for i, row in enumerate(self.rows) if i not in checks])
            after = sum(self.right(i, personal=True) for i in checks)
            if after <= sum(self.right(i, personal=False) for i in checks):
                self.forget_votes()
                return None
        return self.passes(self.rows)
