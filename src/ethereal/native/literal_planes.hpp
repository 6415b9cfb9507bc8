// Rows as one bit plane per literal, and what needs nothing else: fewer literals per clause on these rows.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ethereal {

// One bit per row for each literal, 64 rows per word; the bits beyond the last row are zero.
class LiteralPlanes {
public:
    LiteralPlanes(const uint8_t* booleans, size_t n_rows, size_t n_booleans, ptrdiff_t row_stride,
                  ptrdiff_t column_stride);
    const uint64_t* operator[](int32_t literal) const { return words_.data() + size_t(literal) * n_words; }
    bool is_true(int32_t literal, size_t row) const { return (*this)[literal][row / 64] >> (row % 64) & 1; }
    uint64_t valid(size_t word) const;  // the bits of a word that are rows
    // The rows of a word on which all these literals are true.
    uint64_t firing(const std::vector<int32_t>& literals, size_t word) const {
        uint64_t rows = valid(word);
        for (int32_t l : literals) rows &= (*this)[l][word];
        return rows;
    }

    const size_t n_rows, n_booleans, n_words;

private:
    std::vector<uint64_t> words_;  // literals x words
};

// Keeps of each clause a few literals that are false together on the same rows as all of them: the clause's
// output stays the same on these rows. Greedy: each time the literal that is false on most rows left.
void shorten(const LiteralPlanes& planes, std::vector<int32_t>& literals, std::vector<int64_t>& offsets);

}  // namespace ethereal
