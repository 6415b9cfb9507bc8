/*
 * Cycles of the core's own counter: DWT on a Cortex-M3 or later, SysTick on a Cortex-M0 or M0+. Elsewhere
 * HAS_CYCLES is 0, and micros() is the clock.
 */
#ifndef ETHEREAL_CYCLES_H
#define ETHEREAL_CYCLES_H

#include <stdint.h>

#define CORE_REGISTER(address) (*(volatile uint32_t *)(address))

#if defined(__ARM_ARCH_7M__) || defined(__ARM_ARCH_7EM__) || defined(__ARM_ARCH_8M_MAIN__)

#define HAS_CYCLES 1
#define CYCLE_COUNTER CORE_REGISTER(0xE0001004u) /* DWT_CYCCNT, which counts up */

static inline void cycles_begin(void)
{
    CORE_REGISTER(0xE000EDFCu) |= 1u << 24;   /* DEMCR: trace enabled */
    CORE_REGISTER(0xE0001FB0u) = 0xC5ACCE55u; /* DWT_LAR: unlock */
    CORE_REGISTER(0xE0001000u) |= 1u;         /* DWT_CTRL */
}

/* The cycles between two values of CYCLE_COUNTER. */
static inline uint32_t cycles_between(uint32_t begin, uint32_t end, uint32_t microseconds)
{
    (void)microseconds;
    return end - begin;
}

#elif defined(__ARM_ARCH_6M__) || defined(__ARM_ARCH_8M_BASE__)

#define HAS_CYCLES 1
#define CYCLE_COUNTER CORE_REGISTER(0xE000E018u) /* SYST_CVR, which counts down and begins again */

/* Arduino itself uses SysTick for millis() on most boards. It is started only where it stands still. */
static inline void cycles_begin(void)
{
    if ((CORE_REGISTER(0xE000E010u) & 1u) == 0) {
        CORE_REGISTER(0xE000E014u) = 0xFFFFFFu;
        CORE_REGISTER(0xE000E018u) = 0;
        CORE_REGISTER(0xE000E010u) = 5u; /* on, with the clock of the core, without interrupts */
    }
}

/* The cycles between two values of CYCLE_COUNTER. The microseconds tell how often it began again. */
static inline uint32_t cycles_between(uint32_t begin, uint32_t end, uint32_t microseconds)
{
    const uint32_t period = (CORE_REGISTER(0xE000E014u) & 0xFFFFFFu) + 1u;
    uint32_t cycles = begin >= end ? begin - end : begin + period - end;
    const uint32_t about = microseconds * (uint32_t)(F_CPU / 1000000);

    while (about > cycles + period / 2)
        cycles += period;
    return cycles;
}

#else

#define HAS_CYCLES 0
#define CYCLE_COUNTER 0u

static inline void cycles_begin(void)
{
}

static inline uint32_t cycles_between(uint32_t begin, uint32_t end, uint32_t microseconds)
{
    (void)microseconds;
    return end - begin;
}

#endif

#endif
