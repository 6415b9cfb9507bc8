/* REDRESS words scanned as the paper did: every include of every clause, one after the other. */
int redress_predict(const uint8_t *booleans);

int redress_predict(const uint8_t *booleans)
{
    const uint16_t *word = words;
    int32_t best_sum = INT32_MIN;
    int best = 0;
    int c;

    for (c = 0; c < N_CLASSES; c++) {
        const uint16_t *const end = word + counts[c];
        uint32_t toggle = word != end ? *word & 0x4000u : 0;
        uint32_t against = 0;
        uint32_t output = word != end;
        int32_t sum = 0;

        for (; word != end; word++) {
            if ((*word & 0x4000u) != toggle) { /* the next clause */
                sum += against != 0 ? -(int32_t)output : (int32_t)output;
                output = 1;
                toggle ^= 0x4000u;
            }
            against = *word & 0x8000u;
            output &= booleans[*word >> 1 & 0x1FFFu] ^ (*word & 1u);
        }
        sum += against != 0 ? -(int32_t)output : (int32_t)output;
        if (sum > best_sum) {
            best_sum = sum;
            best = c;
        }
    }
    return best;
}
