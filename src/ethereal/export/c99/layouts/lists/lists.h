/*
 * ethereal runtime, layout "lists": clauses one after the other, with votes that learn.
 *
 * A clause is a list of tests of slots. Which clauses fire is known as a bit each, so that a row can be kept as these
 * bits and its class. Votes in flash are whole. Votes in RAM are sixteenths, and so are all sums. The votes are a
 * function of the kept rows in their order: there is no random number, and nothing is divided.
 */

enum { ET_IDLE, ET_TRY, ET_CHECK, ET_LEARN }; /* what the next step of adapting does */

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

#define ET_ROW(i) (et_own->rows + (i) * ET_ROW_BYTES) /* its class, then its clause bits */

static et_state et_first_state;
static et_state *et_own = &et_first_state;
static uint8_t et_last[ET_BITS_BYTES]; /* the clauses that fired on the last row */
static uint8_t et_has_last;

/* Find the clauses that fire, clause 0 in bit 0 of the first byte. */
ET_QUICK void et_fire(const et_row *row)
{
    const et_test *test = et_list;
    unsigned j, bits = 0;

    for (j = 0; j < ET_CLAUSES; j++) {
        const et_test *const end = test + ET_READ(et_test_counts[j]);

        bits >>= 1;
        while (test != end
               && (uint8_t)(row->slot[ET_READ(test->slot)] - ET_READ(test->low)) <= ET_READ(test->span))
            test++;
        if (test == end)
            bits |= 0x80u;
        test = end;
        et_last[j / 8] = (uint8_t)bits;
    }
#if ET_CLAUSES % 8
    et_last[ET_CLAUSES / 8] = (uint8_t)(bits >> (8 - ET_CLAUSES % 8));
#endif
    et_has_last = 1;
}

/* Sums in sixteenths of a row of clause bits, with the learned votes or without. */
ET_QUICK void et_tally(const uint8_t *bits, int32_t *sums, unsigned is_personal)
{
    const int8_t *const own = et_own->votes;
    unsigned first, c;

    for (c = 0; c < ET_CLASSES; c++)
        sums[c] = ET_LEARN_BIAS && is_personal ? own[c] : 0;
    for (first = 0; first < ET_CLAUSES; first += 8) {
        unsigned left = *bits++, j = first;

        for (; left != 0; left >>= 1, j++) {
            unsigned vote, end;

            if ((left & 1u) == 0)
                continue;
            end = ET_READ(et_vote_ends[j + 1]);
            for (vote = ET_READ(et_vote_ends[j]); vote < end; vote++)
                sums[ET_READ(et_vote_classes[vote])] += (int32_t)ET_READ(et_vote_weights[vote]) * 16;
#if !ET_LEARN_BIAS
            if (is_personal)
                for (c = 0; c < ET_CLASSES; c++)
                    sums[c] += own[j * ET_CLASSES + c];
#endif
        }
    }
#if ET_NEW_CLASSES
    for (c = 0; c < ET_NEW_CLASSES; c++)
        if (!is_personal || !et_own->taught[c])
            sums[ET_CLASSES - ET_NEW_CLASSES + c] = -(1L << 30);
#endif
}

ET_ONCE unsigned et_best(const int32_t *sums)
{
    return et_argmax(sums);
}

/* Class sums of a Booleanized row, in sixteenths. */
static void et_class_sums(const et_row *row, int32_t *sums)
{
    et_fire(row);
    et_tally(et_last, sums, et_own->is_personal);
}

ET_ONCE void et_set(void *to, unsigned size)
{
    uint8_t *byte = (uint8_t *)to;

    while (size-- > 0)
        *byte++ = 0;
}

/* The votes and all that belongs to them become 0. */
ET_ONCE void et_clear(void)
{
    et_set(&et_own->at, (unsigned)(et_own->rows - (uint8_t *)&et_own->at));
}

ET_ONCE void et_begin(unsigned phase)
{
    et_own->is_personal = 1;
    et_own->phase = (uint8_t)phase;
#if ET_NEW_CLASSES
    {
        unsigned i;

        for (i = 0; i < et_own->n_rows; i++)
            if (ET_ROW(i)[0] >= ET_CLASSES - ET_NEW_CLASSES)
                et_own->taught[ET_ROW(i)[0] - (ET_CLASSES - ET_NEW_CLASSES)] = 1;
    }
#endif
}

/* Row i of those that are replayed: kept ones, then general ones in flash. */
static const uint8_t *et_replayed(unsigned i)
{
#if ET_ANCHORS
    if (i >= et_own->n_rows) {
        const uint8_t *const anchor = et_anchors + (uint32_t)(i - et_own->n_rows) * ET_ROW_BYTES;
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
    return ET_ROW(i);
}

/* Let row i move the votes if its class is not a margin ahead of the best other one. Returns 1 if it did. */
ET_ONCE unsigned et_replay(unsigned i)
{
    const uint8_t *row;
    int8_t *own = et_own->votes;
    int32_t sums[ET_CLASSES], ahead;
    unsigned right, rival, j;

    if (et_own->moves[i] >= ET_MOVES)
        return 0;
    row = et_replayed(i);
    right = row[0];
    et_tally(row + 1, sums, 1);
    ahead = sums[right];
    sums[right] = INT32_MIN;
    rival = et_best(sums);
    if (ahead - sums[rival] >= ET_MARGIN)
        return 0;
    et_own->moves[i]++;
    for (j = 0; j < (ET_LEARN_BIAS ? 1u : ET_CLAUSES); j++, own += ET_CLASSES)
        if (ET_LEARN_BIAS || ET_BIT(row + 1, j)) {
            own[right] = (int8_t)(own[right] + (own[right] < 127));
            own[rival] = (int8_t)(own[rival] - (own[rival] > -127));
        }
    return 1;
}

#if ET_GUARD
/* Whether row i checks: the second of its class, and every third after it. */
ET_ONCE unsigned et_is_check(unsigned i)
{
    const unsigned class_ = ET_ROW(i)[0];
    unsigned third = 0;

    while (i-- > 0)
        if (ET_ROW(i)[0] == class_)
            third = third == 2 ? 0 : third + 1;
    return third == 1;
}

/* 1 if the learned votes mend a row, -1 if they spoil it, else 0. */
ET_ONCE int et_gain(const uint8_t *row)
{
    int32_t sums[ET_CLASSES];
    unsigned is_personal = 0;
    int gain = 0;

    do {
        et_tally(row + 1, sums, is_personal);
        gain = (et_best(sums) == row[0]) - gain;
    } while (is_personal++ == 0);
    return gain;
}
#endif

/* One row of adapting. Returns 1 while there is more to do. */
ET_ONCE unsigned et_step(void)
{
    et_state *const own = et_own;

    if (own->phase == ET_IDLE) {
        own->result = 0xFFFFu;
        own->better = 0;
        et_clear();
        if (own->n_rows == 0)
            return 0;
        et_begin(ET_GUARD ? ET_TRY : ET_LEARN);
    }
#if ET_GUARD
    if (own->phase != ET_LEARN && own->at < own->n_rows && et_is_check(own->at)) {
        if (own->phase == ET_CHECK)
            own->better = (int16_t)(own->better + et_gain(ET_ROW(own->at)));
    } else if (own->phase != ET_CHECK)
#endif
        own->moved = (uint16_t)(own->moved + et_replay(own->at));
    if (++own->at < own->n_rows + ET_ANCHORS)
        return 1;
    own->at = 0;
#if ET_GUARD
    if (own->phase == ET_CHECK) {
        et_clear(); /* what is not better is not kept */
        if (own->better > 0)
            et_begin(ET_LEARN);
        return own->phase;
    }
#endif
    if (++own->n_pass < ET_PASSES && own->moved != 0) {
        own->moved = 0;
        return 1;
    }
    if (own->phase == ET_TRY) {
        own->phase = ET_CHECK;
        return 1;
    }
    own->phase = ET_IDLE;
    own->result = own->moved;
    return 0;
}

ET_ONCE void et_drop(unsigned i)
{
    uint8_t *to = ET_ROW(i), *const end = ET_ROW(--et_own->n_rows);

    for (; to != end; to++)
        *to = to[ET_ROW_BYTES];
    et_own->phase = ET_IDLE;
}

/* Keep a row. Returns 1, or 2 when the oldest row of the most frequent class had to go. */
ET_ONCE unsigned et_keep(unsigned class_, const uint8_t *bits)
{
    unsigned result = 1, i;
    uint8_t *row;

    if (et_own->n_rows == ET_ROWS) {
        unsigned most = 0, oldest = 0, c;

        for (c = 0; c < ET_CLASSES; c++) {
            unsigned n = 0, first = 0;

            for (i = ET_ROWS; i-- > 0;)
                if (ET_ROW(i)[0] == c) {
                    n++;
                    first = i;
                }
            if (n > most) {
                most = n;
                oldest = first;
            }
        }
        et_drop(oldest);
        result = 2;
    }
    row = ET_ROW(et_own->n_rows++);
    *row++ = (uint8_t)class_;
    for (i = 0; i < ET_BITS_BYTES; i++)
        row[i] = bits[i];
    et_own->phase = ET_IDLE;
    return result;
}

/* CRC-32 of bytes in RAM, which an AVR reads in another way than flash. */
#if defined(__AVR__)
static uint32_t et_crc_of(uint32_t crc, const uint8_t *byte, uint32_t size)
{
    unsigned bit;

    for (crc = ~crc; size > 0; size--) {
        crc ^= *byte++;
        for (bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1u ? 0xEDB88320u : 0);
    }
    return ~crc;
}
#else
#define et_crc_of et_crc32
#endif

/* Write some rows from row `first` on, and a checksum that begins with the model's. Returns the bytes. */
ET_ONCE unsigned et_write(uint8_t *to, unsigned first, unsigned n_rows)
{
    const unsigned size = n_rows * ET_ROW_BYTES;
    const uint8_t *const from = ET_ROW(first);
    uint32_t crc;
    unsigned i;

    for (i = 0; i < size; i++)
        to[i] = from[i];
    crc = et_crc_of(ET_IDENTITY, to, size);
    for (; i < size + 4; i++, crc >>= 8)
        to[i] = (uint8_t)crc;
    return i;
}

/* Whether rows with their checksum are as they were written by this model. */
ET_ONCE unsigned et_is_whole(const uint8_t *from, unsigned n_rows)
{
    unsigned i;

    for (i = 0; i < n_rows; i++)
        if (from[i * ET_ROW_BYTES] >= ET_CLASSES)
            return 0;
    return et_crc_of(ET_IDENTITY, from, n_rows * ET_ROW_BYTES + 4) == 0x2144DF1Cu; /* of bytes and their CRC */
}
