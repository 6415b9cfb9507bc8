/*
 * ethereal runtime, layout "redress": the paper's words, scanned one after the other.
 *
 * A word is an include of a clause:
 *
 *     bit 15     polarity: 1 in a clause that votes against its class
 *     bit 14     toggle: flips between a clause and the next one of its class
 *     bits 13-1  the Boolean
 *     bit 0      1 when the Boolean is negated
 *
 * The words of a class follow those of the class before, and et_counts has their numbers. A class begins with a new
 * clause, whatever its toggle. The last word of a clause tells its polarity. A clause of weight w is there w times.
 */

/* Sum of the votes of a class from its words, of which there is at least one. They end before `end`. */
static int32_t et_class_sum(const uint16_t *words, const uint16_t *end, const uint8_t *booleans)
{
    const uint16_t *word = words;
    unsigned toggle = ET_READ(*word) & 0x4000u;
    unsigned against = 0;
    unsigned fires = 1;
    int32_t sum = 0;

    do {
        const unsigned code = ET_READ(*word);

        if ((code & 0x4000u) != toggle) { /* the next clause */
            sum += (against != 0u) ? -(int32_t)fires : (int32_t)fires;
            fires = 1;
            toggle ^= 0x4000u;
        }
        against = code & 0x8000u;
        fires &= booleans[(code >> 1) & 0x1FFFu] ^ (code & 1u);
        word++;
    } while (word != end);
    return sum + ((against != 0u) ? -(int32_t)fires : (int32_t)fires);
}

/* Class sums of a Booleanized row. sums has ET_CLASSES elements. */
static void et_class_sums(const et_row *row, int32_t *sums)
{
    const uint16_t *word = et_words;
    unsigned class_;
#if ET_BINARY
    const uint8_t *const booleans = et_slots(row);
#else
    ET_BUFFER uint8_t booleans[ET_BOOLEANS];

    et_unfold(et_slots(row), booleans);
#endif
    for (class_ = 0; class_ < ET_CLASSES; class_++) {
        const uint16_t *const end = &word[ET_READ(et_counts[class_])];

        sums[class_] = (word != end) ? et_class_sum(word, end, booleans) : 0;
        word = end;
    }
}
