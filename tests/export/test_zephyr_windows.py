"""The Zephyr sample of a model of windows, compiled with declarations of what it calls."""

import shutil
import subprocess

import pytest

from ethereal import export
from windows import everything, hard_windows, model_of, number_of_windows

ZEPHYR = """
#include <stddef.h>
#include <stdint.h>
#define DEVICE_DT_GET(node) ((const struct device *)0)
#define DT_ALIAS(name) name
#define DT_NODE_EXISTS(node) HAS_SENSOR
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#define BUILD_ASSERT(condition, text) _Static_assert(condition, text)
#define CLAMP(x, low, high) ((x) < (low) ? (low) : (x) > (high) ? (high) : (x))
#define K_USEC(n) (n)
enum sensor_channel { SENSOR_CHAN_ACCEL_X, SENSOR_CHAN_ACCEL_Y, SENSOR_CHAN_ACCEL_Z, SENSOR_CHAN_GYRO_X,
                      SENSOR_CHAN_GYRO_Y, SENSOR_CHAN_GYRO_Z };
struct device;
struct k_timer { int n; };
struct sensor_value { int32_t val1, val2; };
uint32_t k_cycle_get_32(void);
void k_timer_init(struct k_timer *, void *, void *);
void k_timer_start(struct k_timer *, int, int);
uint32_t k_timer_status_sync(struct k_timer *);
int printk(const char *, ...);
int sensor_channel_get(const struct device *, enum sensor_channel, struct sensor_value *);
int sensor_sample_fetch(const struct device *);
int32_t sensor_ms2_to_ug(const struct sensor_value *);
int64_t sensor_value_to_micro(const struct sensor_value *);
"""


@pytest.mark.parametrize("has_sensor, is_number", [(0, False), (1, False), (1, True)])
def test_the_zephyr_sample_reads_an_accelerometer(has_sensor, is_number, tmp_path):
    """Zephyr is not here, so the sample is compiled with declarations of what it calls."""
    if shutil.which("cc") is None:
        pytest.skip("cc is not installed")
    windows = hard_windows(64, 3)
    model = number_of_windows()[0] if is_number else model_of(everything(3, rate=25).fit(windows), windows)
    export.zephyr(model, tmp_path / "z", rows=windows)
    for name in ("device.h", "drivers/sensor.h", "kernel.h", "sys/printk.h"):
        (tmp_path / "zephyr" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "zephyr" / name).write_text(f"#pragma once\n{ZEPHYR}" if name == "kernel.h" else
                                                '#include <zephyr/kernel.h>\n')  # fmt: skip
    sample = tmp_path / "z/samples/self_test"
    assert f"PERIOD_US {20000 if is_number else 40000} " in (sample / "src/main.c").read_text()
    assert "CONFIG_SENSOR=y" in (sample / "prj.conf").read_text()
    command = ["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", f"-DHAS_SENSOR={has_sensor}", "-I", tmp_path,
               "-I", tmp_path / "z/src", "-fsyntax-only", sample / "src/main.c"]  # fmt: skip
    subprocess.run(command, check=True)
