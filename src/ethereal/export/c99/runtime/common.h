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
 * exceeds the RAM. A buffer is declared twice with the same words, at file level and in the functions that use it.
 */
#if defined(__AVR__)
#define ET_SHARED(declaration) static declaration __attribute__((unused));
#define ET_BUFFER(declaration)
#else
#define ET_SHARED(declaration)
#define ET_BUFFER(declaration) declaration;
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
        if (x >= 0x80000000u >> zeros)
            return zeros;
    }
#elif defined(__ARM_FEATURE_CLZ)                                                                                 \
    || (defined(__GNUC__) && __SIZEOF_INT__ >= 4 && !defined(__arm__) && !defined(__riscv))
    return (unsigned)__builtin_clz(x);
#else
    unsigned zeros = 0;

    if (x < 0x10000u) {
        zeros += 16;
        x <<= 16;
    }
    if (x < 0x1000000u) {
        zeros += 8;
        x <<= 8;
    }
    if (x < 0x10000000u) {
        zeros += 4;
        x <<= 4;
    }
    for (; x < 0x80000000u; x <<= 1)
        zeros++;
    return zeros;
#endif
}
#endif

#if ET_FLOAT_INPUT
/* An integer in the order of the floats, lowest for a missing value: no floating point unit is needed. */
static inline int32_t et_order(float value)
{
    union {
        float value;
        int32_t bits;
    } both;

    int32_t order;

    both.value = value;
    order = both.bits;
#if ET_SIGNED_ORDER
    /* Of two negative ones the larger bits are lower. */
    order ^= (int32_t)((0u - ((uint32_t)order >> 31)) >> 1);
#endif
#if ET_CAN_MISS
    if ((both.bits & 0x7FFFFFFF) > 0x7F800000)
        order = INT32_MIN;
#elif ET_CAN_BE_NAN
    if (order > 0x7F800000) /* a negative one is below every threshold already */
        order = INT32_MIN;
#endif
    return order;
}
#endif

static void et_booleanize(const et_input *features, et_row *row)
{
#if !ET_BOOLEAN_INPUT
    const et_threshold *threshold = et_thresholds;
#endif
    unsigned s;

    row->word[ET_ROW_WORDS - 1] = 0; /* it may end in slots that are not there */
    for (s = 0; s < ET_SLOTS; s++) {
#if ET_BOOLEAN_INPUT
        row->slot[s] = features[ET_FEATURE(s)] != 0;
#else
        const et_threshold value = ET_VALUE(features[ET_FEATURE(s)]);
#if ET_ONE_THRESHOLD
        unsigned state = value > ET_READ(threshold[s]);
#else
        unsigned state = 0;

        while (state < ET_THRESHOLDS(s) && value > ET_READ(threshold[state]))
            state++;
        threshold += ET_THRESHOLDS(s);
#endif
#if ET_CAN_MISS
        if (value == ET_MISSING_VALUE)
            state = ET_READ(et_missing_states[s]);
#endif
        row->slot[s] = (uint8_t)state;
#endif
    }
}

#if ET_UNFOLDS
/* Write the Booleans of all slots, one byte each. */
static void et_unfold(const uint8_t *slots, uint8_t *booleans)
{
    unsigned s, i;

#if ET_BINS
    const uint8_t *test = et_tests;

    for (s = 0; s < ET_SLOTS; s++)
        for (i = 0; i < ET_READ(et_slot_sizes[s]); i++, test++) /* true in one state, or above one */
            *booleans++
                = ET_READ(*test) & 0x80u ? slots[s] == (ET_READ(*test) & 0x7Fu) : slots[s] > ET_READ(*test);
#else
    for (s = 0; s < ET_SLOTS; s++)
        for (i = 0; i < ET_READ(et_slot_sizes[s]); i++)
            *booleans++ = slots[s] > i;
#endif
}
#endif

/* The class with the highest sum, the lower one on a tie. */
static inline unsigned et_argmax(const int32_t *sums)
{
    unsigned best = 0, c;

    for (c = 1; c < ET_CLASSES; c++)
        if (sums[c] > sums[best])
            best = c;
    return best;
}

#if ET_CELLS > 0
/* There are so few different rows that the class of each is in a table. */
static unsigned et_cell_class(const et_row *row)
{
    uint32_t cell = 0;
    unsigned s;

    for (s = 0; s < ET_SLOTS; s++)
        cell = cell * ET_SLOT_STATES(s) + row->slot[s];
    return (unsigned)ET_READ(et_cells[cell / (8 / ET_CELL_BITS)]) >> (cell % (8 / ET_CELL_BITS) * ET_CELL_BITS)
           & ((1u << ET_CELL_BITS) - 1u);
}
#endif

/* crc.h */

#endif
