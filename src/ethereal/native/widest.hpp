// Loops use whatever vectors the processor has. Each place stands alone, so the bits are the same.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__linux__)
#define ETHEREAL_WIDEST __attribute__((target_clones("avx2", "default")))
#else
#define ETHEREAL_WIDEST
#endif
