/* CRC-32 (zlib's) of a table in flash, continued from `crc`. */
static uint32_t et_crc32(uint32_t crc, const void *data, uint32_t size)
{
    const uint8_t *byte = (const uint8_t *)data;
    unsigned bit;

    for (crc = ~crc; size > 0; size--) {
        crc ^= ET_READ(*byte++);
#ifdef ET_CRC_BYTE /* eight bits at once, for the proof alone, which shows that they are the same */
        crc = ET_CRC_BYTE(crc);
#else
        for (bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1u ? 0xEDB88320u : 0);
#endif
    }
    return ~crc;
}
