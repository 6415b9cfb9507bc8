// The exported C, compiled to WebAssembly. It answers, and JavaScript only shows which rules apply.
class BoardModel extends LiveModel {
  constructor(m, exports, board) {
    super(m);
    const Row = { float: Float32Array, uint8_t: Uint8Array, int16_t: Int16Array }[board.input];
    this.board = board;
    this.c = exports;
    this.row = new Row(exports.memory.buffer, exports.et_page_row.value, m.features.length);
    this.votes = new Int32Array(exports.memory.buffer, exports.et_page_sums.value, m.classes.length);
    if (board.stream) {
      this.sample = new Int16Array(exports.memory.buffer, exports.et_page_sample.value, board.stream.axes.length);
      this.features = new Int16Array(exports.memory.buffer, exports.et_page_features(), m.features.length);
    }
  }
  // null and NaN are missing values
  put(x) { for (let f = 0; f < this.row.length; f++) this.row[f] = x[f] === null ? NaN : x[f]; }
  // the number of the first feature that is missing and never was in training, counted from 0, or -1
  refused(x) { this.put(x); return this.c.et_page_missing() - 1; }
  sums(x, fired = null) {
    this.put(x);
    this.c.et_page_vote();
    const sums = [...this.votes];
    if (fired && super.sums(x, fired).some((s, c) => s !== sums[c])) throw new Error("The rules and the compiled model disagree.");
    return sums;
  }
  value() { return this.c.et_page_predict(); } // a number, of the row that the sum is of
  answer() { return this.c.et_page_predict(); } // of the row that the sums are of
  predict(x) { this.put(x); return this.c.et_page_predict(); }
  // counts of the axes; returns an answer once there are samples enough, else null
  push(sample) {
    this.sample.set(sample);
    const answer = this.c.et_page_push();
    if (this.m.number) return answer ? this.c.et_page_pushed() : null;
    return answer < 0 ? null : answer;
  }
  reset() { this.c.et_page_reset(); }
}
