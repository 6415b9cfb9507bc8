#!/bin/sh
# Trainer, engine and pruner on 64-bit ARM, executed by qemu-user: NEON and plain C++ must give the bits of this processor.
# Needs g++-aarch64-linux-gnu and qemu-user (Debian's names).
set -eu
cd "$(dirname "$0")/.."
build=build/neon
mkdir -p "$build"
# The flags of the wheel (CMakeLists.txt): Release, standard C++17 without extensions, no fused multiply and add.
flags="-std=c++17 -O3 -ffp-contract=off -DNDEBUG -pthread -Isrc/ethereal/native"
native=src/ethereal/native
sources="tools/kernels.cpp $native/cpu.cpp $native/clause_rows.cpp $native/engine.cpp $native/literal_planes.cpp $native/patch.cpp $native/pruner.cpp
  $native/pruner_literals.cpp $native/softmax_pruner.cpp $native/trainer.cpp"

objects=
for set in scalar avx2 avx512; do
  case $set in
    scalar) own= ;;
    avx2) own="-mavx2 -mbmi -mbmi2 -mlzcnt -mpopcnt" ;;
    avx512) own="-mavx2 -mbmi -mbmi2 -mlzcnt -mpopcnt -mavx512f -mavx512cd -mavx512bw -mavx512dq -mavx512vl" ;;
  esac
  [ "$(uname -m)" = x86_64 ] || own=
  for part in engine patch train_class; do
    g++ $flags $own -c "$native/${part}_$set.cpp" -o "$build/${part}_$set.o"
    objects="$objects $build/${part}_$set.o"
  done
done
g++ $flags $sources $objects $native/*_neon.cpp -o "$build/here"
"$build/here" | sed "s/$/ here/" | tee "$build/hashes"

objects=
for source in $sources $native/*_scalar.cpp $native/*_neon.cpp; do
  object="$build/arm_$(basename "$source" .cpp).o"
  aarch64-linux-gnu-g++ $flags -Wall -Wextra -Werror -c "$source" -o "$object"
  objects="$objects $object"
  # A fused instruction rounds once where others round twice; whether a test notices it is luck.
  if aarch64-linux-gnu-objdump -d "$object" | grep -qE '[[:space:]](fn?madd|fn?msub|fmla|fmls)[[:space:]]'; then
    echo "$source: the compiler fused multiply and add" >&2
    exit 1
  fi
done
aarch64-linux-gnu-g++ $flags -static $objects -o "$build/arm"
qemu-aarch64 "$build/arm" | sed "s/$/ on ARM/" | tee -a "$build/hashes"

grep -q neon "$build/hashes"
[ "$(cut -d' ' -f1 "$build/hashes" | sort -u | wc -l)" = 1 ] || { echo "the hashes differ" >&2; exit 1; }
echo "all the same"
