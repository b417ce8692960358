/* A two-level segregated fit allocator, step for step the one of tlsf.go. */

#include "sanitize.h"

UNCHECKED static inline uint64_t block_size(const qn_block *b) { return b->size_flags & ~(uint64_t)(BLOCK_ALIGN - 1); }
UNCHECKED static inline bool block_is_free(const qn_block *b) { return b->size_flags & FREE_BIT; }
UNCHECKED static inline void *payload(qn_block *b) { return (char *)b + BLOCK_HEADER; }
UNCHECKED static inline qn_block *block_of(const void *p) { return (qn_block *)((char *)p - BLOCK_HEADER); }
UNCHECKED static inline qn_block *block_after(qn_block *b, uint64_t size) { return (qn_block *)((char *)b + BLOCK_HEADER + size); }

UNCHECKED static inline uint64_t round_payload(uint64_t n)
{
    return n <= MIN_PAYLOAD ? MIN_PAYLOAD : (n + BLOCK_ALIGN - 1) & ~(uint64_t)(BLOCK_ALIGN - 1);
}

UNCHECKED static inline int top_bit(uint64_t n) { return 63 - __builtin_clzll(n); }

/* size_class finds the list that a block of this payload belongs to. */
UNCHECKED static inline void size_class(uint64_t size, unsigned *fl, unsigned *sl)
{
    if (size < SMALL_SIZE) {
        *fl = 0;
        *sl = size / BLOCK_ALIGN;
        return;
    }
    int top = top_bit(size);
    *fl = top - FL_SHIFT + 1;
    *sl = (size >> (top - SL_BITS)) & (SL_COUNT - 1);
}

/* next_block is the block after b, or NULL when b is the last. */
UNCHECKED static inline qn_block *next_block(qn_heap *h, qn_block *b)
{
    qn_block *n = block_after(b, block_size(b));
    return (uintptr_t)n == h->brk ? NULL : n;
}

UNCHECKED static void link_free(qn_heap *h, qn_block *b)
{
    unsigned fl, sl;
    uint64_t size = block_size(b);
    b->size_flags = size | FREE_BIT;
    size_class(size, &fl, &sl);
    qn_block *head = h->free[fl][sl];
    b->link_next = head;
    b->link_prev = NULL;
    if (head)
        head->link_prev = b;
    h->free[fl][sl] = b;
    h->sl[fl] |= 1u << sl;
    h->fl |= 1u << fl;
}

UNCHECKED static void unlink_free(qn_heap *h, qn_block *b)
{
    unsigned fl, sl;
    if (b->link_next)
        b->link_next->link_prev = b->link_prev;
    if (b->link_prev) {
        b->link_prev->link_next = b->link_next;
        return;
    }
    size_class(block_size(b), &fl, &sl);
    h->free[fl][sl] = b->link_next;
    if (!b->link_next) {
        h->sl[fl] &= ~(1u << sl);
        if (!h->sl[fl])
            h->fl &= ~(1u << fl);
    }
}

/* join_blocks makes one block of a and its successor b. */
UNCHECKED static void join_blocks(qn_heap *h, qn_block *a, qn_block *b)
{
    a->size_flags = block_size(a) + BLOCK_HEADER + block_size(b);
    if (h->last == b)
        h->last = a;
    else
        next_block(h, a)->prev = a;
}

/* release_block merges b with its free neighbours and files the result, or gives
   it back to the wilderness. */
UNCHECKED static void release_block(qn_heap *h, qn_block *b)
{
    qn_block *n = next_block(h, b);
    if (n && block_is_free(n)) {
        unlink_free(h, n);
        join_blocks(h, b, n);
    }
    qn_block *p = b->prev;
    if (p && block_is_free(p)) {
        unlink_free(h, p);
        join_blocks(h, p, b);
        b = p;
    }
    if (b == h->last) {
        h->last = b->prev;
        h->brk = (uintptr_t)b;
        return;
    }
    link_free(h, b);
}

/* trim_block cuts what is beyond size off the allocated block b and frees it. */
UNCHECKED static void trim_block(qn_heap *h, qn_block *b, uint64_t size)
{
    uint64_t rest = block_size(b) - size;
    if (rest < BLOCK_HEADER + MIN_PAYLOAD)
        return;
    qn_block *tail = block_after(b, size);
    b->size_flags = size;
    tail->prev = b;
    tail->size_flags = rest - BLOCK_HEADER;
    if (h->last == b)
        h->last = tail;
    else
        next_block(h, tail)->prev = tail;
    release_block(h, tail);
}

/* take_free removes a free block of at least size bytes from its list. */
UNCHECKED static qn_block *take_free(qn_heap *h, uint64_t size)
{
    unsigned fl, sl;
    uint64_t fit = size;
    if (size >= SMALL_SIZE)
        fit += (UINT64_C(1) << (top_bit(size) - SL_BITS)) - 1;
    size_class(fit, &fl, &sl);
    if (fl >= FL_COUNT)
        return NULL;
    uint32_t m = h->sl[fl] & (UINT32_MAX << sl);
    if (!m) {
        uint32_t fm = fl + 1 < 32 ? h->fl & (UINT32_MAX << (fl + 1)) : 0;
        if (!fm)
            return NULL;
        fl = __builtin_ctz(fm);
        m = h->sl[fl];
    }
    qn_block *b = h->free[fl][__builtin_ctz(m)];
    unlink_free(h, b);
    b->size_flags = block_size(b);
    trim_block(h, b, size);
    return b;
}

/* extend_heap makes a new block at brk. */
UNCHECKED static qn_block *extend_heap(qn_heap *h, uint64_t size)
{
    if (h->end - h->brk < size + BLOCK_HEADER)
        return NULL;
    qn_block *b = (qn_block *)h->brk;
    b->prev = h->last;
    b->size_flags = size;
    h->last = b;
    h->brk += BLOCK_HEADER + size;
    return b;
}

UNCHECKED static inline void grow_live(qn_heap *h, uint64_t n)
{
    h->live += n;
    if (h->live > h->peak)
        h->peak = h->live;
}

UNCHECKED static void *heap_malloc(qn_heap *h, uint64_t n)
{
    uint64_t size = round_payload(n);
    if (n > MAX_REQUEST || h->live + size + BLOCK_HEADER + SLACK > h->limit) {
        h->crossings++;
        return NULL;
    }
    qn_block *b = take_free(h, size);
    if (!b)
        b = extend_heap(h, size);
    if (!b) {
        h->crossings++;
        return NULL;
    }
    h->blocks++;
    grow_live(h, block_size(b) + BLOCK_HEADER);
    CONCEAL(b, BLOCK_HEADER);
    EXPOSE(payload(b), block_size(b));
    return payload(b);
}

UNCHECKED static void heap_free(qn_heap *h, void *p)
{
    if (!p)
        return;
    qn_block *b = block_of(p);
    h->blocks--;
    h->live -= block_size(b) + BLOCK_HEADER;
    CONCEAL(p, block_size(b));
    release_block(h, b);
}

UNCHECKED static inline size_t heap_usable(const void *p) { return p ? block_size(block_of(p)) : 0; }

/* grow_in_place widens b over a free successor or the wilderness. */
UNCHECKED static bool grow_in_place(qn_heap *h, qn_block *b, uint64_t size)
{
    if (b == h->last) {
        uintptr_t end = (uintptr_t)block_after(b, size);
        if (end > h->end)
            return false;
        b->size_flags = size;
        h->brk = end;
        return true;
    }
    qn_block *n = next_block(h, b);
    if (!block_is_free(n) || block_size(b) + BLOCK_HEADER + block_size(n) < size)
        return false;
    unlink_free(h, n);
    join_blocks(h, b, n);
    trim_block(h, b, size);
    return true;
}

/* move_block copies the payload of b into a new block. The limit was checked for
   the result; both blocks exist only for the copy. */
UNCHECKED static void *move_block(qn_heap *h, qn_block *b, uint64_t size)
{
    uint64_t old = block_size(b);
    qn_block *to = take_free(h, size);
    if (!to)
        to = extend_heap(h, size);
    if (!to) {
        h->crossings++;
        return NULL;
    }
    CONCEAL(to, BLOCK_HEADER);
    EXPOSE(payload(to), block_size(to));
    memcpy(payload(to), payload(b), old);
    h->live -= old;
    grow_live(h, block_size(to));
    CONCEAL(payload(b), old);
    release_block(h, b);
    return payload(to);
}

UNCHECKED static void *heap_realloc(qn_heap *h, void *p, uint64_t n)
{
    if (!p)
        return heap_malloc(h, n);
    if (n > MAX_REQUEST) {
        h->crossings++;
        return NULL;
    }
    qn_block *b = block_of(p);
    uint64_t old = block_size(b), size = round_payload(n);
    if (size <= old) {
        h->live -= old;
        trim_block(h, b, size);
        h->live += block_size(b);
        CONCEAL(p, old);
        EXPOSE(p, block_size(b));
        return p;
    }
    if (h->live - old + size + SLACK > h->limit) {
        h->crossings++;
        return NULL;
    }
    if (grow_in_place(h, b, size)) {
        h->live -= old;
        grow_live(h, block_size(b));
        EXPOSE(p, block_size(b));
        return p;
    }
    return move_block(h, b, size);
}

#ifdef __SANITIZE_ADDRESS__
/* expose_blocks makes the sanitizer see the blocks as they are in an arena whose
   contents were replaced. */
UNCHECKED static void expose_blocks(qn_heap *h)
{
    static uintptr_t highest;
    if (h->brk > highest)
        highest = h->brk;
    CONCEAL((void *)h->start, highest - h->start);
    for (qn_block *b = (qn_block *)h->start; (uintptr_t)b != h->brk; b = block_after(b, block_size(b)))
        if (!block_is_free(b))
            EXPOSE(payload(b), block_size(b));
    highest = h->end < highest + (64 << 20) ? h->end : highest + (64 << 20); /* what this guest may take */
}
#endif
