"""Triton's own AMD driver on the emulated HIP library: compiles a kernel just in time and launches it.

Usage: triton_driver.py ARCH. TRITON_LIBHIP_PATH names the library. Prints `ok` when the results are right. PyTorch, which
the driver otherwise asks for devices and streams, is not needed: a subclass answers for it.
"""

import ctypes
import os
import sys

import numpy as np
import triton
import triton.language as tl
from triton.backends.amd.driver import HIPDriver, HIPLauncher, HIPUtils
from triton.backends.compiler import GPUTarget
from triton.runtime.driver import driver

ARCH = sys.argv[1]
WAVE_WIDTH = {"gfx950": 64, "gfx1100": 32}[ARCH]
HIP = ctypes.CDLL(os.environ["TRITON_LIBHIP_PATH"])


class Driver(HIPDriver):
    def __init__(self):
        # The base class asks PyTorch for these.
        self.get_current_device = lambda: 0
        self.get_current_stream = lambda device: 0
        self.utils = HIPUtils()
        self.launcher_cls = HIPLauncher

    def get_current_target(self):
        properties = self.utils.get_device_properties(0)
        assert properties["arch"] == ARCH and properties["warpSize"] == WAVE_WIDTH, properties
        return GPUTarget("hip", ARCH, WAVE_WIDTH)


class Array:
    """Device memory that Triton takes for a tensor."""

    def __init__(self, values):
        self.host = np.ascontiguousarray(values)
        self.dtype = {np.dtype("float32"): "fp32", np.dtype("float16"): "fp16"}[self.host.dtype]
        self.pointer = ctypes.c_uint64()
        check(HIP.hipMalloc(ctypes.byref(self.pointer), ctypes.c_size_t(self.host.nbytes)))
        check(HIP.hipMemcpy(self.pointer, self.address(), ctypes.c_size_t(self.host.nbytes), 1))

    def address(self):
        return ctypes.c_void_p(self.host.ctypes.data)

    def data_ptr(self):
        return self.pointer.value

    def read(self):
        check(HIP.hipMemcpy(self.address(), self.pointer, ctypes.c_size_t(self.host.nbytes), 2))
        return self.host


def check(code):
    if code:
        raise RuntimeError(f"HIP code {code}")


@triton.jit
def scale_and_add(x, y, out, n, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, mask=inside) * factor + tl.load(y + at, mask=inside), mask=inside)


@triton.jit
def product(a, b, c, N: tl.constexpr):
    row, column = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    tl.store(c + row * N + column, tl.dot(tl.load(a + row * N + column), tl.load(b + row * N + column)))


def main():
    driver.set_active(Driver())
    random = np.random.default_rng(5)
    n = 1000
    x, y = (Array(random.integers(-64, 64, n).astype(np.float32)) for _ in range(2))
    out = Array(np.full(n + 24, -1, np.float32))
    scale_and_add[(triton.cdiv(n, 256),)](x, y, out, n, 0.5, BLOCK=256)
    got = out.read()
    assert np.array_equal(got[:n], x.host * np.float32(0.5) + y.host), "scale_and_add"
    assert (got[n:] == -1).all(), "something was written behind the end"
    a, b = (Array(random.integers(-8, 8, (32, 32)).astype(np.float16)) for _ in range(2))
    c = Array(np.full((32, 32), np.nan, np.float32))
    product[(1,)](a, b, c, N=32)
    assert np.array_equal(c.read(), a.host.astype(np.float32) @ b.host.astype(np.float32)), "product"
    findings = HIP.wavesmith_hip_emulated_findings
    findings.restype = ctypes.c_uint64
    assert findings() == 0, "the emulator found something"
    print("ok")


main()
