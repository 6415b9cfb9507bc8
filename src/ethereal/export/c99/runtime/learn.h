/*
 * ethereal runtime of exports that learn: kept rows, and votes that follow from them.
 *
 * A layout tells which clauses fire, as a bit each, so that a row can be kept as these bits and its class. Votes in
 * flash are whole. Votes in RAM are sixteenths, and so are all sums. The votes are a function of the kept rows in
 * their order: there is no random number, and nothing is divided.
 */
#ifndef ET_RUNTIME_LEARN
#define ET_RUNTIME_LEARN

enum { ET_IDLE, ET_TRY, ET_CHECK, ET_LEARN }; /* what the next step of adapting does */

/* Votes that are added. */
#define ET_IN_FLASH 1u
#define ET_LEARNED 2u

/* A function that is there once and small, because several others call it, or quick. */
#if defined(__clang__)
#define ET_SMALL __attribute__((minsize))
#define ET_ONCE __attribute__((noinline, unused, minsize)) static
#define ET_QUICK __attribute__((noinline, unused)) static
#elif defined(__GNUC__)
#define ET_SMALL
#define ET_ONCE __attribute__((noinline, unused)) static
#define ET_QUICK ET_ONCE
#else
#define ET_SMALL
#define ET_ONCE static
#define ET_QUICK static
#endif

#define ET_BIT(bits, j) ((unsigned)(bits)[(j) / 8] >> (j) % 8 & 1u)

#define ET_ROW(own, i) ((own)->rows + (i) * ET_ROW_BYTES) /* its class, then its clause bits */

#if defined(__AVR__)
#define ET_BLOCK 64u
#else
#define ET_BLOCK 256u /* clauses whose votes are added together. 16 bits hold the sum of 256 bytes. */
#endif

static et_state et_first_state;
static et_state *et_own = &et_first_state;
static uint8_t et_last[ET_BITS_BYTES + 1]; /* the clauses that fired on the last row, and whether there was one */
#define et_has_last et_last[ET_BITS_BYTES]

/* Write the numbers of the clauses of a block that fired, and return how many there are. */
static inline unsigned et_list_fired(const uint8_t *bits, unsigned first, uint8_t *fired)
{
    unsigned n = 0, j;

    for (j = 0; j < ET_BLOCK && first + j < ET_CLAUSES; j += 8) {
        unsigned left = bits[(first + j) / 8], at = j;

#if defined(__ARM_FEATURE_CLZ)
        for (; left != 0; left &= left - 1)
            fired[n++] = (uint8_t)(at + (unsigned)__builtin_ctz(left));
#else
        for (; left != 0; left >>= 1, at++)
            if (left & 1u)
                fired[n++] = (uint8_t)at;
#endif
    }
    return n;
}

#if !ET_LEARN_BIAS
/* Add the learned votes of four classes. Two sums of 16 bits are in a word, because that halves the additions. */
static inline void et_add_learned(const int8_t *votes, const uint8_t *fired, unsigned n, int32_t *sums, unsigned c)
{
    uint32_t even = 0, odd = 0;
    unsigned i;
    int16_t low[2], high[2];

    for (i = 0; i < n; i++) {
        const int8_t *const own = votes + (unsigned)fired[i] * ET_CLASSES;
#if defined(__ARM_FEATURE_SIMD32) && defined(__ARM_FEATURE_UNALIGNED) && defined(__GNUC__)
        uint32_t four;

        __builtin_memcpy(&four, own, 4);
        __asm__("sxtab16 %0, %0, %1" : "+r"(even) : "r"(four));
        __asm__("sxtab16 %0, %0, %1, ror #8" : "+r"(odd) : "r"(four));
    }
    high[0] = (int16_t)(even >> 16);
    high[1] = (int16_t)(odd >> 16);
    low[0] = (int16_t)even;
    low[1] = (int16_t)odd;
#else
        even += (uint32_t)own[0] + ((uint32_t)own[2] << 16);
        odd += (uint32_t)own[1] + ((uint32_t)own[3] << 16);
    }
    low[0] = (int16_t)even;
    low[1] = (int16_t)odd;
    high[0] = (int16_t)((even + 0x8000u) >> 16);
    high[1] = (int16_t)((odd + 0x8000u) >> 16);
#endif
    sums[c] += low[0];
    if (c + 1 < ET_CLASSES)
        sums[c + 1] += low[1];
    if (c + 2 < ET_CLASSES)
        sums[c + 2] += high[0];
    if (c + 3 < ET_CLASSES)
        sums[c + 3] += high[1];
}
#endif

/* Add votes of the clauses that fired to the sums, in sixteenths. With those in flash the sums begin with 0. */
ET_ONCE void et_tally(const et_state *own, const uint8_t *bits, int32_t *sums, unsigned what)
{
    unsigned first, c, i;

    for (c = 0; c < ET_CLASSES; c++) {
        if (what & ET_IN_FLASH)
            sums[c] = 0;
#if ET_LEARN_BIAS
        if (what & ET_LEARNED)
            sums[c] += own->learned.votes[c];
#endif
    }
    for (first = 0; first < ET_CLAUSES; first += ET_BLOCK) {
        uint8_t fired[ET_BLOCK];
        const unsigned n = et_list_fired(bits, first, fired);

        if (what & ET_IN_FLASH)
            for (i = 0; i < n; i++) {
                const unsigned j = first + fired[i], end = ET_READ(et_vote_ends[j + 1]);
                unsigned vote;

                for (vote = ET_READ(et_vote_ends[j]); vote < end; vote++)
                    sums[ET_READ(et_vote_classes[vote])] += (int32_t)ET_READ(et_vote_weights[vote]) * 16;
            }
#if !ET_LEARN_BIAS
        if (what & ET_LEARNED)
            for (c = 0; c < ET_CLASSES; c += 4)
                et_add_learned(own->learned.votes + first * ET_CLASSES + c, fired, n, sums, c);
#endif
    }
#if ET_NEW_CLASSES
    for (c = 0; c < ET_NEW_CLASSES; c++)
        if (!(what & ET_LEARNED) || !own->now.taught[c])
            sums[ET_CLASSES - ET_NEW_CLASSES + c] = -(1L << 30);
#endif
}

/* The class with the highest sum, the lower one on a tie. */
ET_ONCE unsigned et_winner(const int32_t *sums)
{
    unsigned best = 0, c;

    for (c = 1; c < ET_CLASSES; c++)
        if (sums[c] > sums[best])
            best = c;
    return best;
}

/* Copy bytes from the first on. */
ET_ONCE void et_copy(uint8_t *to, const uint8_t *from, unsigned size)
{
    unsigned i;

    for (i = 0; i < size; i++)
        to[i] = from[i];
}

ET_ONCE void et_zero(void *to, unsigned size)
{
    uint8_t *const byte = (uint8_t *)to;
    unsigned i;

    for (i = 0; i < size; i++)
        byte[i] = 0;
}

/* Begin a phase with votes of 0, and with all that belongs to them. Without rows nothing can be learned. */
ET_SMALL static void et_begin(et_state *own, unsigned phase)
{
    et_zero(&own->now, sizeof own->now);
    et_zero(&own->learned, sizeof own->learned);
    if (own->n_rows == 0 || phase == ET_IDLE)
        return;
    own->now.phase = (uint8_t)phase;
    own->now.is_personal = 1;
#if ET_NEW_CLASSES
    {
        unsigned i;

        for (i = 0; i < own->n_rows; i++)
            if (ET_ROW(own, i)[0] >= ET_CLASSES - ET_NEW_CLASSES)
                own->now.taught[ET_ROW(own, i)[0] - (ET_CLASSES - ET_NEW_CLASSES)] = 1;
    }
#endif
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

        for (b = 0; b < ET_ROW_BYTES; b++)
            row[b] = ET_READ(anchor[b]);
        return row;
#else
        return anchor;
#endif
    }
#endif
    return ET_ROW(own, i);
}

/* Let row i move the votes if its class is not a margin ahead of the best other one. Returns 1 if it did. */
ET_SMALL static unsigned et_replay(et_state *own, unsigned i)
{
    const uint8_t *const row = et_replayed(own, i);
    const unsigned right = row[0];
    int8_t *votes = own->learned.votes;
    int32_t sums[ET_CLASSES], ahead;
    unsigned rival, j;

    if (own->learned.moves[i] >= (ET_ANCHORS && i >= own->n_rows ? ET_ANCHOR_MOVES : ET_MOVES))
        return 0;
    et_tally(own, row + 1, sums, ET_IN_FLASH | ET_LEARNED);
    ahead = sums[right];
    sums[right] = INT32_MIN;
    rival = et_winner(sums);
    if (ahead - sums[rival] >= (right < ET_CLASSES - ET_NEW_CLASSES ? ET_MARGIN : 2 * ET_MARGIN))
        return 0;
    own->learned.moves[i]++;
    for (j = 0; j < (ET_LEARN_BIAS ? 1u : ET_CLAUSES); j++, votes += ET_CLASSES)
        if (ET_LEARN_BIAS || ET_BIT(row + 1, j)) {
            votes[right] = (int8_t)(votes[right] + (votes[right] < 127));
            votes[rival] = (int8_t)(votes[rival] - (votes[rival] > -127));
        }
    return 1;
}

#if ET_GUARD
/* Whether row i checks: the second of its class, and every third after it. */
ET_SMALL static unsigned et_is_check(const et_state *own, unsigned i)
{
    const unsigned class_ = ET_ROW(own, i)[0];
    unsigned third = 0;

    while (i-- > 0)
        if (ET_ROW(own, i)[0] == class_)
            third = third == 2 ? 0 : third + 1;
    return third == 1;
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

/* One row of adapting. Returns 1 while there is more to do. */
ET_ONCE unsigned et_step(et_state *own)
{
    et_progress *const now = &own->now;

    if (now->phase == ET_IDLE) {
        own->result = 0xFFFFu;
        et_begin(own, ET_GUARD ? ET_TRY : ET_LEARN);
        if (now->phase == ET_IDLE)
            return 0;
    }
    if (now->at == 0)
        own->result = 0; /* moves of this pass */
#if ET_GUARD
    if (now->phase != ET_LEARN && now->at < own->n_rows && et_is_check(own, now->at)) {
        if (now->phase == ET_CHECK)
            now->better = (int16_t)(now->better + et_gain(own, ET_ROW(own, now->at)));
    } else if (now->phase != ET_CHECK)
#endif
        own->result = (uint16_t)(own->result + et_replay(own, now->at));
    if (++now->at < own->n_rows + ET_ANCHORS)
        return 1;
    now->at = 0;
#if ET_GUARD
    if (now->phase == ET_CHECK) {
        const unsigned is_better = now->better > 0;

        et_begin(own, is_better ? ET_LEARN : ET_IDLE); /* what is not better is not kept */
        if (!is_better)
            own->result = 0xFFFFu;
        return is_better;
    }
#endif
    if (++now->n_pass < ET_PASSES && own->result != 0)
        return 1;
#if ET_GUARD
    if (now->phase == ET_TRY) {
        now->phase = ET_CHECK;
        return 1;
    }
#endif
    now->phase = ET_IDLE;
    return 0;
}

/* Drop row i. Returns 0 when there is none. */
ET_ONCE unsigned et_drop(et_state *own, unsigned i)
{
    if (i >= own->n_rows)
        return 0;
    own->now.phase = ET_IDLE;
    own->n_rows--;
    et_copy(ET_ROW(own, i), ET_ROW(own, i + 1), (own->n_rows - i) * ET_ROW_BYTES);
    return 1;
}

/* The oldest row of the most frequent class, of the lower one on a tie, when there is room for no more. */
ET_SMALL static unsigned et_oldest(const et_state *own)
{
    uint32_t most = 0;
    unsigned oldest = 0, i, j;

    for (i = 0; i < ET_ROWS; i++) {
        uint32_t n = 255u - ET_ROW(own, i)[0];

        for (j = 0; j < ET_ROWS; j++)
            if (ET_ROW(own, j)[0] == ET_ROW(own, i)[0])
                n += 256u;
        if (n > most) {
            most = n;
            oldest = i;
        }
    }
    return oldest;
}

/* Keep a row. Returns 1, 2 when the oldest row of the most frequent class had to go, and 0 when there is no such
   class. */
ET_ONCE unsigned et_keep(et_state *own, unsigned class_, const uint8_t *bits)
{
    unsigned result = 1;
    uint8_t *row;

    if (class_ >= ET_CLASSES)
        return 0;
    if (own->n_rows >= ET_ROWS) {
        et_drop(own, et_oldest(own));
        result = 2;
    }
    own->now.phase = ET_IDLE;
    row = ET_ROW(own, own->n_rows);
    own->n_rows++;
    row[0] = (uint8_t)class_;
    et_copy(row + 1, bits, ET_BITS_BYTES);
    return result;
}

/* CRC-32 (zlib's), continued from `crc`. An AVR reads flash in another way than RAM. */
#define ET_CRC(name, read) \
    ET_ONCE uint32_t name(uint32_t crc, const void *data, uint32_t size) \
    { \
        const uint8_t *byte = (const uint8_t *)data; \
        unsigned bit; \
\
        for (crc = ~crc; size > 0; size--) { \
            crc ^= read(*byte++); \
            for (bit = 0; bit < 8; bit++) \
                crc = crc >> 1 ^ (crc & 1u ? 0xEDB88320u : 0); \
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
    unsigned i;

    et_copy(to, rows, size);
    crc = et_crc_of(ET_IDENTITY, to, size);
    for (i = size; i < size + 4; i++, crc >>= 8)
        to[i] = (uint8_t)crc;
    return i;
}

/* How many rows these bytes hold, ET_ROWS + 1 if they are not as this model wrote them. */
ET_ONCE unsigned et_rows_in(const uint8_t *from, size_t size)
{
    unsigned n, at = 0;

    for (n = 0; n <= ET_ROWS && at + 4 < size; n++, at += ET_ROW_BYTES)
        if (from[at] >= ET_CLASSES)
            return ET_ROWS + 1;
    /* The last number is the CRC-32 of all bytes with their CRC-32 behind them. */
    return at + 4 == size && et_crc_of(ET_IDENTITY, from, (uint32_t)size) == 0x2144DF1Cu ? n : ET_ROWS + 1;
}

#endif
