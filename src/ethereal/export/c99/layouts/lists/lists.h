/*
 * ethereal runtime, layout "lists": clauses one after the other, for exports that learn.
 *
 * A clause is a list of tests of slots. Which clauses fire is known as a bit each.
 */
#ifndef ET_RUNTIME_LISTS
#define ET_RUNTIME_LISTS

/* Find the clauses that fire, clause 0 in bit 0 of the first byte. */
ET_QUICK void et_fire(const et_row *row)
{
    const et_test *test = et_list;
    unsigned j, bits = 0;

    for (j = 0; j < ET_CLAUSES; j++) {
        const et_test *const end = test + ET_READ(et_test_counts[j]);

        bits >>= 1;
        while (test != end
               && (uint8_t)(et_slots(row)[ET_READ(test->slot)] - ET_READ(test->low)) <= ET_READ(test->span))
            test++;
        if (test == end)
            bits |= 0x80u;
        test = end;
        et_last[j / 8] = (uint8_t)bits;
    }
#if ET_CLAUSES % 8
    et_last[ET_CLAUSES / 8] = (uint8_t)(bits >> (8 - ET_CLAUSES % 8));
#endif
    et_has_last = 1;
}

/* Class sums of a Booleanized row, in sixteenths. */
static void et_class_sums(const et_row *row, int32_t *sums)
{
    et_fire(row);
    et_tally(et_own, et_last, sums, ET_IN_FLASH + ET_LEARNED * et_own->now.is_personal);
}

#endif
