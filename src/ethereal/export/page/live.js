// The model in JavaScript: the same comparisons and whole numbers as in Python, so the same class sums.
class LiveModel {
  constructor(m) {
    this.m = m;
    this.truth = new Uint8Array(2 * m.n_booleans); // literals: the Booleans, then their negations
  }
  // x: one number per raw feature, null for a missing value
  booleanize(x) {
    const { m, truth } = this, n = m.n_booleans;
    m.features.forEach((f, i) => {
      const missing = x[i] === null || Number.isNaN(x[i]), t = f.thresholds;
      const v = m.precision === "float32" ? Math.fround(x[i]) : x[i];
      let at = f.first;
      if (f.binned) {
        let bin = 0;
        while (bin < t.length && v > t[bin]) bin++;
        for (let j = 0; j <= t.length; j++) truth[at++] = !missing && j === bin ? 1 : 0;
      } else {
        for (const threshold of t) truth[at++] = !missing && v > threshold ? 1 : 0;
      }
      if (f.missing) truth[at++] = missing ? 1 : 0;
    });
    for (let b = 0; b < n; b++) truth[n + b] = 1 - truth[b];
  }
  // numbers of the clauses that fire; an empty clause never does
  firing(x) {
    this.booleanize(x);
    const { literals, offsets } = this.m, fired = [];
    for (let j = 0; j + 1 < offsets.length; j++) {
      const end = offsets[j + 1];
      let i = offsets[j];
      if (i === end) continue;
      while (i < end && this.truth[literals[i]]) i++;
      if (i === end) fired.push(j);
    }
    return fired;
  }
  sums(x, fired = this.firing(x)) {
    const sums = new Array(this.m.classes.length).fill(0);
    for (const j of fired) for (const [c, w] of this.m.votes[j]) sums[c] += w;
    if (this.m.number?.linear) sums[0] += this.line(x);
    return sums;
  }
  // the votes of the linear part: whole steps of features times weights
  line(x) {
    const { scale, linear } = this.m.number, unit = scale / linear.step;
    let fine = Math.floor(unit / 2);
    for (const [f, weight, exponent, low, high] of linear.slopes) {
      const v = x[f] === null || Number.isNaN(x[f]) ? low : Math.fround(x[f]) * 2 ** -exponent;
      fine += weight * (Math.trunc(Math.min(Math.max(v, low), high)) - low);
    }
    return Math.floor(fine / unit);
  }
  static winner(sums) {
    let best = 0;
    sums.forEach((s, c) => { if (s > sums[best]) best = c; });
    return best;
  }
  // the winner, or the number of classes where it leads by too few votes
  answer(sums) {
    const best = LiveModel.winner(sums), lead = Math.min(...sums.filter((_, c) => c !== best).map(s => sums[best] - s));
    return this.m.margin !== null && lead < this.m.margin ? sums.length : best;
  }
  // the number that a sum stands for, in single precision as on the board
  value(sum) { return Math.fround(this.m.number.offset + this.m.number.scale * sum); }
  predict(x) { const sums = this.sums(x); return this.m.number ? this.value(sums[0]) : this.answer(sums); }
}
