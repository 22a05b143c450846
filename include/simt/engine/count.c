// SPDX-License-Identifier: MIT
// What the lanes of a warp do together.
//
// Lanes run one after the other, and each notes its steps: the blocks of code that it enters
// (-fsanitize-coverage=trace-pc puts a call into each), and its accesses. Once all lanes of the warp
// wait, their steps are taken again as a warp takes them: after a branch one group of lanes after the
// other, until the branches join.
//
// Where they join follows from the graph of the steps, as far as any lane ever went. Its nodes are in
// an order in which each step comes before those that follow it, and the steps of a loop are
// contiguous, its header first. Of several groups of lanes, that which is first in this order goes.
// Only a lane that is back at a loop's header waits for those that are still in the loop. So lanes
// are in the same iteration of each loop, and leave it together. Lanes in a function go before those
// that wait for its end.

// ---- the graph of the steps ---------------------------------------------------------------------

typedef struct {
    uint32_t order, end; // its turn; the last turn in the loop of which it is the header
    uint32_t from, edge; // where a lane last came from; the first of its edges
    // while the graph is arranged
    uint32_t set, found, low;
    uint8_t open, listed;
} node;

typedef struct {
    uint32_t to, next;
} edge;

enum { NONE = UINT32_MAX };

static struct {
    node *node; // of each place
    unsigned nodes, nodes_room;
    uint32_t *list; // those that a lane ever came to, as they were found: a function's start first
    unsigned listed;
    edge *edge;
    unsigned edges, edges_room;
    uint32_t sets;
    int arranged;
} graph;

static void add_node(uint32_t place)
{
    if (graph.nodes_room < places.count) {
        graph.nodes_room = 2 * places.count;
        graph.node = must(realloc(graph.node, graph.nodes_room * sizeof *graph.node));
        graph.list = must(realloc(graph.list, graph.nodes_room * sizeof *graph.list));
    }
    while (graph.nodes < places.count)
        graph.node[graph.nodes++] = (node){.from = NONE, .edge = NONE};
    graph.node[place].listed = 1;
    graph.list[graph.listed++] = place;
    graph.arranged = 0;
}

static void add_edge(uint32_t from, uint32_t to)
{
    graph.node[to].from = from;
    for (uint32_t e = graph.node[from].edge; e != NONE; e = graph.edge[e].next)
        if (graph.edge[e].to == to)
            return;
    if (graph.edges == graph.edges_room) {
        graph.edges_room = graph.edges_room ? 2 * graph.edges_room : 256;
        graph.edge = must(realloc(graph.edge, graph.edges_room * sizeof *graph.edge));
    }
    graph.edge[graph.edges] = (edge){to, graph.node[from].edge};
    graph.node[from].edge = graph.edges++;
    graph.arranged = 0;
}

// Gives the nodes of a list their turns, from `first` on. Tarjan's algorithm finds the strongly
// connected parts, the last one first. A part of several nodes is a loop. The search entered it by its
// header; without that, what is left of it is arranged in the same way.
static void arrange(uint32_t *list, unsigned n, uint32_t first)
{
    struct {
        uint32_t node, edge;
    } *way = must(malloc((n + 1) * sizeof *way));
    uint32_t *stack = must(malloc(2 * (n + 1) * sizeof *stack)), *sorted = stack + n + 1;
    const uint32_t set = ++graph.sets;
    unsigned depth = 0, height = 0, left = n;
    uint32_t found = 0;
    for (unsigned i = 0; i < n; ++i)
        graph.node[list[i]].set = set, graph.node[list[i]].found = 0;
    for (unsigned i = 0; i < n; ++i) {
        if (!graph.node[list[i]].found)
            way[depth].node = list[i], way[depth++].edge = NONE;
        while (depth) {
            const uint32_t v = way[depth - 1].node;
            node *at = &graph.node[v];
            if (!at->found) {
                at->found = at->low = ++found;
                at->open = 1;
                stack[height++] = v;
                way[depth - 1].edge = at->edge;
            }
            const uint32_t e = way[depth - 1].edge;
            if (e != NONE) {
                const uint32_t to = graph.edge[e].to;
                node *next = &graph.node[to];
                way[depth - 1].edge = graph.edge[e].next;
                if (next->set == set && !next->found)
                    way[depth++].node = to;
                else if (next->set == set && next->open && next->found < at->low)
                    at->low = next->found;
                continue;
            }
            if (--depth && at->low < graph.node[way[depth - 1].node].low)
                graph.node[way[depth - 1].node].low = at->low;
            if (at->low != at->found)
                continue;
            unsigned bottom = height;
            do
                graph.node[stack[--bottom]].open = 0;
            while (stack[bottom] != v);
            left -= height - bottom;
            memcpy(&sorted[left], &stack[bottom], (height - bottom) * sizeof *sorted);
            at->order = first + left;
            at->end = at->order + (height - bottom) - 1;
            height = bottom;
        }
    }
    for (unsigned i = 0; i < n;) {
        const unsigned size = graph.node[sorted[i]].end - graph.node[sorted[i]].order + 1;
        if (size > 1)
            arrange(&sorted[i + 1], size - 1, first + i + 1);
        i += size;
    }
    free(way);
    free(stack);
}

static void arrange_all(void)
{
    graph.sets = 0;
    arrange(graph.list, graph.listed, 0);
    graph.arranged = 1;
}

// ---- steps --------------------------------------------------------------------------------------

enum {
    QUANTUM = 512, // after so many steps a lane lets the others catch up
    MARGIN = 64,   // more, that may be made before it does
    STEPS =
        2 * (QUANTUM + MARGIN) + 3 // so that the lanes' first steps don't share a few cache sets
};

typedef struct step {
    uint32_t place; // noted as the lower half of a block's address; follow() makes it the place
    uint32_t from;  // noted as the depth of the stack; then the last place in the function, or NONE
    uint64_t address;                    // of a block, its own
    uint8_t size, write, atomic, shared; // size 0: a block
    uint8_t is_volatile, level;          // level: of calls
} step;

// The functions that a lane is in: for each, the depth of the stack, and its last step there.
typedef struct nesting {
    unsigned level;
    struct {
        uint32_t depth, place;
    } in[CALLS];
} nesting;

// The steps of a warp's lanes.
typedef struct path {
    struct path *next;     // that is free
    unsigned at[LANES];    // how many of them the warp has taken
    unsigned count[LANES]; // of all; see count_steps()
    int apart;             // the lanes have gone different ways, so each has its own:
    nesting calls[LANES];  // (the first is all lanes' until then)
    unsigned seen[LANES];  // how many of its steps follow() has seen
    step steps[LANES][STEPS];
} path;

static __attribute__((noinline, cold)) void give_path(thread *t)
{
    block *b = t->block;
    slot *s = b->slot;
    path *p = s->free_paths;
    if (p)
        s->free_paths = p->next;
    else
        p = must(malloc(sizeof *p));
    memset(p->at, 0, sizeof p->at);
    p->apart = 0;
    p->calls[0] = s->calls[t->warp];
    for (uint32_t m = b->lanes[t->warp]; m; m &= m - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(m);
        b->thread[t->warp * LANES + lane].path = p;
        b->thread[t->warp * LANES + lane].next_step = p->steps[lane];
    }
}

// Depths are counted from the thread's first frame: stacks don't begin at the same offset.
static inline __attribute__((always_inline)) void note_step(thread *t, step s)
{
    if (!t->next_step)
        give_path(t);
    if (!t->first_frame)
        t->first_frame = t->frame;
    s.from = (uint32_t)(t->first_frame - t->frame);
    *t->next_step++ = s;
}

// Finds a step's place, the calls that led to it, and the edge that the lane took.
static void follow(nesting *c, step *s)
{
    const uint32_t depth = s->from;
    if (!s->size)
        s->place = place_of(s->address, 0);
    if (s->place >= graph.nodes || !graph.node[s->place].listed)
        add_node(s->place);
    // Code whose blocks make no calls stays at level 0.
    while (c->level && (int32_t)(c->in[c->level].depth - depth) > 0)
        --c->level;
    if (c->in[c->level].depth != depth && (!s->size || c->level) && c->level < CALLS - 1)
        c->in[++c->level].place = NONE;
    s->level = (uint8_t)c->level;
    s->from = c->in[c->level].place;
    c->in[c->level].depth = depth;
    c->in[c->level].place = s->place;
    if (s->from != NONE && graph.node[s->place].from != s->from)
        add_edge(s->from, s->place);
}

// ---- warp instructions --------------------------------------------------------------------------

typedef struct {
    uint32_t mask,
        shared; // lanes that made it; and those of them whose access was in shared memory
    uint8_t size, write, atomic, is_volatile;
    uintptr_t address[LANES];
} group;

// Sectors that a block has loaded, in sets by their addresses: with each, how many its warp had loaded by then. Warps
// run one after the other here, and side by side on a device: this tells how far apart two loads would be there.
enum { SETS = 1 << 13, WAYS = 4 };
typedef struct loaded {
    uint32_t block; // numbered as they come to the slot
    uint32_t count[MAX_WARPS];
    struct {
        uintptr_t sector;
        uint32_t block, at;
    } set[SETS][WAYS];
} loaded;

static struct {
    loaded *by;
    unsigned warp;
} counting; // the block and warp whose steps are taken

static void count_again(uintptr_t sector)
{
    loaded *l = counting.by;
    const uint32_t now = l->count[counting.warp]++;
    const size_t set = (size_t)(sector * 0x9e3779b97f4a7c15u >> 51);
    unsigned oldest = 0;
    for (unsigned w = 0; w < WAYS; ++w) {
        const uint32_t at = l->set[set][w].at;
        if (l->set[set][w].block == l->block && l->set[set][w].sector == sector) {
            uint32_t apart = (at < now ? now - at : at - now) / 8;
            unsigned k = 0;
            for (; apart; apart /= 2)
                ++k;
            if (k < SIMT_AGAIN)
                ++device.counts.global_again[k];
            l->set[set][w].at = now;
            return;
        }
        if (l->set[set][oldest].block == l->block &&
            (l->set[set][w].block != l->block || at < l->set[set][oldest].at))
            oldest = w;
    }
    l->set[set][oldest].sector = sector;
    l->set[set][oldest].block = l->block;
    l->set[set][oldest].at = now;
}

static void count_global(const group *g, uint32_t lanes, simt_line *line)
{
    simt_counts *c = &device.counts;
    uintptr_t lines[2 * LANES], sectors[2 * LANES], last_line = 0, last_sector = 0;
    unsigned n = 0, s = 0, active = (unsigned)__builtin_popcount(lanes);
    for (uint32_t m = lanes; m; m &= m - 1) {
        uintptr_t a = g->address[__builtin_ctz(m)], last = a + g->size - 1;
        for (uintptr_t sector = a / 32; sector <= last / 32; ++sector) {
            // Beyond all that were before, it is new.
            unsigned i;
            for (i = sector > last_sector ? 0 : s; i && sectors[i - 1] != sector; --i) {
            }
            if (i)
                continue;
            if (sector > last_sector)
                last_sector = sector;
            sectors[s++] = sector;
            const uintptr_t l = sector / 4;
            for (i = l > last_line ? 0 : n; i && lines[i - 1] != l; --i) {
            }
            if (i)
                continue;
            if (l > last_line)
                last_line = l;
            lines[n++] = l;
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
        for (unsigned i = 0; i < s && !g->is_volatile; ++i)
            count_again(sectors[i]);
        c->global_load_bytes += (uint64_t)active * g->size;
    }
    line->requests += n;
    line->sectors += s;
}

// Whether each lane has the address of the lane whose number differs in this bit, if that is active.
static int in_pairs(const group *g, uint32_t lanes, unsigned bit)
{
    for (uint32_t m = lanes; m; m &= m - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(m);
        if (lanes >> (lane ^ bit) & 1 && g->address[lane] != g->address[lane ^ bit])
            return 0;
    }
    return 1;
}

// 32 banks of 4 bytes. Accesses of 8 bytes take half a warp at a time, those of 16 a quarter, and twice
// as much if neighbours have the same address, or next neighbours have. (So it was measured: see
// docs/counts.md.)
static void count_shared(const group *g, uint32_t lanes, simt_line *line)
{
    simt_counts *c = &device.counts;
    unsigned parts = g->size > 8 ? 4 : g->size > 4 ? 2 : 1, passes = 0, fewest = 0;
    if (parts > 1 && (in_pairs(g, lanes, 1) || in_pairs(g, lanes, 2)))
        parts /= 2;
    for (unsigned part = 0; part < parts; ++part) {
        uint32_t m = parts == 1 ? lanes : lanes & (((1u << 32 / parts) - 1) << 32 / parts * part);
        if (!m)
            continue;
        uintptr_t words[LANES][LANES]; // the different ones of each bank
        unsigned bank[LANES] = {0}, n = 0, most = 0;
        for (; m; m &= m - 1) {
            uintptr_t a = g->address[__builtin_ctz(m)];
            for (uintptr_t w = a / 4; w <= (a + g->size - 1) / 4; ++w) {
                unsigned i, *known = &bank[w % LANES];
                for (i = *known; i && words[w % LANES][i - 1] != w; --i) {
                }
                if (i)
                    continue;
                words[w % LANES][(*known)++] = w;
                ++n;
                if (*known > most)
                    most = *known;
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

// ---- the warp takes the steps -------------------------------------------------------------------

// The lanes take their next step, of which s is one.
static void count_step(path *p, uint32_t lanes, const step *s)
{
    if (!s->size) {
        simt_line *line = &places.list[s->place].counts;
        ++line->executions;
        line->threads += (unsigned)__builtin_popcount(lanes);
        for (uint32_t m = lanes; m; m &= m - 1)
            ++p->at[__builtin_ctz(m)];
        return;
    }
    group g = {.mask = lanes,
               .size = s->size,
               .write = s->write,
               .atomic = s->atomic,
               .is_volatile = s->is_volatile};
    for (uint32_t m = lanes; m; m &= m - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(m);
        const step *mine = &p->steps[lane][p->at[lane]++];
        g.address[lane] = mine->address;
        if (mine->shared)
            g.shared |= m & -m;
    }
    count_group(&g, s->place);
}

static const step *next_step(const path *p, unsigned lane)
{
    return p->at[lane] < p->count[lane] ? &p->steps[lane][p->at[lane]] : NULL;
}

static uint32_t with_steps(const path *p, uint32_t lanes)
{
    uint32_t left = 0;
    for (uint32_t m = lanes; m; m &= m - 1)
        if (next_step(p, (unsigned)__builtin_ctz(m)))
            left |= m & -m;
    return left;
}

static int same_step(const step *a, const step *b)
{
    return a && b && a->place == b->place && a->level == b->level;
}

static int all_same(const path *p, uint32_t lanes)
{
    const step *s = next_step(p, (unsigned)__builtin_ctz(lanes));
    for (uint32_t m = lanes & (lanes - 1); m; m &= m - 1)
        if (!same_step(s, next_step(p, (unsigned)__builtin_ctz(m))))
            return 0;
    return s != NULL;
}

// Takes the steps that all lanes have noted alike. Only one lane's are followed.
static void take_common_steps(path *p, uint32_t lanes)
{
    const unsigned first = (unsigned)__builtin_ctz(lanes);
    const step *s = &p->steps[first][p->at[first]];
    unsigned n = p->count[first] - p->at[first];
    for (uint32_t m = lanes & (lanes - 1); m; m &= m - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(m);
        const step *other = &p->steps[lane][p->at[lane]];
        unsigned i = 0, most = p->count[lane] - p->at[lane];
        if (most > n)
            most = n;
        while (i < most && s[i].place == other[i].place && s[i].from == other[i].from)
            ++i;
        n = i;
    }
    while (n--) {
        step leader = *s++;
        follow(&p->calls[0], &leader);
        count_step(p, lanes, &leader);
    }
}

// Follows each lane's own steps, from where they part.
static void follow_lanes(path *p, uint32_t lanes)
{
    for (unsigned lane = 0; lane < LANES && !p->apart; ++lane) {
        p->calls[lane] = p->calls[0];
        p->seen[lane] = p->at[lane];
    }
    p->apart = 1;
    for (uint32_t m = lanes; m; m &= m - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(m);
        while (p->seen[lane] < p->count[lane])
            follow(&p->calls[lane], &p->steps[lane][p->seen[lane]++]);
    }
}

static int goes_back(const step *s)
{
    return s->from != NONE && graph.node[s->place].order <= graph.node[s->from].order;
}

// Up to where a group goes before another's turn may come. The turn of a step is twice its order; that
// of lanes which wait for the end of a loop is between its last step's and what follows.
typedef struct {
    unsigned level;
    uint32_t turn;
} limit;

static int goes_on(const step *s, const limit *until)
{
    const node *to = &graph.node[s->place];
    return s->level > until->level ||
           (s->level == until->level &&
            (goes_back(s) ? 2 * to->end + 1 : 2 * to->order) < until->turn);
}

// The group of lanes whose turn it is. Lanes that run have no steps left, and may make more: they are
// where their last step was. 0: it is the turn of one of these.
static uint32_t next_group(const path *p, uint32_t left, uint32_t running, limit *until)
{
    unsigned deepest = 0, level[LANES];
    uint32_t place[LANES], turn[LANES], back = 0, inner = 0;
    if (!graph.arranged)
        arrange_all();
    for (uint32_t m = left | running; m; m &= m - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(m);
        const step *s = next_step(p, lane);
        const nesting *c = &p->calls[lane];
        level[lane] = s ? s->level : c->level;
        place[lane] = s ? s->place : c->in[c->level].place;
        if (place[lane] == NONE)
            return 0;
        turn[lane] = 2 * graph.node[place[lane]].order;
        if (s && goes_back(s))
            back |= m & -m;
        if (level[lane] > deepest || !inner)
            deepest = level[lane], inner = 0;
        if (level[lane] == deepest)
            inner |= m & -m;
    }
    // At a loop's header, a lane's turn comes when the others are there, or have left the loop.
    for (uint32_t m = back & inner; m; m &= m - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(m);
        const node *header = &graph.node[place[lane]];
        for (uint32_t k = inner; k; k &= k - 1) {
            const unsigned other = (unsigned)__builtin_ctz(k);
            const uint32_t there = graph.node[place[other]].order;
            if (there < header->order || there > header->end ||
                (place[other] == place[lane] && back & k & -k))
                continue;
            turn[lane] = 2 * header->end + 1;
            break;
        }
    }
    unsigned first = LANES;
    for (uint32_t m = inner; m; m &= m - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(m);
        if (first == LANES || turn[lane] < turn[first])
            first = lane;
    }
    uint32_t group = 0;
    *until = (limit){0, NONE};
    for (uint32_t m = left | running; m; m &= m - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(m);
        if (inner & m & -m && place[lane] == place[first] && turn[lane] == turn[first]) {
            if (running & m & -m)
                return 0;
            group |= m & -m;
            continue;
        }
        if (level[lane] > until->level)
            *until = (limit){level[lane], NONE};
        if (level[lane] == until->level && turn[lane] < until->turn)
            until->turn = turn[lane];
    }
    return group;
}

// Takes the steps of a warp's lanes, but none for which a lane that runs may still come.
static void take_steps(path *p, uint32_t lanes, uint32_t running)
{
    uint32_t left;
    if (!p->apart && !(with_steps(p, lanes) ^ lanes))
        take_common_steps(p, lanes);
    while ((left = with_steps(p, lanes))) {
        if (!p->apart && running & ~left)
            return; // one has come as far as it has run; later it may go on as the others did
        follow_lanes(p, lanes);
        limit until;
        const uint32_t group = next_group(p, left, running & ~left, &until);
        if (!group)
            return;
        const int alone = group == (left | running);
        const unsigned first = (unsigned)__builtin_ctz(group);
        const step *s = next_step(p, first);
        do {
            count_step(p, group, s);
            s = next_step(p, first);
        } while (all_same(p, group) && (alone || goes_on(s, &until)));
    }
}

static void count_steps(const block *b, unsigned warp, path *p)
{
    counting.by = b->slot->loaded;
    counting.warp = warp;
    for (uint32_t m = b->lanes[warp]; m; m &= m - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(m);
        p->count[lane] = (unsigned)(b->thread[warp * LANES + lane].next_step - p->steps[lane]);
    }
}

// The lanes of a warp are together, so their steps up to here are complete.
static void count_together(block *b, unsigned warp)
{
    thread *lane = &b->thread[warp * LANES];
    path *p = lane->path;
    if (!p)
        return;
    count_steps(b, warp, p);
    take_steps(p, b->lanes[warp], 0);
    for (uint32_t m = b->lanes[warp]; m; m &= m - 1)
        lane[__builtin_ctz(m)].path = NULL, lane[__builtin_ctz(m)].next_step = NULL;
    const uint32_t here = b->lanes[warp] & ~b->gone[warp];
    b->slot->calls[warp] = p->calls[p->apart && here ? __builtin_ctz(here) : 0];
    p->next = b->slot->free_paths;
    b->slot->free_paths = p;
}

static void count_begin(slot *s)
{
    if (!s->calls)
        s->calls = must(calloc(MAX_WARPS, sizeof *s->calls));
    if (!s->loaded)
        s->loaded = must(calloc(1, sizeof *s->loaded));
    ++s->loaded->block;
    memset(s->loaded->count, 0, sizeof s->loaded->count);
    for (unsigned w = 0; w < MAX_WARPS; ++w)
        s->calls[w].level = 0, s->calls[w].in[0].place = NONE;
}

// A thread waits, or has returned. If all lanes of its warp do, their steps needn't be kept.
static void count_waiting(const thread *t)
{
    const block *b = t->block;
    if (b->ready[t->warp] || !t->path)
        return;
    for (uint32_t m = b->lanes[t->warp]; m; m &= m - 1) {
        const int state = b->thread[t->warp * LANES + (unsigned)__builtin_ctz(m)].state;
        if (state != AT_BARRIER && state != DONE)
            return;
    }
    count_together(t->block, t->warp);
}

// Makes room for more steps: those that the warp has taken are forgotten.
static void make_room(thread *t)
{
    const block *b = t->block;
    path *p = t->path;
    if (!p || t->next_step - p->steps[t->lane] <= STEPS - 2 * MARGIN - QUANTUM)
        return;
    count_steps(b, t->warp, p);
    uint32_t lanes = b->lanes[t->warp], running = 0;
    for (uint32_t m = lanes; m; m &= m - 1) {
        const int state = b->thread[t->warp * LANES + (unsigned)__builtin_ctz(m)].state;
        if (state == READY || state == UNSTARTED)
            running |= m & -m;
    }
    take_steps(p, lanes, running);
    if (p->count[t->lane] - p->at[t->lane] > STEPS - 2 * MARGIN - QUANTUM)
        take_steps(p, lanes, 0); // others are too far behind
    for (uint32_t m = lanes; m; m &= m - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(m), drop = p->at[lane];
        memmove(p->steps[lane], p->steps[lane] + drop,
                (p->count[lane] - drop) * sizeof *p->steps[lane]);
        p->at[lane] = 0, p->seen[lane] -= drop;
        b->thread[t->warp * LANES + lane].next_step -= drop;
    }
}

static inline __attribute__((always_inline)) void
count_access(thread *t, uintptr_t address, size_t size, int flags, int shared, unsigned place)
{
    if (!shared && ++t->global > device.counts.longest_thread)
        device.counts.longest_thread = t->global;
    if (!shared && !t->block->begins && t->global > device.counts.longest_later)
        device.counts.longest_later = t->global;
    note_step(t, (step){.place = place,
                        .address = address,
                        .size = (uint8_t)size,
                        .write = !!(flags & WRITE),
                        .atomic = !!(flags & UPDATE),
                        .is_volatile = !!(flags & ATOMIC),
                        .shared = (uint8_t)shared});
}

static void report_unwritten(block *b);

// After QUANTUM steps: the other lanes catch up.
static __attribute__((noinline)) void take_turns(thread *t)
{
    block *b = t->block;
    t->accesses = 0;
    report_unwritten(b);
    if (b->ready[t->warp]) {
        make_ready(t);
        switch_from(t, 0);
    }
    make_room(t);
}

static __attribute__((noinline, cold)) void pause_in_block(thread *t, uintptr_t frame, uintptr_t pc)
{
    if (t->accesses >= QUANTUM)
        take_turns(t);
    t->frame = frame;
    note_step(t, (step){.place = (uint32_t)pc, .address = pc});
}

// Host code calls it too, and has to be let go at once.
void __sanitizer_cov_trace_pc(void)
{
    thread *t = self;
    if (!t || !device.traced)
        return;
    if (++t->accesses >= QUANTUM || !t->next_step) {
        pause_in_block(t, FRAME, RETURN_PC);
        return;
    }
    t->frame = FRAME;
    note_step(t, (step){.place = (uint32_t)RETURN_PC, .address = RETURN_PC});
}
