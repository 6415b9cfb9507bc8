// Which vector instructions this run uses: chosen once from what the processor has, or forced by name.
//
// A kernel that exists once per instruction set lives in one header, included by one .cpp per set;
// CMakeLists.txt gives each of these files its own compiler flags (never -march for the whole). Such a file
// must keep everything in an anonymous namespace and stay away from the standard library's inline templates:
// the linker keeps ONE copy of an inline function, and it must not be the one compiled for a newer processor.
#pragma once

#include <string>
#include <vector>

#if defined(__x86_64__) || defined(_M_X64)
#define ETHEREAL_X86 1
#else
#define ETHEREAL_X86 0
#endif
#if defined(__aarch64__) || defined(_M_ARM64)
#define ETHEREAL_ARM64 1
#else
#define ETHEREAL_ARM64 0
#endif

namespace ethereal::cpu {

// Scalar: plain C++ for every processor of the platform (x86-64: SSE2), the reference of all others.
// Avx2: with BMI1, BMI2, LZCNT, POPCNT, FMA (what MSVC's /arch:AVX2 assumes; every such processor but a few
// VIA has them). Avx512: F, CD, BW, DQ, VL on top of Avx2. Neon: part of every 64-bit ARM.
enum class Isa { Scalar, Avx2, Avx512, Neon };

const char* name(Isa isa);
bool supported(Isa isa);       // compiled in, and both processor and operating system can run it
std::vector<Isa> available();  // supported ones, the best last

// The one in use: the last `set_isa`, else the environment variable ETHEREAL_ISA (read at the first call),
// else the best. Throws std::invalid_argument when the variable holds something unknown or unsupported.
Isa isa();
// `name` or "auto". Throws std::invalid_argument. Meant for tests: work under way keeps the one it started
// with.
void set_isa(const std::string& name);

}  // namespace ethereal::cpu
