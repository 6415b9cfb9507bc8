/* The class with the highest sum, the lower one on a tie. */
static inline unsigned et_argmax(const int32_t *sums)
{
    unsigned best = 0;
    unsigned c;

    for (c = 1; c < ET_CLASSES; c++) {
        if (sums[c] > sums[best]) {
            best = c;
        }
    }
    return best;
}
