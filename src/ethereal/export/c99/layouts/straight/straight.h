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

/* The compiler must not know what is in a word: it would choose between sums in place of adding votes. */
#if defined(__GNUC__)
#define ET_HIDE(word) __asm__("" : "+r"(word))
#else
#define ET_HIDE(word)
#endif

/* A part of the clauses, in a function of its own so that it stays small. */
#if defined(__GNUC__)
#define ET_PART __attribute__((noinline, unused)) ET_SMALL static void
#else
#define ET_PART static void
#endif

#if ET_FLOAT_INPUT
/* The bits of a float. No floating point unit is needed. */
#if defined(__GNUC__)
typedef uint32_t __attribute__((may_alias)) et_bits;
#define ET_BITS(f) (((const volatile et_bits *)features)[f])
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
#define ET_BITS(f) et_bits_of(features[f])
#endif

/* Whether feature f is above a threshold with the bits t: one from zero on, and one below zero.
   Floats from zero on are in the order of their bits. Of two below zero the larger bits are lower. */
#if ET_CAN_BE_NAN
static inline int et_is_above(uint32_t bits, uint32_t t)
{
    return bits < t && bits - 0x7F800001u >= 0x7FFFFFu;
}
#define ET_ABOVE(f, t) (ET_BITS(f) - (t)-1u < 0x7F800000u - (t))
#define ET_ABOVE_NEGATIVE(f, t) et_is_above(ET_BITS(f), t)
#else
static inline uint32_t et_number(uint32_t bits)
{
    ET_HIDE(bits);
    return bits;
}
#define ET_ABOVE(f, t) ((int32_t)ET_BITS(f) > (int32_t)et_number(t))
#define ET_ABOVE_NEGATIVE(f, t) (ET_BITS(f) < et_number(t))
#endif
#define ET_IS_MISSING(f) (ET_BITS(f) << 1 > 0xFF000000u)
#else
/* A word, because compilers know of its comparisons which constants an instruction holds. */
static inline int32_t et_value(int32_t value)
{
    ET_HIDE(value);
    return value;
}
#define ET_VALUE(f) et_value(((const volatile et_input *)features)[f])
#define ET_TRUE(f) (ET_VALUE(f) != 0)
#if ET_MISSING_IS_HIGHEST
#define ET_ABOVE(f, t) ((et_input)(ET_VALUE(f) + 1) > (t) + 1)
#else
#define ET_ABOVE(f, t) (ET_VALUE(f) > (t))
#endif
#define ET_IS_MISSING(f) (ET_VALUE(f) == ET_MISSING_VALUE)
#endif

#endif
