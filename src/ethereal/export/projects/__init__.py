"""The folders that tools expect: C library, Arduino, Zephyr, STM32."""
