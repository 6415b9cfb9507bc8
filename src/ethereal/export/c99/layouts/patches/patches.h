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

/* Class sums of the planes of a row. */
static void et_sums_of(const et_word *lines, int32_t *sums)
{
    const et_literal *first = et_literals;
    unsigned c;
    unsigned j;
#if ET_SOME_CLASSES
    uint32_t vote = 0; /* the first of the clause */
#endif

    for (c = 0; c < ET_CLASSES; c++) {
        sums[c] = 0;
    }
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
