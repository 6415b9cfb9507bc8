// Counts the instructions an emulated core executes, block by block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

// Unicorn tells a hook where each block it is about to execute begins and how many bytes it has. Instructions
// have 2 or 4 bytes, so the number in a block follows from decoding lengths, once per block. A predicated
// instruction that does nothing is an instruction too, which a hook per instruction would miss.
class BlockCounter {
public:
    enum class Isa { thumb, riscv };

    // `code` is the memory from address `base` on that holds instructions; blocks elsewhere are not counted.
    BlockCounter(Isa isa, std::uint64_t base, const std::uint8_t* code, std::size_t size)
        : isa_(isa), base_(base), code_(code, code + size), blocks_(size / 2) {}

    // The hook: the signature of Unicorn's uc_cb_hookcode_t, `self` being its user data.
    static void on_block(void* emulator, std::uint64_t address, std::uint32_t size, void* self);

    std::uint64_t total() const { return total_; }

    // Executed instructions per halfword of the code, booked where their block begins.
    std::vector<std::uint64_t> by_block() const;

private:
    struct Block {
        std::uint32_t size = 0;          // bytes; 0: not seen yet
        std::uint32_t instructions = 0;  // in one pass
        std::uint64_t executed = 0;      // instructions in all passes
    };

    void visit(std::uint64_t address, std::uint32_t size);
    std::uint32_t decode(std::size_t begin, std::size_t end) const;

    Isa isa_;
    std::uint64_t base_;
    std::vector<std::uint8_t> code_;
    std::vector<Block> blocks_;
    std::uint64_t total_ = 0;
};
