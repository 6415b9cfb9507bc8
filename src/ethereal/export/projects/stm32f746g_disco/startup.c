/* Start-up of an STM32F746: vector table, initial values, cycle counter, then main. */
#include <stdint.h>

extern uint32_t load_data[], begin_data[], end_data[], begin_bss[], end_bss[], end_of_stack[];

int main(void);
void reset(void);
void stop(void);

/* The two words that the core reads first, then the exceptions that can happen without interrupts enabled. */
__attribute__((section(".vectors"), used)) static const uintptr_t vectors[16] = {
    (uintptr_t)end_of_stack, (uintptr_t)reset, (uintptr_t)stop, (uintptr_t)stop,
    (uintptr_t)stop,         (uintptr_t)stop,  (uintptr_t)stop, 0,
    0,                       0,                0,               (uintptr_t)stop,
    (uintptr_t)stop,         0,                (uintptr_t)stop, (uintptr_t)stop,
};

/* Faults end here; a debugger shows where they came from. */
void stop(void)
{
    for (;;)
        ;
}

void reset(void)
{
    volatile uint32_t *const floating_point = (volatile uint32_t *)0xE000ED88u; /* CPACR */
    const uint32_t *from = load_data;
    uint32_t *to;

    *floating_point |= 0xFu << 20; /* full access to CP10 and CP11 */
    for (to = begin_data; to != end_data; to++)
        *to = *from++;
    for (to = begin_bss; to != end_bss; to++)
        *to = 0;
    main();
    stop();
}
