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
    const uint8_t *const byte = &et_stream[at >> 3];

    return (((uint32_t)ET_READ(byte[0]) << 24) | ((uint32_t)ET_READ(byte[1]) << 16)
            | ((uint32_t)ET_READ(byte[2]) << 8) | ET_READ(byte[3]))
           << (at & 7u);
}

static inline uint32_t et_bit(et_reader *reader)
{
    const uint32_t bits = et_bits(reader->at);

    reader->at++;
    return bits >> 31;
}

/* A number: some zero bits, a one, and low bits. From the fifth zero on each doubles the interval. */
static uint32_t et_number(et_reader *reader, unsigned parameter)
{
    const unsigned zeros = et_leading_zeros(et_bits(reader->at));
    const unsigned extra = ((zeros > 4u) ? zeros : 4u) - 4u;
    const unsigned n_low = parameter + extra;
    const uint32_t low = (et_bits(reader->at + zeros + 1u) >> 1) >> (31u - n_low); /* n_low may be 0 */

    reader->at += zeros + 1u + n_low;
    return (((uint32_t)zeros - extra - 1u + ((uint32_t)1 << extra)) << parameter) + low;
}

/* Read `rest` ascending literals that can be any of `places`, the first from *literal on, which becomes it; the
   distance to the first is one of `rest` * `left` numbers in a row. Returns whether all are true. */
static unsigned et_clause(et_reader *reader, uint32_t *literal, uint32_t places, uint32_t rest, uint32_t left)
{
    const uint8_t *state = &reader->states[*literal];
    uint32_t *told = literal;
    uint32_t open = places;
    uint32_t n = rest;
    uint32_t numbers = n * left;
    unsigned all = 1;

    while (n > 0u) {
        const uint32_t room = open - (open / 4u);
        uint32_t distance;
        unsigned parameter = 0; /* the largest with numbers * 2^parameter <= room */

        if (numbers <= room) {
            parameter = et_leading_zeros(numbers) - et_leading_zeros(room);
            if ((numbers << parameter) > room) {
                parameter--;
            }
        }
        distance = et_number(reader, parameter);
        open -= distance;
        state = &state[distance];
        if (told != 0) {
            *told += distance;
        }
        told = 0; /* only the first is told */
        all &= *state;
        state++;
        n--;
        numbers = n;
    }
    return all;
}

/* Read votes and cast them `times` times; returns the first class. */
static unsigned et_votes(et_reader *reader, unsigned class_, int32_t times, int32_t *sums)
{
    const unsigned first = class_ + (unsigned)et_number(reader, ET_CLASS_PARAMETER);
    unsigned own = first;

    for (;;) {
        const uint32_t is_negative = et_bit(reader);
        const int32_t votes = times * ((int32_t)et_number(reader, ET_WEIGHT_PARAMETER) + 1);

        sums[own] += (is_negative != 0u) ? -votes : votes;
        if (et_bit(reader) == 0u) {
            break;
        }
        own += 1u + (unsigned)et_number(reader, ET_CLASS_PARAMETER);
    }
    return first;
}

/* Write the states of all literals, one byte each. */
static void et_literal_states(const et_row *row, uint8_t *states)
{
    unsigned b;

#if ET_BINARY
    for (b = 0; b < ET_BOOLEANS; b++) {
        states[b] = et_slots(row)[b];
    }
#else
    et_unfold(et_slots(row), states);
#endif
    for (b = 0; b < ET_BOOLEANS; b++) {
        states[b + ET_BOOLEANS] = (states[b] == 0u) ? 1u : 0u;
    }
}

/* Class sums of a Booleanized row. */
static void et_class_sums(const et_row *row, int32_t *sums)
{
    ET_BUFFER uint8_t states[2u * ET_BOOLEANS];
    et_reader reader;
    unsigned class_;

    et_literal_states(row, states);
    reader.states = states;
    reader.at = 0;
    for (class_ = 0; class_ < ET_CLASSES; class_++) {
        sums[class_] = 0;
    }
    class_ = 0;
    for (;;) { /* groups */
        uint32_t plain = 0; /* literals of a clause; with one segment all count as negated */
        uint32_t negated = 0;
        int32_t fired = 0;

        for (;;) { /* runs */
            uint32_t step = (ET_SEGMENTS == 2u) ? et_number(&reader, 0) : 0u;
            uint32_t first_plain = 0;
            uint32_t first_negated = (ET_SEGMENTS == 2u) ? ET_BOOLEANS : 0u;
            uint32_t left;

            if (step != 0u) {
                plain += step;
                negated = et_number(&reader, ET_NEGATED_PARAMETER);
            } else {
                step = et_number(&reader, 0);
                if (step == 0u) {
                    break;
                }
                negated += step;
            }
            for (left = et_number(&reader, ET_COUNT_PARAMETER) + 1u; left > 0u; left--) {
                unsigned fires = 1;

                if ((ET_SEGMENTS == 2u) && (plain > 0u)) {
                    uint32_t first = ET_BOOLEANS; /* of the negated ones: any */

                    fires = et_clause(&reader, &first_plain, ET_BOOLEANS - plain + 1u - first_plain, plain, left);
                    fires &= et_clause(&reader, &first, ET_BOOLEANS - negated + 1u, negated, 1);
                } else {
                    const uint32_t places = (2u * ET_BOOLEANS) - negated + 1u - first_negated;

                    fires = et_clause(&reader, &first_negated, places, negated, left);
                }
#if ET_VOTES_PER_CLAUSE
                (void)et_votes(&reader, 0, (int32_t)fires, sums);
#endif
                fired += (int32_t)fires;
            }
        }
        if ((ET_VOTES_PER_CLAUSE != 0u) || ((plain | negated) == 0u)) {
            break;
        }
        class_ = et_votes(&reader, class_, fired, sums);
    }
}
