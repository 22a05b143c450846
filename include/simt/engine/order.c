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
    struct release *made_of; // of an update: the one that it found, of another thread
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

// ---- the last release at each address, and the last write -------------------------------------------

typedef struct {
    uintptr_t address;
    release *last;
    // The last volatile or atomic write, also without a fence
    uint64_t turn;                // counts such writes
    uint64_t old;                 // what was there before
    tick_t at, since, warp_since; // of the writer: now, its last barrier, and __syncwarp
    uint32_t block;
    uint16_t thread, size; // 0: there is no old value, or somebody has read the new one
} location;

static struct {
    location *list;
    size_t size, used;
    uint64_t turn;
} locations;

static location *location_slot(uintptr_t a)
{
    size_t i = (size_t)(a * 0x9e3779b97f4a7c15u >> 20) & (locations.size - 1);
    while (locations.list[i].address && locations.list[i].address != a)
        i = (i + 1) & (locations.size - 1);
    return &locations.list[i];
}

// Null when there is none.
static location *location_at(uintptr_t a)
{
    location *l = locations.size ? location_slot(a) : NULL;
    return l && l->address ? l : NULL;
}

static location *make_location(uintptr_t a)
{
    if (2 * (locations.used + 1) > locations.size) {
        location *old = locations.list;
        size_t size = locations.size;
        locations.size = size ? 2 * size : 256;
        locations.list = must(calloc(locations.size, sizeof *old));
        for (size_t i = 0; i < size; ++i)
            if (old[i].address)
                *location_slot(old[i].address) = old[i];
        free(old);
    }
    location *l = location_slot(a);
    if (!l->address) {
        l->address = a;
        ++locations.used;
    }
    return l;
}

static void order_begin(void)
{
    launch_store.current = 0, launch_store.used = 0;
    if (locations.used)
        memset(locations.list, 0, locations.size * sizeof *locations.list);
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
    t->fenced |= 1 + device_wide;
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
    int fence = 0; // of any of them: then what they all did before is covered, as by a barrier
    for (uint32_t m = mask; m; m &= m - 1) {
        fence |= lane[__builtin_ctz(m)].fenced;
        lane[__builtin_ctz(m)].fenced = 0;
    }
    for (uint32_t m = mask; m; m &= m - 1) {
        thread *t = &lane[__builtin_ctz(m)];
        memcpy(t->seen, seen, sizeof seen);
        if (fence)
            t->near = (fenced){now, b->since, mask == all ? now : warp_since(t)};
        if (fence & 2)
            t->far = t->near;
        if (t->pending)
            acquire_pending(t);
    }
}

// What it read was written by another thread.
static void note_sight(thread *t, const location *l)
{
    block *b = t->block;
    unsigned i = (l->block * 31u + l->thread) % SIGHTS;
    if (b->sights[i].block == l->block && b->sights[i].thread == l->thread &&
        b->sights[i].turn >= l->turn)
        return;
    int released = l->last && l->last->block == l->block && l->last->thread == l->thread;
    b->sights[i] = (struct sight){l->block,    l->thread, t->id,         l->turn,
                                  device.tick, l->since,  l->warp_since, released};
}

// The sight of a flag that was written after l, by the same thread or behind a barrier.
static const struct sight *later_sight(const block *b, const location *l)
{
    for (const struct sight *s = b->sights; s < b->sights + SIGHTS; ++s)
        if (s->block == l->block && s->turn > l->turn &&
            (s->thread == l->thread || l->at < s->since ||
             (s->thread / LANES == l->thread / LANES && l->at < s->warp_since)))
            return s;
    return NULL;
}

// An atomic or volatile read, or the read half of an atomic update. It orders what follows the next
// fence or barrier.
static void order_read(thread *t, uintptr_t address)
{
    const location *l = location_at(address);
    if (!l)
        return;
    if (l->turn && (l->thread != t->id || l->block != (uint32_t)t->block->serial))
        note_sight(t, l);
    if (l->last && !among(t->pending, l->last)) {
        acquired *a = store(sizeof *a);
        *a = (acquired){l->last, t->pending};
        t->pending = a;
    }
}

// An atomic or volatile write. Without a fence before it, it releases nothing, and an update keeps the
// release that it found. If it is not an update, memory still has the old value.
static void order_write(thread *t, uintptr_t address, int update, size_t size)
{
    block *b = t->block;
    location *l = NULL;
    b->writes_volatile |= !update;
    if (b->writes_volatile) {
        l = make_location(address);
        l->turn = ++locations.turn;
        l->block = (uint32_t)b->serial, l->thread = (uint16_t)t->id;
        l->at = device.tick, l->since = b->since, l->warp_since = warp_since(t);
        l->size = 0;
        if (!update && size <= sizeof l->old)
            memcpy(&l->old, (const void *)address, l->size = (uint16_t)size);
    }
    int device_wide = t->far.own || b->fence_cover;
    if (!device_wide && !t->near.own) {
        if (!update)
            l->last = NULL;
        return;
    }
    if (!l)
        l = make_location(address);
    release *r = store(sizeof *r);
    *r = (release){(uint32_t)b->serial, t->id,         t->warp, device_wide, t->near, t->far,
                   b->acquired,         ++device.tick, NULL};
    if (update && l->last) { // who reads this has read what it was made of
        const int own = l->last->block == r->block && l->last->thread == r->thread;
        r->made_of =
            own ? l->last->made_of : l->last; // the thread's earlier one covers no more than that
    }
    if (r->made_of) {
        acquired *before = store(sizeof *before);
        *before = (acquired){r->made_of, b->acquired};
        r->acquired = before;
    }
    if (b->fence_cover > r->far.since)
        r->far.since = b->fence_cover;
    if (b->fence_cover > r->near.since)
        r->near.since = b->fence_cover;
    l->last = r;
}

// ---- old values -----------------------------------------------------------------------------------
//
// Memory here is always up to date. A GPU's is not: a thread that sees a flag may read an old value of
// what was written before it, unless both sides fence. So the first volatile read of such a value gets
// the old one. A thread that looks again, as one does that waits for the value itself, gets the new
// one. A thread that goes on with it is wrong.

// Puts the new value back, when the thread has read the old one.
static void restore(thread *t)
{
    if (!t->stale.to_restore)
        return;
    memcpy((void *)t->stale.address, &t->stale.value, t->stale.to_restore);
    t->stale.to_restore = 0;
}

// Before a volatile read: perhaps puts the old value where the thread will read.
static void mislead(thread *t, uintptr_t a, size_t size, mark writer, int shared, uintptr_t pc)
{
    block *b = t->block;
    if (t->stale.pc) { // one at a time
        if (t->stale.address == a)
            t->stale.pc = 0;
        return;
    }
    location *l = location_at(a);
    if (!l || l->size != size || (l->thread == t->id && l->block == (uint32_t)b->serial))
        return;
    l->size = 0;
    const struct sight *s = later_sight(b, l);
    if (!s || !memcmp(&l->old, (const void *)a, size))
        return;
    if (s->by != t->id && s->at >= b->since &&
        !(s->by / LANES == t->warp && s->at < t->seen[s->by % LANES]))
        return; // another thread saw it, and didn't say so
    record x = recorded(writer);
    if (ordered(t, &x, shared))
        return;
    t->stale.pc = pc, t->stale.address = a, t->stale.size = (unsigned)size;
    t->stale.writes = 0;
    t->stale.block = x.block, t->stale.other = x.thread;
    t->stale.other_pc = places.list[x.place].pc;
    t->stale.reader_lacks = s->released;
    memcpy(&t->stale.value, (const void *)a, size);
    t->stale.to_restore = (unsigned)size;
    memcpy((void *)a, &l->old, size);
}

static void settle_stale(thread *t)
{
    party other = {1, t->stale.block, t->stale.other, t->stale.other_pc, "wrote it (volatile)"};
    uintptr_t pc = t->stale.pc;
    t->stale.pc = 0;
    flaw(t, SIMT_RACE, pc, t->stale.address, t->stale.size, &other,
         t->stale.reader_lacks
             ? "put __threadfence() between the read of the flag and this one"
             : "put __threadfence() between the write of the value and the write of the flag",
         "read of %u byte%s whose flag was seen: without a fence %s, it may still be the old value",
         t->stale.size, t->stale.size == 1 ? "" : "s",
         t->stale.reader_lacks ? "of the reader" : "of the writer");
}
