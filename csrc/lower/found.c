/* Finds what the kernel under construction has already: accesses, places and sizes.  One hash table
   serves all kernels of a lowering; its slots are free again when the next kernel begins. */
#include "nest.h"

int32_t
found_next(const Nest *n, uint32_t hash, uint32_t *at)
{
    const Lowering *lw = n->lw;
    if (lw->found_slots == 0) return -1;
    for (;;) {
        const FoundSlot *slot = &lw->found[(*at)++ & (lw->found_slots - 1)];
        if (slot->nest != lw->nest) return -1;
        if (slot->hash == hash) return slot->index;
    }
}

static void
put(Lowering *lw, FoundSlot entry)
{
    uint32_t at = entry.hash;
    while (lw->found[at & (lw->found_slots - 1)].nest == lw->nest) at++;
    lw->found[at & (lw->found_slots - 1)] = entry;
}

int
found_add(Nest *n, uint32_t hash, int32_t index)
{
    Lowering *lw = n->lw;
    if (2 * (lw->nfound + 1) > lw->found_slots) {
        uint32_t had = lw->found_slots;
        FoundSlot *old = lw->found;
        lw->found_slots = had ? had * 2 : 64;
        lw->found = arena_alloc(lw->arena, sizeof(FoundSlot) * lw->found_slots);
        if (lw->found == NULL) return -1;
        for (uint32_t i = 0; i < had; i++)
            if (old[i].nest == lw->nest) put(lw, old[i]);
    }
    lw->nfound++;
    put(lw, (FoundSlot){lw->nest, hash, index});
    return 0;
}
