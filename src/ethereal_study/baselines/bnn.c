/* One hidden layer of binary units: XNOR and count, compare with a threshold, XNOR and count again. */
int bnn_predict(const uint32_t *bits);

static uint32_t count_ones(uint32_t x)
{
    x -= x >> 1 & 0x55555555u;
    x = (x & 0x33333333u) + (x >> 2 & 0x33333333u);
    x = (x + (x >> 4)) & 0x0F0F0F0Fu;
    return x * 0x01010101u >> 24;
}

/* In how many places two bit vectors differ. */
static int32_t differences(const uint32_t *a, const uint32_t *b, uint32_t n_words)
{
    int32_t count = 0;

    for (; n_words > 0; n_words--)
        count += (int32_t)count_ones(*a++ ^ *b++);
    return count;
}

int bnn_predict(const uint32_t *bits)
{
    uint32_t hidden[HIDDEN_WORDS] = {0};
    int32_t best_sum = INT32_MIN;
    uint32_t j;
    int best = 0;

    for (j = 0; j < N_HIDDEN; j++) /* a unit is on when few enough inputs differ from its weights */
        if (differences(bits, &hidden_weights[j * INPUT_WORDS], INPUT_WORDS) <= most_differences[j])
            hidden[j >> 5] |= 1u << (j & 31);
    for (j = 0; j < N_CLASSES; j++) {
        const int32_t sum = bias[j] - 2 * differences(hidden, &output_weights[j * HIDDEN_WORDS], HIDDEN_WORDS);

        if (sum > best_sum) {
            best_sum = sum;
            best = (int)j;
        }
    }
    return best;
}
