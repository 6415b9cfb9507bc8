/*
 * ethereal runtime, layout "sliced": 32 rows at once.
 *
 * A plane is a word with one Boolean of 32 rows, row r in bit r. A clause is the AND of its literals' planes,
 * and votes are counted in planes too: bit k of a sum is one plane. Clauses come in fours with the same number
 * of literals (filled up with planes that are all true, and clauses that are all false): this number less one,
 * then the first literal of each, the second of each, and so on. A group is the clauses that vote for one class
 * with one sign and one power of two.
 */

/* Write the planes of the Booleans, and of their negations ET_BOOLEANS planes further on. */
#if ET_BINARY
static void et_slice(const et_row *rows, uint32_t *planes)
{
    uint32_t *to = planes;
    unsigned s;
    unsigned r;

    for (s = 0; s < ET_ROW_WORDS; s++) { /* four slots at once, one per byte of a word */
        uint32_t a = 0; /* rows 0-7 */
        uint32_t b = 0; /* rows 8-15 */
        uint32_t c = 0; /* rows 16-23 */
        uint32_t d = 0; /* rows 24-31 */

        for (r = 8; r > 0u; r--) {
            a = (a << 1) | rows[r - 1u].word[s];
            b = (b << 1) | rows[r + 7u].word[s];
            c = (c << 1) | rows[r + 15u].word[s];
            d = (d << 1) | rows[r + 23u].word[s];
        }
        to[0] = (a & 0xFFu) | ((b & 0xFFu) << 8) | ((c & 0xFFu) << 16) | (d << 24);
        to[1] = ((a >> 8) & 0xFFu) | (b & 0xFF00u) | ((c & 0xFF00u) << 8) | ((d & 0xFF00u) << 16);
        to[2] = ((a >> 16) & 0xFFu) | ((b >> 8) & 0xFF00u) | (c & 0xFF0000u) | ((d & 0xFF0000u) << 8);
        to[3] = (a >> 24) | ((b >> 16) & 0xFF00u) | ((c >> 8) & 0xFF0000u) | (d & 0xFF000000u);
        to[ET_BOOLEANS] = ~to[0];
        to[ET_BOOLEANS + 1u] = ~to[1];
        to[ET_BOOLEANS + 2u] = ~to[2];
        to[ET_BOOLEANS + 3u] = ~to[3];
        to = &to[4];
    }
}
#else
static uint32_t et_top_bits(const uint32_t *state, uint32_t rest)
{
    uint32_t bits = (state[0] + rest) & 0x80808080u;

    bits = (bits >> 1) | ((state[1] + rest) & 0x80808080u);
    bits = (bits >> 1) | ((state[2] + rest) & 0x80808080u);
    bits = (bits >> 1) | ((state[3] + rest) & 0x80808080u);
    bits = (bits >> 1) | ((state[4] + rest) & 0x80808080u);
    bits = (bits >> 1) | ((state[5] + rest) & 0x80808080u);
    bits = (bits >> 1) | ((state[6] + rest) & 0x80808080u);
    return (bits >> 1) | ((state[7] + rest) & 0x80808080u);
}

static void et_slice(const et_row *rows, uint32_t *planes)
{
    uint32_t *to = planes;
    unsigned s;
    unsigned r;
    unsigned i;

    for (s = 0; s < ET_SLOTS; s++) {
        uint32_t state[8]; /* row r is byte r / 8 of word r % 8 */
#if ET_BINS
        const uint8_t *const test = &et_tests[ET_READ(et_slot_bases[s])];
#endif

        for (r = 0; r < 8u; r++) {
            state[r] = et_slots(&rows[r])[s] | ((uint32_t)et_slots(&rows[r + 8u])[s] << 8)
                       | ((uint32_t)et_slots(&rows[r + 16u])[s] << 16)
                       | ((uint32_t)et_slots(&rows[r + 24u])[s] << 24);
        }
        for (i = 0; i < ET_READ(et_slot_sizes[s]); i++) {
            /* Adding what a state lacks to 127 sets the top bit of the bytes above it. */
#if ET_BINS
            const uint32_t rest = 0x01010101u * (0x7Fu - (ET_READ(test[i]) & 0x7Fu));

            to[0] = et_top_bits(state, rest);
            if ((ET_READ(test[i]) & 0x80u) != 0u) {
                /* True in this state only: above the one before, but not above it. */
                to[0] = ~to[0] & et_top_bits(state, rest + 0x01010101u);
            }
#else
            to[0] = et_top_bits(state, 0x7F7F7F7Fu - (0x01010101u * i));
#endif
            to[ET_BOOLEANS] = ~to[0];
            to++;
        }
    }
}
#endif

/* Add two bits per row to a plane; returns the carries. */
static inline uint32_t et_add(uint32_t *plane, uint32_t x, uint32_t y)
{
    const uint32_t either = x ^ y;
    const uint32_t carry = (x & y) | (*plane & either);

    *plane ^= either;
    return carry;
}

/* Count in how many of a group's clauses each row fires; returns where the next group begins. */
static const et_plane *et_count(const uint32_t *planes, const et_plane *next, unsigned n_fours, uint32_t *count)
{
    const et_plane *literal = next;
    uint32_t ones = 0;
    uint32_t twos = 0;
    uint32_t fours = 0;
    unsigned left;
    unsigned k;

    for (k = 3; k < ET_COUNT_BITS; k++) {
        count[k] = 0;
    }
    for (left = n_fours; left > 0u; left--) {
        uint32_t a = planes[ET_READ(literal[1])];
        uint32_t b = planes[ET_READ(literal[2])];
        uint32_t c = planes[ET_READ(literal[3])];
        uint32_t d = planes[ET_READ(literal[4])];
        unsigned n = ET_READ(literal[0]); /* literals after the first */
        uint32_t carry;

        literal = &literal[5];
        while (n > 0u) {
            a &= planes[ET_READ(literal[0])];
            b &= planes[ET_READ(literal[1])];
            c &= planes[ET_READ(literal[2])];
            d &= planes[ET_READ(literal[3])];
            literal = &literal[4];
            n--;
        }
        a = et_add(&ones, a, b);
        carry = et_add(&twos, a, et_add(&ones, c, d));
        fours ^= carry;
        carry &= ~fours;
        for (k = 3; (carry != 0u) && (k < ET_COUNT_BITS); k++) {
            count[k] ^= carry;
            carry &= ~count[k];
        }
    }
    count[0] = ones;
    count[1] = twos;
    count[2] = fours;
    return literal;
}

#if defined(__AVR__)
static et_row et_rows[32];
static uint32_t et_sums[ET_CLASSES][ET_SUM_BITS];
#endif

/* Class sums of 32 Booleanized rows, ET_SUM_BITS planes per class; they begin with ET_SUM_OFFSET. */
static void et_sliced_sums(const et_row *rows, uint32_t sums[ET_CLASSES][ET_SUM_BITS])
{
    ET_BUFFER uint32_t planes[(2u * ET_BOOLEANS) + 2u]; /* Booleans, negations, false, true */
    const et_plane *next = et_literals;
    unsigned g;
    unsigned c;
    unsigned k;

    et_slice(rows, planes);
    planes[2u * ET_BOOLEANS] = 0;
    planes[(2u * ET_BOOLEANS) + 1u] = 0xFFFFFFFFu;
    for (c = 0; c < ET_CLASSES; c++) {
        for (k = 0; k < ET_SUM_BITS; k++) {
            sums[c][k] = ((((uint32_t)ET_SUM_OFFSET >> k) & 1u) != 0u) ? 0xFFFFFFFFu : 0u;
        }
    }
    for (g = 0; g < ET_GROUPS; g++) {
        const et_group *const group = &et_groups[g];
        const unsigned shift = ET_READ(group->shift);
        /* sum - count is ~(~sum + count) */
        const uint32_t flip = (ET_READ(group->against) != 0u) ? 0xFFFFFFFFu : 0u;
        uint32_t *const sum = sums[ET_READ(group->class_)];
        uint32_t count[ET_COUNT_BITS];
        uint32_t carry = 0;

        next = et_count(planes, next, ET_READ(group->fours), count);
        for (k = 0; (k < ET_COUNT_BITS) && ((k + shift) < ET_SUM_BITS); k++) {
            uint32_t bit = sum[k + shift] ^ flip;

            carry = et_add(&bit, carry, count[k]);
            sum[k + shift] = bit ^ flip;
        }
        for (k += shift; (carry != 0u) && (k < ET_SUM_BITS); k++) {
            const uint32_t bit = sum[k] ^ flip;

            sum[k] = bit ^ carry ^ flip;
            carry &= bit;
        }
    }
}

#if ET_CELLS == 0
/* Classes of 32 rows with the highest sums, the lower class on a tie. */
static void et_sliced_argmax(uint32_t sums[ET_CLASSES][ET_SUM_BITS], uint16_t *classes)
{
    uint32_t *const best = sums[0];
    uint32_t winner[ET_CLASS_BITS];
    unsigned c;
    unsigned k;
    unsigned r;

    for (k = 0; k < ET_CLASS_BITS; k++) {
        winner[k] = 0;
    }
    for (c = 1; c < ET_CLASSES; c++) {
        uint32_t above = 0;          /* rows in which c is better */
        uint32_t open = 0xFFFFFFFFu; /* rows not yet decided */

        for (k = ET_SUM_BITS; k > 0u; k--) {
            above |= open & sums[c][k - 1u] & ~best[k - 1u];
            open &= ~(sums[c][k - 1u] ^ best[k - 1u]);
        }
        for (k = 0; k < ET_SUM_BITS; k++) {
            best[k] ^= (best[k] ^ sums[c][k]) & above;
        }
        for (k = 0; k < ET_CLASS_BITS; k++) {
            winner[k] = (winner[k] & ~above) | ((((c >> k) & 1u) != 0u) ? above : 0u);
        }
    }
    for (r = 0; r < 32u; r++) {
        unsigned class_ = 0;

        for (k = 0; k < ET_CLASS_BITS; k++) {
            class_ |= (unsigned)((winner[k] >> r) & 1u) << k;
        }
#if (ET_CLASSES & (ET_CLASSES - 1u)) != 0u
        if (class_ >= ET_CLASSES) { /* it never is, but now one can see that */
            class_ = 0;
        }
#endif
        classes[r] = (uint16_t)class_;
    }
}
#endif
