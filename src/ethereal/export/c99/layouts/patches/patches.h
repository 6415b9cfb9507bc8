/*
 * ethereal runtime, layout "patches": clauses that look for a pattern anywhere in a row of cells.
 *
 * A clause is tested at all positions of a line of cells at once: its literals are lines that are shifted and combined
 * with AND.
 */
#ifndef ET_RUNTIME_PATCHES
#define ET_RUNTIME_PATCHES

/* The columns from `left` on and before `right`, which is above it or equal. */
static inline et_word et_columns(unsigned left, unsigned right)
{
    const et_word all = ~(et_word)0;

    return (right > left) ? ((all >> (ET_WORD_BITS - (right - left))) << left) : 0;
}

/* A number of some bytes, the lowest first. */
static inline uint32_t et_number(const uint8_t *from, unsigned bytes)
{
    uint32_t number = ET_READ(*from);
    unsigned i;

    for (i = 1; i < bytes; i++) {
        number |= (uint32_t)ET_READ(from[i]) << (8u * i);
    }
    return number;
}

/* The lines of a literal's cell, from that of a position on, shifted so that each bit is that of its position. */
static inline et_word et_shifted(const et_word *line, const uint8_t *literal)
{
    const et_cell *const cell = &et_cells[et_number(literal, ET_CELL_BYTES)];

    return line[ET_READ(cell->line)] >> ET_READ(cell->shift);
}

/* Class sums of the planes of a row. A clause is a string of bytes: how many literals are plain and negated, which
 * ends of its positions follow and how many votes, these ends, the literals, and the votes. */
static void et_sums_of(const et_word *lines, int32_t *sums)
{
    const uint8_t *next = et_clauses;
    unsigned c;
    unsigned j;

    for (c = 0; c < ET_CLASSES; c++) {
        sums[c] = 0;
    }
    for (j = 0; j < ET_CLAUSES; j++) {
        unsigned ends[4] = {0u, 0u, ET_ROWS, ET_COLUMNS}; /* top, left, bottom, right */
#if ET_SHORT
        const unsigned plain = ET_READ(*next) & 15u;
        const unsigned minus = (unsigned)ET_READ(*next) >> 4;
#else
        const unsigned plain = ET_READ(next[0]);
        const unsigned minus = ET_READ(next[1]);
#endif
        const unsigned mark = ET_MARK_BYTES ? ET_READ(next[2u - ET_SHORT]) : 16u;
        const uint8_t *first = &next[2u - ET_SHORT + ET_MARK_BYTES];
        unsigned n_votes = mark >> 4;
        et_word left = 0; /* positions of a line where all literals so far hold */
        unsigned y;

#if ET_COUNT_BYTES
        n_votes = (unsigned)et_number(first, ET_COUNT_BYTES);
        first = &first[ET_COUNT_BYTES];
#endif
#if ET_PLACES
        for (c = 0; c < 4u; c++) {
            if (((mark >> c) & 1u) != 0u) {
                ends[c] = (unsigned)et_number(first, ET_PLACE_BYTES);
                first = &first[ET_PLACE_BYTES];
            }
        }
#endif
        {
            const et_word columns = et_columns(ends[1], ends[3]);
            const uint8_t *const negated = &first[plain * ET_CELL_BYTES];

            next = &negated[minus * ET_CELL_BYTES];
            for (y = ends[0]; (y < ends[2]) && (left == 0u); y++) {
                const et_word *const line = &lines[y];
                const uint8_t *literal = first;

                left = columns;
                while ((literal != negated) && (left != 0u)) {
                    left &= et_shifted(line, literal);
                    literal = &literal[ET_CELL_BYTES];
                }
                while ((literal != next) && (left != 0u)) {
                    left &= ~et_shifted(line, literal);
                    literal = &literal[ET_CELL_BYTES];
                }
            }
        }
        for (; n_votes > 0u; n_votes--) {
            if (left != 0u) {
#if ET_VOTE_BYTES == 0
                sums[ET_READ(*next) >> 4] += (int32_t)(ET_READ(*next) & 15u) - 8;
#else
                sums[ET_READ(*next)] += (int32_t)et_number(&next[1], ET_VOTE_BYTES) - ET_LEAST_VOTE;
#endif
            }
            next = &next[1u + ET_VOTE_BYTES];
        }
    }
}

#endif
