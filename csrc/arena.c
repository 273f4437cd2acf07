/* The arena: chunks in a list, bump allocation, freed at once.  See base.h. */
#include "base.h"

#include <stdatomic.h>
#include <stdio.h>

enum { CHUNK_BYTES = 1 << 16, ALIGNMENT = 16 };

typedef struct Chunk {
    struct Chunk *next;
    size_t used, size;
} Chunk;

/* The chunk's header, rounded up so that the memory after it is aligned. */
enum { CHUNK_HEADER = (sizeof(Chunk) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT };

struct Arena {
    Chunk *chunk;
};

static _Atomic long allocations_left = -1; /* -1: not armed */

long
mem_fail_after(long n)
{
    return atomic_exchange(&allocations_left, n);
}

bool
mem_fault(void)
{
    long left = atomic_load_explicit(&allocations_left, memory_order_relaxed);
    if (left > 0) atomic_store_explicit(&allocations_left, left - 1, memory_order_relaxed);
    return left == 0;
}

void *
mem_alloc(size_t size)
{
    void *block = mem_fault() ? NULL : PyMem_RawCalloc(1, size ? size : 1);
    if (block == NULL) PyErr_NoMemory();
    return block;
}

void *
mem_realloc(void *old, size_t size)
{
    void *block = mem_fault() ? NULL : PyMem_RawRealloc(old, size ? size : 1);
    if (block == NULL) PyErr_NoMemory();
    return block;
}

void
mem_free(void *block)
{
    PyMem_RawFree(block);
}

Arena *
arena_new(void)
{
    return mem_alloc(sizeof(Arena));
}

void
arena_free(Arena *arena)
{
    if (arena == NULL) return;
    for (Chunk *chunk = arena->chunk, *next; chunk != NULL; chunk = next) {
        next = chunk->next;
        mem_free(chunk);
    }
    mem_free(arena);
}

void *
arena_alloc(Arena *arena, size_t size)
{
    size = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    Chunk *chunk = arena->chunk;
    if (chunk == NULL || chunk->size - chunk->used < size) {
        size_t room = size > CHUNK_BYTES ? size : CHUNK_BYTES;
        chunk = mem_alloc(CHUNK_HEADER + room);
        if (chunk == NULL) return NULL;
        chunk->size = room;
        chunk->next = arena->chunk;
        arena->chunk = chunk;
    }
    void *block = (char *)chunk + CHUNK_HEADER + chunk->used;
    chunk->used += size;
    return block;
}

void *
arena_copy(Arena *arena, const void *data, size_t size)
{
    void *block = arena_alloc(arena, size);
    if (block != NULL && size != 0) memcpy(block, data, size);
    return block;
}

char *
arena_vprintf(Arena *arena, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    char *string = arena_alloc(arena, (size_t)length + 1);
    if (string != NULL) vsnprintf(string, (size_t)length + 1, format, args);
    return string;
}

char *
arena_printf(Arena *arena, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *string = arena_vprintf(arena, format, args);
    va_end(args);
    return string;
}

int
arena_grow(Arena *arena, void **data, int *capacity, int length, size_t element)
{
    int wanted = *capacity ? *capacity * 2 : 8;
    void *block = arena_alloc(arena, (size_t)wanted * element);
    if (block == NULL) return -1;
    if (length != 0) memcpy(block, *data, (size_t)length * element);
    *data = block;
    *capacity = wanted;
    return 0;
}
