/*
 * ethereal runtime, layout "compact": least flash.
 *
 * Clauses are a bit stream that is read once per row. Clauses with the same votes form a group; a group falls
 * into runs of clauses with equally many literals; the literals of a clause ascend and are told by their
 * distances. ethereal's docs/codes.md describes the stream bit by bit.
 */

typedef struct {
    uint32_t at;           /* position in the stream, in bits */
    const uint8_t *states; /* of the row's literals: Booleans, then negations */
} et_reader;

/* 25 bits or more from position `at` on, the first in bit 31; the stream is padded by four bytes. */
static uint32_t et_bits(uint32_t at)
{
    const uint8_t *const byte = et_stream + (at >> 3);

    return ((uint32_t)ET_READ(byte[0]) << 24 | (uint32_t)ET_READ(byte[1]) << 16 | (uint32_t)ET_READ(byte[2]) << 8
            | ET_READ(byte[3]))
           << (at & 7);
}

static inline uint32_t et_bit(et_reader *reader)
{
    return et_bits(reader->at++) >> 31;
}

/* A number: some zero bits, a one, and low bits. From the fifth zero on each doubles the interval. */
static uint32_t et_number(et_reader *reader, unsigned parameter)
{
    const unsigned zeros = et_leading_zeros(et_bits(reader->at));
    const unsigned extra = zeros > 4 ? zeros - 4 : 0;
    const unsigned n_low = parameter + extra;
    const uint32_t low = et_bits(reader->at + zeros + 1) >> 1 >> (31 - n_low); /* n_low may be 0 */

    reader->at += zeros + 1 + n_low;
    return (((uint32_t)zeros - extra - 1 + ((uint32_t)1 << extra)) << parameter) + low;
}

/* Read `rest` ascending literals that can be any of `places`, the first from *literal on, which becomes it; the
   distance to the first is one of `rest` * `left` numbers in a row. Returns whether all are true. */
static unsigned et_clause(et_reader *reader, uint32_t *literal, uint32_t places, uint32_t rest, uint32_t left)
{
    const uint8_t *state = reader->states + *literal;
    uint32_t numbers = rest * left;
    unsigned all = 1;

    for (; rest > 0; numbers = --rest) {
        uint32_t room = places - places / 4;
        uint32_t distance;
        unsigned parameter = 0; /* the largest with numbers * 2^parameter <= room */

        if (numbers <= room) {
            parameter = et_leading_zeros(numbers) - et_leading_zeros(room);
            if (numbers << parameter > room)
                parameter--;
        }
        distance = et_number(reader, parameter);
        places -= distance;
        state += distance;
        if (literal != 0)
            *literal += distance;
        literal = 0; /* only the first is told */
        all &= *state++;
    }
    return all;
}

/* Read votes and cast them `times` times; returns the first class. */
static unsigned et_votes(et_reader *reader, unsigned class_, int32_t times, int32_t *sums)
{
    const unsigned first = class_ += (unsigned)et_number(reader, ET_CLASS_PARAMETER);

    for (;;) {
        const uint32_t is_negative = et_bit(reader);
        const int32_t votes = times * ((int32_t)et_number(reader, ET_WEIGHT_PARAMETER) + 1);

        sums[class_] += is_negative != 0 ? -votes : votes;
        if (et_bit(reader) == 0)
            return first;
        class_ += 1 + (unsigned)et_number(reader, ET_CLASS_PARAMETER);
    }
}

ET_SHARED(uint8_t et_states[2 * ET_BOOLEANS])

/* Write the states of all literals, one byte each. */
static void et_literal_states(const et_row *row, uint8_t *states)
{
    unsigned b;

#if ET_BINARY
    for (b = 0; b < ET_BOOLEANS; b++)
        states[b] = row->slot[b];
#else
    et_unfold(row->slot, states);
#endif
    for (b = 0; b < ET_BOOLEANS; b++)
        states[b + ET_BOOLEANS] = !states[b];
}

/* Class sums of a Booleanized row. */
static void et_class_sums(const et_row *row, int32_t *sums)
{
    ET_BUFFER(uint8_t et_states[2 * ET_BOOLEANS])
    et_reader reader;
    unsigned class_;

    et_literal_states(row, et_states);
    reader.states = et_states;
    reader.at = 0;
    for (class_ = 0; class_ < ET_CLASSES; class_++)
        sums[class_] = 0;
    for (class_ = 0;;) { /* groups */
        uint32_t plain = 0, negated = 0; /* literals of a clause; with one segment all count as negated */
        int32_t fired = 0;

        for (;;) { /* runs */
            uint32_t step = ET_SEGMENTS == 2 ? et_number(&reader, 0) : 0;
            uint32_t first_plain = 0, first_negated = ET_SEGMENTS == 2 ? ET_BOOLEANS : 0;
            uint32_t left;

            if (step != 0) {
                plain += step;
                negated = et_number(&reader, ET_NEGATED_PARAMETER);
            } else {
                step = et_number(&reader, 0);
                if (step == 0)
                    break;
                negated += step;
            }
            for (left = et_number(&reader, ET_COUNT_PARAMETER) + 1; left > 0; left--) {
                unsigned fires = 1;

                if (ET_SEGMENTS == 2 && plain > 0) {
                    uint32_t first = ET_BOOLEANS; /* of the negated ones: any */

                    fires = et_clause(&reader, &first_plain, ET_BOOLEANS - plain + 1 - first_plain, plain, left);
                    fires &= et_clause(&reader, &first, ET_BOOLEANS - negated + 1, negated, 1);
                } else {
                    const uint32_t places = 2 * ET_BOOLEANS - negated + 1 - first_negated;

                    fires = et_clause(&reader, &first_negated, places, negated, left);
                }
#if ET_VOTES_PER_CLAUSE
                et_votes(&reader, 0, (int32_t)fires, sums);
#endif
                fired += (int32_t)fires;
            }
        }
        if (ET_VOTES_PER_CLAUSE || (plain | negated) == 0)
            return;
        class_ = et_votes(&reader, class_, fired, sums);
    }
}
