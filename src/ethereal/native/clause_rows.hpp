// What the pruner asks of rows: where a clause fires, and which rows a single literal keeps it from.
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "literal_planes.hpp"
#include "patch.hpp"

namespace ethereal {

class ClauseRows {
public:
    ClauseRows(size_t rows, size_t booleans) : n_rows(rows), n_booleans(booleans) {}
    virtual ~ClauseRows() = default;
    // The rows on which a clause of these literals fires, ascending.
    virtual std::vector<uint32_t> firing(const std::vector<int32_t>& literals) const = 0;
    // For each literal the rows, ascending, on which the clause would fire without it, and does not with it.
    virtual void find_kept_off(const std::vector<int32_t>& literals,
                               std::vector<std::vector<uint32_t>>& rows) const = 0;
    // The Booleans of the rows, where a literal may move to another threshold; else null.
    virtual const LiteralPlanes* planes() const { return nullptr; }

    const size_t n_rows, n_booleans;  // Booleans that clauses are over
};

// Clauses over whole rows.
class WholeRows : public ClauseRows {
public:
    explicit WholeRows(LiteralPlanes planes)
        : ClauseRows(planes.n_rows, planes.n_booleans), planes_(std::move(planes)) {}
    std::vector<uint32_t> firing(const std::vector<int32_t>& literals) const override;
    void find_kept_off(const std::vector<int32_t>& literals,
                       std::vector<std::vector<uint32_t>>& rows) const override;
    const LiteralPlanes* planes() const override { return &planes_; }

private:
    LiteralPlanes planes_;
};

// Clauses over patches. A row is kept off by a literal if at some position it alone is false.
class PatchRows : public ClauseRows {
public:
    // Rows x Booleans of a row, bytes 0 and 1.
    PatchRows(const PatchShape& patch, const uint8_t* booleans, size_t n_rows, ptrdiff_t row_stride,
              ptrdiff_t column_stride);
    std::vector<uint32_t> firing(const std::vector<int32_t>& literals) const override;
    void find_kept_off(const std::vector<int32_t>& literals,
                       std::vector<std::vector<uint32_t>>& rows) const override;

private:
    struct Test {
        size_t first;    // word of the first position in a row's planes, or in the places
        unsigned shift;  // of its bit
        bool is_place;
        uint64_t flip;  // all ones where the literal is negated
    };
    std::vector<Test> tests_of(const std::vector<int32_t>& literals) const;
    const uint64_t* words_of(const Test& test, size_t row) const {
        const size_t first = test.is_place ? 0 : row * patch_.planes * plane_words_;
        return (test.is_place ? places_ : planes_).data() + first + test.first;
    }

    PatchShape patch_;
    size_t n_words_;      // of all positions
    size_t plane_words_;  // of a plane, with zeros behind it
    std::vector<uint64_t> valid_, planes_, places_;
};

}  // namespace ethereal
