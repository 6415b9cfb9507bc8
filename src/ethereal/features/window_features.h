/*
 * ethereal features of windows: raw samples in, int16 features out. No libc, no heap, no recursion, no floating point.
 * The computer and the board compile this one file, so they give the same bits.
 *
 * The file that includes this one defines ET_KERNELS, a bit for each kernel that is wanted. It also defines ET_FLASH and
 * ET_READ, which say how constants are kept and read. A plan is a list of steps of four bytes: the kernel and up to three
 * axes. Axis number `axes` is the magnitude, and a magnitude of two axes has 255 as its third. Each step but the first two
 * kinds writes its features after those of the step before.
 *
 * Contract
 *  - samples: 2 to 32,768 per axis, 32 at least for Haar, parts and bands. axes: 1 to 16. A window is samples x axes,
 *    the axes of a sample side by side. A frame of a window is a short window, for the same kernels.
 *  - Every value of a sample is allowed, -32768 too. Nothing overflows: each kernel says its widest number.
 *  - A size that may need many bits is "squashed" to its exponent and nine bits of mantissa. Below 512 it stays as it
 *    is, and larger numbers keep their order, so that a threshold needs no root, logarithm or division.
 *  - Right shifts of negative numbers round down, as on every compiler for these cores.
 */
#ifndef ET_WINDOW_FEATURES
#define ET_WINDOW_FEATURES

#include <stdint.h>

#define ET_MEAN 0      /* step: the mean of an axis, for the steps after it */
#define ET_MAGNITUDE 1 /* step: |x| + |y| + |z|, halved, as one more axis */
#define ET_STATS 2     /* mean (kept for other steps too), min, max, range: 4 features */
#define ET_STD 3       /* squares of the deviations, squashed: 1 */
#define ET_MAD 4       /* sizes of the deviations, squashed: 1 */
#define ET_STEP 5      /* sizes of the differences in time, squashed: 1 */
#define ET_SHAPE 6     /* crossings of the mean, turns: 2 */
#define ET_PARTS 7     /* means of eight parts less the mean: 8 */
#define ET_HAAR 8      /* sizes of Haar differences, five levels, squashed: 5 */
#define ET_BANDS 9     /* energies of eight bands after sums of 4 samples, squashed: 8 */
#define ET_SPECTRUM 10 /* energies of eight bands, squashed: 8 */
#define ET_COV 11      /* products of the deviations of two axes, squashed with their sign: 1 */
#define ET_MEL 12      /* mel bands over frames: 161 */
#define ET_CORR 13     /* logarithm of the correlation of two axes, with its sign: 1 */
#define ET_SOUND 14    /* mel bands of every frame, less means of the frame and of the window: 33 */

#define ET_HAS(kernel) (ET_KERNELS >> (kernel)&1)
#define ET_HAS_MEL (ET_HAS(ET_MEL) || ET_HAS(ET_SOUND))
#define ET_HAS_FFT (ET_HAS(ET_BANDS) || ET_HAS(ET_SPECTRUM) || ET_HAS_MEL)
#define ET_HAS_SUMS (ET_HAS(ET_PARTS) || ET_HAS(ET_MEAN))
#define ET_HAS_SQUASH                                                                                                  \
    (ET_HAS(ET_STD) || ET_HAS(ET_MAD) || ET_HAS(ET_STEP) || ET_HAS(ET_HAAR) || ET_HAS(ET_COV) || ET_HAS_FFT)

#define ET_BANDS_OUT 8u
#define ET_FRAME 256u     /* samples of a frame of sound */
#define ET_MEL_BANDS 16u
#define ET_MEL_PARTS 10u
#define ET_ACTIVE 2560    /* frames within 5 bits (512 each) of the loudest are active */
#define ET_SOUND_OUT (2 * ET_MEL_BANDS + 1)

/* Where steps keep their numbers. */
typedef struct {
    int16_t *means; /* axes + 1 */
    int16_t *side;  /* the magnitude: samples; or the mel bands: 16 for each frame */
    int32_t *work;  /* half the samples for Haar; the size of the transform */
} et_scratch;

/* Constants of the transforms. */
typedef struct {
    const int16_t *sine; /* three quarters of a wave of that size, in steps of 1/32767 */
    unsigned size;       /* a power of two, at least that of the largest transform */
    const uint16_t *bands, *spectrum, *mel; /* the last bin of each band */
} et_waves;

static inline int32_t et_size(int32_t x)
{
    return x < 0 ? -x : x;
}

static inline int16_t et_saturate(int32_t x)
{
    return (int16_t)(x > 32767 ? 32767 : x < -32768 ? -32768 : x);
}

/* x / n. Cores without a division would call a routine of the compiler, which a bare program does not have. */
static inline uint32_t et_divide(uint32_t x, uint32_t n)
{
    if ((n & (n - 1)) == 0) {
        while ((n >>= 1) != 0)
            x >>= 1;
        return x;
    }
#if defined(__ARM_ARCH_6M__) || defined(__AVR__) || (defined(__riscv) && !defined(__riscv_div))
    {
        uint32_t rest = 0;
        unsigned i;

        for (i = 0; i < 32; i++) { /* the quotient moves into x as x moves out */
            const uint32_t top = rest >> 31;

            rest = rest << 1 | x >> 31;
            x <<= 1;
            if (top != 0 || rest >= n) {
                rest -= n;
                x |= 1;
            }
        }
        return x;
    }
#else
    return x / n;
#endif
}

/* The mean of n biased samples, rounded down. Their sum is below 2^32. */
static inline int32_t et_unbiased(uint32_t sum, unsigned n)
{
    return (int32_t)et_divide(sum, n) - 32768;
}

#if ET_HAS_SUMS
static uint32_t et_biased_sum(const int16_t *x, unsigned stride, unsigned n)
{
    uint32_t sum = 0;

    for (; n > 0; n--, x += stride)
        sum += (uint32_t)((int32_t)*x + 32768);
    return sum;
}
#endif

#if ET_HAS_SQUASH || ET_HAS(ET_CORR)
/* How many bits a number has; 0 for 0. No loop, because a compiler makes a call of it that a bare program lacks. */
static inline unsigned et_width(uint32_t x)
{
#if defined(__ARM_FEATURE_CLZ)
    return x == 0 ? 0 : 32u - (unsigned)__builtin_clz(x);
#else
    unsigned bits = 0;

    if (x >= 0x10000u) {
        bits += 16;
        x >>= 16;
    }
    if (x >= 0x100u) {
        bits += 8;
        x >>= 8;
    }
    if (x >= 0x10u) {
        bits += 4;
        x >>= 4;
    }
    if (x >= 4) {
        bits += 2;
        x >>= 2;
    }
    return bits + (x < 2 ? (unsigned)x : 2);
#endif
}

/* How many bits a number has, and its highest 32 bits, moved up to the end. */
static unsigned et_normal(uint64_t value, uint32_t *top)
{
    const uint32_t high = (uint32_t)(value >> 32), low = (uint32_t)value;
    unsigned bits;

    if (high != 0) {
        bits = et_width(high);
        *top = bits < 32 ? high << (32 - bits) | low >> bits : high;
        return bits + 32;
    }
    bits = et_width(low);
    *top = bits > 0 ? low << (32 - bits) : 0;
    return bits;
}

#endif

#if ET_HAS_SQUASH
/* Exponent and nine bits of mantissa of value * 2^exponent, which has at most 72 bits. */
static int16_t et_squash(uint64_t value, unsigned exponent)
{
    uint32_t top;
    unsigned bits = et_normal(value, &top);

    if (bits == 0)
        return 0;
    bits += exponent;
    return (int16_t)(bits < 10 ? top >> (32 - bits) : ((bits - 10) << 9) + (top >> 22));
}
#endif

#if ET_HAS(ET_MAGNITUDE)
/* Sizes up to 98,304 are halved, so that they fit 16 bits, but for the very largest. */
static void et_magnitude(const int16_t *window, unsigned axes, unsigned n, const uint8_t of[3], int16_t *out)
{
    for (; n > 0; n--, window += axes) {
        int32_t sum = et_size(window[of[0]]) + et_size(window[of[1]]);

        if (of[2] != 255)
            sum += et_size(window[of[2]]);
        *out++ = et_saturate(sum >> 1);
    }
}
#endif

#if ET_HAS(ET_STATS)
/* The mean comes with it, for the steps after it. */
static int16_t *et_stats(const int16_t *x, unsigned stride, unsigned n, int16_t *mean, int16_t *out)
{
    int32_t low = *x, high = *x;
    uint32_t sum = 0;
    unsigned i;

    for (i = 0; i < n; i++, x += stride) {
        const int32_t value = *x;

        sum += (uint32_t)(value + 32768);
        if (value < low)
            low = value;
        if (value > high)
            high = value;
    }
    *out++ = *mean = (int16_t)et_unbiased(sum, n);
    *out++ = (int16_t)low;
    *out++ = (int16_t)high;
    *out++ = et_saturate(high - low);
    return out;
}
#endif

#if ET_HAS(ET_STD)
/* A deviation has 17 bits, its square fits 32. */
static int16_t *et_std(const int16_t *x, unsigned stride, unsigned n, int32_t mean, int16_t *out)
{
    uint64_t sum = 0;

    for (; n > 0; n--, x += stride) {
        const uint32_t d = (uint32_t)(*x - mean);

        sum += (uint32_t)(d * d);
    }
    *out++ = et_squash(sum, 0);
    return out;
}
#endif

#if ET_HAS(ET_MAD)
static int16_t *et_mad(const int16_t *x, unsigned stride, unsigned n, int32_t mean, int16_t *out)
{
    uint32_t sum = 0; /* below 2^31 */

    for (; n > 0; n--, x += stride)
        sum += (uint32_t)et_size(*x - mean);
    *out++ = et_squash(sum, 0);
    return out;
}
#endif

#if ET_HAS(ET_STEP)
static int16_t *et_steps(const int16_t *x, unsigned stride, unsigned n, int16_t *out)
{
    uint32_t sum = 0; /* below 2^31 */
    int32_t last = *x;

    for (; n > 0; n--, x += stride) {
        sum += (uint32_t)et_size(*x - last);
        last = *x;
    }
    *out++ = et_squash(sum, 0);
    return out;
}
#endif

#if ET_HAS(ET_SHAPE)
/* How often the signal goes from above the mean to it or below, or back, and from rising to not rising, or back. */
static int16_t *et_shape(const int16_t *x, unsigned stride, unsigned n, int32_t mean, int16_t *out)
{
    int32_t last = *x, crossings = 0, turns = 0;
    int above = last > mean, rises = x[stride] > last;

    for (; n > 1; n--) {
        const int32_t next = *(x += stride);

        crossings += (next > mean) != above;
        turns += (next > last) != rises;
        above = next > mean;
        rises = next > last;
        last = next;
    }
    *out++ = et_saturate(crossings);
    *out++ = et_saturate(turns);
    return out;
}
#endif

#if ET_HAS(ET_PARTS)
/* Samples that are left over at the end belong to no part. */
static int16_t *et_parts(const int16_t *x, unsigned stride, unsigned n, int32_t mean, int16_t *out)
{
    const unsigned length = n / 8;
    unsigned part;

    for (part = 0; part < 8; part++, x += length * stride)
        *out++ = et_saturate(et_unbiased(et_biased_sum(x, stride, length), length) - mean);
    return out;
}
#endif

#if ET_HAS(ET_HAAR)
/* Level 1 has differences of neighbours, level 2 those of means of two, and so on. A last odd one is left out. */
static int16_t *et_haar(const int16_t *x, unsigned stride, unsigned n, int32_t *work, int16_t *out)
{
    unsigned level, i;
    uint32_t sum = 0; /* below 2^31 */

    for (i = 0; i < n / 2; i++, x += 2 * stride) {
        const int32_t a = *x, b = x[stride];

        sum += (uint32_t)et_size(a - b);
        work[i] = (a + b) >> 1;
    }
    *out++ = et_squash(sum, 0);
    for (level = 2; level <= 5; level++) {
        n /= 2;
        sum = 0;
        for (i = 0; i < n / 2; i++) {
            const int32_t a = work[2 * i], b = work[2 * i + 1];

            sum += (uint32_t)et_size(a - b);
            work[i] = (a + b) >> 1;
        }
        *out++ = et_squash(sum, 0);
    }
    return out;
}
#endif

#if ET_HAS(ET_COV)
/* A product lies within 2^32 of 0. Its low word and the two signs say all of it, so 32 bits are multiplied. */
static int16_t *et_cov(const int16_t *x, const int16_t *y, unsigned stride, unsigned n, int32_t mean_x,
    int32_t mean_y, int16_t *out)
{
    uint64_t above = 0, below = 0;

    for (; n > 0; n--, x += stride, y += stride) {
        const int32_t a = *x - mean_x, b = *y - mean_y;
        const uint32_t product = (uint32_t)a * (uint32_t)b;

        if ((a ^ b) < 0)
            below += (uint32_t)(0u - product);
        else
            above += product;
    }
    *out++ = (int16_t)(above < below ? -et_squash(below - above, 0) : et_squash(above - below, 0));
    return out;
}
#endif

#if ET_HAS(ET_CORR)
/* About 512 for each power of two, of a number above 0. */
static int32_t et_log(uint64_t value)
{
    uint32_t top;
    const unsigned bits = et_normal(value, &top);

    return (int32_t)(bits << 9) + (int32_t)(top >> 22);
}

/* The logarithm of the squared correlation plus 16 octaves, with the sign; 0 when it is smaller, or an axis constant. */
static int16_t *et_corr(const int16_t *x, const int16_t *y, unsigned stride, unsigned n, int32_t mean_x,
    int32_t mean_y, int16_t *out)
{
    uint64_t above = 0, below = 0, squares_x = 0, squares_y = 0;
    int32_t size = 0;

    for (; n > 0; n--, x += stride, y += stride) {
        const int32_t a = *x - mean_x, b = *y - mean_y;
        const uint32_t product = (uint32_t)a * (uint32_t)b;

        squares_x += (uint32_t)a * (uint32_t)a;
        squares_y += (uint32_t)b * (uint32_t)b;
        if ((a ^ b) < 0)
            below += (uint32_t)(0u - product);
        else
            above += product;
    }
    if (above != below)
        size = 8192 + 2 * et_log(above > below ? above - below : below - above) - et_log(squares_x)
            - et_log(squares_y);
    if (size < 0)
        size = 0;
    *out++ = (int16_t)(above < below ? -size : size);
    return out;
}
#endif

#if ET_HAS_FFT
/* Sums, differences and products of the transform. No transform makes numbers larger, so they fit 32 bits. They are
   unsigned all the same: so nothing is undefined, and no size of a number has to be proven for that. */
static inline int32_t et_plus(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a + (uint32_t)b);
}

static inline int32_t et_minus(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a - (uint32_t)b);
}

static inline int32_t et_times(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a * (uint32_t)b);
}

/* The real and the imaginary part of a number that is turned by an angle with this cosine and sine. */
static inline int32_t et_turned_re(int32_t re, int32_t im, int32_t c, int32_t s)
{
    return et_plus(et_plus(et_times(c, re), et_times(s, im)), 16384) >> 15;
}

static inline int32_t et_turned_im(int32_t re, int32_t im, int32_t c, int32_t s)
{
    return et_plus(et_minus(et_times(c, im), et_times(s, re)), 16384) >> 15;
}

/* The transform of m complex numbers of up to 15 bits, divided by m: each stage halves. work: re, im, re, ... */
static void et_fft(int32_t *work, unsigned m, const et_waves *waves)
{
    const unsigned quarter = waves->size / 4;
    unsigned i, j = 0, half, step = waves->size;

    for (i = 1; i < m; i++) { /* numbers change places with those whose bits are reversed */
        unsigned bit = m >> 1;

        for (; (j & bit) != 0; bit >>= 1)
            j ^= bit;
        j ^= bit;
        if (i < j) {
            const int32_t re = work[2 * i], im = work[2 * i + 1];

            work[2 * i] = work[2 * j];
            work[2 * i + 1] = work[2 * j + 1];
            work[2 * j] = re;
            work[2 * j + 1] = im;
        }
    }
    for (half = 1; half < m; half *= 2) {
        unsigned k;

        step /= 2;
        for (k = 0; k < half; k++) {
            const int32_t c = ET_READ(waves->sine[k * step + quarter]), s = ET_READ(waves->sine[k * step]);

            for (i = k; i < m; i += 2 * half) {
                int32_t *const a = work + 2 * i, *const b = a + 2 * half;
                const int32_t re = et_turned_re(b[0], b[1], c, s), im = et_turned_im(b[0], b[1], c, s);

                b[0] = et_minus(a[0], re) >> 1;
                b[1] = et_minus(a[1], im) >> 1;
                a[0] = et_plus(a[0], re) >> 1;
                a[1] = et_plus(a[1], im) >> 1;
            }
        }
    }
}

static inline int32_t et_power(int32_t re, int32_t im)
{
    return et_plus(et_times(re, re), et_times(im, im));
}

/* The powers of bins 1 to n/2 of n real numbers in work. That of bin b is then in work[2b], the last in work[0].
   The numbers are first shifted to 14 bits. Returns the exponent of two that gives the shift back, 0 to 38, or 255
   when all numbers are 0. peak: the largest size among them. */
static unsigned et_powers(int32_t *work, unsigned n, int32_t peak, const et_waves *waves)
{
    const unsigned bits = et_width((uint32_t)peak), m = n / 2, quarter = waves->size / 4;
    unsigned step = waves->size, i, k;

    if (peak == 0)
        return 255;
    for (i = 0; i < n; i++)
        work[i] = bits > 14 ? work[i] >> (bits - 14) : (int32_t)((uint32_t)work[i] << (14 - bits));
    et_fft(work, m, waves);
    for (i = n; i > 1; i >>= 1)
        step >>= 1; /* the table's size divided by n */
    for (k = 1; k <= m / 2; k++) {
        /* Even and odd numbers went in as real and imaginary parts: take them apart, turn the odd ones, join. */
        int32_t *const a = work + 2 * k, *const b = work + 2 * (m - k);
        const int32_t c = ET_READ(waves->sine[k * step + quarter]), s = ET_READ(waves->sine[k * step]);
        const int32_t even_re = et_plus(et_plus(a[0], b[0]), 2); /* twice that, up to 46,341, and 2 to round */
        const int32_t even_im = et_plus(et_minus(a[1], b[1]), 2);
        const int32_t odd_re = et_plus(a[1], b[1]), odd_im = et_minus(b[0], a[0]);
        const int32_t re = et_turned_re(odd_re, odd_im, c, s), im = et_turned_im(odd_re, odd_im, c, s);

        a[0] = et_power(et_plus(even_re, re) >> 2, et_plus(even_im, im) >> 2);
        b[0] = et_power(et_minus(even_re, re) >> 2, et_minus(even_im, im) >> 2);
    }
    work[0] = et_power(et_plus(et_minus(work[0], work[1]), 1) >> 1, 0);
    return 2 * bits;
}

static inline int32_t et_power_of_bin(const int32_t *work, unsigned n, unsigned bin)
{
    return work[bin < n / 2 ? 2 * bin : 0];
}
#endif

#if ET_HAS(ET_BANDS) || ET_HAS(ET_SPECTRUM)
/* Eight bands of the newest samples, as many as a power of two allows. gather: samples to a number. ends: the last
   bin of each band. */
static int16_t *et_bands(const int16_t *x, unsigned stride, unsigned n, int32_t mean, unsigned gather,
    const uint16_t *ends, int32_t *work, const et_waves *waves, int16_t *out)
{
    unsigned size = 16, bin = 1, band, i, j, exponent;
    int32_t peak = 0;

    while (2 * size * gather <= n)
        size *= 2;
    x += (n - size * gather) * stride;
    for (i = 0; i < size; i++) {
        int32_t sum = -(int32_t)gather * mean;

        for (j = 0; j < gather; j++, x += stride)
            sum += *x;
        work[i] = sum;
        if (et_size(sum) > peak)
            peak = et_size(sum);
    }
    exponent = et_powers(work, size, peak, waves);
    for (band = 0; band < ET_BANDS_OUT; band++) {
        uint32_t sum = 0; /* below 2^30, because powers of all bins add up to the mean square */

        for (; bin <= ET_READ(ends[band]); bin++)
            sum += (uint32_t)et_power_of_bin(work, size, bin);
        *out++ = exponent == 255 ? (int16_t)0 : et_squash(sum, exponent);
    }
    return out;
}
#endif

#if ET_HAS_MEL
/* The squashed energies of the mel bands of one frame. */
static void et_mel_frame(const int16_t *x, unsigned stride, int32_t *work, const et_waves *waves, int16_t *bands)
{
    const unsigned step = waves->size / ET_FRAME, quarter = waves->size / 4;
    unsigned i, bin = 1, exponent, band;
    int32_t peak = 0;

    for (i = 0; i < ET_FRAME; i++, x += stride) {
        /* Half a wave, mirrored: a Hann window. */
        const unsigned at = i < ET_FRAME / 2 ? i : ET_FRAME - i;
        const int32_t hann = ((int32_t)32767 - ET_READ(waves->sine[at * step + quarter])) >> 1;

        work[i] = (*x * hann) >> 15;
        if (et_size(work[i]) > peak)
            peak = et_size(work[i]);
    }
    exponent = et_powers(work, ET_FRAME, peak, waves);
    for (band = 0; band < ET_MEL_BANDS; band++) {
        uint32_t energy = 0;

        for (; bin <= ET_READ(waves->mel[band]); bin++)
            energy += (uint32_t)et_power_of_bin(work, ET_FRAME, bin);
        bands[band] = exponent == 255 ? (int16_t)0 : et_squash(energy, exponent);
    }
}

static inline int32_t et_sum_bands(const int16_t *bands)
{
    int32_t sum = 0;
    unsigned band;

    for (band = 0; band < ET_MEL_BANDS; band++)
        sum += bands[band];
    return sum;
}
#endif

#if ET_HAS(ET_SOUND)
/* The mean loudness of the active frames. bands: of all frames. */
static int32_t et_sound_level(const int16_t *bands, unsigned frames, int32_t *loudest)
{
    uint32_t sum = 0;
    unsigned count = 0, i;

    *loudest = 0;
    for (i = 0; i < frames; i++) {
        const int32_t loudness = et_sum_bands(bands + i * ET_MEL_BANDS) >> 4;

        if (loudness > *loudest)
            *loudest = loudness;
    }
    for (i = 0; i < frames; i++) {
        const int32_t loudness = et_sum_bands(bands + i * ET_MEL_BANDS) >> 4;

        if (loudness >= *loudest - ET_ACTIVE) { /* the loudest is, at least */
            sum += (uint32_t)loudness;
            count++;
        }
    }
    return (int32_t)et_divide(sum, count);
}

/* The features of one frame: its bands less their mean, its bands less the level, and its loudness less the loudest. */
static int16_t *et_sound_frame(const int16_t *bands, int32_t level, int32_t loudest, int16_t *out)
{
    const int32_t loudness = et_sum_bands(bands) >> 4;
    unsigned band;

    for (band = 0; band < ET_MEL_BANDS; band++) {
        out[band] = (int16_t)(bands[band] - loudness);
        out[band + ET_MEL_BANDS] = (int16_t)(bands[band] - level);
    }
    out[2 * ET_MEL_BANDS] = (int16_t)(loudness - loudest);
    return out + ET_SOUND_OUT;
}

#if !defined(ET_BY_FRAME) /* a board that takes frame by frame does without */
/* All frames of a window, with so many samples from one to the next. */
static int16_t *et_sound(const int16_t *x, unsigned stride, unsigned n, unsigned step, const et_scratch *scratch,
    const et_waves *waves, int16_t *out)
{
    const unsigned frames = (unsigned)et_divide(n - ET_FRAME, step) + 1;
    int32_t loudest, level;
    unsigned i;

    for (i = 0; i < frames; i++)
        et_mel_frame(x + i * step * stride, stride, scratch->work, waves, scratch->side + i * ET_MEL_BANDS);
    level = et_sound_level(scratch->side, frames, &loudest);
    for (i = 0; i < frames; i++)
        out = et_sound_frame(scratch->side + i * ET_MEL_BANDS, level, loudest, out);
    return out;
}
#endif
#endif

#if ET_HAS(ET_MEL)
/* Frames between the first and the last active one, in ten parts: mean of each band less that of all; and how many.
   bands: of all frames. */
static int16_t *et_mel_parts(const int16_t *bands, unsigned frames, int16_t *out)
{
    int32_t loudest = 0, sum, all = 0;
    unsigned count = frames, part, band, i;

    for (i = 0; i < frames; i++) {
        sum = et_sum_bands(bands + i * ET_MEL_BANDS) >> 4;
        loudest = sum > loudest ? sum : loudest;
    }
    /*@ dynamic_split count; */
    for (; count > 1 && et_sum_bands(bands) >> 4 < loudest - ET_ACTIVE; count--)
        bands += ET_MEL_BANDS;
    while (count > 1 && et_sum_bands(bands + (count - 1) * ET_MEL_BANDS) >> 4 < loudest - ET_ACTIVE)
        count--;
    for (i = 0; i < count; i++)
        all += et_sum_bands(bands + i * ET_MEL_BANDS);
    all = (int32_t)et_divide((uint32_t)all, count * ET_MEL_BANDS);
    for (part = 0; part < ET_MEL_PARTS; part++) {
        const unsigned from = (unsigned)et_divide(part * count, ET_MEL_PARTS);
        const unsigned to = (unsigned)et_divide((part + 1) * count, ET_MEL_PARTS);
        const unsigned own = to > from ? to - from : 1; /* a short sound has the same frame in several parts */

        for (band = 0; band < ET_MEL_BANDS; band++) {
            sum = 0;
            for (i = from; i < from + own; i++)
                sum += bands[i * ET_MEL_BANDS + band];
            *out++ = (int16_t)((int32_t)et_divide((uint32_t)sum, own) - all);
        }
    }
    *out++ = (int16_t)count;
    /*@ merge count; */
    return out;
}

static int16_t *et_mel(const int16_t *x, unsigned stride, unsigned n, int16_t *side, int32_t *work,
    const et_waves *waves, int16_t *out)
{
    unsigned i;

    for (i = 0; i < n / ET_FRAME; i++)
        et_mel_frame(x + i * ET_FRAME * stride, stride, work, waves, side + i * ET_MEL_BANDS);
    return et_mel_parts(side, n / ET_FRAME, out);
}
#endif

#if !defined(ET_BY_FRAME)
/* Carry out a plan. Returns the end of the features. */
static int16_t *et_window_features(const uint8_t *step, unsigned n_steps, const int16_t *window, unsigned n,
    unsigned axes, const et_waves *waves, const et_scratch *scratch, int16_t *out)
{
    for (; n_steps > 0; n_steps--, step += 4) {
        const unsigned kernel = ET_READ(step[0]), axis = ET_READ(step[1]); /* no switch: it may need a routine */
        const int16_t *const x = axis < axes ? window + axis : scratch->side;
        const unsigned stride = axis < axes ? axes : 1;
        const int32_t mean = scratch->means[axis];

        (void)mean;
        (void)waves;
#if ET_HAS(ET_MEAN)
        if (kernel == ET_MEAN)
            scratch->means[axis] = (int16_t)et_unbiased(et_biased_sum(x, stride, n), n);
#endif
#if ET_HAS(ET_MAGNITUDE)
        if (kernel == ET_MAGNITUDE) {
            uint8_t of[3];

            of[0] = ET_READ(step[1]);
            of[1] = ET_READ(step[2]);
            of[2] = ET_READ(step[3]);
            et_magnitude(window, axes, n, of, scratch->side);
        }
#endif
#if ET_HAS(ET_STATS)
        if (kernel == ET_STATS)
            out = et_stats(x, stride, n, &scratch->means[axis], out);
#endif
#if ET_HAS(ET_STD)
        if (kernel == ET_STD)
            out = et_std(x, stride, n, mean, out);
#endif
#if ET_HAS(ET_MAD)
        if (kernel == ET_MAD)
            out = et_mad(x, stride, n, mean, out);
#endif
#if ET_HAS(ET_STEP)
        if (kernel == ET_STEP)
            out = et_steps(x, stride, n, out);
#endif
#if ET_HAS(ET_SHAPE)
        if (kernel == ET_SHAPE)
            out = et_shape(x, stride, n, mean, out);
#endif
#if ET_HAS(ET_PARTS)
        if (kernel == ET_PARTS)
            out = et_parts(x, stride, n, mean, out);
#endif
#if ET_HAS(ET_HAAR)
        if (kernel == ET_HAAR)
            out = et_haar(x, stride, n, scratch->work, out);
#endif
#if ET_HAS(ET_BANDS)
        if (kernel == ET_BANDS)
            out = et_bands(x, stride, n, mean, 4, waves->bands, scratch->work, waves, out);
#endif
#if ET_HAS(ET_SPECTRUM)
        if (kernel == ET_SPECTRUM)
            out = et_bands(x, stride, n, mean, 1, waves->spectrum, scratch->work, waves, out);
#endif
#if ET_HAS(ET_COV)
        if (kernel == ET_COV) {
            const unsigned other = ET_READ(step[2]);

            out = et_cov(x, window + other, axes, n, mean, scratch->means[other], out);
        }
#endif
#if ET_HAS(ET_CORR)
        if (kernel == ET_CORR) {
            const unsigned other = ET_READ(step[2]);

            out = et_corr(x, window + other, axes, n, mean, scratch->means[other], out);
        }
#endif
#if ET_HAS(ET_MEL)
        if (kernel == ET_MEL)
            out = et_mel(x, stride, n, scratch->side, scratch->work, waves, out);
#endif
#if ET_HAS(ET_SOUND)
        if (kernel == ET_SOUND)
            out = et_sound(x, stride, n, ET_READ(step[2]) | (unsigned)ET_READ(step[3]) << 8, scratch, waves, out);
#endif
    }
    return out;
}
#endif

#endif
