/*
 * ethereal runtime, common to all layouts. No libc, no heap, no recursion; everything constant is in flash.
 * Tables are declared with ET_FLASH and read with ET_READ, which ethereal_flash.h explains.
 *
 * The file that includes this one defines the model's sizes (ET_...) and tables (et_...). A row is first
 * Booleanized: each slot becomes the state of one feature, the number of its thresholds below the value.
 */
#ifndef ET_RUNTIME_COMMON
#define ET_RUNTIME_COMMON

/*
 * The large buffers of a call. They are on the stack, except on AVR: nothing there notices a stack that grows into
 * the variables, so the buffers are variables themselves. The linker then counts them, and refuses a program that
 * exceeds the RAM. What several functions use is one variable at file level there.
 */
#if defined(__AVR__)
#define ET_BUFFER static
#else
#define ET_BUFFER
#endif

#if ET_USES_LEADING_ZEROS
/* Zero bits above the highest one; x is not 0. */
/*@ requires x != 0; */
static inline unsigned et_leading_zeros(uint32_t x)
{
#if defined(__FRAMAC__) && !defined(ET_AS_COMPILED)
    /* For the proof: one case per result. The branches below are proven equal to it, case by case. */
    unsigned zeros = 0;

    for (;; zeros++) {
        /*@ split zeros; */
        if (x >= (0x80000000u >> zeros)) {
            return zeros;
        }
    }
#elif defined(__ARM_FEATURE_CLZ)                                                                                 \
    || (defined(__GNUC__) && __SIZEOF_INT__ >= 4 && !defined(__arm__) && !defined(__riscv))
    return (unsigned)__builtin_clz(x);
#else
    uint32_t rest = x;
    unsigned zeros = 0;

    if (rest < 0x10000u) {
        zeros += 16u;
        rest <<= 16;
    }
    if (rest < 0x1000000u) {
        zeros += 8u;
        rest <<= 8;
    }
    if (rest < 0x10000000u) {
        zeros += 4u;
        rest <<= 4;
    }
    while (rest < 0x80000000u) {
        rest <<= 1;
        zeros++;
    }
    return zeros;
#endif
}
#endif

/* order.h */

/* The states of a row, one byte each. */
static inline const uint8_t *et_slots(const et_row *row)
{
    return (const uint8_t *)row;
}

static void et_booleanize(const et_input *features, et_row *row)
{
    uint8_t *const slots = (uint8_t *)row;
#if !ET_BOOLEAN_INPUT
    const et_threshold *threshold = et_thresholds;
#endif
    unsigned s;

    row->word[ET_ROW_WORDS - 1u] = 0; /* it may end in slots that are not there */
    for (s = 0; s < ET_SLOTS; s++) {
#if ET_BOOLEAN_INPUT
        slots[s] = (features[ET_FEATURE(s)] != 0u) ? 1u : 0u;
#else
        const et_threshold value = ET_VALUE(features[ET_FEATURE(s)]);
#if ET_ONE_THRESHOLD
        unsigned state = 0;

        if (value > ET_READ(threshold[s])) {
            state = 1;
        }
#else
        unsigned state = 0;

        while ((state < ET_THRESHOLDS(s)) && (value > ET_READ(threshold[state]))) {
            state++;
        }
        threshold = &threshold[ET_THRESHOLDS(s)];
#endif
#if ET_CAN_MISS
        if (value == ET_MISSING_VALUE) {
            state = ET_READ(et_missing_states[s]);
        }
#endif
        slots[s] = (uint8_t)state;
#endif
    }
}

#if ET_UNFOLDS
/* Write the Booleans of all slots, one byte each. */
static void et_unfold(const uint8_t *slots, uint8_t *booleans)
{
    uint8_t *to = booleans;
    unsigned s;
    unsigned i;

#if ET_BINS
    const uint8_t *test = et_tests;

    for (s = 0; s < ET_SLOTS; s++) {
        for (i = 0; i < ET_READ(et_slot_sizes[s]); i++) { /* true in one state, or above one */
            const unsigned state = ET_READ(*test) & 0x7Fu;

            if ((ET_READ(*test) & 0x80u) != 0u) {
                *to = (slots[s] == state) ? 1u : 0u;
            } else {
                *to = (slots[s] > state) ? 1u : 0u;
            }
            to++;
            test++;
        }
    }
#else
    for (s = 0; s < ET_SLOTS; s++) {
        for (i = 0; i < ET_READ(et_slot_sizes[s]); i++) {
            *to = (slots[s] > i) ? 1u : 0u;
            to++;
        }
    }
#endif
}
#endif

/* best.h */

#if ET_CELLS > 0
/* There are so few different rows that the class of each is in a table. */
static unsigned et_cell_class(const et_row *row)
{
    const uint8_t *const slots = et_slots(row);
    uint32_t cell = 0;
    unsigned class_;
    unsigned s;

    for (s = 0; s < ET_SLOTS; s++) {
        cell = (cell * ET_SLOT_STATES(s)) + slots[s];
    }
    /*@ split cell; */
    class_ = ((unsigned)ET_READ(et_cells[cell / (8u / ET_CELL_BITS)]) >> ((cell % (8u / ET_CELL_BITS)) * ET_CELL_BITS))
             & ((1u << ET_CELL_BITS) - 1u);
    /*@ merge cell; */
    return class_;
}
#endif

/* crc.h */

#endif
