/*
 * ethereal runtime: constant tables in flash, on every chip.
 *
 * A plain constant is in flash on most chips. An AVR (Arduino Uno, Nano, Mega) copies it to RAM at start-up, unless
 * it is declared and read in a special way. So every table of the exported code goes through these three macros:
 *
 *     static const ET_FLASH uint16_t table[3] = {1, 2, 3};   declares a table (at file level, or static)
 *     ET_READ(table[i])              reads one integer of 1, 2 or 4 bytes: an element, or a field of a struct
 *     ET_READ_POINTER(pointers[i])   reads one pointer, whose target may be in flash as well
 *
 * The argument of ET_READ is evaluated once, so ET_READ(*next++) is fine. Floats and whole structs are read byte by
 * byte. Elsewhere than on AVR the macros add nothing: ET_READ(x) is x.
 */
#ifndef ETHEREAL_FLASH_H
#define ETHEREAL_FLASH_H

#if defined(__AVR__)
#include <avr/pgmspace.h>
#define ET_FLASH PROGMEM
#define ET_READ_POINTER(x) ((const void *)pgm_read_ptr(&(x)))
/* The size is a constant: one of the three reads is left. */
#define ET_READ_BYTES(type, address)                                                                           \
    ((type)((sizeof(type) == 1u)   ? pgm_read_byte(address)                                                    \
            : (sizeof(type) == 2u) ? pgm_read_word(address)                                                    \
                                   : pgm_read_dword(address)))
#ifdef __cplusplus
template <typename T> static inline T et_read(const T *address)
{
    return ET_READ_BYTES(T, address);
}
#define ET_READ(x) et_read(&(x))
#else
#define ET_READ(x) ET_READ_BYTES(__typeof__(x), &(x))
#endif
#else
#define ET_FLASH
#define ET_READ(x) (x)
#define ET_READ_POINTER(x) (x)
#endif

#endif
