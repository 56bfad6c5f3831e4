"""Compiles the kernels of `kernels.py` for both targets, runs them with `wavesmith emulate`, compares with NumPy.

Each runs in every mode of numerics of its target, against one limit. Usage: run.py WAVESMITH FOLDER. Prints a line a case
and mode; exit code 1 when one is wrong. No GPU and no driver.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

import kernels

WAVE_WIDTH = {"gfx950": 64, "gfx1100": 32}
NUMERICS = {
    "gfx950": ["fma-sequential", "cdna3-fdpa"],
    "gfx1100": ["fma-sequential", "rdna3-candidate"],
}
HALF, SINGLE = 2.0**-11, 2.0**-24
# Units of SINGLE, of the sum of the magnitudes, that a matrix instruction may lose with each product. `fma-sequential`
# rounds once a product: 1. `cdna3-fdpa` cuts up to one unit off each of eight products and C, and rounds their sum twice:
# 11 units for 8 products. `rdna3-candidate` cuts off or adds up to one unit for each of two products and C, and rounds
# their sum: 4 units for 2 products.
UNITS_A_PRODUCT = 2


def compile_kernel(function, types, constants, arch, warps):
    """The code object of a kernel; arguments that are not constants have the types of `types`."""
    names = function.arg_names
    signature = {name: types.get(name, "constexpr") for name in names}
    constexprs = {(names.index(name),): value for name, value in constants.items()}
    source = ASTSource(fn=function, signature=signature, constexprs=constexprs)
    target = GPUTarget("hip", arch, WAVE_WIDTH[arch])
    return triton.compile(source, target=target, options={"num_warps": warps})


def emulate(wavesmith, folder, compiled, arch, numerics, grid, arguments, warps):
    """Runs a kernel; arrays among the arguments are buffers. The arrays after the run, by name."""
    folder.mkdir(parents=True, exist_ok=True)
    code = folder / "kernel.hsaco"
    code.write_bytes(compiled.asm["hsaco"])
    command = [wavesmith, "emulate", code, "--kernel", compiled.metadata.name, "--json"]
    command += ["--grid", ",".join(map(str, grid)), "--block", str(warps * WAVE_WIDTH[arch])]
    command += ["--dynamic-lds", str(compiled.metadata.shared), "--numerics", numerics]
    values = list(arguments.values()) + [None, None]
    for position, value in enumerate(values):
        if value is None:
            # Scratch of the runtime and of the profiler, which these kernels do not use.
            word = "null"
        elif isinstance(value, np.ndarray):
            word = folder / f"{position}.npy"
            np.save(word, value)
            command += ["--save", f"{position}={folder / f'{position}.out.npy'}"]
        else:
            word = value
        command += ["--arg", f"{position}={word}"]
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if result.returncode != 0:
        raise RuntimeError(f"exit code {result.returncode}: {complaint(result)}")
    document = json.loads(result.stdout)
    if not document["passed"] or document["numerics"] != numerics:
        raise RuntimeError(f"the report says that no run in {numerics} passed")
    arrays = [(p, name) for p, (name, v) in enumerate(arguments.items()) if isinstance(v, np.ndarray)]
    return {name: np.load(folder / f"{position}.out.npy") for position, name in arrays}


def complaint(result):
    """What a report says about a fault and the first finding; without a report, the program's own words."""
    try:
        document = json.loads(result.stdout)
    except ValueError:
        return result.stderr.strip()
    fault = document["fault"]["message"] if document.get("fault") else "no fault"
    findings = document.get("findings", [])
    return f"{fault}; {len(findings)} findings" + (f", the first: {findings[0]}" if findings else "")


def close(got, expected, limit):
    """Raises where an element is further from the expected one than its limit."""
    error = np.abs(got.astype(np.float64) - expected)
    wrong = ~(error <= limit)
    if wrong.any():
        at = tuple(int(i[0]) for i in np.nonzero(wrong))
        raise RuntimeError(
            f"{int(wrong.sum())} of {wrong.size} elements are wrong, the first at {at}: "
            f"got {got[at]}, expected {expected[at]}"
        )


def poisoned(random, rows, columns, pitch, dtype):
    """Rows with NaN between them."""
    array = np.full((rows, pitch), np.nan, dtype)
    array[:, :columns] = random.uniform(-2, 2, (rows, columns)).astype(dtype)
    return array


def untouched(array):
    if not np.isnan(array.astype(np.float64)).all():
        raise RuntimeError("something was written between the rows")


def softmax(run, random):
    rows, n, pitch = 3, 781, 800
    x = poisoned(random, rows, n, pitch, np.float32) * np.float32(8)
    y = np.full_like(x, np.nan)
    types = {"x": "*fp32", "y": "*fp32", "n": "i32", "pitch": "i32"}
    got = run(
        kernels.softmax, types, {"BLOCK": 1024}, (rows,),
        {"x": x, "y": y, "n": f"i32:{n}", "pitch": f"i32:{pitch}"},
    )["y"]
    wide = x[:, :n].astype(np.float64)
    powers = np.exp(wide - wide.max(1, keepdims=True))
    # A difference of up to 32 is rounded, its product with log2(e) too, then 12 sums and a quotient.
    close(got[:, :n], powers / powers.sum(1, keepdims=True), 2 * (3 * 32 + 20) * SINGLE)
    untouched(got[:, n:])


def layer_norm(run, random):
    rows, n, pitch, epsilon = 3, 700, 712, 1e-5
    x = poisoned(random, rows, n, pitch, np.float16)
    gain, bias = (random.uniform(-1, 1, n).astype(np.float32) for _ in range(2))
    y = np.full((rows, pitch), np.nan, np.float32)
    types = {name: "*fp32" for name in ("gain", "bias", "y")}
    types |= {"x": "*fp16", "n": "i32", "pitch": "i32", "epsilon": "fp32"}
    got = run(
        kernels.layer_norm, types, {"BLOCK": 256}, (rows,),
        {
            "x": x, "gain": gain, "bias": bias, "y": y, "n": f"i32:{n}", "pitch": f"i32:{pitch}",
            "epsilon": f"f32:{epsilon}",
        },
    )["y"]
    wide = x[:, :n].astype(np.float64)
    distance = wide - wide.mean(1, keepdims=True)
    deviation = np.sqrt((distance**2).mean(1, keepdims=True) + np.float32(epsilon))
    # |x| up to 2, a deviation over 1: sums of 12 additions and ten more roundings, of up to 4.
    close(got[:, :n], distance / deviation * gain + bias, 22 * 4 * 2 * SINGLE)
    untouched(got[:, n:])


def gemm_of(dtype, name, bits):
    def case(run, random):
        m, n, k = 83, 70, 101
        lda, ldb, ldc = k + 3, n + 10, n + 1
        a, b = poisoned(random, m, k, lda, np.float32), poisoned(random, k, n, ldb, np.float32)
        a, b = a.astype(dtype), b.astype(dtype)
        c = np.full((m, ldc), np.nan, np.float32)
        types = {"a": name, "b": name, "c": "*fp32"}
        sizes = {"m": m, "n": n, "k": k, "lda": lda, "ldb": ldb, "ldc": ldc}
        types |= {size: "i32" for size in sizes}
        constants = {"M": 32, "N": 32, "K": 32, "SUM": tl.float32}
        arguments = {"a": a, "b": b, "c": c} | {s: f"i32:{v}" for s, v in sizes.items()}
        got = run(kernels.gemm, types, constants, (3, 3), arguments)["c"]
        left, right = (array.astype(np.float64) for array in (a[:, :k], b[:, :n]))
        limit = UNITS_A_PRODUCT * k * SINGLE * (np.abs(left) @ np.abs(right))
        close(got[:, :n], left @ right, limit)
        untouched(got[:, n:])

    case.__name__ = f"gemm_{bits}"
    return case


def gemm_i8(run, random):
    m, n, k = 83, 150, 203
    lda, ldb, ldc = k + 3, n + 10, n + 1
    a = random.integers(-128, 128, (m, lda)).astype(np.int8)
    b = random.integers(-128, 128, (k, ldb)).astype(np.int8)
    c = np.full((m, ldc), -1, np.int32)
    sizes = {"m": m, "n": n, "k": k, "lda": lda, "ldb": ldb, "ldc": ldc}
    types = {"a": "*i8", "b": "*i8", "c": "*i32"} | {size: "i32" for size in sizes}
    constants = {"M": 64, "N": 64, "K": 64, "SUM": tl.int32}
    arguments = {"a": a, "b": b, "c": c} | {s: f"i32:{v}" for s, v in sizes.items()}
    got = run(kernels.gemm, types, constants, (2, 3), arguments)["c"]
    close(got[:, :n], a[:, :k].astype(np.int64) @ b[:, :n].astype(np.int64), 0)
    if (got[:, n:] != -1).any():
        raise RuntimeError("something was written between the rows")


def attention(run, random):
    queries, keys, d = 45, 77, 32
    q, k, v = (
        random.uniform(-2, 2, (rows, d)).astype(np.float16) for rows in (queries, keys, keys)
    )
    y = np.full((queries + 1, d), np.nan, np.float32)
    scale = np.float32(np.log2(np.e) / np.sqrt(d))
    types = {"q": "*fp16", "k": "*fp16", "v": "*fp16", "y": "*fp32"}
    types |= {"queries": "i32", "keys": "i32", "scale": "fp32"}
    got = run(
        kernels.attention, types, {"M": 32, "N": 32, "D": d}, (2,),
        {
            "q": q, "k": k, "v": v, "y": y, "queries": f"i32:{queries}", "keys": f"i32:{keys}",
            "scale": f"f32:{scale!r}".replace("np.float32(", "").replace(")", ""),
        },
    )["y"]
    wide = [array.astype(np.float64) for array in (q, k, v)]
    score = wide[0] @ wide[1].T * np.float64(scale)
    power = np.exp2(score - score.max(1, keepdims=True))
    total = power.sum(1, keepdims=True)
    # P is rounded to f16; a score's error of 32 products of up to 4 enters it times ln 2, twice.
    score_error = UNITS_A_PRODUCT * 32 * 32 * 4 * 2 * SINGLE * float(scale)
    magnitude = power @ np.abs(wide[2]) / total
    limit = magnitude * (HALF + score_error + 200 * SINGLE) + keys * 2 * 2.0**-25
    close(got[:queries], power @ wide[2] / total, limit)
    untouched(got[queries:])


CASES = [
    softmax, layer_norm, gemm_of(np.float16, "*fp16", "f16"), gemm_of(np.float32, "*fp32", "f32"), gemm_i8, attention,
]


def main():
    wavesmith, folder = sys.argv[1], Path(sys.argv[2])
    os.environ.setdefault("TRITON_CACHE_DIR", str(folder / "cache"))
    os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")
    failed = 0
    for arch in WAVE_WIDTH:
        for case in CASES:
            for numerics in NUMERICS[arch]:
                def run(function, types, constants, grid, arguments, warps=4):
                    compiled = compile_kernel(function, types, constants, arch, warps)
                    place = folder / arch / numerics / case.__name__
                    return emulate(wavesmith, place, compiled, arch, numerics, grid, arguments, warps)

                try:
                    case(run, np.random.default_rng(7))
                    print(f"ok {case.__name__} {arch} {numerics}")
                except RuntimeError as error:
                    failed += 1
                    print(f"FAILED {case.__name__} {arch} {numerics}: {error}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
