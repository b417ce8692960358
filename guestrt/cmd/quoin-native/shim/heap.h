/* The allocator of the arena. Blocks, lists and control block are those of
   tlsf.go in package quickjs, which reads and scrubs them: a test holds the two
   layouts equal. */
#ifndef QUOIN_HEAP_H
#define QUOIN_HEAP_H

#include <stdint.h>

enum {
    BLOCK_HEADER = 16,
    BLOCK_ALIGN = 16,
    MIN_PAYLOAD = 16,
    SL_BITS = 4,
    SL_COUNT = 1 << SL_BITS,
    SMALL_SIZE = SL_COUNT * BLOCK_ALIGN,
    FL_SHIFT = SL_BITS + 4,
    FL_COUNT = 32 - FL_SHIFT + 1,
    SLACK = BLOCK_HEADER,
    FREE_BIT = 1,
};

#define MAX_REQUEST ((UINT64_C(1) << 32) - (UINT64_C(1) << 20))

/* block is the header in front of each payload. The links follow it while the
   block is free. */
typedef struct qn_block {
    uint64_t size_flags;
    struct qn_block *prev; /* the block that ends where this one starts */
    struct qn_block *link_next, *link_prev;
} qn_block;

typedef struct qn_heap {
    uintptr_t start, brk, end;
    qn_block *last;
    uint64_t live, peak;
    uint64_t blocks;
    uint64_t limit;
    uint64_t crossings;
    uint32_t fl;
    uint16_t sl[FL_COUNT];
    qn_block *free[FL_COUNT][SL_COUNT];
} qn_heap;

#endif
