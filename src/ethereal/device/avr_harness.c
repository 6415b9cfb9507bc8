/*
 * Calls one function of a model on an emulated AVR, for every row that avr.py put behind the program in flash, and
 * prints classes, cycles and stack over the serial port. The compiler is told CALL, ROW_BYTES and ROWS_PER_CALL.
 * With IS_WIDE, one answer of 32 bits is printed in place of classes.
 *
 * Everything but the call is in one function without calls of its own, so that the stack below it is the model's.
 */
#include "model.h"

#define REGISTER8(address) (*(volatile uint8_t *)(address))
#define REGISTER16(address) (*(volatile uint16_t *)(address))
#define INLINE static inline __attribute__((always_inline))
#define PAINT 0xA5

/* The same addresses in all chips that avr.py names. */
#define UART_A REGISTER8(0xC0)
#define UART_B REGISTER8(0xC1)
#define UART_RATE REGISTER16(0xC4)
#define UART_DATA REGISTER8(0xC6)
#define FINE_CONTROL REGISTER8(0x81) /* timer 1 */
#define FINE REGISTER16(0x84)
#define COARSE_CONTROL REGISTER8(0x91) /* timer 3 */
#define COARSE REGISTER16(0x94)
#define STACK_POINTER REGISTER16(0x5D)
#define HIGH_ADDRESS REGISTER8(0x5B)

extern uint8_t et_data_begin[], et_data_end[], et_bss_end[];
extern const uint8_t et_data_load[];

/* avr.py writes where the rows are, and how many. */
extern const uint32_t et_job[2];
const ET_FLASH __attribute__((used)) uint32_t et_job[2] = {1, 1};

static uint8_t given[ROWS_PER_CALL * ROW_BYTES];
#if IS_WIDE
static union {
    uint32_t answer;
    float value;
} found;
#else
static uint16_t classes[32];
#endif
#if BOOLEANIZES
static model_row row_found;
#endif

void harness(void);

__attribute__((naked, used, section(".vectors"))) void reset(void);
void reset(void)
{
    __asm__ volatile("clr r1\n\tldi r28, lo8(et_stack_top)\n\tldi r29, hi8(et_stack_top)\n\t"
                     "out 0x3e, r29\n\tout 0x3d, r28\n\tjmp harness");
}

/* A byte anywhere in flash: `elpm`, which the chip with the most flash has, whatever the program is compiled for. */
INLINE uint8_t flash_byte(uint32_t address)
{
    uint8_t byte;

    HIGH_ADDRESS = (uint8_t)(address >> 16);
    __asm__ volatile("movw r30, %A1\n\t.word 0x95D8\n\tmov %0, r0" : "=r"(byte) : "r"((uint16_t)address) : "r0", "r30", "r31");
    HIGH_ADDRESS = 0;
    return byte;
}

INLINE void put(uint8_t byte)
{
    uint8_t wait;

    UART_DATA = byte;
    for (wait = 0; wait < 60; wait++) /* longer than a byte takes */
        __asm__ volatile("nop");
}

/* A line: what it is, and a number in hexadecimal. */
INLINE void print(uint8_t what, uint16_t number)
{
    uint8_t digit;

    put(what);
    for (digit = 0; digit < 4; digit++, number = (uint16_t)(number << 4)) {
        const uint8_t nibble = (uint8_t)(number >> 12);

        put((uint8_t)(nibble < 10 ? '0' + nibble : 'A' - 10 + nibble));
    }
    put('\n');
}

void harness(void)
{
    uint32_t next, left;
    uint8_t *byte;
    uint16_t fine, coarse, i;

    for (i = 0; et_data_begin + i != et_data_end; i++)
        et_data_begin[i] = flash_byte((uint16_t)et_data_load + (uint32_t)i);
    for (byte = et_data_end; byte != et_bss_end; byte++)
        *(volatile uint8_t *)byte = 0;
    for (; byte != (uint8_t *)STACK_POINTER; byte++)
        *(volatile uint8_t *)byte = PAINT;
    UART_RATE = 0;
    UART_A = 2;
    UART_B = 8;
    COARSE_CONTROL = 5; /* every 1024 cycles */
    FINE_CONTROL = 1;   /* every cycle */
    fine = FINE;
    print('o', (uint16_t)(FINE - fine));
    next = ET_READ(et_job[0]);
    for (left = ET_READ(et_job[1]); left > 0;) {
        const uint16_t n = left < ROWS_PER_CALL ? (uint16_t)left : ROWS_PER_CALL;

        for (i = 0; i < n * ROW_BYTES; i++)
            given[i] = flash_byte(next++);
        coarse = COARSE;
        fine = FINE;
        CALL;
        fine = (uint16_t)(FINE - fine);
        print('c', (uint16_t)(COARSE - coarse));
        print('f', fine);
#if IS_WIDE
        print('h', (uint16_t)(found.answer >> 16));
        print('r', (uint16_t)found.answer);
#else
        for (i = 0; i < n; i++)
            print('r', classes[i]);
#endif
        left -= n;
    }
    for (byte = et_bss_end; *(volatile uint8_t *)byte == PAINT; byte++) {
    }
    print('l', (uint16_t)(byte - et_bss_end)); /* bytes never used */
    print('s', (uint16_t)(STACK_POINTER + 1 - (uint16_t)byte));
    __asm__ volatile("cli\n\tsleep"); /* the emulator ends */
    for (;;) {
    }
}
