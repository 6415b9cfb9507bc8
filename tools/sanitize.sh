#!/bin/sh
# Build the native core with a sanitizer and run the native tests under it, or count the branches that they reach:
#     tools/sanitize.sh address,undefined | thread | valgrind | coverage [TEST_FILE...]
# The sanitized module lies in build/sanitize-KIND/site beside links to the Python files; Python itself is not
# sanitized, so the runtime is preloaded.
set -eu
kind=$1
shift
root=$(cd "$(dirname "$0")/.." && pwd)
bin=$root/.venv/bin
build=$root/build/sanitize-$(echo "$kind" | tr , -)
tests="tests/train/test_trainer.py tests/train/test_checkpoint.py tests/model/test_engine.py tests/model/test_model.py
       tests/model/test_rules.py tests/compress/test_shorten.py tests/compress/test_pruner.py
       tests/compress/test_join.py tests/tuning/test_prune.py tests/whole/test_native_inputs.py
       tests/features/test_window_features.py tests/device/test_device.py tests/device/test_device_measure.py"
cxx=g++
case $kind in
valgrind) flags="-O1 -g" ;;
coverage)
    cxx=clang++-19 flags="-O1 -fprofile-instr-generate -fcoverage-mapping"
    tests="tests/train tests/model tests/compress tests/features tests/whole/test_native_inputs.py
           tests/device/test_device.py"
    ;;
*) flags="-O1 -g -fno-omit-frame-pointer -fsanitize=$kind -fno-sanitize-recover=all" ;;
esac
[ $# -eq 0 ] || tests=$*
CXX=$cxx "$bin/cmake" -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_FLAGS="$flags" \
    -DPython_EXECUTABLE="$bin/python" -DCMAKE_MAKE_PROGRAM="$bin/ninja" \
    -Dnanobind_DIR="$("$bin/python" -m nanobind --cmake_dir)" >/dev/null
"$bin/cmake" --build "$build" >/dev/null
rm -rf "$build/site"
mkdir -p "$build/site/ethereal"
for path in "$root"/src/ethereal/*; do ln -sfn "$path" "$build/site/ethereal/"; done
ln -sfn "$root"/src/ethereal_* "$build/site/"
cp "$build"/_native*.so "$build/site/ethereal/"

# -S: without the editable install, which would find the ordinary module.
PYTHONPATH=$build/site:$("$bin/python" -c 'import sysconfig; print(sysconfig.get_path("platlib"))')
export PYTHONPATH OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
cd "$root"

python="$bin/python -S -X faulthandler"
# One test runs GNU make, of which the preloaded address sanitizer complains.
pytest="-m pytest -x -s -p no:cacheprovider
        --deselect tests/device/test_device_measure.py::test_the_papers_board_boots_and_predicts"
case $kind in
address*)
    # Leaks: CPython keeps memory until the process ends; the soak test and valgrind watch for growth.
    LD_PRELOAD="$(g++ -print-file-name=libasan.so) $(g++ -print-file-name=libubsan.so)" \
        ASAN_OPTIONS=detect_leaks=0:strict_string_checks=1:detect_stack_use_after_return=1 \
        UBSAN_OPTIONS=print_stacktrace=1 $python $pytest $tests
    ;;
thread)
    # A fixed memory layout: the runtime cannot map its shadow over a random one. Polars crashes when imported.
    LD_PRELOAD=$(g++ -print-file-name=libtsan.so) \
        TSAN_OPTIONS="suppressions=$root/tools/tsan.supp halt_on_error=1 exitcode=66" \
        setarch -R $python $pytest $tests \
        --deselect tests/model/test_engine.py::test_frames_are_read_by_column \
        --deselect "tests/model/test_model.py::test_frames_must_have_the_columns_of_training[polars]"
    ;;
coverage)
    rm -f "$build"/*.profraw
    LLVM_PROFILE_FILE="$build/%p.profraw" $python $pytest $tests
    llvm-profdata-19 merge -o "$build/profile" "$build"/*.profraw
    llvm-cov-19 report --show-region-summary=0 --instr-profile "$build/profile" "$build/site/ethereal"/_native*.so \
        "$root/src/ethereal/native" "$root/src/ethereal/features" | tee "$build/report.txt"
    ;;
valgrind)
    PYTHONMALLOC=malloc valgrind --quiet --error-exitcode=9 --suppressions="$root/tools/valgrind.supp" \
        $python "$root/tools/native_driver.py"
    ;;
esac
