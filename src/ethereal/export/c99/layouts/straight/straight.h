/*
 * ethereal runtime, layout "straight": the clauses are code that compares features with constants.
 *
 * There are no tables and there is no Booleanized row. The sums of several classes are fields of one word. A test
 * reads its feature again, which is one instruction: compilers would keep many features on the stack otherwise.
 */
#ifndef ET_RUNTIME_STRAIGHT
#define ET_RUNTIME_STRAIGHT

/* Constants are read from flash where that is one instruction, and are not kept on the stack. */
#if defined(__clang__)
#define ET_SMALL __attribute__((minsize))
#else
#define ET_SMALL
#endif

/* The compiler must not know what is in a word. It would choose between sums in place of adding votes, and keep many
   votes on the stack to add them later. */
#if defined(__GNUC__)
#define ET_HIDE(word) __asm__("" : "+r"(word))
#else
#define ET_HIDE(word)
#endif
#define ET_ADD(word, votes) \
    do { \
        (word) += (votes); \
        ET_HIDE(word); \
    } while (0)
#define ET_SUBTRACT(word, votes) ET_ADD(word, (uint32_t)0 - (votes))

/* A part of the clauses, in a function of its own so that it stays small. */
#if defined(__GNUC__)
#define ET_PART __attribute__((noinline, unused)) ET_SMALL static void
#else
#define ET_PART static void
#endif

#if ET_FLOAT_INPUT
typedef uint32_t et_number;
/* The bits of a float. No floating point unit is needed. */
#if defined(__GNUC__)
typedef uint32_t __attribute__((may_alias)) et_bits;
#define ET_FEATURE(f) (((const volatile et_bits *)features)[f])
#else
static uint32_t et_bits_of(float value)
{
    union {
        float value;
        uint32_t bits;
    } both;

    both.value = value;
    return both.bits;
}
#define ET_FEATURE(f) et_bits_of(features[f])
#endif

/* Whether a number is above a threshold with the bits t: one from zero on, and one below zero.
   Floats from zero on are in the order of their bits. Of two below zero the larger bits are lower. */
#if ET_CAN_BE_NAN
static inline int et_is_above(uint32_t bits, uint32_t t)
{
    return (bits < t) && ((bits - 0x7F800001u) >= 0x7FFFFFu);
}
#define ET_IS_ABOVE(x, t) ((x) - (t)-1u < 0x7F800000u - (t))
#define ET_IS_ABOVE_NEGATIVE(x, t) et_is_above(x, t)
#else
static inline uint32_t et_constant(uint32_t bits)
{
    ET_HIDE(bits);
    return bits;
}
#define ET_IS_ABOVE(x, t) ((int32_t)(x) > (int32_t)et_constant(t))
#define ET_IS_ABOVE_NEGATIVE(x, t) ((x) < et_constant(t))
#endif
#define ET_ABSENT(x) (((x) << 1) > 0xFF000000u)
#else
/* A word, because compilers know of its comparisons which constants an instruction holds. */
typedef int32_t et_number;
static inline int32_t et_value(int32_t value)
{
    ET_HIDE(value);
    return value;
}
#define ET_FEATURE(f) et_value(((const volatile et_input *)features)[f])
#if ET_MISSING_IS_HIGHEST
#define ET_IS_ABOVE(x, t) ((et_input)((x) + 1) > (t) + 1)
#else
#define ET_IS_ABOVE(x, t) ((x) > (t))
#endif
#define ET_ABSENT(x) ((x) == ET_MISSING_VALUE)
#endif

/* The votes in a field of a word. */
static inline int32_t et_votes_of(uint32_t field)
{
    return (int32_t)field;
}

#endif
