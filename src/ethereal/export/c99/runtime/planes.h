/*
 * ethereal runtime: planes of a row of cells, for clauses that look for a pattern anywhere.
 *
 * A plane says of every cell whether it is above a threshold, with a word for each line of cells, and the first cell of
 * a line in the lowest bit.
 */
#ifndef ET_RUNTIME_PLANES
#define ET_RUNTIME_PLANES

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

/* The planes of a row, ET_HEIGHT lines each. */
static inline void et_fill(const et_input *features, et_word *lines)
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

#if defined(ET_STREAM)
/* Add a cell behind a line of cells, whose first one leaves it. */
static void et_add_cell(const et_input *cell, et_word *lines)
{
    unsigned p;

    for (p = 0; p < ET_PLANES; p++) {
        const et_input value = cell[ET_READ(et_channels[p])];

        lines[p] = (lines[p] >> 1) | (ET_ABOVE(value, p) ? (et_word)1 << (ET_WIDTH - 1u) : 0u);
    }
}
#endif

#endif
