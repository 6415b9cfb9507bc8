/*
 * ethereal runtime, layout "fast": least instructions for a single row.
 *
 * A clause is evaluated in one of three ways, whichever is cheapest for it.
 *
 * Masks. For every state of every slot one bit per clause: may the clause still be true? The masks of a
 * row's states are ANDed; the bits that remain are the clauses that vote.
 *
 * Lists. For every state of a slot the clauses that it makes false, which lose their votes. A slot of k
 * thresholds stores the lists of (state > 0) ... (state > k-1), then those of the negations, so that what
 * is false in a state is one run of both.
 *
 * Nodes. A tree of literals: a false literal skips all clauses that begin with the literals up to it. Root
 * literals stand apart, with the length of their part of the node stream. A node is a literal in its high
 * bits and, in its low bits, how many nodes to skip when it is false or, for the last literal of a clause,
 * the vote to cast when it is true. The two kinds read different states of the same literal: 0 skip,
 * 1 go on, 2 vote. A clause with more literals than a skip can pass is alone below its root literal: its
 * part is the rest of its literals, one that is always 2, and the votes.
 */

#if ET_MASK_BLOCKS > 0
/* The words of a block, bits[], are only indexed by constants, so that they are registers. The model's own file has
   ET_FILL_WORDS, ET_AND_WORDS and ET_KEEP_WORDS, which do the same for each of them, and likewise for lanes[]. */
#if ET_LANES > 0
/* Votes for two classes are in one word, as are their sums: a sum of words is a sum of both halves, where
   the lower one, when it is below zero, has taken one from the upper. */
#define ET_VOTE_STEP ET_LANES
typedef uint32_t et_mask_vote;

static inline int32_t et_low_half(uint32_t word)
{
    const uint32_t half = (word & 0xFFFFu) ^ 0x8000u;

    return (int32_t)half - 0x8000;
}

static inline void et_add_lane(uint32_t lane, unsigned class_, int32_t *sums)
{
    const int32_t low = et_low_half(lane);

    sums[class_] += low;
    if ((class_ + 1u) < ET_CLASSES) {
        sums[class_ + 1u] += et_low_half((lane - (uint32_t)low) >> 16);
    }
}
#else
#define ET_VOTE_STEP 1u
typedef et_vote et_mask_vote;
#endif

/* Cast the votes of the clauses whose bits are left in a block; votes points to those of its first bit. */
static void et_cast(const uint32_t *left, const et_mask_vote *votes, int32_t *sums)
{
    unsigned w;
#if ET_LANES > 0
    uint32_t lanes[ET_LANES];

    ET_CLEAR_LANES
#endif
    for (w = 0; w < ET_MASK_WORDS; w++) {
        uint32_t bits = left[w];
        const et_mask_vote *first;

        if (bits == 0u) {
            continue;
        }
        first = &votes[ET_VOTE_STEP * 32u * w];
        do {
            const unsigned zeros = et_leading_zeros(bits);
            const et_mask_vote *const own = &first[ET_VOTE_STEP * zeros];

            bits &= ~(0x80000000u >> zeros);
#if ET_LANES > 0
            ET_ADD_LANES
#else
            sums[ET_READ(own->class_)] += ET_READ(own->weight);
#endif
        } while (bits != 0u);
    }
#if ET_LANES > 0
    ET_SUM_LANES
#endif
}

static void et_apply_masks(const uint8_t *slots, int32_t *sums)
{
    const uint32_t *masks = et_masks; /* per block: states of all slots x words */
    unsigned block;
    unsigned s;

    for (block = 0; block < ET_MASK_BLOCKS; block++) {
        uint32_t bits[ET_MASK_WORDS];
        uint32_t left[ET_MASK_WORDS];

        ET_FILL_WORDS
        for (s = 0; s < ET_SLOTS; s++) {
            const uint32_t *const mask = &masks[ET_MASK_WORDS * slots[s]];

            ET_AND_WORDS
            masks = &masks[ET_MASK_WORDS * ET_SLOT_STATES(s)];
        }
        ET_KEEP_WORDS
        et_cast(left, &et_mask_votes[ET_VOTE_STEP * 32u * ET_MASK_WORDS * block], sums);
    }
}
#endif

#if ET_FUSED
/* Class sums of a row of features: with one block of masks a state is used as soon as it is known. */
static void et_sum_features(const et_input *features, int32_t *sums)
{
    const et_threshold *threshold = et_thresholds;
    const uint32_t *mask = et_masks;
    uint32_t bits[ET_MASK_WORDS];
    uint32_t left[ET_MASK_WORDS];
    unsigned s;

    for (s = 0; s < ET_CLASSES; s++) {
        sums[s] = ET_BIAS(s);
    }
    ET_FILL_WORDS
#if ET_SINGLES > 0
    for (s = 0; s < ET_SINGLES; s++) { /* slots with one threshold */
        if (ET_VALUE(features[ET_FEATURE(s)]) > ET_READ(*threshold)) {
            mask = &mask[ET_MASK_WORDS];
        }
        threshold++;
        ET_AND_WORDS
        mask = &et_masks[2u * ET_MASK_WORDS * (s + 1u)];
    }
#endif
#if ET_SLOTS > ET_SINGLES
    for (s = ET_SINGLES; s < ET_SLOTS; s++) {
        const et_threshold value = ET_VALUE(features[ET_FEATURE(s)]);
        const et_threshold *const end = &threshold[ET_THRESHOLDS(s)];
        const uint32_t *const next = &mask[ET_MASK_WORDS * ET_SLOT_STATES(s)];

        while ((threshold != end) && (value > ET_READ(*threshold))) {
            mask = &mask[ET_MASK_WORDS];
            threshold++;
        }
        ET_AND_WORDS
        threshold = end;
        mask = next;
    }
#endif
    ET_KEEP_WORDS
    et_cast(left, et_mask_votes, sums);
}
#endif

#if ET_LIST_GROUPS > 0
/* Give every clause its votes: votes has one byte per clause. */
static void et_begin_lists(uint32_t *votes)
{
    unsigned i;

    for (i = 0; i < ET_LIST_WORDS; i += 4u) { /* a multiple of four */
        votes[i] = ET_LIST_VOTES(i);
        votes[i + 1u] = ET_LIST_VOTES(i + 1u);
        votes[i + 2u] = ET_LIST_VOTES(i + 2u);
        votes[i + 3u] = ET_LIST_VOTES(i + 3u);
    }
#if ET_LIST_HEAVY > 0
    for (i = 0; i < ET_LIST_HEAVY; i++) { /* clauses with more than one vote */
        ((uint8_t *)votes)[ET_READ(et_heavy[i].clause)] = (uint8_t)ET_READ(et_heavy[i].votes);
    }
#endif
}

/* A case that goes on with the next one, for compilers that warn of it. The proof reads no attributes. */
#define ET_FALL_THROUGH
#if defined(__has_attribute) && !defined(__FRAMAC__)
#if __has_attribute(fallthrough)
#undef ET_FALL_THROUGH
#define ET_FALL_THROUGH __attribute__((fallthrough));
#endif
#endif

/* Take the votes from the clauses that are false. */
static void et_apply_lists(const uint8_t *slots, uint8_t *votes)
{
    const et_offset *start = et_list_starts;
    unsigned s;

    for (s = 0; s < ET_LIST_SLOTS; s++) {
        const unsigned state = slots[ET_LIST_SLOT(s)];
        /*@ split state; */
        const et_offset *const run = &start[state];
        const unsigned first = ET_READ(run[0]);
        const unsigned after = ET_READ(run[ET_LIST_RUN(s)]);
        const uint16_t *clause = &et_lists[first];
        const uint16_t *const end = &et_lists[after];

        switch ((after - first) & 7u) { /* the loop below takes eight at a time */
        case 7:
            votes[ET_READ(*clause)] = 0;
            clause++;
            ET_FALL_THROUGH /* fall through */
        case 6:
            votes[ET_READ(*clause)] = 0;
            clause++;
            ET_FALL_THROUGH /* fall through */
        case 5:
            votes[ET_READ(*clause)] = 0;
            clause++;
            ET_FALL_THROUGH /* fall through */
        case 4:
            votes[ET_READ(*clause)] = 0;
            clause++;
            ET_FALL_THROUGH /* fall through */
        case 3:
            votes[ET_READ(*clause)] = 0;
            clause++;
            ET_FALL_THROUGH /* fall through */
        case 2:
            votes[ET_READ(*clause)] = 0;
            clause++;
            ET_FALL_THROUGH /* fall through */
        case 1:
            votes[ET_READ(*clause)] = 0;
            clause++;
            ET_FALL_THROUGH /* fall through */
        default:
            break;
        }
        while (clause != end) {
            votes[ET_READ(clause[0])] = 0;
            votes[ET_READ(clause[1])] = 0;
            votes[ET_READ(clause[2])] = 0;
            votes[ET_READ(clause[3])] = 0;
            votes[ET_READ(clause[4])] = 0;
            votes[ET_READ(clause[5])] = 0;
            votes[ET_READ(clause[6])] = 0;
            votes[ET_READ(clause[7])] = 0;
            clause = &clause[8];
        }
        start = &start[ET_LIST_LENGTHS(s)];
        /*@ merge state; */
    }
}

/* Add up the votes that are left: a group of clauses votes for one class with one sign. */
static void et_count_lists(const uint32_t *votes, int32_t *sums)
{
    const uint32_t *four = votes;
    unsigned g;

    for (g = 0; g < ET_LIST_GROUPS; g++) {
        const et_group *const group = &et_list_groups[g];
        const uint32_t *const end = &four[ET_READ(group->words)];
        uint32_t count = 0;

        while (four != end) { /* eight clauses; groups are so small that no byte overflows */
            count += four[0] + four[1];
            four = &four[2];
        }
        count = (count & 0x00FF00FFu) + ((count >> 8) & 0x00FF00FFu);
        count = (count & 0xFFFFu) + (count >> 16);
        sums[ET_READ(group->class_)] += ET_READ(group->sign) * (int32_t)count;
    }
}
#endif

#if ET_NODES > 0
/* Write the states of all literals: Booleans, their negations, and both again for last literals. */
static void et_expand(const uint32_t *booleans, uint32_t *states)
{
    uint32_t *const last = &states[2u * ET_LITERAL_WORDS];
    unsigned i;

    for (i = 0; i < ET_LITERAL_WORDS; i++) { /* four Booleans at once, one per byte */
        states[i] = booleans[i];
        states[i + ET_LITERAL_WORDS] = booleans[i] ^ 0x01010101u;
    }
    for (i = 0; i < ET_LEAF_WORDS; i++) {
        last[i] = booleans[i] + 0x01010101u;
        last[i + ET_LEAF_WORDS] = 0x02020202u - booleans[i];
    }
    last[2u * ET_LEAF_WORDS] = 0x02020202u;
}

/* Walk the tree and cast votes. Vote 0 ends the part of a root literal. */
static void et_walk(const uint8_t *states, int32_t *sums)
{
    const uint16_t *next = et_nodes;
    const uint16_t *root = et_roots;

    while (root != &et_roots[2u * ET_ROOTS]) {
        const uint16_t *node = next;
        unsigned is_open = states[ET_READ(root[0])];

        next = &next[ET_READ(root[1])];
        root = &root[2];
        if (is_open == 0u) {
            continue;
        }
        /*@ dynamic_split node - et_nodes; */
        for (;;) {
            const unsigned word = ET_READ(*node);
            const unsigned state = states[word >> ET_SKIP_BITS];

            node++;
            if (state == 1u) {
                continue;
            }
            if (state == 0u) {
                node = &node[word & ET_SKIP_MASK];
            } else {
                const et_vote *const vote = &et_node_votes[word & ET_SKIP_MASK];

                if (vote == et_node_votes) {
                    break;
                }
                sums[ET_READ(vote->class_)] += ET_READ(vote->weight);
            }
        }
    }
#if ET_LONG_ROOTS > 0
    while (root != &et_roots[2u * (ET_ROOTS + ET_LONG_ROOTS)]) {
        const uint16_t *node = next;
        unsigned state = states[ET_READ(root[0])];

        next = &next[ET_READ(root[1])];
        root = &root[2];
        if (state == 0u) {
            continue;
        }
        do {
            state = states[ET_READ(*node)];
            node++;
        } while (state == 1u);
        if (state != 0u) {
            while (node != next) {
                const et_vote *const vote = &et_node_votes[ET_READ(*node)];

                sums[ET_READ(vote->class_)] += ET_READ(vote->weight);
                node++;
            }
        }
    }
#endif
}
#endif

/* Class sums of a Booleanized row. */
static void et_class_sums(const et_row *row, int32_t *sums)
{
    unsigned i;

    for (i = 0; i < ET_CLASSES; i++) {
        sums[i] = ET_BIAS(i);
    }
#if ET_MASK_BLOCKS > 0
    et_apply_masks(et_slots(row), sums);
#endif
#if ET_LIST_GROUPS > 0
    {
        ET_BUFFER uint32_t votes[ET_LIST_WORDS];

        et_begin_lists(votes);
        et_apply_lists(et_slots(row), (uint8_t *)votes);
        et_count_lists(votes, sums);
    }
#endif
#if ET_NODES > 0
    {
        ET_BUFFER uint32_t states[(2u * ET_LITERAL_WORDS) + (2u * ET_LEAF_WORDS) + 1u];
#if !ET_BINARY
        ET_BUFFER uint32_t booleans[ET_LITERAL_WORDS];

        booleans[ET_LITERAL_WORDS - 1u] = 0; /* it may end in Booleans that are not there */
        et_unfold(et_slots(row), (uint8_t *)booleans);
        et_expand(booleans, states);
#else
        et_expand(row->word, states);
#endif
        et_walk((const uint8_t *)states, sums);
    }
#endif
}
