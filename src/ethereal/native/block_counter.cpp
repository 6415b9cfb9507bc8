#include "block_counter.hpp"

void BlockCounter::on_block(void*, std::uint64_t address, std::uint32_t size, void* self) {
    static_cast<BlockCounter*>(self)->visit(address, size);
}

void BlockCounter::visit(std::uint64_t address, std::uint32_t size) {
    if (address < base_ || address - base_ + size > code_.size()) return;
    const std::size_t begin = static_cast<std::size_t>(address - base_);
    Block& block = blocks_[begin / 2];
    if (block.size != size) {  // the same address may begin a shorter block, translated after a jump
        block.size = size;
        block.instructions = decode(begin, begin + size);
    }
    block.executed += block.instructions;
    total_ += block.instructions;
}

std::uint32_t BlockCounter::decode(std::size_t begin, std::size_t end) const {
    std::uint32_t count = 0;
    for (std::size_t at = begin; at + 1 < end; ++count) {
        // Thumb: the top five bits 0b11101, 0b11110 and 0b11111 of a halfword begin a 32-bit instruction.
        // RISC-V: the low two bits 0b11 do.
        const bool wide = isa_ == Isa::thumb ? code_[at + 1] >= 0xE8 : (code_[at] & 3) == 3;
        at += wide ? 4 : 2;
    }
    return count;
}

std::vector<std::uint64_t> BlockCounter::by_block() const {
    std::vector<std::uint64_t> executed(blocks_.size());
    for (std::size_t i = 0; i < blocks_.size(); ++i) executed[i] = blocks_[i].executed;
    return executed;
}
