/* BLAKE2s (RFC 7693) with a digest of 16 bytes and no key; equal to
   hashlib.blake2s(data, digest_size=16). */
#include "cache.h"

#include <stdio.h>

static const uint32_t initial[8] = {0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A,
                                    0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19};

static const uint8_t order[10][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
    {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
    {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
    {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
    {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
};

static inline uint32_t
rotate(uint32_t x, int by)
{
    return x >> by | x << (32 - by);
}

static inline void
mix(uint32_t *v, int a, int b, int c, int d, uint32_t x, uint32_t y)
{
    v[a] += v[b] + x;
    v[d] = rotate(v[d] ^ v[a], 16);
    v[c] += v[d];
    v[b] = rotate(v[b] ^ v[c], 12);
    v[a] += v[b] + y;
    v[d] = rotate(v[d] ^ v[a], 8);
    v[c] += v[d];
    v[b] = rotate(v[b] ^ v[c], 7);
}

static void
compress(Hash *hash, bool last)
{
    uint32_t v[16], m[16];
    for (int i = 0; i < 16; i++) {
        const uint8_t *b = hash->buffer + 4 * i;
        m[i] = (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
        v[i] = i < 8 ? hash->state[i] : initial[i - 8];
    }
    v[12] ^= (uint32_t)hash->count;
    v[13] ^= (uint32_t)(hash->count >> 32);
    if (last) v[14] = ~v[14];
    for (int round = 0; round < 10; round++) {
        const uint8_t *s = order[round];
        for (int i = 0; i < 4; i++) mix(v, i, 4 + i, 8 + i, 12 + i, m[s[2 * i]], m[s[2 * i + 1]]);
        for (int i = 0; i < 4; i++)
            mix(v, i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4, m[s[8 + 2 * i]],
                m[s[9 + 2 * i]]);
    }
    for (int i = 0; i < 8; i++) hash->state[i] ^= v[i] ^ v[i + 8];
}

void
hash_begin(Hash *hash)
{
    memset(hash, 0, sizeof(*hash));
    memcpy(hash->state, initial, sizeof(initial));
    hash->state[0] ^= 0x01010000 ^ sizeof(Digest);
}

void
hash_add(Hash *hash, const void *data, size_t size)
{
    const uint8_t *at = data;
    while (size > 0) {
        if (hash->filled == sizeof(hash->buffer)) { /* the last block waits for hash_end */
            hash->count += sizeof(hash->buffer);
            compress(hash, false);
            hash->filled = 0;
        }
        size_t part = Py_MIN(size, sizeof(hash->buffer) - hash->filled);
        memcpy(hash->buffer + hash->filled, at, part);
        hash->filled += part;
        at += part;
        size -= part;
    }
}

void
hash_add_string(Hash *hash, const char *string)
{
    hash_add(hash, string, strlen(string) + 1);
}

Digest
hash_end(Hash *hash)
{
    Digest digest;
    hash->count += hash->filled;
    memset(hash->buffer + hash->filled, 0, sizeof(hash->buffer) - hash->filled);
    compress(hash, true);
    for (size_t i = 0; i < sizeof(digest); i++)
        digest.bytes[i] = (uint8_t)(hash->state[i / 4] >> 8 * (i % 4));
    return digest;
}

void
digest_hex(const Digest *digest, char out[DIGEST_HEX])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < sizeof(*digest); i++) {
        out[2 * i] = digits[digest->bytes[i] >> 4];
        out[2 * i + 1] = digits[digest->bytes[i] & 15];
    }
    out[DIGEST_HEX - 1] = '\0';
}

bool
digest_parse(const char *hex, Digest *out)
{
    char back[DIGEST_HEX];
    for (int i = 0; i < (int)sizeof(out->bytes); i++) {
        unsigned byte;
        if (hex[0] == '\0' || sscanf(hex, "%2x", &byte) != 1) return false;
        out->bytes[i] = (uint8_t)byte;
        hex += 2;
    }
    digest_hex(out, back);
    return strncmp(back, hex - (DIGEST_HEX - 1), DIGEST_HEX - 1) == 0;
}

Digest
cache_key(const KeyParts *parts)
{
    Hash hash;
    int abi = CACHE_ABI;
    hash_begin(&hash);
    hash_add(&hash, &abi, sizeof(abi));
    hash_add(&hash, parts->digest, sizeof(parts->digest));
    return hash_end(&hash);
}
