/* What a compiler may call for arrays, for code that was not written without libc in mind. */
#include <stddef.h>

void *memset(void *to, int byte, size_t size);
void *memcpy(void *to, const void *from, size_t size);
void __aeabi_memclr(void *to, size_t size);
void __aeabi_memclr4(void *to, size_t size);
void __aeabi_memclr8(void *to, size_t size);

void *memset(void *to, int byte, size_t size)
{
    unsigned char *at = to;

    while (size-- > 0)
        *at++ = (unsigned char)byte;
    return to;
}

void *memcpy(void *to, const void *from, size_t size)
{
    unsigned char *at = to;
    const unsigned char *source = from;

    while (size-- > 0)
        *at++ = *source++;
    return to;
}

void __aeabi_memclr(void *to, size_t size)
{
    memset(to, 0, size);
}

void __aeabi_memclr4(void *to, size_t size)
{
    memset(to, 0, size);
}

void __aeabi_memclr8(void *to, size_t size)
{
    memset(to, 0, size);
}
