// Features of raw windows, by the C that boards compile, too: a plan goes in, int16 features come out.
#include "window_binding.hpp"

#include <nanobind/ndarray.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#define ET_KERNELS 0x7FFF
#define ET_FLASH
#define ET_READ(x) (x)
#include "../features/window_features.h"
#include "threads.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using Windows = nb::ndarray<const int16_t, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Plan = nb::ndarray<const uint8_t, nb::shape<-1, 4>, nb::c_contig, nb::device::cpu>;
using Sine = nb::ndarray<const int16_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Bins = nb::ndarray<const uint16_t, nb::shape<32>, nb::c_contig, nb::device::cpu>;
using Features = nb::ndarray<int16_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

constexpr size_t kLeastWindows = 64;  // a thread is not worth fewer

struct Shape {
    size_t samples, axes, features;
};

// How many features a step writes; 0 for the two that write none.
size_t width_of(uint8_t kernel) {
    constexpr size_t widths[] = {0, 0, 4, 1, 1, 1, 2, 8, 5, 8, 8, 1, 161, 1, ET_SOUND_OUT};
    if (kernel > ET_SOUND) throw std::invalid_argument("the plan has a kernel that does not exist");
    return widths[kernel];
}

// The frames of sound in a window, with at least as many samples from one to the next as a frame has bands.
size_t frames_of(size_t samples, size_t step) {
    if (samples < ET_FRAME || step < ET_MEL_BANDS)
        throw std::invalid_argument(
            "the window is too short for a step of the plan, or its frames lie too close");
    return (samples - ET_FRAME) / step + 1;
}

size_t largest_power(size_t n) {
    size_t size = 1;
    while (2 * size <= n) size *= 2;
    return size;
}

// The C trusts its plan, so whatever Python hands over is checked here.
void check(const Plan& plan, const Shape& shape, size_t wave) {
    if (shape.samples < 2 || shape.samples > 32768 || shape.axes < 1 || shape.axes > 16)
        throw std::invalid_argument("a window has 2 to 32768 samples of 1 to 16 axes");
    size_t n_features = 0, transform = 0;
    for (size_t i = 0; i < plan.shape(0); i++) {
        const uint8_t kernel = plan(i, 0), first = plan(i, 1), second = plan(i, 2), third = plan(i, 3);
        const bool is_pair = kernel == ET_COV || kernel == ET_CORR;
        const size_t between = second + 256u * third;  // samples from one frame of sound to the next
        n_features += width_of(kernel) * (kernel == ET_SOUND ? frames_of(shape.samples, between) : 1);
        if (first > shape.axes || (first == shape.axes && (kernel == ET_MAGNITUDE || is_pair ||
                                                           kernel == ET_MEL || kernel == ET_SOUND)))
            throw std::invalid_argument("a step of the plan has an axis that does not exist");
        if ((kernel == ET_MAGNITUDE || is_pair) && second >= shape.axes)
            throw std::invalid_argument("a step of the plan has a second axis that does not exist");
        if (kernel == ET_MAGNITUDE && third != 255 && third >= shape.axes)
            throw std::invalid_argument("a step of the plan has a third axis that does not exist");
        if (kernel == ET_BANDS) transform = std::max(transform, largest_power(shape.samples / 4));
        if (kernel == ET_SPECTRUM) transform = std::max(transform, largest_power(shape.samples));
        if (kernel == ET_MEL || kernel == ET_SOUND) transform = std::max<size_t>(transform, ET_FRAME);
        const bool is_short =
            (kernel == ET_BANDS && shape.samples < 64) || (kernel == ET_MEL && shape.samples < ET_FRAME) ||
            ((kernel == ET_HAAR || kernel == ET_PARTS || kernel == ET_SPECTRUM) && shape.samples < 32);
        if (is_short) throw std::invalid_argument("the window is too short for a step of the plan");
    }
    if (n_features != shape.features)
        throw std::invalid_argument("the features do not have as many columns as the plan gives");
    if (wave < transform || wave != largest_power(wave))
        throw std::invalid_argument("the table of sines is too small for the plan");
}

void transform(const int16_t* windows, size_t n, const Shape& shape, const uint8_t* steps, unsigned n_steps,
               const et_waves& waves, int16_t* out) {
    std::vector<int16_t> means(shape.axes + 1), side(shape.samples);
    std::vector<int32_t> work(std::max<size_t>(shape.samples, ET_FRAME));
    const et_scratch scratch{means.data(), side.data(), work.data()};
    for (size_t i = 0; i < n; i++)
        et_window_features(steps, n_steps, windows + i * shape.samples * shape.axes,
                           static_cast<unsigned>(shape.samples), static_cast<unsigned>(shape.axes), &waves,
                           &scratch, out + i * shape.features);
}

void window_features(const Windows& x, const Plan& plan, const Sine& sine, const Bins& ends,
                     const Features& out, unsigned n_threads) {
    const Shape shape{x.shape(1), x.shape(2), out.shape(1)};
    const size_t wave = (sine.shape(0) - 1) / 3 * 4, n = x.shape(0);
    if (sine.shape(0) < 4 || (sine.shape(0) - 1) % 3 != 0 || out.shape(0) != n)
        throw std::invalid_argument(
            "the features need one row per window, and sines three quarters of a wave");
    check(plan, shape, wave);
    const auto n_steps = static_cast<unsigned>(plan.shape(0));
    const uint8_t* const steps = plan.data();
    const et_waves waves{sine.data(), static_cast<unsigned>(wave), ends.data(), ends.data() + 8,
                         ends.data() + 16};
    const int16_t* const from = x.data();
    int16_t* const to = out.data();
    nb::gil_scoped_release release;
    const size_t parts = std::clamp<size_t>(n / kLeastWindows, 1, std::max(1u, n_threads));
    ethereal::in_threads(parts, [&](size_t i) {
        const size_t begin = n * i / parts, end = n * (i + 1) / parts;
        transform(from + begin * shape.samples * shape.axes, end - begin, shape, steps, n_steps, waves,
                  to + begin * shape.features);
    });
}

}  // namespace

void bind_window(nb::module_& m) {
    m.def("window_features", &window_features, "windows"_a, "plan"_a, "sine"_a, "ends"_a, "out"_a.noconvert(),
          "n_threads"_a = 1, "Write the int16 features of windows x samples x axes that a plan asks for.");
}
