"""AMD's Python bindings of HIP on the emulated library: loads a code object, launches it, reads the result.

Usage: hip_python.py OBJECT TARGET, with LD_LIBRARY_PATH naming the library's directory. Prints `ok`.
"""

import ctypes
import sys

import numpy as np
from hip import hip


def check(result):
    code, *values = result
    if code != hip.hipError_t.hipSuccess:
        raise RuntimeError(str(code))
    return values[0] if len(values) == 1 else tuple(values)


def main():
    path, target = sys.argv[1:]
    properties = hip.hipDeviceProp_t()
    check(hip.hipGetDeviceProperties(properties, 0))
    assert properties.gcnArchName == target.encode(), properties.gcnArchName
    assert properties.warpSize == {"gfx950": 64, "gfx1100": 32}[target]
    x = (np.arange(3 * 64) * 0.125 - 3).astype(np.float32).reshape(3, 64)
    pool = (np.arange(4 * 64) * 0.5).astype(np.float32).reshape(4, 64)
    slots, y = np.array([2, -1, 0], np.int32), np.full((3, 64), np.nan, np.float32)
    device = {}
    for name, array in {"x": x, "pool": pool, "slots": slots, "y": y}.items():
        device[name] = check(hip.hipMalloc(array.nbytes))
        check(hip.hipMemcpy(device[name], array, array.nbytes, hip.hipMemcpyKind.hipMemcpyHostToDevice))
    module = check(hip.hipModuleLoadData(open(path, "rb").read()))
    kernel = check(hip.hipModuleGetFunction(module, b"update_slots"))
    arguments = (device["x"], device["pool"], device["slots"], device["y"], ctypes.c_float(0.25))
    check(hip.hipModuleLaunchKernel(
        kernel, *(3, 1, 1), *(64, 1, 1), sharedMemBytes=0, stream=None, kernelParams=None, extra=arguments,
    ))
    check(hip.hipDeviceSynchronize())
    check(hip.hipMemcpy(y, device["y"], y.nbytes, hip.hipMemcpyKind.hipMemcpyDeviceToHost))
    expected = np.stack([pool[2] + np.float32(0.25) * x[0], np.zeros(64, np.float32), pool[0] + np.float32(0.25) * x[2]])
    assert np.array_equal(y, expected), (y, expected)
    for memory in device.values():
        check(hip.hipFree(memory))
    check(hip.hipModuleUnload(module))
    code, *_ = hip.hipModuleGetFunction(module, b"update_slots")
    assert code == hip.hipError_t.hipErrorInvalidHandle, code
    print("ok")


main()
