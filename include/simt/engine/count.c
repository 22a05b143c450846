// SPDX-License-Identifier: MIT
// Lanes grouped into warp instructions.
//
// Lanes run one after the other, so an instruction of the warp is put together again from the
// accesses of its lanes. The n-th access of each lane at one place in the code belongs to one
// instruction; n counts since the whole warp was last together (at a barrier, a full __syncwarp or
// shuffle).

typedef struct {
    uint32_t mask,
        shared; // lanes that made it; and those of them whose access was in shared memory
    uint8_t size, write, atomic;
    uintptr_t address[LANES];
} group;

// The instructions of one place that some lanes have made and others may still make.
typedef struct {
    unsigned place;
    uint32_t first, count; // occurrence of the oldest group; number of groups
    uint32_t capacity;     // a power of 2
    group *ring;
    uint32_t next[LANES]; // each lane's next occurrence
} series;

struct series_table {
    series *list;
    unsigned count, capacity;
    unsigned *hash; // index + 1
    unsigned hash_size;
    unsigned recent;
};

enum { QUANTUM = 512 }; // after so many accesses a lane lets the others catch up

static void count_global(const group *g, uint32_t lanes, simt_line *line)
{
    simt_counts *c = &device.counts;
    uintptr_t lines[2 * LANES], sectors[2 * LANES];
    unsigned n = 0, s = 0, active = (unsigned)__builtin_popcount(lanes);
    for (uint32_t m = lanes; m; m &= m - 1) {
        uintptr_t a = g->address[__builtin_ctz(m)], last = a + g->size - 1;
        for (uintptr_t sector = a / 32; sector <= last / 32; ++sector) {
            unsigned i;
            for (i = s; i && sectors[i - 1] != sector; --i) {
            }
            if (i)
                continue;
            sectors[s++] = sector;
            for (i = n; i && lines[i - 1] != sector / 4; --i) {
            }
            if (!i)
                lines[n++] = sector / 4;
        }
    }
    c->global_accesses += active;
    c->global_requests += n;
    c->global_sectors += s;
    c->global_bytes += (uint64_t)active * g->size;
    if (g->write) {
        ++c->global_stores;
    } else {
        ++c->global_loads;
        c->global_load_requests += n;
        c->global_load_sectors += s;
        c->global_load_bytes += (uint64_t)active * g->size;
    }
    line->requests += n;
    line->sectors += s;
}

// 32 banks of 4 bytes. Accesses of 8 bytes take half a warp at a time, those of 16 a quarter.
static void count_shared(const group *g, uint32_t lanes, simt_line *line)
{
    simt_counts *c = &device.counts;
    unsigned parts = g->size > 8 ? 4 : g->size > 4 ? 2 : 1, passes = 0, fewest = 0;
    for (unsigned part = 0; part < parts; ++part) {
        uint32_t m = parts == 1 ? lanes : lanes & (((1u << 32 / parts) - 1) << 32 / parts * part);
        if (!m)
            continue;
        uintptr_t words[5 * LANES];
        unsigned bank[LANES] = {0}, n = 0, most = 0;
        for (; m; m &= m - 1) {
            uintptr_t a = g->address[__builtin_ctz(m)];
            for (uintptr_t w = a / 4; w <= (a + g->size - 1) / 4; ++w) {
                unsigned i;
                for (i = n; i && words[i - 1] != w; --i) {
                }
                if (i)
                    continue;
                words[n++] = w;
                if (++bank[w % LANES] > most)
                    most = bank[w % LANES];
            }
        }
        passes += most;
        fewest += (n + LANES - 1) / LANES;
    }
    c->shared_accesses += (unsigned)__builtin_popcount(lanes);
    c->shared_wavefronts += passes;
    c->shared_conflicts += passes - fewest;
    if (g->write)
        ++c->shared_stores;
    else
        ++c->shared_loads;
    line->wavefronts += passes;
    line->conflicts += passes - fewest;
}

// Lanes that share an address collide. Shared memory makes one pass over its banks per address of the
// busiest bank, as for any other access.
static void count_atomic(const group *g, simt_line *line)
{
    simt_counts *c = &device.counts;
    c->atomics_shared += (unsigned)__builtin_popcount(g->mask & g->shared);
    c->atomics_global += (unsigned)__builtin_popcount(g->mask & ~g->shared);
    uintptr_t seen[LANES], sectors[LANES];
    unsigned bank[LANES] = {0}, n = 0, s = 0, passes = 0;
    for (uint32_t m = g->mask; m; m &= m - 1) {
        uintptr_t a = g->address[__builtin_ctz(m)];
        unsigned i;
        if (!(g->shared & m & -m)) {
            for (i = s; i && sectors[i - 1] != a / 32; --i) {
            }
            if (!i)
                sectors[s++] = a / 32;
        }
        for (i = n; i && seen[i - 1] != a; --i) {
        }
        if (i) {
            ++c->atomic_collisions;
            c->atomic_collisions_global += !(g->shared & m & -m);
            continue;
        }
        seen[n++] = a;
        if (g->shared & m & -m && ++bank[a / 4 % LANES] > passes)
            passes = bank[a / 4 % LANES];
    }
    c->atomic_sectors += s;
    if (passes) {
        c->shared_wavefronts += passes, c->shared_conflicts += passes - 1;
        line->wavefronts += passes, line->conflicts += passes - 1;
    }
}

static void count_group(const group *g, unsigned place)
{
    simt_line *line = &places.list[place].counts;
    unsigned active = (unsigned)__builtin_popcount(g->mask);
    device.counts.active_lanes += active;
    device.counts.lane_slots += LANES;
    line->lanes += active;
    line->slots += LANES;
    if (g->atomic) {
        ++line->atomics;
        count_atomic(g, line);
        return;
    }
    if (g->write)
        ++line->stores;
    else
        ++line->loads;
    if (g->mask & ~g->shared)
        count_global(g, g->mask & ~g->shared, line);
    if (g->mask & g->shared)
        count_shared(g, g->mask & g->shared, line);
}

static series *series_of(struct series_table *t, unsigned place)
{
    if (t->recent < t->count && t->list[t->recent].place == place)
        return &t->list[t->recent];
    if (2 * t->count >= t->hash_size) {
        free(t->hash);
        t->hash_size = t->hash_size ? 2 * t->hash_size : 64;
        t->hash = must(calloc(t->hash_size, sizeof *t->hash));
        for (unsigned i = 0; i < t->count; ++i) {
            unsigned h = t->list[i].place * 2654435761u & (t->hash_size - 1);
            while (t->hash[h])
                h = (h + 1) & (t->hash_size - 1);
            t->hash[h] = i + 1;
        }
    }
    unsigned h = place * 2654435761u & (t->hash_size - 1);
    while (t->hash[h] && t->list[t->hash[h] - 1].place != place)
        h = (h + 1) & (t->hash_size - 1);
    if (!t->hash[h]) {
        if (t->count == t->capacity) {
            t->capacity = t->capacity ? 2 * t->capacity : 32;
            t->list = must(realloc(t->list, t->capacity * sizeof *t->list));
        }
        memset(&t->list[t->count], 0, sizeof *t->list);
        t->list[t->count].place = place;
        t->hash[h] = ++t->count;
    }
    t->recent = t->hash[h] - 1;
    return &t->list[t->recent];
}

static void drop_oldest(series *s)
{
    group *g = &s->ring[s->first & (s->capacity - 1)];
    if (g->mask)
        count_group(g, s->place);
    g->mask = 0;
    ++s->first;
    --s->count;
}

static void count_access(thread *t, uintptr_t address, size_t size, int write, int atomic,
                         int shared, unsigned place)
{
    block *b = t->block;
    if (!shared && ++t->global > device.counts.longest_thread)
        device.counts.longest_thread = t->global;
    series *s = series_of(&b->slot->series[t->warp], place);
    uint32_t n = s->next[t->lane]++;
    if (n < s->first)
        n = s->first; // its group was dropped: join the oldest that is left
    while (n - s->first >= s->count) {
        if (s->count == s->capacity) {
            if (s->count >= 4 * QUANTUM) {
                drop_oldest(s);
                continue;
            }
            uint32_t capacity = s->capacity ? 2 * s->capacity : 4;
            group *ring = must(calloc(capacity, sizeof *ring));
            for (uint32_t i = 0; i < s->count; ++i)
                ring[(s->first + i) & (capacity - 1)] = s->ring[(s->first + i) & (s->capacity - 1)];
            free(s->ring);
            s->ring = ring;
            s->capacity = capacity;
        }
        s->ring[(s->first + s->count) & (s->capacity - 1)].mask = 0;
        ++s->count;
    }
    group *g = &s->ring[n & (s->capacity - 1)];
    uint32_t bit = 1u << t->lane;
    if (!g->mask)
        g->shared = 0, g->size = (uint8_t)size, g->write = (uint8_t)write,
        g->atomic = (uint8_t)atomic;
    g->mask |= bit;
    if (shared)
        g->shared |= bit;
    g->address[t->lane] = address;
    uint32_t here = b->lanes[t->warp] & ~b->gone[t->warp];
    while (s->count && (s->ring[s->first & (s->capacity - 1)].mask & here) == here)
        drop_oldest(s);
}

// The lanes of a warp are together, so their instructions up to here are complete.
static void count_together(block *b, unsigned warp)
{
    if (!device.traced)
        return;
    struct series_table *t = &b->slot->series[warp];
    for (unsigned i = 0; i < t->count; ++i) {
        series *s = &t->list[i];
        while (s->count)
            drop_oldest(s);
        s->first = 0;
        memset(s->next, 0, sizeof s->next);
    }
}

static void count_begin(slot *s)
{
    for (unsigned w = 0; w < MAX_WARPS; ++w) {
        struct series_table *t = &s->series[w];
        for (unsigned i = 0; i < t->count; ++i)
            free(t->list[i].ring);
        t->count = 0;
        if (t->hash_size)
            memset(t->hash, 0, t->hash_size * sizeof *t->hash);
    }
}
