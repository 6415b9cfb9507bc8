/* Text to the debugger's console and the end of the program: Arm's semihosting, served by openocd or an emulator. */
#ifndef SEMIHOSTING_H
#define SEMIHOSTING_H

#include <stdint.h>

static inline int semihosting(int operation, uintptr_t argument)
{
    register int r0 __asm__("r0") = operation;
    register uintptr_t r1 __asm__("r1") = argument;

    __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

static inline void print(const char *text)
{
    semihosting(0x04, (uintptr_t)text); /* SYS_WRITE0 */
}

static inline void print_number(uint32_t value)
{
    char digits[11];
    char *at = digits + sizeof digits - 1;

    *at = '\0';
    do {
        *--at = (char)('0' + value % 10u);
        value /= 10u;
    } while (value != 0);
    print(at);
}

static inline void finish(int failed)
{
    semihosting(0x18, failed ? 0x20024u : 0x20026u); /* SYS_EXIT: run-time error, or application exit */
}

#endif
