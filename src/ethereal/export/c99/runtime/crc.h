/* CRC-32 (zlib's) of a table in flash, continued from `crc`. */
static uint32_t et_crc32(uint32_t crc, const void *data, uint32_t size)
{
    const uint8_t *byte = (const uint8_t *)data;
    uint32_t found = ~crc;
    uint32_t left;
    unsigned bit;

    for (left = size; left > 0u; left--) {
        found ^= ET_READ(*byte);
        byte++;
#ifdef ET_CRC_BYTE /* eight bits at once, for the proof alone, which shows that they are the same */
        found = ET_CRC_BYTE(found);
#else
        for (bit = 0; bit < 8u; bit++) {
            found = (found >> 1) ^ (((found & 1u) != 0u) ? 0xEDB88320u : 0u);
        }
#endif
    }
    return ~found;
}
