#!/bin/sh
# Trainer and engine on 64-bit ARM, executed by qemu-user: NEON and plain C++ must give the bits of this processor.
# Needs g++-aarch64-linux-gnu and qemu-user (Debian's names).
set -eu
cd "$(dirname "$0")/.."
build=build/neon
mkdir -p "$build"
# The flags of the wheel (CMakeLists.txt): Release, standard C++17 without extensions.
flags="-std=c++17 -O3 -DNDEBUG -pthread -Isrc/ethereal/native"
native=src/ethereal/native
sources="tools/kernels.cpp $native/cpu.cpp $native/engine.cpp $native/trainer.cpp"

objects=
for set in scalar avx2 avx512; do
  case $set in
    scalar) own= ;;
    avx2) own="-mavx2 -mbmi -mbmi2 -mlzcnt -mpopcnt" ;;
    avx512) own="-mavx2 -mbmi -mbmi2 -mlzcnt -mpopcnt -mavx512f -mavx512cd -mavx512bw -mavx512dq -mavx512vl" ;;
  esac
  [ "$(uname -m)" = x86_64 ] || own=
  for part in engine train_class; do
    g++ $flags $own -c "$native/${part}_$set.cpp" -o "$build/${part}_$set.o"
    objects="$objects $build/${part}_$set.o"
  done
done
g++ $flags $sources $objects $native/engine_neon.cpp $native/train_class_neon.cpp -o "$build/here"
"$build/here" | sed "s/$/ here/" | tee "$build/hashes"

aarch64-linux-gnu-g++ $flags -Wall -Wextra -Werror -static $sources $native/*_scalar.cpp $native/*_neon.cpp -o "$build/arm"
qemu-aarch64 "$build/arm" | sed "s/$/ on ARM/" | tee -a "$build/hashes"

grep -q neon "$build/hashes"
[ "$(cut -d' ' -f1 "$build/hashes" | sort -u | wc -l)" = 1 ] || { echo "the hashes differ" >&2; exit 1; }
echo "all the same"
