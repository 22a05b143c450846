// SPDX-License-Identifier: MIT
// malloc, free, new and delete: in a kernel, of device memory; elsewhere, the C and C++ libraries'.

// Small pieces are cut from chunks, because each allocation of the arena has pages of its own. A size is
// a power of 2, with 16 bytes or more between two pieces. A piece is used again after 1024 others of its
// size were freed. While it is free, it holds the address of the one that was freed after it.
enum { HEAP_CHUNK = 1 << 16, HEAP_SMALL = 1 << 13, HEAP_GAP = 16, HEAP_KEPT = 1024 };

static struct {
    size_t limit, used;
    uintptr_t next, end; // what is left of the last chunk
    struct {
        uintptr_t oldest, newest;
        unsigned count;
    } freed[14]; // by the logarithm of their size
} heap = {.limit = 8 << 20};

static unsigned heap_class(size_t bytes)
{
    return 64 - (unsigned)__builtin_clzll(bytes + HEAP_GAP - 1);
}

static void heap_clear(uintptr_t a, size_t bytes)
{
    for (uintptr_t end = a + bytes; a < end;) {
        unsigned offset = (unsigned)(a % PAGE);
        unsigned n = end - a < PAGE - offset ? (unsigned)(end - a) : PAGE - offset;
        page *p = arena.pages[(a - arena.base) / PAGE];
        if (p) {
            unsigned count, first = page_marks(p, offset, n, &count);
            bits_set(p->written, offset, n, 0);
            for (int k = 0; k < MARKS; ++k)
                if (p->marks[k])
                    memset(&p->marks[k][first], 0, count * sizeof(mark));
        }
        a += n;
    }
}

static void *heap_take(size_t bytes, uintptr_t pc)
{
    give_up();
    void *taken;
    bytes = bytes ? bytes : 1;
    if (bytes > heap.limit - heap.used)
        return NULL;
    allocation *m;
    if (bytes + HEAP_GAP > HEAP_SMALL) {
        if (arena_take(&taken, bytes, cudaMemoryTypeDevice))
            return NULL;
        m = allocation_at((uintptr_t)taken);
        m->heap = 1, m->made_at = pc;
    } else {
        unsigned class = heap_class(bytes);
        size_t size = (size_t)1 << class;
        uintptr_t a = heap.freed[class].oldest;
        if (heap.freed[class].count > HEAP_KEPT) {
            heap.freed[class].oldest = *(uintptr_t *)a;
            --heap.freed[class].count;
            heap_clear(a, size);
        } else {
            if (heap.end - heap.next < size) {
                if (arena_take(&taken, HEAP_CHUNK, cudaMemoryTypeDevice))
                    return NULL;
                heap.next = (uintptr_t)taken;
                heap.end = heap.next + HEAP_CHUNK;
            } else {
                size_t before = (size_t)(allocation_at(heap.next) - arena.list);
                arena_insert(before + 1, (allocation){.base = heap.next});
            }
            a = heap.next;
            heap.next += size;
        }
        m = allocation_at(a);
        *m = (allocation){
            .base = a, .size = bytes, .type = cudaMemoryTypeDevice, .heap = 2, .made_at = pc};
    }
    heap.used += bytes;
    return (void *)m->base;
}

static void heap_give(thread *t, void *p, uintptr_t pc)
{
    give_up();
    uintptr_t a = (uintptr_t)p;
    if (!p)
        return;
    allocation *m = in_arena(a) ? allocation_at(a) : NULL;
    if (!m || a - m->base >= m->size || !m->heap)
        fault(t, SIMT_INVALID_FREE, pc, a, 0, NULL,
              "free in a kernel what malloc in a kernel returned, and cudaMalloc's with cudaFree",
              "%p is not from malloc or new in a kernel", p);
    if (m->freed || m->base != a)
        fault(t, SIMT_INVALID_FREE, pc, a, 0, NULL, "free once what malloc returned",
              "%p is %zu bytes into an allocation of %zu bytes%s", p, a - m->base, m->size,
              m->freed ? " that was freed before" : "");
    heap.used -= m->size;
    m->freed_at = pc;
    if (m->heap == 1) {
        arena_give(m);
        return;
    }
    m->freed = ++arena.frees;
    unsigned class = heap_class(m->size);
    if (heap.freed[class].count++)
        *(uintptr_t *)heap.freed[class].newest = a;
    else
        heap.freed[class].oldest = a;
    heap.freed[class].newest = a;
}

// All of it was freed. Its pieces are not used again.
static void heap_reset(void)
{
    size_t limit = heap.limit;
    memset(&heap, 0, sizeof heap);
    heap.limit = limit;
}

static void heap_free(void *p, uintptr_t pc, void (*host)(void *))
{
    if (self)
        heap_give(self, p, pc);
    else if (!in_arena((uintptr_t)p))
        host(p);
    else {
        ALONE;
        tell(SIMT_INVALID_CALL, cudaErrorInvalidValue, "free", pc, "free it where it was allocated",
             "%p is device memory", p);
    }
}

void *simt_malloc(size_t bytes)
{
    return self ? heap_take(bytes, RETURN_PC) : malloc(bytes);
}
void *simt_calloc(size_t n, size_t bytes)
{
    if (!self)
        return calloc(n, bytes);
    void *p = __builtin_mul_overflow(n, bytes, &bytes) ? NULL : heap_take(bytes, RETURN_PC);
    if (p) {
        memset(p, 0, bytes);
        note_write(p, NULL, bytes);
    }
    return p;
}
void simt_free(void *p)
{
    heap_free(p, RETURN_PC, free);
}

// ---- operator new and delete, by the names that the compiler gives them ---------------------------

static void *library(const char *name, void *or_else)
{
    void *found = dlsym(RTLD_NEXT, name);
    return found ? found : or_else;
}

#define NEW(name)                                                                                  \
    __attribute__((weak)) void *name(size_t bytes)                                                 \
    {                                                                                              \
        static void *(*host)(size_t);                                                              \
        if (self)                                                                                  \
            return heap_take(bytes, RETURN_PC);                                                    \
        if (!host)                                                                                 \
            host = (void *(*)(size_t))library(#name, (void *)malloc);                              \
        return host(bytes);                                                                        \
    }
#define DELETE(name)                                                                               \
    __attribute__((weak)) void name(void *p)                                                       \
    {                                                                                              \
        static void (*host)(void *);                                                               \
        if (!host)                                                                                 \
            host = (void (*)(void *))library(#name, (void *)free);                                 \
        heap_free(p, RETURN_PC, host);                                                             \
    }
NEW(_Znwm)
NEW(_Znam)
DELETE(_ZdlPv)
DELETE(_ZdaPv)
// With a size, which nobody needs.
DELETE(_ZdlPvm)
DELETE(_ZdaPvm)
