#include "cpu.hpp"

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>

#if ETHEREAL_X86
#if defined(_MSC_VER)
#include <intrin.h>
#else
#include <cpuid.h>
#endif
#endif

namespace ethereal::cpu {
namespace {

constexpr Isa kAll[] = {Isa::Scalar, Isa::Neon, Isa::Avx2, Isa::Avx512};  // ascending by preference

#if ETHEREAL_X86
struct Registers {
    uint32_t eax, ebx, ecx, edx;
};

Registers cpuid(uint32_t leaf, uint32_t subleaf) {
#if defined(_MSC_VER)
    int r[4];
    __cpuid(r, static_cast<int>(leaf & 0x80000000u));
    if (static_cast<uint32_t>(r[0]) < leaf) return {0, 0, 0, 0};
    __cpuidex(r, static_cast<int>(leaf), static_cast<int>(subleaf));
    return {static_cast<uint32_t>(r[0]), static_cast<uint32_t>(r[1]), static_cast<uint32_t>(r[2]),
            static_cast<uint32_t>(r[3])};
#else
    Registers r{0, 0, 0, 0};
    __get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx,
                      &r.edx);  // leaves zeros when there is no such leaf
    return r;
#endif
}

// Which register files the operating system saves: XCR0.
uint64_t saved_registers() {
#if defined(_MSC_VER)
    return _xgetbv(0);
#else
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t{high} << 32) | low;
#endif
}

struct X86 {
    bool avx2 = false, avx512 = false;
    X86() {
        auto has = [](uint32_t reg, uint32_t bits) { return (reg & bits) == bits; };
        const Registers one = cpuid(1, 0), seven = cpuid(7, 0), extended = cpuid(0x80000001u, 0);
        constexpr uint32_t fma = 1u << 12, popcnt = 1u << 23, osxsave = 1u << 27, avx = 1u << 28;
        constexpr uint32_t bmi1 = 1u << 3, avx2_bit = 1u << 5, bmi2 = 1u << 8, lzcnt = 1u << 5;
        constexpr uint32_t f = 1u << 16, dq = 1u << 17, cd = 1u << 28, bw = 1u << 30, vl = 1u << 31;
        if (!has(one.ecx, fma | popcnt | osxsave | avx)) return;
        const uint64_t saved = saved_registers();
        avx2 = (saved & 0x6) == 0x6 && has(seven.ebx, bmi1 | avx2_bit | bmi2) && has(extended.ecx, lzcnt);
        avx512 = avx2 && (saved & 0xe6) == 0xe6 && has(seven.ebx, f | dq | cd | bw | vl);
    }
};

const X86& x86() {
    static const X86 features;
    return features;
}
#endif

Isa best() { return available().back(); }

Isa parse(const std::string& text, const char* where) {
    if (text == "auto") return best();
    std::string names = "auto";
    for (Isa i : available()) names += std::string(", ") + name(i);
    for (Isa i : kAll) {
        if (text != name(i)) continue;
        if (!supported(i))
            throw std::invalid_argument(std::string(where) + "='" + text +
                                        "': this processor or build does not have it; " +
                                        "available: " + names);
        return i;
    }
    throw std::invalid_argument(std::string(where) + "='" + text +
                                "' is not an instruction set; available: " + names);
}

std::atomic<int> current{-1};  // an Isa, -1 before the first use

}  // namespace

const char* name(Isa isa) {
    switch (isa) {
        case Isa::Avx2: return "avx2";
        case Isa::Avx512: return "avx512";
        case Isa::Neon: return "neon";
        case Isa::Scalar: break;
    }
    return "scalar";
}

bool supported(Isa isa) {
    switch (isa) {
#if ETHEREAL_X86
        case Isa::Avx2: return x86().avx2;
        case Isa::Avx512: return x86().avx512;
#endif
#if ETHEREAL_ARM64
        case Isa::Neon: return true;
#endif
        case Isa::Scalar: return true;
        default: return false;
    }
}

std::vector<Isa> available() {
    std::vector<Isa> found;
    for (Isa i : kAll)
        if (supported(i)) found.push_back(i);
    return found;
}

Isa isa() {
    int now = current.load(std::memory_order_relaxed);
    if (now < 0) {
        const char* wanted = std::getenv("ETHEREAL_ISA");
        now = static_cast<int>(wanted && *wanted ? parse(wanted, "ETHEREAL_ISA") : best());
        current.store(now, std::memory_order_relaxed);
    }
    return static_cast<Isa>(now);
}

void set_isa(const std::string& name) {
    current.store(static_cast<int>(parse(name, "isa")), std::memory_order_relaxed);
}

}  // namespace ethereal::cpu
