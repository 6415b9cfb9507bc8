/*
 * ethereal runtime of exports that learn: kept rows, and votes that follow from them.
 *
 * A row is kept as its class and as the bits of the clauses that fire on it. The votes are a function of the kept rows
 * in their order: there is no random number, and nothing is divided.
 */
#ifndef ET_RUNTIME_LEARN
#define ET_RUNTIME_LEARN

enum { ET_IDLE, ET_TRY, ET_CHECK, ET_LEARN }; /* what the next step of adapting does */

#define ET_BIT(bits, j) ((unsigned)(bits)[(j) / 8u] >> (j) % 8u & 1u)

#define ET_ROW(own, i) ((own)->rows + (i) * ET_ROW_BYTES) /* its class, then its clause bits */

static et_state et_first_state;
static et_state *et_own = &et_first_state;
#ifdef ET_SUM_WORDS
/* The last row: its votes in flash, a bit for each clause that fired, and whether there was such a row. */
static uint32_t et_found[ET_WORDS + 1u];
#define et_last ((uint8_t *)(et_found + ET_SUM_WORDS))
#define et_has_last et_found[ET_WORDS]
#else
static uint8_t et_last[ET_BITS_BYTES + 1u]; /* the clauses that fired on the last row, and whether there was one */
#define et_has_last et_last[ET_BITS_BYTES]
#endif

/* Copy bytes from the first on. Numbers below 0 count those that are left, which is one instruction a byte. */
ET_ONCE void et_copy(uint8_t *to, const uint8_t *from, unsigned size)
{
    ptrdiff_t left = -(ptrdiff_t)size;

    to += size;
    from += size;
    ET_HIDE(to);
    ET_HIDE(from);
#ifdef ET_UNALIGNED
    for (; left <= -4; left += 4) {
        ((et_unaligned *)(void *)(to + left))->word = ET_WORD(from + left);
    }
#endif
    if (left != 0) {
        do {
            to[left] = from[left];
            left++;
        } while (left != 0);
    }
}

/* Write a value into bytes, of which there are some. */
ET_ONCE void et_fill(void *to, unsigned value, unsigned size)
{
    uint8_t *const byte = (uint8_t *)to;

    do {
        size--;
        byte[size] = (uint8_t)value;
    } while (size > 0u);
}

/* Begin a phase with votes of 0, and with all that belongs to them. Returns 0 if nothing is to be learned. */
ET_SMALL static unsigned et_begin(et_state *own, unsigned phase)
{
    et_fill(&own->now, 0, sizeof own->now);
    et_fill(&own->learned, ET_ZERO, sizeof own->learned);
    if (phase == ET_IDLE) {
        return 0;
    }
    own->now.phase = (uint8_t)phase;
    own->now.is_personal = 1;
#if ET_NEW_CLASSES
    {
        unsigned i;

        for (i = 0; i < own->n_rows; i++) {
            const unsigned class_ = ET_ROW(own, i)[0];

            if (class_ >= ET_CLASSES - ET_NEW_CLASSES) {
                own->now.taught[class_ - (ET_CLASSES - ET_NEW_CLASSES)] = 1;
            }
        }
    }
#endif
    return 1;
}

/* Row i of those that are replayed: kept ones, then general ones in flash. */
static const uint8_t *et_replayed(const et_state *own, unsigned i)
{
#if ET_ANCHORS
    if (i >= own->n_rows) {
        const uint8_t *const anchor = et_anchors + (uint32_t)(i - own->n_rows) * ET_ROW_BYTES;
#if defined(__AVR__)
        static uint8_t row[ET_ROW_BYTES];
        unsigned b;

        for (b = 0; b < ET_ROW_BYTES; b++) {
            row[b] = ET_READ(anchor[b]);
        }
        return row;
#else
        return anchor;
#endif
    }
#endif
    return ET_ROW(own, i);
}

/* Move the votes of the clauses that fired for a class by 1, or by 255 to go down. A byte stays above 0. */
ET_ONCE void et_move(et_state *own, const uint8_t *bits, unsigned class_, unsigned by)
{
    uint8_t *vote;
    unsigned step = ET_IN_WORDS, j;

    /*@ split class_; */
    vote = (uint8_t *)own->learned.votes + class_;
    if (ET_IS_BEHIND(class_)) {
        vote += (ET_VOTERS - 1u) * ET_IN_WORDS;
        step = ET_BEHIND;
        ET_HIDE(step); /* A branch takes fewer bytes than a choice. */
    }
    j = 0;
    do {
        const uint8_t moved = (uint8_t)(*vote + by);

        if ((ET_LEARN_BIAS || ET_BIT(bits, j) != 0u) && moved != 0u) {
            *vote = moved;
        }
        vote += step;
        j++;
    } while (j < ET_VOTERS);
    /*@ merge class_; */
}

/* Let row i move the votes if its class is not a margin ahead of the best other one. */
ET_SMALL static void et_replay(et_state *own, unsigned i)
{
    const uint8_t *const row = et_replayed(own, i);
    const unsigned right = row[0];
    uint8_t *const n_moves = own->learned.moves + i;
    int32_t sums[ET_CLASSES], ahead;
    unsigned rival;

    if (*n_moves >= ET_ZERO + (ET_ANCHORS && i >= own->n_rows ? ET_ANCHOR_MOVES : ET_MOVES)) {
        return;
    }
    et_tally(own, row + 1, sums, ET_IN_FLASH | ET_LEARNED);
    ahead = sums[right];
    sums[right] = INT32_MIN;
    rival = et_winner(sums);
    if (sums[rival] <= ahead - (right < ET_CLASSES - ET_NEW_CLASSES ? ET_MARGIN : 2 * ET_MARGIN)) {
        return;
    }
    (*n_moves)++;
    own->now.n_moved++;
    et_move(own, row + 1, right, 1u);
    et_move(own, row + 1, rival, 255u);
}

#if ET_GUARD
/* Whether row i checks: the second of its class, and every third after it. */
ET_SMALL static unsigned et_is_check(const et_state *own, unsigned i)
{
    const unsigned class_ = ET_ROW(own, i)[0];
    unsigned third = 0;

    while (i > 0u) {
        i--;
        if (ET_ROW(own, i)[0] == class_) {
            third = third == 2u ? 0u : third + 1u;
        }
    }
    return third == 1u;
}

/* 1 if the learned votes mend a row, -1 if they spoil it, else 0. */
ET_SMALL static int et_gain(const et_state *own, const uint8_t *row)
{
    int32_t sums[ET_CLASSES];
    unsigned what;
    int gain = 0;

    for (what = ET_IN_FLASH; what <= (ET_IN_FLASH | ET_LEARNED); what += ET_LEARNED) {
        et_tally(own, row + 1, sums, what);
        gain = (et_winner(sums) == row[0]) - gain;
    }
    return gain;
}
#endif

/* One row of adapting. Returns 1 while there is more to do. Without rows nothing can be learned. */
ET_SMALL static unsigned et_step(et_state *own)
{
    et_progress *const now = &own->now;
    unsigned at, n_pass;

    if (now->phase == ET_IDLE && et_begin(own, own->n_rows == 0u ? ET_IDLE : ET_GUARD ? ET_TRY : ET_LEARN) == 0u) {
        return 0;
    }
    at = now->at;
#if ET_GUARD
    if (now->phase != ET_LEARN && at < own->n_rows && et_is_check(own, at)) {
        if (now->phase == ET_CHECK) {
            now->better = (int16_t)(uint16_t)((unsigned)now->better + (unsigned)et_gain(own, ET_ROW(own, at)));
        }
    } else if (now->phase != ET_CHECK)
#endif
    {
        et_replay(own, at);
    }
    now->at++;
    if (now->at < own->n_rows + ET_ANCHORS) {
        return 1;
    }
    now->at = 0;
#if ET_GUARD
    if (now->phase == ET_CHECK) {
        return et_begin(own, now->better > 0 ? ET_LEARN : ET_IDLE); /* what is not better is not kept */
    }
#endif
    n_pass = now->n_pass + 1u;
    now->n_pass = (uint8_t)n_pass;
    if (n_pass < ET_PASSES && now->n_moved != 0u) {
        now->n_moved = 0;
        return 1;
    }
#if ET_GUARD
    if (now->phase == ET_TRY) {
        now->phase = ET_CHECK;
        return 1;
    }
#endif
    now->phase = ET_IDLE;
    return 0;
}

/* The oldest row of the most frequent class, of the lower one on a tie, when there is room for no more. */
ET_SMALL static unsigned et_oldest(const et_state *own)
{
    struct {
        int32_t n[ET_CLASSES];
        uint32_t oldest[ET_CLASSES];
    } of;
    unsigned i = ET_ROWS;

    et_fill(&of, 0, sizeof of);
    do {
        i--;
        of.n[ET_ROW(own, i)[0]]++;
        of.oldest[ET_ROW(own, i)[0]] = i;
    } while (i > 0u);
    return (unsigned)of.oldest[et_winner(of.n)];
}

/* CRC-32 (zlib's), continued from `crc`. An AVR reads flash in another way than RAM. */
#define ET_CRC(name, read) \
    ET_ONCE uint32_t name(uint32_t crc, const void *data, uint32_t size) \
    { \
        const uint8_t *byte = (const uint8_t *)data; \
        unsigned bit; \
\
        for (crc = ~crc; size > 0u; size--) { \
            crc ^= read(*byte++); \
            for (bit = 0; bit < 8u; bit++) { \
                crc = crc >> 1 ^ ((crc & 1u) != 0u ? 0xEDB88320u : 0u); \
            } \
        } \
        return ~crc; \
    }
#ifndef ET_RUNTIME_COMMON
ET_CRC(et_crc32, ET_READ)
#endif
#if defined(__AVR__)
ET_CRC(et_crc_of, )
#else
#define et_crc_of et_crc32
#endif

/* Write rows and a checksum that begins with the model's. Returns the bytes. */
ET_ONCE unsigned et_write(uint8_t *to, const uint8_t *rows, unsigned size)
{
    uint32_t crc;
    unsigned i = size;

    et_copy(to, rows, size);
    crc = et_crc_of(ET_IDENTITY, to, size);
    do {
        to[i] = (uint8_t)crc;
        crc >>= 8;
        i++;
    } while (i != size + 4u);
    return i;
}

/* Whether the last byte of a row has a bit of a clause that is not there. */
#if ET_CLAUSES % 8
#define ET_IS_SPARE(byte) ((byte) > ET_LAST_BITS)
#else
#define ET_IS_SPARE(byte) 0
#endif

/* How many rows these bytes hold, ET_ROWS + 1 if they are not as this model wrote them. */
ET_ONCE unsigned et_rows_in(const uint8_t *from, size_t size)
{
    unsigned n = 0, at = 0;

    /*@ dynamic_split n; */
    for (; n <= ET_ROWS && at + ET_ROW_BYTES + 4u <= size; n++) {
        if (from[at] >= ET_CLASSES || ET_IS_SPARE(from[at + ET_BITS_BYTES])) {
            n = ET_ROWS;
        }
        at += ET_ROW_BYTES;
    }
    /* The last number is the CRC-32 of all bytes with their CRC-32 behind them. */
    if (at + 4u != size || et_crc_of(ET_IDENTITY, from, (uint32_t)size) != 0x2144DF1Cu) {
        n = ET_ROWS + 1u;
    }
    return n;
}

#endif
