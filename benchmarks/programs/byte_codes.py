"""Bytes counted, run lengths, a checksum and a Huffman code's length."""

from heapq import heapify, heappop, heappush

import numpy as np

from benchmarks.programs import compiled

SIZES = (20, 3000)


@compiled
def run_lengths(data):
    runs = []
    start = 0
    for i in range(1, len(data) + 1):
        if i == len(data) or data[i] != data[start]:
            runs.append((data[start], i - start))
            start = i
    return runs


@compiled
def adler(data):
    a, b = 1, 0
    for byte in data:
        a = (a + byte) % 65521
        b = (b + a) % 65521
    return b << 16 | a


@compiled
def huffman_bits(counts):
    heap = [int(count) for count in counts if count > 0]
    heapify(heap)
    bits = 0
    while len(heap) > 1:
        pair = heappop(heap) + heappop(heap)
        bits += pair
        heappush(heap, pair)
    return bits


def main(rng, size):
    data = np.repeat(rng.geometric(0.3, size).astype(np.uint8), rng.integers(1, 4, size)).tobytes()
    counts = np.bincount(np.frombuffer(data, np.uint8), minlength=256)
    return len(run_lengths(data)), adler(data), huffman_bits(counts), counts[:10]
