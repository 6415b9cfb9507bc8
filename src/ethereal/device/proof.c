/*
 * What is proven of an exported model, for the value analysis of Frama-C. It is not part of an export.
 *
 * `ethereal prove` defines PROVE_SOURCE (the exported .c, or the only header), MODEL(x) and LIMIT(X) (the names that
 * begin with the model's), RUNTIME(x) and RUNTIME_LIMIT(X) (those of the runtime), and what there is: HAS_... The
 * analysis begins in one of the functions prove_..., all of whose numbers are unknown. The last assertion of each is called `proven`.
 */
#include "__fc_builtin.h"
#include <stdint.h>

/* The checksum by eight bits at once, of which an analysis takes few steps. prove_crc32 reads the bits one by one. */
static const uint32_t crc_low[16] = {
    0x00000000u, 0x77073096u, 0xEE0E612Cu, 0x990951BAu, 0x076DC419u, 0x706AF48Fu, 0xE963A535u, 0x9E6495A3u,
    0x0EDB8832u, 0x79DCB8A4u, 0xE0D5E91Eu, 0x97D2D988u, 0x09B64C2Bu, 0x7EB17CBDu, 0xE7B82D07u, 0x90BF1D91u
};
static const uint32_t crc_high[16] = {
    0x00000000u, 0x1DB71064u, 0x3B6E20C8u, 0x26D930ACu, 0x76DC4190u, 0x6B6B51F4u, 0x4DB26158u, 0x5005713Cu,
    0xEDB88320u, 0xF00F9344u, 0xD6D6A3E8u, 0xCB61B38Cu, 0x9B64C2B0u, 0x86D3D2D4u, 0xA00AE278u, 0xBDBDF21Cu
};
#define CRC_BYTE(crc) ((crc) >> 8 ^ crc_low[(crc) & 15u] ^ crc_high[(crc) >> 4 & 15u])

/*
 * The checksum of a table in pieces, each by a call of the function as it is. The analysis compares each round of a loop
 * with all rounds before it in the same call, so that calls of few rounds take far fewer steps.
 */
#ifdef HAS_CRC_TABLE
#define CRC_PIECE 128u
static uint32_t crc_pieces(uint32_t crc, const void *data, uint32_t size);
#endif

#include PROVE_SOURCE

#ifdef HAS_CRC_TABLE
static uint32_t crc_pieces(uint32_t crc, const void *data, uint32_t size)
{
    const uint8_t *byte = (const uint8_t *)data;

    for (; size > CRC_PIECE; size -= CRC_PIECE) {
        crc = RUNTIME(crc32)(crc, byte, CRC_PIECE);
        byte += CRC_PIECE;
    }
    return RUNTIME(crc32)(crc, byte, size);
}
#endif

#define ANY(array) Frama_C_make_unknown((char *)(array), sizeof(array))
#ifdef HAS_UNKNOWN
#define ANSWERS (LIMIT(UNKNOWN) + 1u)
#else
#define ANSWERS LIMIT(CLASSES)
#endif
#ifndef BATCH_ROWS
#define BATCH_ROWS 2u
#endif

static MODEL(input) features[BATCH_ROWS * LIMIT(FEATURES)];
#ifndef HAS_NUMBER
static int32_t sums[LIMIT(CLASSES)];
static uint16_t classes[32];
#endif

#if RUNTIME_LIMIT(USES_LEADING_ZEROS)
/* The function as it is compiled without a builtin gives what the one for the proof gives, for each result. */
void prove_leading_zeros(void)
{
    unsigned zeros, found;

    for (zeros = 0; zeros < 32; zeros++) {
        const uint32_t low = 0x80000000u >> zeros;

        found = RUNTIME(leading_zeros)(Frama_C_unsigned_long_interval(low, low + (low - 1u)));
        /*@ assert found == zeros; */
    }
    /*@ assert proven: zeros == 32; */
}
#endif

/*
 * The checksum as it is compiled gives what the one for the proof gives, for each lowest byte. The other bits are only
 * shifted before the result of that byte is added to them, in both.
 */
void prove_crc32(void)
{
    unsigned byte;

    for (byte = 0; byte < 256; byte++) {
        const uint8_t data = (uint8_t)byte;
        const uint32_t found = ~RUNTIME(crc32)(0xFFFFFFFFu, &data, 1), expected = CRC_BYTE(byte);
        /*@ assert found == expected; */
    }
    /*@ assert proven: byte == 256; */
}

void prove_check(void)
{
    const int is_whole = MODEL(check)(), all = MODEL(check_all)();
    /*@ assert proven: is_whole == 1 && all == 1; */
}

#ifdef HAS_NUMBER
/* What the votes for a number may add up to: a float holds every whole number up to it. */
#define MOST_SUM 16777216

void prove_sum(void)
{
    int32_t sum;

    ANY(features);
    sum = MODEL(sum)(features);
    /*@ assert proven: -MOST_SUM <= sum <= MOST_SUM; */
}

/* For any sum that there may be, not only for those of this model. */
void prove_value(void)
{
    const float value = MODEL(value_of)(Frama_C_long_interval(-MOST_SUM, MOST_SUM));
    /*@ assert proven: \is_finite(value); */
}

#ifdef HAS_BOOLEANIZE
void prove_sum_row(void)
{
    static MODEL(row) row;
    int32_t sum;

    ANY(features);
    MODEL(booleanize)(features, &row);
    sum = MODEL(sum_row)(&row);
    /*@ assert proven: -MOST_SUM <= sum <= MOST_SUM; */
}
#endif
#else
void prove_predict(void)
{
    unsigned answer;

    ANY(features);
    answer = MODEL(predict)(features);
    /*@ assert proven: answer < ANSWERS; */
}

void prove_class_sums(void)
{
    int32_t found[LIMIT(CLASSES)];

    ANY(features);
    MODEL(class_sums)(features, found);
    /*@ assert proven: \initialized(&found[0 .. LIMIT(CLASSES) - 1]); */
}

void prove_predict_batch(void)
{
    uint16_t found[BATCH_ROWS];

    ANY(features);
    MODEL(predict_batch)(features, 0, found);
    MODEL(predict_batch)(features, BATCH_ROWS, found);
    /*@ assert proven: \forall integer i; 0 <= i < BATCH_ROWS ==> found[i] < ANSWERS; */
}

#ifdef HAS_BOOLEANIZE
void prove_predict_32_rows(void)
{
    static MODEL(row) rows[32];
    unsigned r, answer;

    ANY(features);
    for (r = 0; r < 32; r++)
        MODEL(booleanize)(features, &rows[r]);
    answer = MODEL(predict_row)(&rows[0]);
    /*@ assert answer < ANSWERS; */
    MODEL(class_sums_row)(&rows[0], sums);
    MODEL(predict_32_rows)(rows, classes);
    /*@ assert proven: \forall integer i; 0 <= i < 32 ==> classes[i] < ANSWERS; */
}
#endif

#endif

#ifdef HAS_MISSING
void prove_missing(void)
{
#ifdef HAS_CONVERT_FIRST
    static float given[LIMIT(FEATURES)];
#else
    static MODEL(input) given[LIMIT(FEATURES)];
#endif
    unsigned found;

    ANY(given);
    found = MODEL(missing)(given);
    /*@ assert proven: found <= LIMIT(FEATURES); */
}
#endif

#ifdef HAS_CONVERT
void prove_convert(void)
{
    static float given[LIMIT(FEATURES)];
    MODEL(input) found[LIMIT(FEATURES)];

    ANY(given);
    MODEL(convert)(given, found);
    /*@ assert proven: \initialized(&found[0 .. LIMIT(FEATURES) - 1]); */
}
#endif

#ifdef HAS_NOVELTY
void prove_novelty(void)
{
    unsigned found;

    ANY(features);
    found = MODEL(novelty)(features);
    /*@ assert proven: found <= LIMIT(FEATURES); */
}
#endif

#ifdef HAS_SCORE
void prove_score(void)
{
    int32_t found;

    ANY(features);
    found = MODEL(score)(features);
    /*@ assert proven: 0 <= found; */
}

void prove_is_normal(void)
{
    int found;

    ANY(features);
    found = MODEL(is_normal)(features);
    /*@ assert proven: 0 <= found <= 1; */
}
#endif

#ifdef HAS_NORMAL_LEARN
/* What is true of the board's own normal after any sequence of calls. */
static void any_own_state(void)
{
    unsigned i;

    Frama_C_make_unknown((char *)&RUNTIME(own_state), sizeof RUNTIME(own_state));
    for (i = 0; i < RUNTIME_LIMIT(OWN_FEATURES); i++) {
        RUNTIME(own_state).shifts[i] = Frama_C_unsigned_char_interval(0, 15);
        RUNTIME(own_state).deviations[i] = Frama_C_unsigned_int_interval(0, 2046u * 65535u);
    }
    for (i = 0; i < RUNTIME_LIMIT(OWN_CENTRES) * RUNTIME_LIMIT(OWN_FEATURES); i++)
        RUNTIME(own_state).centres[i] = (int16_t)Frama_C_interval(-1023, 1023);
    for (i = 0; i < RUNTIME_LIMIT(OWN_HELD) * RUNTIME_LIMIT(OWN_FEATURES); i++)
        RUNTIME(own_state).held[i] = (int16_t)Frama_C_interval(-1023, 1023);
    for (i = 0; i < RUNTIME_LIMIT(OWN_CENTRES); i++)
        RUNTIME(own_state).counts[i] = Frama_C_unsigned_char_interval(0, 64);
    RUNTIME(own_state).n_centres = Frama_C_unsigned_char_interval(0, RUNTIME_LIMIT(OWN_CENTRES));
    RUNTIME(own_state).n_held = Frama_C_unsigned_char_interval(0, RUNTIME_LIMIT(OWN_HELD));
    RUNTIME(own_state).oldest = Frama_C_unsigned_char_interval(0, RUNTIME_LIMIT(OWN_HELD) - 1u);
    RUNTIME(own_state).rate = Frama_C_unsigned_int_interval(0, 0x1000000u);
}

static void check_own_state(void)
{
    /*@ assert RUNTIME(own_state).n_centres <= RUNTIME_LIMIT(OWN_CENTRES); */
    /*@ assert RUNTIME(own_state).n_held <= RUNTIME_LIMIT(OWN_HELD); */
    /*@ assert RUNTIME(own_state).oldest < RUNTIME_LIMIT(OWN_HELD); */
    /*@ assert RUNTIME(own_state).rate <= 0x1000000u; */
}

void prove_normal_learn(void)
{
    int found;

    any_own_state();
    ANY(features);
    found = MODEL(normal_learn)(features);
    check_own_state();
    /*@ assert proven: 0 <= found <= 1; */
}

void prove_normal_end(void)
{
    int found;

    any_own_state();
    found = MODEL(normal_end)();
    check_own_state();
    /*@ assert proven: 0 <= found <= 1; */
}

void prove_normal_drift(void)
{
    unsigned found;

    any_own_state();
    found = MODEL(normal_drift)((int32_t)Frama_C_long_interval(0, 0x7FFFFFFFL));
    check_own_state();
    /*@ assert proven: found <= 1000; */
}

void prove_normal_save(void)
{
    static uint8_t to[LIMIT(NORMAL_STATE_BYTES)];
    unsigned found;

    any_own_state();
    found = MODEL(normal_save)(to);
    /*@ assert proven: found <= LIMIT(NORMAL_STATE_BYTES); */
}

void prove_normal_restore(void)
{
    static uint8_t from[LIMIT(NORMAL_STATE_BYTES)];
    int found;

    any_own_state();
    ANY(from);
    found = MODEL(normal_restore)(from, LIMIT(NORMAL_STATE_BYTES));
    check_own_state();
    /*@ assert proven: 0 <= found <= 1; */
}
#endif

#ifdef HAS_DRIFT
/* After any number of answers. */
void prove_drift(void)
{
    unsigned found = 0;

    /*@ loop unroll 0; */
    while (Frama_C_interval(0, 1))
        found = MODEL(drift)(Frama_C_unsigned_int_interval(0, 65535));
    /*@ assert proven: \initialized(&found); */
}
#endif

#ifdef HAS_FEATURE_NAME
void prove_names(void)
{
#ifdef HAS_NUMBER
    const char *class_ = "";
#else
    const char *class_ = MODEL(class_name)(Frama_C_unsigned_int_interval(0, ANSWERS - 1u));
#endif
    const char *feature = MODEL(feature_name)(Frama_C_unsigned_int_interval(0, LIMIT(FEATURES) - 1u));
    /*@ assert proven: \valid_read(class_) && \valid_read(feature); */
}
#endif

#ifdef HAS_WINDOW
static int16_t window[LIMIT(WINDOW) * LIMIT(AXES)];

/* What is true of a stream after any sequence of samples. The features of a window are any numbers at first. */
static void any_stream(void)
{
    ANY(RUNTIME(samples));
    RUNTIME(filled) = Frama_C_unsigned_short_interval(0, PROVE_KEPT - 1u);
#ifdef HAS_FRAMES
    {
        unsigned i;

        for (i = 0; i < PROVE_BANDS; i++)
            RUNTIME(bands_of_frames)[i] = Frama_C_short_interval(0, 32767);
    }
    RUNTIME(frames) = Frama_C_unsigned_short_interval(0, PROVE_FRAMES - 1u);
#endif
#if PROVE_MAJORITY > 1
    {
        unsigned i;

        for (i = 0; i < LIMIT(MAJORITY); i++)
            RUNTIME(answers)[i] = Frama_C_unsigned_short_interval(0, ANSWERS - 1u);
        RUNTIME(n_answers) = Frama_C_unsigned_short_interval(0, LIMIT(MAJORITY));
    }
#endif
#ifdef HAS_NUMBER
    RUNTIME(pushed) = Frama_C_long_interval(-MOST_SUM, MOST_SUM);
#endif
#ifdef HAS_FRAME_ROW
    RUNTIME(skipped) = Frama_C_unsigned_short_interval(0, RUNTIME_LIMIT(SKIPPED));
    RUNTIME(frames) = Frama_C_short_interval(PROVE_FRAMES_FROM, RUNTIME_LIMIT(FRAMES) - 1);
    ANY(RUNTIME(frame_row));
    ANY(RUNTIME(lines));
#else
    ANY(RUNTIME(window_row));
#endif
#ifdef HAS_BANDS
    {
        unsigned i;

        for (i = 0; i < RUNTIME_LIMIT(FRAMES) * RUNTIME_LIMIT(MEL_BANDS); i++)
            RUNTIME(bands)[i] = Frama_C_short_interval(0, 32767);
    }
#else
    ANY(RUNTIME(means));
    ANY(RUNTIME(side));
#endif
    ANY(RUNTIME(work));
}

static void check_stream(void)
{
    /*@ assert RUNTIME(filled) < PROVE_KEPT; */
#ifdef HAS_FRAME_ROW
    /*@ assert RUNTIME(skipped) <= RUNTIME_LIMIT(SKIPPED); */
    /*@ assert PROVE_FRAMES_FROM <= RUNTIME(frames) < RUNTIME_LIMIT(FRAMES); */
#endif
#ifdef HAS_BANDS
    /*@ assert \forall integer i; 0 <= i < RUNTIME_LIMIT(FRAMES) * RUNTIME_LIMIT(MEL_BANDS) ==>
        0 <= RUNTIME(bands)[i]; */
#endif
#ifdef HAS_FRAMES
    /*@ assert RUNTIME(frames) < PROVE_FRAMES; */
    /*@ assert \forall integer i; 0 <= i < PROVE_BANDS ==> 0 <= RUNTIME(bands_of_frames)[i]; */
#endif
#if PROVE_MAJORITY > 1
    /*@ assert RUNTIME(n_answers) <= LIMIT(MAJORITY); */
    /*@ assert \forall integer i; 0 <= i < LIMIT(MAJORITY) ==> RUNTIME(answers)[i] < ANSWERS; */
#endif
}

#ifdef HAS_NUMBER
void prove_window(void)
{
    int32_t sum;

    any_stream();
    ANY(window);
    sum = MODEL(window)(window);
    /*@ assert proven: -MOST_SUM <= sum <= MOST_SUM; */
}
#else
void prove_window(void)
{
    unsigned answer;

    any_stream();
    ANY(window);
    answer = MODEL(window)(window);
    /*@ assert proven: answer < ANSWERS; */
}
#endif

/* The stream begins as any_stream() says, and stays so: this is an induction over the samples. */
void prove_push(void)
{
    static int16_t sample[LIMIT(AXES)];
    int answer;

    MODEL(reset)();
    check_stream();
    any_stream();
    ANY(sample);
    answer = MODEL(push)(sample);
    check_stream();
#ifdef HAS_NUMBER
    {
        const int32_t pushed = MODEL(pushed)();
        /*@ assert proven: 0 <= answer <= 1 && -MOST_SUM <= pushed <= MOST_SUM; */
    }
#else
    /*@ assert proven: -1 <= answer < (int)ANSWERS; */
#endif
}
#endif

#ifdef HAS_LEARN
/*
 * What is true of a state after any sequence of calls: so each call is analysed once, from any such state. There are
 * so many rows as n says, because Frama-C does not keep the relation of two unknown numbers.
 */
static void any_state(unsigned n)
{
    MODEL(state) *const own = &RUNTIME(first_state);
    unsigned i;

    Frama_C_make_unknown((char *)own, sizeof *own);
    for (i = 0; i < LIMIT(ROWS); i++) {
        uint8_t *const row = own->rows + i * RUNTIME_LIMIT(ROW_BYTES);

        row[0] = Frama_C_unsigned_char_interval(0, LIMIT(CLASSES) - 1u);
        row[RUNTIME_LIMIT(BITS_BYTES)] = Frama_C_unsigned_char_interval(0, RUNTIME_LIMIT(LAST_BITS));
    }
    own->n_rows = (uint16_t)n;
    own->now.is_personal = Frama_C_unsigned_char_interval(0, 1);
    own->now.phase = n > 0 ? Frama_C_unsigned_char_interval(0, 3) : 0;
    own->now.at = 0;
    if (n > 0)
        own->now.at = Frama_C_unsigned_short_interval(0, n + RUNTIME_LIMIT(ANCHORS) - 1u);
    Frama_C_make_unknown((char *)RUNTIME(last), RUNTIME_LIMIT(BITS_BYTES));
    RUNTIME(has_last) = Frama_C_unsigned_char_interval(0, 1);
    RUNTIME(last)[RUNTIME_LIMIT(BITS_BYTES) - 1u] = Frama_C_unsigned_char_interval(0, RUNTIME_LIMIT(LAST_BITS));
}

static void check_state(void)
{
    const MODEL(state) *const own = &RUNTIME(first_state);
    unsigned i;

    /*@ assert own->n_rows <= LIMIT(ROWS) && own->now.phase <= 3 && own->now.is_personal <= 1; */
    /*@ assert own->now.phase == 0 || own->now.at == 0 || own->now.at < own->n_rows + RUNTIME_LIMIT(ANCHORS); */
    for (i = 0; i < LIMIT(ROWS); i++) {
        const uint8_t *const row = own->rows + i * RUNTIME_LIMIT(ROW_BYTES);
        const unsigned class_ = row[0], bits = row[RUNTIME_LIMIT(BITS_BYTES)];
        /*@ assert class_ < LIMIT(CLASSES) && bits <= RUNTIME_LIMIT(LAST_BITS); */
    }
}

static void returned(unsigned n)
{
    /*@ assert proven: n == LIMIT(ROWS) + 1; */
}

/* A state of zeros, with which a board starts, is one of these states. */
#define PROVE_CALL(name, call) \
    void prove_##name(void) \
    { \
        static uint8_t bytes[LIMIT(STATE_BYTES)]; \
        unsigned n; \
 \
        check_state(); \
        ANY(features); \
        ANY(bytes); \
        for (n = 0; n <= LIMIT(ROWS); n++) { \
            any_state(n); \
            call; \
            check_state(); \
        } \
        returned(n); \
    }

/* Any bytes of any size, and of the size of n rows. */
static void restore_any(const uint8_t *bytes, unsigned n)
{
    MODEL(restore)(bytes, Frama_C_unsigned_int_interval(0, LIMIT(STATE_BYTES)));
    check_state();
    any_state(n);
    MODEL(restore)(bytes, n * RUNTIME_LIMIT(ROW_BYTES) + 4u);
}

/* A row that there may be, each of them, and one that there is not. */
static void unlearn_any(unsigned n)
{
    const unsigned i = Frama_C_unsigned_int_interval(0, LIMIT(ROWS) - 1u);

    MODEL(unlearn)(Frama_C_unsigned_int_interval(LIMIT(ROWS), 65535));
    check_state();
    /*@ split i; */
    any_state(n);
    MODEL(unlearn)(i);
}

PROVE_CALL(learn, MODEL(learn)(features, Frama_C_unsigned_int_interval(0, 65535)))
PROVE_CALL(learn_last, MODEL(learn_last)(Frama_C_unsigned_int_interval(0, 65535)))
PROVE_CALL(adapt_step, MODEL(adapt_step)())
PROVE_CALL(adapt, MODEL(adapt)())
PROVE_CALL(unlearn, unlearn_any(n))
PROVE_CALL(forget, MODEL(forget)())
PROVE_CALL(save, MODEL(save)(bytes))
PROVE_CALL(restore, restore_any(bytes, n))
PROVE_CALL(entry, MODEL(entry)(Frama_C_unsigned_int_interval(0, 65535), bytes))
PROVE_CALL(learn_entry, MODEL(learn_entry)(bytes))

void prove_answer_learned(void)
{
    unsigned answer;

    ANY(features);
    any_state(LIMIT(ROWS));
    answer = MODEL(predict)(features);
    check_state();
    /*@ assert proven: answer < ANSWERS; */
}
#endif
