/*
 * ethereal runtime, layout "patches": clauses that look for a pattern anywhere in a row of cells.
 *
 * A plane says of every cell whether it is above a threshold, with a word for each line of cells. A clause is tested at
 * all positions of a line at once: its literals are lines that are shifted and combined with AND.
 */
#ifndef ET_RUNTIME_PATCHES
#define ET_RUNTIME_PATCHES

#if ET_WORD_BITS > 32u
typedef uint64_t et_word;
#else
typedef uint32_t et_word;
#endif

/* On AVR large buffers are variables, which the linker counts. */
#if defined(__AVR__)
#define ET_BUFFER static
#else
#define ET_BUFFER
#endif

#if ET_BOOLEAN_INPUT
#define ET_ABOVE(x, p) ((x) != 0u)
#elif ET_FLOAT_INPUT
#define ET_ABOVE(x, p) (et_order(x) > ET_READ(et_thresholds[p]))
#else
#define ET_ABOVE(x, p) ((x) > ET_READ(et_thresholds[p]))
#endif

/* The planes of a row, ET_HEIGHT lines each, with the first cell of a line in the lowest bit. */
static void et_fill(const et_input *features, et_word *lines)
{
    et_word *line = lines;
    unsigned p;
    unsigned y;
    unsigned x;

    for (p = 0; p < ET_PLANES; p++) {
        const et_input *const channel = &features[ET_READ(et_channels[p])];

        for (y = 1; y <= ET_HEIGHT; y++) {
            const et_input *cell = &channel[(uint32_t)y * ET_WIDTH * ET_CHANNELS];
            et_word bits = 0;

            for (x = 0; x < ET_WIDTH; x++) {
                cell -= ET_CHANNELS;
                bits = (bits << 1) | (ET_ABOVE(*cell, p) ? 1u : 0u);
            }
            *line = bits;
            line++;
        }
    }
}

/* The columns from `left` on and before `right`, which is above it or equal. */
static inline et_word et_columns(unsigned left, unsigned right)
{
    const et_word all = ~(et_word)0;

    return (right > left) ? ((all >> (ET_WORD_BITS - (right - left))) << left) : 0;
}

/* Class sums of a row. */
static void et_class_sums(const et_input *features, int32_t *sums)
{
    ET_BUFFER et_word lines[ET_PLANES * ET_HEIGHT];
    const et_literal *first = et_literals;
    unsigned c;
    unsigned j;
#if ET_SOME_CLASSES
    uint32_t vote = 0; /* the first of the clause */
#endif

    for (c = 0; c < ET_CLASSES; c++) {
        sums[c] = 0;
    }
    et_fill(features, lines);
    for (j = 0; j < ET_CLAUSES; j++) {
        const et_literal *const negated = &first[ET_READ(et_counts[j].plain)];
        const et_literal *const end = &negated[ET_READ(et_counts[j].negated)];
#if ET_PLACES
        const unsigned bottom = ET_READ(et_places[j].bottom);
        const et_word columns = et_columns(ET_READ(et_places[j].left), ET_READ(et_places[j].right));
        unsigned y = ET_READ(et_places[j].top);
#else
        const unsigned bottom = ET_ROWS;
        const et_word columns = et_columns(0u, ET_COLUMNS);
        unsigned y = 0;
#endif
        et_word left = 0; /* positions of a line where all literals so far hold */

        for (; (y < bottom) && (left == 0u); y++) {
            const et_word *const line = &lines[y];
            const et_literal *literal = first;

            left = columns;
            while ((literal != negated) && (left != 0u)) {
                const et_cell *const cell = &et_cells[ET_READ(*literal)];

                left &= line[ET_READ(cell->line)] >> ET_READ(cell->shift);
                literal++;
            }
            while ((literal != end) && (left != 0u)) {
                const et_cell *const cell = &et_cells[ET_READ(*literal)];

                left &= ~(line[ET_READ(cell->line)] >> ET_READ(cell->shift));
                literal++;
            }
        }
        if (left != 0u) {
#if ET_ONE_CLASS
            sums[ET_READ(et_classes[j])] += ET_READ(et_votes[j]);
#elif ET_SOME_CLASSES
            for (c = 0; c < ET_READ(et_vote_counts[j]); c++) {
                sums[ET_READ(et_classes[vote + c])] += ET_READ(et_votes[vote + c]);
            }
#else
            const et_vote *const votes = &et_votes[(uint32_t)j * ET_CLASSES];

            for (c = 0; c < ET_CLASSES; c++) {
                sums[c] += ET_READ(votes[c]);
            }
#endif
        }
        first = end;
#if ET_SOME_CLASSES
        vote += ET_READ(et_vote_counts[j]);
#endif
    }
}

#endif
