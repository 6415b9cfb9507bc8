/*
 * ethereal runtime of exports that learn: sums of votes in flash and of learned votes.
 *
 * A layout tells which clauses fire, as a bit each. Votes in flash are whole. Learned votes are sixteenths, and so are
 * all sums. A learned vote is a byte, 128 more than it counts. The votes of a clause for four classes are a word, and
 * the words of a clause lie together. Those for the last one to three classes lie behind all words.
 */
#ifndef ET_RUNTIME_VOTES
#define ET_RUNTIME_VOTES

/* Votes that are added. */
#define ET_IN_FLASH 1u
#define ET_LEARNED 2u

#define ET_ZERO 128u /* of a learned vote, and of the moves that a row caused */

/* A function that is there once and small, because several others call it, or quick. */
#if defined(__clang__)
#define ET_SMALL __attribute__((minsize))
#define ET_ONCE __attribute__((noinline, unused, minsize)) static
#define ET_QUICK __attribute__((noinline, unused)) static
#elif defined(__GNUC__)
#define ET_SMALL
#define ET_ONCE __attribute__((noinline, unused)) static
#define ET_QUICK ET_ONCE
#else
#define ET_SMALL
#define ET_ONCE static
#define ET_QUICK static
#endif

/* The compiler must not know what is in a variable, so that it stays in a register. */
#if defined(__GNUC__)
#define ET_HIDE(word) __asm__("" : "+r"(word))
#else
#define ET_HIDE(word)
#endif

/* A word anywhere in memory, on cores that read it in one instruction. */
#if defined(__ARM_FEATURE_UNALIGNED) && defined(__ARM_FEATURE_CLZ) && defined(__BYTE_ORDER__) \
    && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && !defined(__FRAMAC__)
typedef struct __attribute__((packed, may_alias)) {
    uint32_t word;
} et_unaligned;
#define ET_UNALIGNED
#define ET_WORD(bytes) (((const et_unaligned *)(const void *)(bytes))->word)
#endif

#define ET_VOTERS (ET_LEARN_BIAS ? 1u : ET_CLAUSES) /* that have learned votes */
#define ET_IN_WORDS (ET_CLASSES / 4u * 4u)          /* classes whose learned votes are in words */
#define ET_BEHIND (ET_CLASSES % 4u)                 /* classes whose learned votes are behind them */
#if ET_CLASSES < 4
#define ET_IS_BEHIND(class_) 1
#else
#define ET_IS_BEHIND(class_) ((class_) >= ET_IN_WORDS)
#endif

#if defined(__AVR__)
#define ET_BLOCK 64u
#else
#define ET_BLOCK 256u /* clauses whose votes are added together. 16 bits hold the sum of 256 bytes. */
#endif

/* A test for each bit is quicker than a search for the lowest one where no instruction finds it. */
#define ET_LIST_BIT(k) \
    do { \
        if ((left >> (k) & 1u) != 0u) { \
            fired[n] = (uint8_t)(j + (k)); \
            n++; \
        } \
    } while (0)

/* Write the numbers of the clauses of a block that fired, and return how many there are. */
ET_QUICK unsigned et_list_fired(const uint8_t *bits, unsigned n_clauses, uint8_t *fired)
{
    unsigned n = 0, j;

#ifdef ET_UNALIGNED
    for (j = 0; j + 32u <= n_clauses; j += 32u) {
        uint32_t left = ET_WORD(bits + j / 8u);

        for (; left != 0u; left &= left - 1u) {
            fired[n] = (uint8_t)(j + (unsigned)__builtin_ctz(left));
            n++;
        }
    }
#else
    j = 0;
#endif
    /*@ dynamic_split n; */
    for (; j < n_clauses; j += 8u) {
        unsigned left = bits[j / 8u];

        ET_HIDE(j); /* A sum is quicker than an OR on small cores. */
#if defined(__ARM_FEATURE_CLZ) && !defined(__FRAMAC__)
        for (; left != 0u; left &= left - 1u) {
            fired[n] = (uint8_t)(j + (unsigned)__builtin_ctz(left));
            n++;
        }
#else
        ET_LIST_BIT(0u);
        ET_LIST_BIT(1u);
        ET_LIST_BIT(2u);
        ET_LIST_BIT(3u);
        ET_LIST_BIT(4u);
        ET_LIST_BIT(5u);
        ET_LIST_BIT(6u);
        ET_LIST_BIT(7u);
#endif
    }
    return n;
}

#if !ET_LEARN_BIAS
/* Words of a clause that are added together. A small core has registers for one. */
#if defined(__AVR__) || (defined(__thumb__) && !defined(__thumb2__))
#define ET_TOGETHER 1u
#else
#define ET_TOGETHER ET_VOTE_WORDS
#endif

/* Sums of four bytes each: of words as they are, and of their second and fourth bytes. */
typedef struct {
    uint32_t all, odd;
} et_four;

static inline void et_add_word(et_four *four, uint32_t word)
{
    four->all += word;
#if defined(__ARM_FEATURE_SIMD32) && defined(__GNUC__)
    __asm__("uxtab16 %0, %0, %1, ror #8" : "+r"(four->odd) : "r"(word));
#else
    four->odd += word >> 8 & 0x00FF00FFu;
#endif
}

/* Add a sum of n bytes, each of which is 128 too high. It is a number of 16 bits. */
static inline void et_add_sum(int32_t *sum, uint32_t found, unsigned n)
{
    *sum += (int16_t)(uint16_t)(found - 128u * n);
}

ET_ONCE void et_add_four(int32_t *sums, et_four four, unsigned n)
{
    const uint32_t even = four.all - (four.odd << 8);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    const unsigned turned = 3;
#else
    const unsigned turned = 0;
#endif

    et_add_sum(sums + (0u ^ turned), even, n);
    et_add_sum(sums + (1u ^ turned), four.odd, n);
    et_add_sum(sums + (2u ^ turned), even >> 16, n);
    et_add_sum(sums + (3u ^ turned), four.odd >> 16, n);
}

/* Add learned votes of n clauses for some classes, four in a word. */
ET_QUICK void et_add_words(const uint32_t *words, const uint8_t *fired, unsigned n, int32_t *sums)
{
    et_four four[4] = {{0, 0}, {0, 0}, {0, 0}, {0, 0}};
    unsigned i;

    for (i = 0; i < n; i++) {
        const uint32_t *const word = words + fired[i] * (ET_IN_WORDS / 4u);

        et_add_word(&four[0], word[0]);
        if (ET_TOGETHER > 1u) {
            et_add_word(&four[1], word[1]);
        }
        if (ET_TOGETHER > 2u) {
            et_add_word(&four[2], word[2]);
        }
        if (ET_TOGETHER > 3u) {
            et_add_word(&four[3], word[3]);
        }
    }
    et_add_four(sums, four[0], n);
    if (ET_TOGETHER > 1u) {
        et_add_four(sums + 4, four[1], n);
    }
    if (ET_TOGETHER > 2u) {
        et_add_four(sums + 8, four[2], n);
    }
    if (ET_TOGETHER > 3u) {
        et_add_four(sums + 12, four[3], n);
    }
}

#if ET_CLASSES % 4 == 2 && defined(__GNUC__) && defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
/* The same for two classes whose votes are behind the words. Two bytes are read as one number. */
typedef uint16_t __attribute__((may_alias)) et_pair;

ET_QUICK void et_add_bytes(const uint8_t *votes, const uint8_t *fired, unsigned n, int32_t *sums)
{
    const et_pair *const pairs = (const et_pair *)(const void *)votes;
    uint32_t all = 0, low = 0;
    unsigned i;

    for (i = 0; i < n; i++) {
        const uint32_t pair = pairs[fired[i]];

        all += pair;
        low += pair & 0xFFu;
    }
    et_add_sum(sums, low, n);
    et_add_sum(sums + 1, (all - low) >> 8, n);
}
#else
/* The same for the classes whose votes are behind the words. */
ET_QUICK void et_add_bytes(const uint8_t *votes, const uint8_t *fired, unsigned n, int32_t *sums)
{
    uint32_t found[3] = {0, 0, 0};
    unsigned i;

    for (i = 0; i < n; i++) {
        const uint8_t *const vote = votes + fired[i] * ET_BEHIND;

        found[0] += vote[0];
        if (ET_BEHIND > 1u) {
            found[1] += vote[1];
        }
        if (ET_BEHIND > 2u) {
            found[2] += vote[2];
        }
    }
    et_add_sum(sums, found[0], n);
    if (ET_BEHIND > 1u) {
        et_add_sum(sums + 1, found[1], n);
    }
    if (ET_BEHIND > 2u) {
        et_add_sum(sums + 2, found[2], n);
    }
}
#endif

/* Add the learned votes of a block of clauses, n of which fired. */
static inline void et_add_learned(const et_state *own, unsigned first, const uint8_t *fired, unsigned n, int32_t *sums)
{
    const uint32_t *const words = own->learned.votes;
#if ET_CLASSES >= 4
    unsigned c;

    for (c = 0; c < ET_IN_WORDS; c += 4u * ET_TOGETHER) {
        et_add_words(words + (first * ET_IN_WORDS + c) / 4u, fired, n, sums + c);
    }
#endif
#if ET_CLASSES % 4
    et_add_bytes((const uint8_t *)words + ET_CLAUSES * ET_IN_WORDS + first * ET_BEHIND, fired, n, sums + ET_IN_WORDS);
#endif
}
#endif

/* Add votes of the clauses that fired to the sums, in sixteenths. With those in flash the sums begin with 0. */
ET_QUICK void et_tally(const et_state *own, const uint8_t *bits, int32_t *sums, unsigned what)
{
    unsigned first, c, i;

    for (c = 0; c < ET_CLASSES; c++) {
        if ((what & ET_IN_FLASH) != 0u) {
            sums[c] = 0;
        }
#if ET_LEARN_BIAS
        if ((what & ET_LEARNED) != 0u) {
            sums[c] += (int32_t)((const uint8_t *)own->learned.votes)[c] - 128;
        }
#endif
    }
    for (first = 0; first < ET_CLAUSES; first += ET_BLOCK) {
        const unsigned n_clauses = ET_CLAUSES - first < ET_BLOCK ? ET_CLAUSES - first : ET_BLOCK;
        uint8_t fired[ET_BLOCK];
        const unsigned n = et_list_fired(bits + first / 8u, n_clauses, fired);

        if ((what & ET_IN_FLASH) != 0u) {
            for (i = 0; i < n; i++) {
                const unsigned j = first + fired[i], end = ET_READ(et_vote_ends[j + 1u]);
                unsigned vote;

                for (vote = ET_READ(et_vote_ends[j]); vote < end; vote++) {
                    sums[ET_READ(et_vote_classes[vote])] += (int32_t)ET_READ(et_vote_weights[vote]) * 16;
                }
            }
        }
#if !ET_LEARN_BIAS
        if ((what & ET_LEARNED) != 0u) {
            et_add_learned(own, first, fired, n, sums);
        }
#endif
    }
#if ET_NEW_CLASSES
    for (c = 0; c < ET_NEW_CLASSES; c++) {
        if ((what & ET_LEARNED) == 0u || own->now.taught[c] == 0u) {
            sums[ET_CLASSES - ET_NEW_CLASSES + c] = -(1L << 30);
        }
    }
#endif
}

/* The class with the highest sum, the lower one on a tie. */
ET_ONCE unsigned et_winner(const int32_t *sums)
{
    unsigned best = 0, c;

    for (c = 1; c < ET_CLASSES; c++) {
        if (sums[c] > sums[best]) {
            best = c;
        }
    }
    return best;
}

#endif
