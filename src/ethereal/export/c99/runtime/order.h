#if ET_FLOAT_INPUT
/* An integer in the order of the floats, lowest for a missing value: no floating point unit is needed. */
static inline int32_t et_order(float value)
{
    union {
        float value;
        int32_t bits;
    } both;

    int32_t order;

    both.value = value;
    order = both.bits;
#if ET_SIGNED_ORDER
    /* Of two negative ones the larger bits are lower. */
    order ^= (int32_t)((0u - ((uint32_t)order >> 31)) >> 1);
#endif
#if ET_CAN_MISS
    if ((both.bits & 0x7FFFFFFF) > 0x7F800000) {
        order = INT32_MIN;
    }
#elif ET_CAN_BE_NAN
    if (order > 0x7F800000) { /* a negative one is below every threshold already */
        order = INT32_MIN;
    }
#endif
    return order;
}
#endif
