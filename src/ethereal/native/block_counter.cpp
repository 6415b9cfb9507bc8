#include "block_counter.hpp"

namespace {

// What one instruction is beside being one.
struct Class {
    BlockCounter::Kind kind = BlockCounter::instructions;
    std::uint32_t words = 0;
    bool is_far = false;
};

std::uint32_t ones(std::uint32_t bits) {
    std::uint32_t n = 0;
    for (; bits != 0; bits &= bits - 1) ++n;
    return n;
}

Class load_if(bool is_load) { return {is_load ? BlockCounter::loads : BlockCounter::stores}; }

Class several(std::uint32_t words, bool is_far = false) { return {BlockCounter::words, words, is_far}; }

// Encodings: ARMv7-M Architecture Reference Manual (DDI 0403), chapter A5.
Class thumb16(std::uint32_t h) {
    if (h >> 11 == 0x09) return load_if(true);              // LDR of a literal
    if (h >> 12 == 0x5) return load_if((h >> 9 & 7) >= 3);  // register offset
    if (h >> 12 >= 0x6 && h >> 12 <= 0x9) return load_if(h >> 11 & 1);
    if (h >> 12 == 0xC) return several(ones(h & 0xFF));                       // LDM, STM
    if ((h & 0xFE00) == 0xB400) return several(ones(h & 0x1FF));              // PUSH
    if ((h & 0xFE00) == 0xBC00) return several(ones(h & 0x1FF), h >> 8 & 1);  // POP
    if ((h & 0xFFC0) == 0x4340) return {BlockCounter::multiplies};
    return {};
}

// The floating-point unit, coprocessors 10 and 11.
Class thumb_float(std::uint32_t h, std::uint32_t h2) {
    if ((h & 0xFE00) == 0xEC00) {
        if ((h & 0x01A0) == 0) return {};  // moves between registers
        return (h & 0x0120) == 0x0100 ? load_if(h >> 4 & 1) : several(h2 & 0xFF);
    }
    const bool is_division = (h & 0xFFB0) == 0xEE80 && (h2 & 0x0E50) == 0x0A00;
    const bool is_root = (h & 0xFFBF) == 0xEEB1 && (h2 & 0x0ED0) == 0x0AC0;
    return {is_division || is_root ? BlockCounter::divides : BlockCounter::instructions};
}

Class thumb32(std::uint32_t h, std::uint32_t h2) {
    if ((h & 0xF800) == 0xF000) return {BlockCounter::instructions, 0, (h2 & 0xD000) == 0xD000};  // BL
    if ((h & 0xFE40) == 0xE800) return several(ones(h2), (h >> 4 & 1) && (h2 >> 15));             // LDM, STM
    if ((h & 0xFE40) == 0xE840) return h & 0x0120 ? several(2) : load_if(h >> 4 & 1);  // LDRD, exclusive
    if ((h & 0xFE00) == 0xF800) return load_if(h >> 4 & 1);
    if ((h & 0xFF80) == 0xFB00) return {BlockCounter::multiplies};
    if ((h & 0xFF80) == 0xFB80) {
        const bool is_division = (h & 0xD0) == 0x90 && (h2 & 0xF0) == 0xF0;
        return {is_division ? BlockCounter::divides : BlockCounter::multiplies};
    }
    if ((h & 0xFC00) == 0xEC00 && (h2 >> 9 & 7) == 5) return thumb_float(h, h2);
    return {};
}

// Encodings: The RISC-V Instruction Set Manual, volume I, with the extensions M, A and C.
Class riscv16(std::uint32_t h) {
    const std::uint32_t operation = h >> 13;
    if ((h & 3) == 1 || operation % 4 == 0) return {};
    return load_if(operation < 4);
}

Class riscv32(std::uint32_t h, std::uint32_t h2) {
    switch (h & 0x7F) {
        case 0x03:
        case 0x07:
        case 0x2F: return load_if(true);
        case 0x23:
        case 0x27: return load_if(false);
        case 0x33:
            if (h2 >> 9 == 1) return {h >> 14 & 1 ? BlockCounter::divides : BlockCounter::multiplies};
            return {};
        default: return {};
    }
}

}  // namespace

void BlockCounter::on_block(void* emulator, std::uint64_t address, std::uint32_t size, void* self) {
    static_cast<BlockCounter*>(self)->visit(emulator, address, size);
}

void BlockCounter::visit(void* emulator, std::uint64_t address, std::uint32_t size) {
    if (address < base_ || address - base_ + size > code_.size()) return;
    const std::size_t begin = static_cast<std::size_t>(address - base_);
    Block& block = blocks_[begin / 2];
    if (block.size != size) {  // the same address may begin a shorter block, translated after a jump
        block.size = size;
        decode(begin, block);
    }
    block.executed += block.kinds[instructions];
    for (std::size_t kind = 0; kind < jumps; ++kind) mix_[kind] += block.kinds[kind];
    mix_[jumps] += address != next_;
    next_ = address + size;
    if (mix_[instructions] >= last_ && stop_ != nullptr) stop_(emulator);
}

void BlockCounter::decode(std::size_t begin, Block& block) const {
    block.kinds.fill(0);
    bool was_load = false;
    for (std::size_t at = begin; at + 1 < begin + block.size;) {
        // Thumb: the top five bits 0b11101, 0b11110 and 0b11111 of a halfword begin a 32-bit instruction.
        // RISC-V: the low two bits 0b11 do.
        const std::uint32_t h = halfword(at);
        const bool wide = isa_ == Isa::thumb ? h >= 0xE800 : (h & 3) == 3;
        const std::uint32_t h2 = wide && at + 3 < code_.size() ? halfword(at + 2) : 0;
        const Class found =
            isa_ == Isa::thumb ? (wide ? thumb32(h, h2) : thumb16(h)) : (wide ? riscv32(h, h2) : riscv16(h));
        const auto add = [&](Kind kind, std::uint32_t n) {
            block.kinds[kind] = static_cast<std::uint16_t>(block.kinds[kind] + n);
        };
        add(instructions, 1);
        if (found.kind != instructions) add(found.kind, found.kind == words ? found.words : 1);
        if (found.is_far) add(far_jumps, 1);
        const bool is_load = found.kind == loads;
        if (is_load && was_load) add(loads_in_line, 1);
        was_load = is_load;
        at += wide ? 4 : 2;
    }
}

std::vector<std::uint64_t> BlockCounter::by_block() const {
    std::vector<std::uint64_t> executed(blocks_.size());
    for (std::size_t i = 0; i < blocks_.size(); ++i) executed[i] = blocks_[i].executed;
    return executed;
}
