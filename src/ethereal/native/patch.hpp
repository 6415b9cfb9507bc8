// Patches: clauses over a part of a row that fire if any position of the part matches. The loops over
// positions are compiled once per instruction set.
//
// A row is a grid of cells, height x width, with `planes` Booleans each, cell after cell. A plane is one of
// these Booleans in all cells, one bit each. A clause's Boolean is (place within the patch, plane), the plane
// running fastest. With `places` there follow "the position is below row k" and "right of column k". A
// position is the number of the cell at its upper left corner. So one AND of shifted planes tests all
// positions.
#pragma once
#include <cstddef>
#include <cstdint>

namespace ethereal {

struct PatchShape {
    uint32_t height, width;              // cells of a row; a height of 1 in one dimension
    uint32_t patch_height, patch_width;  // cells of a patch
    uint32_t planes;                     // Booleans of a cell
    bool places;                         // whether a clause may ask where it is

    uint32_t rows() const { return height - patch_height + 1; }  // of positions
    uint32_t columns() const { return width - patch_width + 1; }
    size_t cells() const { return size_t(height) * width; }
    size_t plane_words() const { return (cells() + 63) / 64; }
    size_t row_words() const { return planes * plane_words(); }  // of all planes of a row
    size_t row_booleans() const { return cells() * planes; }
    uint32_t n_places() const { return places ? rows() + columns() - 2 : 0; }
    uint32_t n_content() const { return patch_height * patch_width * planes; }
    uint32_t n_booleans() const { return n_content() + n_places(); }  // that clauses are over
    // Bits from the first position to the last one.
    size_t span() const { return size_t(rows() - 1) * width + columns(); }
    bool is_valid() const {
        return patch_height >= 1 && patch_width >= 1 && patch_height <= height && patch_width <= width &&
               planes >= 1 && cells() <= (1u << 24) && double(cells()) * planes <= double(1u << 28) &&
               double(cells()) * n_places() <= double(1u << 30) && n_booleans() <= (1u << 24);
    }
};

// The planes of a row, from its Booleans as bits, cell after cell.
void fill_planes(const PatchShape& shape, const uint64_t* row, uint64_t* planes);

struct PatchClauses {
    const PatchShape& patch;
    const int32_t* literals;
    const int64_t* offsets;
    size_t n_clauses;
};

// Which clauses fire on some rows: planes of n rows to bytes 0 and 1, rows x clauses. Empty clauses never do.
using MatchPatches = void(const PatchClauses&, const uint64_t* planes, size_t n_rows, uint8_t* fires);
MatchPatches match_patches_scalar, match_patches_avx2, match_patches_avx512, match_patches_neon;
MatchPatches* match_patches();  // of the instruction set in use

}  // namespace ethereal
