"""Kernels of this project written in Triton: what other people's compilers make of GEMM and of row kernels."""

import triton
import triton.language as tl


@triton.jit
def softmax(x, y, n, pitch, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    inside = column < n
    values = tl.load(x + row * pitch + column, mask=inside, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, 0))
    tl.store(y + row * pitch + column, powers / tl.sum(powers, 0), mask=inside)


@triton.jit
def layer_norm(x, gain, bias, y, n, pitch, epsilon, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        column = start + tl.arange(0, BLOCK)
        total += tl.load(x + row * pitch + column, mask=column < n, other=0.0).to(tl.float32)
    mean = tl.sum(total, 0) / n
    squares = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        column = start + tl.arange(0, BLOCK)
        value = tl.load(x + row * pitch + column, mask=column < n, other=0.0).to(tl.float32)
        distance = tl.where(column < n, value - mean, 0.0)
        squares += distance * distance
    scale = 1.0 / tl.sqrt(tl.sum(squares, 0) / n + epsilon)
    for start in range(0, n, BLOCK):
        column = start + tl.arange(0, BLOCK)
        inside = column < n
        value = tl.load(x + row * pitch + column, mask=inside, other=0.0).to(tl.float32)
        weight = tl.load(gain + column, mask=inside, other=0.0)
        shift = tl.load(bias + column, mask=inside, other=0.0)
        tl.store(y + row * pitch + column, (value - mean) * scale * weight + shift, mask=inside)


@triton.jit
def gemm(
    a, b, c, m, n, k, lda, ldb, ldc,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, SUM: tl.constexpr,
):
    row = tl.program_id(0) * M + tl.arange(0, M)
    column = tl.program_id(1) * N + tl.arange(0, N)
    depth = tl.arange(0, K)
    total = tl.zeros([M, N], SUM)
    for start in range(0, k, K):
        inner = start + depth
        left = tl.load(
            a + row[:, None] * lda + inner[None, :],
            mask=(row[:, None] < m) & (inner[None, :] < k),
            other=0,
        )
        right = tl.load(
            b + inner[:, None] * ldb + column[None, :],
            mask=(inner[:, None] < k) & (column[None, :] < n),
            other=0,
        )
        total = tl.dot(left, right, total, out_dtype=SUM)
    tl.store(
        c + row[:, None] * ldc + column[None, :],
        total,
        mask=(row[:, None] < m) & (column[None, :] < n),
    )


@triton.jit
def attention(q, k, v, y, queries, keys, scale, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    row = tl.program_id(0) * M + tl.arange(0, M)
    feature = tl.arange(0, D)
    asked = tl.load(
        q + row[:, None] * D + feature[None, :], mask=row[:, None] < queries, other=0.0
    )
    top = tl.full([M], -float("inf"), tl.float32)
    weight = tl.zeros([M], tl.float32)
    total = tl.zeros([M, D], tl.float32)
    for start in range(0, keys, N):
        key = start + tl.arange(0, N)
        known = tl.load(
            k + key[None, :] * D + feature[:, None], mask=key[None, :] < keys, other=0.0
        )
        score = tl.dot(asked, known) * scale
        score = tl.where(key[None, :] < keys, score, -float("inf"))
        higher = tl.maximum(top, tl.max(score, 1))
        power = tl.exp2(score - higher[:, None])
        down = tl.exp2(top - higher)
        weight = weight * down + tl.sum(power, 1)
        value = tl.load(
            v + key[:, None] * D + feature[None, :], mask=key[:, None] < keys, other=0.0
        )
        total = tl.dot(power.to(v.dtype.element_ty), value, total * down[:, None])
        top = higher
    tl.store(
        y + row[:, None] * D + feature[None, :],
        total / weight[:, None],
        mask=row[:, None] < queries,
    )
