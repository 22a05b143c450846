// SPDX-License-Identifier: MIT
// What orders two accesses.
//
// One counter, the tick, advances at each synchronisation. The record of an access keeps the tick at
// which it happened. A barrier at tick s orders what its threads did before s with all that they do
// after. Between blocks, or threads that met at no barrier, order comes from a fence followed by an
// atomic or volatile write, read by an atomic or volatile read. The write leaves a `release` at the
// address. The read makes the block acquire it, and also all that the writer's block had acquired
// before. The threads of a block share the set of what they acquired. So a rare race is missed, but
// none is invented.

typedef struct release {
    uint32_t block;
    unsigned thread, warp;
    int device_wide;
    fenced near, far; // to its own block; to others
    struct acquired *acquired;
    tick_t at;
} release;

// A list that only grows at its head, so a release can keep the list as it was at that time.
typedef struct acquired {
    release *from;
    struct acquired *next;
} acquired;

// What a block's acquired releases cover, computed as far as it was needed.
typedef struct {
    uint32_t block;
    unsigned thread; // or ALL: the newest of the block's releases
    fenced by;
    tick_t at;
} covered;

enum { ALL = 0xffff };

typedef struct clock {
    covered *hash;
    unsigned size, used;
    acquired **queue; // lists not yet looked at
    unsigned head, tail, capacity;
} clock_set;

// ---- storage that exists as long as a launch -----------------------------------------------------

static struct {
    char **chunk;
    unsigned count, current;
    size_t used;
} launch_store;

static void *store(size_t bytes)
{
    enum { CHUNK = 1 << 20 };
    if (!launch_store.count || launch_store.used + bytes > CHUNK) {
        if (launch_store.count)
            ++launch_store.current;
        if (launch_store.current == launch_store.count) {
            launch_store.chunk =
                must(realloc(launch_store.chunk, (launch_store.count + 1) * sizeof(char *)));
            launch_store.chunk[launch_store.count++] = must(malloc(CHUNK));
        }
        launch_store.used = 0;
    }
    void *p = launch_store.chunk[launch_store.current] + launch_store.used;
    launch_store.used += (bytes + 15) / 16 * 16;
    return p;
}

// ---- the last release at each address -----------------------------------------------------------

static struct {
    uintptr_t *address;
    release **last;
    size_t size, used;
} locations;

static size_t location_slot(uintptr_t a)
{
    size_t i = (size_t)(a * 0x9e3779b97f4a7c15u >> 20) & (locations.size - 1);
    while (locations.address[i] && locations.address[i] != a)
        i = (i + 1) & (locations.size - 1);
    return i;
}

static release *release_at(uintptr_t a)
{
    return locations.size ? locations.last[location_slot(a)] : NULL;
}

static void set_release(uintptr_t a, release *r)
{
    if (!r && !locations.size)
        return;
    if (2 * (locations.used + 1) > locations.size) {
        size_t size = locations.size, old = size;
        uintptr_t *address = locations.address;
        release **last = locations.last;
        locations.size = size = size ? 2 * size : 256;
        locations.address = must(calloc(size, sizeof *address));
        locations.last = must(calloc(size, sizeof *last));
        for (size_t i = 0; i < old; ++i)
            if (address[i]) {
                size_t k = location_slot(address[i]);
                locations.address[k] = address[i];
                locations.last[k] = last[i];
            }
        free(address);
        free(last);
    }
    size_t i = location_slot(a);
    if (!locations.address[i]) {
        if (!r)
            return;
        locations.address[i] = a;
        ++locations.used;
    }
    locations.last[i] = r;
}

static void order_begin(void)
{
    launch_store.current = 0, launch_store.used = 0;
    if (locations.used)
        memset(locations.address, 0, locations.size * sizeof *locations.address);
    if (locations.used)
        memset(locations.last, 0, locations.size * sizeof *locations.last);
    locations.used = 0;
}

// ---- acquiring ----------------------------------------------------------------------------------

static void clock_push(clock_set *c, acquired *a)
{
    if (c->tail == c->capacity) {
        c->capacity = c->capacity ? 2 * c->capacity : 64;
        c->queue = must(realloc(c->queue, c->capacity * sizeof *c->queue));
    }
    c->queue[c->tail++] = a;
}

static covered *clock_slot(clock_set *c, uint32_t block, unsigned thread)
{
    uint64_t h = ((uint64_t)block << 16 | thread) * 0x9e3779b97f4a7c15u;
    unsigned i = (unsigned)(h >> 40) & (c->size - 1);
    while (c->hash[i].at && (c->hash[i].block != block || c->hash[i].thread != thread))
        i = (i + 1) & (c->size - 1);
    return &c->hash[i];
}

static covered *clock_at(clock_set *c, uint32_t block, unsigned thread)
{
    if (2 * (c->used + 1) > c->size) {
        covered *old = c->hash;
        unsigned size = c->size;
        c->size = size ? 2 * size : 64;
        c->hash = must(calloc(c->size, sizeof *c->hash));
        for (unsigned i = 0; i < size; ++i)
            if (old[i].at)
                *clock_slot(c, old[i].block, old[i].thread) = old[i];
        free(old);
    }
    return clock_slot(c, block, thread);
}

static void clock_clear(clock_set *c)
{
    if (c->used)
        memset(c->hash, 0, c->size * sizeof *c->hash);
    c->used = c->head = c->tail = 0;
}

static int among(const acquired *list, const release *r)
{
    for (int looked = 0; list && looked < 64; ++looked, list = list->next)
        if (list->from == r)
            return 1;
    return 0;
}

static void acquire(block *b, release *r)
{
    if (among(b->acquired, r))
        return;
    acquired *a = store(sizeof *a);
    *a = (acquired){r, b->acquired};
    b->acquired = a;
    acquired *single = store(sizeof *single); // the block's own queue needs only this one
    *single = (acquired){r, NULL};
    clock_push(b->clock, single);
}

static void cover(clock_set *c, uint32_t block, unsigned thread, const fenced *by, tick_t at)
{
    covered *e = clock_at(c, block, thread);
    if (!e->at) {
        ++c->used;
        *e = (covered){block, thread, {0, 0, 0}, at};
    }
    if (by->own > e->by.own)
        e->by.own = by->own;
    if (by->since > e->by.since)
        e->by.since = by->since;
    if (by->warp > e->by.warp)
        e->by.warp = by->warp;
    if (at > e->at)
        e->at = at;
}

static int clock_covers(clock_set *c, const record *x)
{
    if (!c->size)
        return 0;
    const covered *all = clock_slot(c, x->block, ALL);
    if (!all->at)
        return 0;
    if (x->tick < all->by.since)
        return 1;
    const covered *own = clock_slot(c, x->block, x->thread);
    if (own->at && x->tick <= own->by.own)
        return 1;
    const covered *warp = clock_slot(c, x->block, ALL - 1 - x->thread / LANES);
    return warp->at && x->tick < warp->by.warp;
}

// Whether the block has acquired an access of another block, or of another of its own threads.
static int acquired_access(block *b, const record *x)
{
    clock_set *c = b->clock;
    if (clock_covers(c, x))
        return 1;
    while (c->head < c->tail) {
        acquired *a = c->queue[c->head++];
        if (c->head == c->tail)
            c->head = c->tail = 0;
        if (a->next)
            clock_push(c, a->next);
        const release *r = a->from;
        if (!r->device_wide && r->block != (uint32_t)b->serial)
            continue;
        if (c->size) {
            // A thread's later release covers all that an earlier one covers.
            const covered *seen = clock_slot(c, r->block, r->thread);
            if (seen->at >= r->at)
                continue;
        }
        const fenced *by = r->block == (uint32_t)b->serial ? &r->near : &r->far;
        cover(c, r->block, r->thread, by, r->at);
        cover(c, r->block, ALL - 1 - r->warp, by, r->at);
        cover(c, r->block, ALL, by, r->at);
        if (r->acquired)
            clock_push(c, r->acquired);
        if (clock_covers(c, x))
            return 1;
    }
    return 0;
}

static int ordered(thread *t, const record *x, int shared)
{
    block *b = t->block;
    if (!x->used || x->tick < device.start)
        return 1;
    if (shared && x->tick < b->start)
        return 1; // a block that was here before
    if (x->block == (uint32_t)b->serial) {
        if (x->thread == t->id || x->tick < b->since)
            return 1;
        if (x->thread / LANES == t->warp && x->tick < t->seen[x->thread % LANES])
            return 1;
    }
    return acquired_access(b, x);
}

// ---- synchronising ------------------------------------------------------------------------------

static void acquire_pending(thread *t)
{
    for (acquired *a = t->pending; a; a = a->next)
        acquire(t->block, a->from);
    t->pending = NULL;
}

static tick_t warp_since(const thread *t)
{
    tick_t least = UINT64_MAX;
    uint32_t others = t->block->lanes[t->warp] & ~(1u << t->lane);
    for (uint32_t m = others; m; m &= m - 1) {
        tick_t seen = t->seen[__builtin_ctz(m)];
        if (seen < least)
            least = seen;
    }
    return others ? least : 0;
}

static void order_fence(thread *t, int device_wide)
{
    acquire_pending(t);
    t->near = (fenced){device.tick++, t->block->since, warp_since(t)};
    if (!device_wide)
        return;
    t->far = t->near;
    t->block->fenced = 1;
}

static void order_barrier(block *b)
{
    b->since = ++device.tick;
    if (b->fenced)
        b->fence_cover = b->since;
    b->fenced = 0;
    for (unsigned i = 0; i < b->threads; ++i)
        if (b->thread[i].pending)
            acquire_pending(&b->thread[i]);
}

static void order_warp(block *b, unsigned warp, uint32_t mask)
{
    thread *lane = &b->thread[warp * LANES];
    tick_t now = ++device.tick, seen[LANES] = {0};
    uint32_t all = b->lanes[warp];
    if (mask != all) // what one of them had seen of other lanes, all have seen now
        for (uint32_t m = mask; m; m &= m - 1)
            for (int i = 0, k = __builtin_ctz(m); i < LANES; ++i)
                if (lane[k].seen[i] > seen[i])
                    seen[i] = lane[k].seen[i];
    for (int i = 0; i < LANES; ++i)
        if (mask >> i & 1)
            seen[i] = now;
    for (uint32_t m = mask; m; m &= m - 1) {
        thread *t = &lane[__builtin_ctz(m)];
        memcpy(t->seen, seen, sizeof seen);
        if (t->pending)
            acquire_pending(t);
    }
}

// An atomic or volatile read, or the read half of an atomic update, which needs no fence after it.
static void order_read(thread *t, uintptr_t address, int update)
{
    release *r = release_at(address);
    if (!r)
        return;
    if (update) {
        acquire(t->block, r);
    } else if (!among(t->pending, r)) {
        acquired *a = store(sizeof *a);
        *a = (acquired){r, t->pending};
        t->pending = a;
    }
}

// An atomic or volatile write. Without a fence before it, it releases nothing, and an update keeps the
// release that it found.
static void order_write(thread *t, uintptr_t address, int update)
{
    block *b = t->block;
    int device_wide = t->far.own || b->fence_cover;
    if (!device_wide && !t->near.own) {
        if (!update)
            set_release(address, NULL);
        return;
    }
    release *r = store(sizeof *r);
    *r = (release){(uint32_t)b->serial, t->id,        t->warp, device_wide, t->near, t->far,
                   b->acquired,         ++device.tick};
    if (b->fence_cover > r->far.since)
        r->far.since = b->fence_cover;
    if (b->fence_cover > r->near.since)
        r->near.since = b->fence_cover;
    set_release(address, r);
}
