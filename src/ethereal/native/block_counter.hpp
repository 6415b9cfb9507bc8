// Counts the instructions an emulated core executes, block by block, and of which kinds they are.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

// Unicorn tells a hook where each block it is about to execute begins and how many bytes it has. Instructions
// have 2 or 4 bytes, so the number in a block follows from decoding lengths, once per block. A predicated
// instruction that does nothing is an instruction too, which a hook per instruction would miss.
class BlockCounter {
public:
    enum class Isa { thumb, riscv };

    // What chips/cycles.py has a price for. Decoding finds all but the last one in the bytes of a block.
    enum Kind {
        instructions,
        loads,          // of one register
        loads_in_line,  // of them, those right behind another one
        stores,         // of one register
        words,          // registers that instructions move which load or store several
        multiplies,
        divides,
        far_jumps,  // calls, and returns that load the program counter from the stack
        jumps,      // where execution did not go on behind a block: taken branches, calls and returns
        n_kinds
    };
    using Mix = std::array<std::uint64_t, n_kinds>;

    // `code` is the memory from address `base` on that holds instructions; blocks elsewhere are not counted.
    BlockCounter(Isa isa, std::uint64_t base, const std::uint8_t* code, std::size_t size)
        : isa_(isa), base_(base), code_(code, code + size), blocks_(size / 2) {}

    // The hook: the signature of Unicorn's uc_cb_hookcode_t, `self` being its user data.
    static void on_block(void* emulator, std::uint64_t address, std::uint32_t size, void* self);

    // A function that ends the execution, with the signature of Unicorn's uc_emu_stop.
    using Stop = int (*)(void* emulator);

    // The next block is entered by a jump, as after a return to a place that has no code here. The execution
    // is stopped at the end of the block in which it has taken `most` instructions. A timeout of Unicorn
    // would start a thread for each call, which takes longer than most calls, and would depend on the
    // machine.
    void enter(std::uint64_t most, Stop stop) {
        next_ = 0;
        stop_ = stop;
        last_ = mix_[instructions] + most < most ? ~std::uint64_t{0} : mix_[instructions] + most;
    }

    std::uint64_t total() const { return mix_[instructions]; }
    const Mix& mix() const { return mix_; }

    // Executed instructions per halfword of the code, booked where their block begins.
    std::vector<std::uint64_t> by_block() const;

private:
    struct Block {
        std::uint32_t size = 0;                    // bytes; 0: not seen yet
        std::uint64_t executed = 0;                // instructions in all passes
        std::array<std::uint16_t, jumps> kinds{};  // in one pass
    };

    void visit(void* emulator, std::uint64_t address, std::uint32_t size);
    void decode(std::size_t begin, Block& block) const;
    std::uint32_t halfword(std::size_t at) const { return code_[at] | code_[at + 1] << 8; }

    Isa isa_;
    std::uint64_t base_;
    std::vector<std::uint8_t> code_;
    std::vector<Block> blocks_;
    Mix mix_{};
    std::uint64_t next_ = 0;                  // where the block before ended
    std::uint64_t last_ = ~std::uint64_t{0};  // instructions in all, from which on it stops
    Stop stop_ = nullptr;
};
