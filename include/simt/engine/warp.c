// SPDX-License-Identifier: MIT
// What threads do together: barriers, warp functions, atomics, fences; and what happens if some never
// come.

// ---- the block's barrier ------------------------------------------------------------------------

static void describe(const thread *t, party *to, const char *what)
{
    static const char *const doing[] = {[UNSTARTED] = "hasn't started",
                                        [READY] = "is running",
                                        [AT_BARRIER] = "waits at this barrier",
                                        [AT_WARP] = "waits for lanes of its warp",
                                        [AT_ACTIVEMASK] = "asks for the active lanes",
                                        [DONE] = "had returned from the kernel"};
    *to = (party){1, t->block->serial, t->id,
                  t->state == AT_BARRIER || t->state == AT_WARP ? t->wait_pc : t->last_pc,
                  what ? what : doing[t->state]};
}

// The calls that led to a place, those that were inlined too, from the innermost outwards.
typedef struct {
    const frame *inlined;
    const char *file, *function;
    int line;
} call;

static unsigned calls_to(const trail *t, call *to, unsigned most)
{
    unsigned n = 0;
    for (unsigned i = 0; i < t->count && n < most; ++i) {
        const place *p = resolved(t->pc[i]);
        to[n++] = (call){p->outer, p->file, p->function, p->line};
        for (const frame *f = p->outer; f && n < most; f = f->outer)
            to[n++] = (call){f->outer, f->file, f->function, f->line};
    }
    return n;
}

// Whether a thread that returned had gone past the place at which `waiting`, which runs, waits with
// others. A thread that returned before it, or after it met the others there, doesn't take part, which
// is legal. Lines are compared in the outermost function in which both were, mostly the kernel.
static int went_past(const thread *returned, const thread *waiting, unsigned warp)
{
    enum { MOST = 64 };
    const block *b = waiting->block;
    if (!returned->last_pc || b->meetings > MEETINGS) // perhaps they met
        return 0;
    for (unsigned i = 0; i < b->meetings; ++i)
        if (b->met[i].warp == warp && same_line(b->met[i].pc, waiting->wait_pc))
            return 0;
    static struct {
        uint64_t beat;
        uintptr_t last;
        int answer;
    } known; // many return at one place
    if (known.beat == device.beat && known.last == returned->last_pc)
        return known.answer;
    known.beat = device.beat, known.last = returned->last_pc, known.answer = 0;
    trail last = {1, {returned->last_pc}}, now;
    call there[MOST], here[MOST];
    walk(&now, waiting->wait_pc);
    resolve_all(&now, returned->last_pc, waiting->wait_pc);
    unsigned n = calls_to(&last, there, MOST), m = calls_to(&now, here, MOST);
    for (unsigned j = m; j--;)
        for (unsigned i = n; i--;)
            if (!strcmp(here[j].function, there[i].function) &&
                !strcmp(here[j].file, there[i].file) && here[j].line != there[i].line)
                return known.answer = here[j].line < there[i].line;
    return 0;
}

static void note_meeting(block *b, uintptr_t pc, unsigned warp)
{
    for (unsigned i = 0; i < MEETINGS && i < b->meetings; ++i)
        if (b->met[i].pc == pc && b->met[i].warp == warp)
            return;
    b->met[b->meetings % MEETINGS].pc = pc;
    b->met[b->meetings++ % MEETINGS].warp = warp;
}

// Every live thread has come. t is one of them, and runs.
static void complete_barrier(block *b, thread *t)
{
    report_unwritten(b);
    int op = b->first->wait_op;
    for (unsigned i = 0; i < b->threads && b->live < b->threads && device.config.check; ++i) {
        party other;
        if (b->thread[i].state != DONE || !went_past(&b->thread[i], t, MAX_WARPS))
            continue;
        describe(&b->thread[i], &other, "went past it and returned from the kernel");
        fault(t, SIMT_DIVERGENT_BARRIER, t->wait_pc, 0, 0, &other,
              "let every thread that is still there reach the barrier",
              "a thread waits at a block-wide barrier that another didn't come to");
    }
    note_meeting(b, b->first->wait_pc, MAX_WARPS);
    for (unsigned i = 0; i < b->threads; ++i) {
        thread *u = &b->thread[i];
        if (u->state != AT_BARRIER)
            continue;
        u->result = op == SIMT_SYNC_COUNT ? (uint64_t)b->count
                    : op == SIMT_SYNC_AND ? (uint64_t)((unsigned)b->count == b->arrived)
                                          : (uint64_t)(b->count != 0);
        if (u == t)
            u->state = READY;
        else
            make_ready(u);
    }
    ++device.counts.barriers;
    ++device.beat;
    device.idle = 0;
    for (unsigned w = 0; w < b->warps; ++w)
        count_together(b, w);
    b->arrived = 0, b->count = 0, b->first = NULL;
    if (device.traced)
        order_barrier(b);
}

// The last that others waited for has returned: one of those that wait completes the meeting.
static void leave_to(thread *t)
{
    t->completes = 1;
    make_ready(t);
}

static int was_left(thread *t, int state)
{
    if (!t->completes)
        return 0;
    t->completes = 0;
    t->state = state;
    return 1;
}

int simt_barrier(int op, int predicate, unsigned which)
{
    thread *t = self;
    if (!t)
        return 0;
    block *b = t->block;
    restore(t);
    if (t->doubt.pc)
        settle_doubt(t, 0);
    t->wait_pc = RETURN_PC;
    t->wait_op = op;
    t->wait_which = which;
    t->state = AT_BARRIER;
    t->spin_pc = 0;
    device.reads = 0;
    if (!b->arrived++) {
        b->first = t;
    } else if (device.config.check && (op != b->first->wait_op || which != b->first->wait_which ||
                                       !same_line(t->wait_pc, b->first->wait_pc))) {
        party other;
        describe(b->first, &other, "waits at another barrier");
        fault(t, SIMT_DIVERGENT_BARRIER, t->wait_pc, 0, 0, &other,
              "let every thread reach the same __syncthreads()",
              "threads of one block wait at different barriers");
    }
    b->count += !!predicate;
    if (b->arrived == b->live) {
        complete_barrier(b, t);
        interleave(b->slot, 4);
    } else {
        count_waiting(t);
        switch_from(t, 0);
        if (was_left(t, AT_BARRIER))
            complete_barrier(b, t);
    }
    return (int)t->result;
}

// ---- warp functions -----------------------------------------------------------------------------

// The value of a lane whose source gave none. It can be recognised, and is not a number as a float or
// a double.
static const uint64_t nothing = 0x7ff7deadffc0deadu;

static const char *warp_name(int op)
{
    return op == SIMT_WARP_SYNC   ? "__syncwarp"
           : op <= SIMT_SHFL_XOR  ? "a shuffle"
           : op <= SIMT_BALLOT    ? "a vote"
           : op <= SIMT_MATCH_ALL ? "a match"
                                  : "a reduction";
}

static uint64_t shuffled(thread *t, const thread *lane, uint32_t mask)
{
    unsigned width = (unsigned)t->width, first = t->lane & ~(width - 1),
             delta = (unsigned)t->source;
    unsigned from = t->lane;
    switch (t->wait_op) {
    case SIMT_SHFL:
        from = first | (delta & (width - 1));
        break;
    case SIMT_SHFL_UP:
        if (delta <= t->lane - first)
            from = t->lane - delta;
        break;
    case SIMT_SHFL_DOWN:
        if (delta < first + width - t->lane)
            from = t->lane + delta;
        break;
    default:
        if ((t->lane ^ delta) < first + width)
            from = t->lane ^ delta;
    }
    if (mask >> from & 1)
        return lane[from].value;
    // The tail of a shift is undefined, and harmless until it is used. But a lane that is asked for by
    // its number is meant.
    if (device.config.check && (t->wait_op == SIMT_SHFL || t->wait_op == SIMT_SHFL_XOR))
        fault(t, SIMT_ABSENT_LANE, t->wait_pc, 0, 0, NULL,
              "name the source lane in the mask, and let it take part",
              "a shuffle with mask %#x reads lane %u, which %s", t->wait_mask, from,
              !(t->wait_mask >> from & 1)               ? "the mask leaves out"
              : !(t->block->lanes[t->warp] >> from & 1) ? "the block does not have"
                                                        : "had returned from the kernel");
    return nothing;
}

static uint64_t reduced(int op, const thread *lane, uint32_t mask)
{
    unsigned first = (unsigned)__builtin_ctz(mask);
    uint32_t r = (uint32_t)lane[first].value;
    for (uint32_t m = mask & (mask - 1); m; m &= m - 1) {
        uint32_t v = (uint32_t)lane[__builtin_ctz(m)].value;
        switch (op) {
        case SIMT_REDUCE_ADD:
            r += v;
            break;
        case SIMT_REDUCE_MIN:
            r = v < r ? v : r;
            break;
        case SIMT_REDUCE_MAX:
            r = v > r ? v : r;
            break;
        case SIMT_REDUCE_MIN_SIGNED:
            r = (int32_t)v < (int32_t)r ? v : r;
            break;
        case SIMT_REDUCE_MAX_SIGNED:
            r = (int32_t)v > (int32_t)r ? v : r;
            break;
        case SIMT_REDUCE_AND:
            r &= v;
            break;
        case SIMT_REDUCE_OR:
            r |= v;
            break;
        default:
            r ^= v;
        }
    }
    return r;
}

static void absent(thread *waiting, const thread *missing) __attribute__((noreturn));
static void absent(thread *waiting, const thread *missing)
{
    party other;
    describe(missing, &other, NULL);
    fault(waiting, SIMT_ABSENT_LANE, waiting->wait_pc, 0, 0, &other,
          "name in the mask just the lanes that get there: __ballot_sync before the branch",
          "%s with mask %#x waits for lane %u, which doesn't come", warp_name(waiting->wait_op),
          waiting->wait_mask, missing->lane);
}

// Every lane of the mask has come. `running` is one of them, and runs.
static void complete_warp(block *b, unsigned warp, uint32_t mask, int op, thread *running)
{
    thread *lane = &b->thread[warp * LANES];
    if (device.config.check)
        for (uint32_t m = running->wait_mask & b->gone[warp]; m; m &= m - 1)
            if (went_past(&lane[__builtin_ctz(m)], running, warp))
                absent(running, &lane[__builtin_ctz(m)]);
    note_meeting(b, running->wait_pc, warp);
    uint32_t ballot = 0;
    for (uint32_t m = mask; m; m &= m - 1)
        if (lane[__builtin_ctz(m)].value)
            ballot |= m & -m;
    for (uint32_t m = mask; m; m &= m - 1) {
        thread *t = &lane[__builtin_ctz(m)];
        uint64_t r = 0;
        switch (op) {
        case SIMT_WARP_SYNC:
            break;
        case SIMT_SHFL:
        case SIMT_SHFL_UP:
        case SIMT_SHFL_DOWN:
        case SIMT_SHFL_XOR:
            r = shuffled(t, lane, mask);
            break;
        case SIMT_ALL:
            r = ballot == mask;
            break;
        case SIMT_ANY:
            r = ballot != 0;
            break;
        case SIMT_UNI:
            r = ballot == mask || !ballot;
            break;
        case SIMT_BALLOT:
            r = ballot;
            break;
        case SIMT_MATCH_ANY:
        case SIMT_MATCH_ALL:
            for (uint32_t k = mask; k; k &= k - 1)
                if (lane[__builtin_ctz(k)].value == t->value)
                    r |= k & -k;
            if (op == SIMT_MATCH_ALL && r != mask)
                r = 0;
            break;
        default:
            r = reduced(op, lane, mask);
        }
        t->result = r;
    }
    for (uint32_t m = mask; m; m &= m - 1) {
        thread *t = &lane[__builtin_ctz(m)];
        if (t == running)
            t->state = READY;
        else
            make_ready(t);
    }
    b->meeting[warp] &= ~mask;
    ++device.beat;
    device.idle = 0;
    if (op != SIMT_WARP_SYNC)
        ++device.counts.shuffles;
    if (mask == (b->lanes[warp] & ~b->gone[warp]))
        count_together(b, warp);
    if (op == SIMT_WARP_SYNC && device.traced)
        order_warp(b, warp, mask);
}

static uint32_t warp_arrived(const block *b, unsigned warp, int op, unsigned mask)
{
    const thread *lane = &b->thread[warp * LANES];
    uint32_t arrived = 0;
    for (uint32_t m = mask & b->lanes[warp]; m; m &= m - 1) {
        const thread *t = &lane[__builtin_ctz(m)];
        if (t->state == AT_WARP && t->wait_op == op && t->wait_mask == mask)
            arrived |= m & -m;
    }
    return arrived;
}

unsigned long long simt_warp(int op, unsigned mask, unsigned long long value, int source, int width,
                             int bytes)
{
    (void)bytes;
    thread *t = self;
    if (!t)
        return value;
    block *b = t->block;
    restore(t);
    t->wait_pc = t->last_pc = RETURN_PC;
    t->wait_op = op;
    t->wait_mask = mask;
    t->value = value;
    t->source = source;
    t->width = width;
    t->spin_pc = 0;
    device.reads = 0;
    if (!(mask >> t->lane & 1))
        fault(t, SIMT_ABSENT_LANE, t->wait_pc, 0, 0, NULL, "name the calling lane in the mask",
              "lane %u calls %s with mask %#x, which leaves it out", t->lane, warp_name(op), mask);
    if (width < 1 || width > LANES || width & (width - 1))
        fault(t, SIMT_ABSENT_LANE, t->wait_pc, 0, 0, NULL, "make the width 1, 2, 4, 8, 16 or 32",
              "a shuffle has width %d", width);
    t->state = AT_WARP;
    b->meeting[t->warp] |= 1u << t->lane;
    // Lanes that returned are not waited for.
    int come = warp_arrived(b, t->warp, op, mask) == (mask & b->lanes[t->warp] & ~b->gone[t->warp]);
    if (!come)
        switch_from(t, 0);
    if (come || was_left(t, AT_WARP))
        complete_warp(b, t->warp, mask & b->lanes[t->warp] & ~b->gone[t->warp], op, t);
    return t->result;
}

// ---- which lanes are together -------------------------------------------------------------------

// No other lane of the warp can run: those that ask at the same place are together. In a shuffled order
// they may also come in two groups, as they may on a GPU.
static void answer_activemask(block *b, unsigned warp)
{
    thread *lane = &b->thread[warp * LANES];
    while (b->asking[warp]) {
        uint32_t group = 0;
        const thread *first = &lane[__builtin_ctz(b->asking[warp])];
        for (uint32_t m = b->asking[warp]; m; m &= m - 1)
            if (lane[__builtin_ctz(m)].wait_pc == first->wait_pc)
                group |= m & -m;
        if (device.order == SIMT_SHUFFLE && !below(4)) {
            uint32_t part = group & (uint32_t)draw(&device.random);
            group = part ? part : group;
        }
        for (uint32_t m = group; m; m &= m - 1) {
            thread *t = &lane[__builtin_ctz(m)];
            t->result = group;
            make_ready(t);
        }
        b->asking[warp] &= ~group;
        device.idle = 0;
    }
}

unsigned simt_activemask(void)
{
    thread *t = self;
    if (!t)
        return 1;
    restore(t);
    t->wait_pc = t->last_pc = RETURN_PC;
    t->state = AT_ACTIVEMASK;
    t->spin_pc = 0;
    t->block->asking[t->warp] |= 1u << t->lane;
    switch_from(t, 0);
    return (unsigned)t->result;
}

// ---- those that never come ----------------------------------------------------------------------

// No thread of the block can run, and some have not returned.
static void stuck(block *b)
{
    for (unsigned i = 0; i < b->threads; ++i) {
        thread *t = &b->thread[i];
        if (t->state != AT_WARP)
            continue;
        uint32_t missing = t->wait_mask & b->lanes[t->warp] & ~b->gone[t->warp] &
                           ~warp_arrived(b, t->warp, t->wait_op, t->wait_mask);
        if (missing)
            absent(t, &b->thread[t->warp * LANES + (unsigned)__builtin_ctz(missing)]);
    }
    abort(); // if all wait at the barrier, or ask for the active lanes, they go on
}

static void thread_done(thread *t)
{
    block *b = t->block;
    fiber *f = t->fiber;
    restore(t);
    if (t->stale.pc)
        settle_stale(t);
    if (t->doubt.pc)
        settle_doubt(t, 0);
    t->state = DONE;
    t->spin_pc = 0;
    device.idle = 0;
    ++device.beat;
    --b->live;
    b->gone[t->warp] |= 1u << t->lane;
    count_waiting(t);
    if (b->arrived && b->arrived == b->live)
        leave_to(b->first);
    thread *lane = &b->thread[t->warp * LANES];
    for (uint32_t m = b->meeting[t->warp]; m; m &= m - 1) {
        thread *u = &lane[__builtin_ctz(m)];
        if (u->state != AT_WARP || !(u->wait_mask >> t->lane & 1))
            continue;
        uint32_t all = u->wait_mask & b->lanes[t->warp] & ~b->gone[t->warp];
        if (warp_arrived(b, t->warp, u->wait_op, u->wait_mask) == all)
            leave_to(u);
    }

    thread *next = next_thread(b, t, 0);
    if (next && next->state == UNSTARTED) {
        next->fiber = f;
        enter(next);
        return;
    }
    if (!next && b->live)
        stuck(b);
    if (!next)
        report_unwritten(b);
    if (_setjmp(f->here))
        return; // some thread starts on this stack
    free_fiber(b->slot, f);
    if (next)
        resume(next);
    longjmp(b->slot->root, 2);
}

// ---- atomics, fences, time ----------------------------------------------------------------------

static uint64_t sign_extended(uint64_t v, int bytes)
{
    return bytes == 4 ? (uint64_t)(int64_t)(int32_t)v : v;
}

static uint64_t combined(int op, uint64_t old, uint64_t v, uint64_t compare, int bytes)
{
    int64_t a = (int64_t)sign_extended(old, bytes), b = (int64_t)sign_extended(v, bytes);
    switch (op) {
    case SIMT_ATOMIC_ADD:
        return old + v;
    case SIMT_ATOMIC_ADD_FLOAT:
        if (bytes == 4) {
            uint32_t x = (uint32_t)old, y = (uint32_t)v;
            float f, g;
            memcpy(&f, &x, 4), memcpy(&g, &y, 4);
            f += g;
            memcpy(&x, &f, 4);
            return x;
        } else {
            double f, g;
            memcpy(&f, &old, 8), memcpy(&g, &v, 8);
            f += g;
            memcpy(&old, &f, 8);
            return old;
        }
    case SIMT_ATOMIC_EXCHANGE:
        return v;
    case SIMT_ATOMIC_MIN:
        return v < old ? v : old;
    case SIMT_ATOMIC_MAX:
        return v > old ? v : old;
    case SIMT_ATOMIC_MIN_SIGNED:
        return b < a ? v : old;
    case SIMT_ATOMIC_MAX_SIGNED:
        return b > a ? v : old;
    case SIMT_ATOMIC_INC:
        return old >= v ? 0 : old + 1;
    case SIMT_ATOMIC_DEC:
        return !old || old > v ? v : old - 1;
    case SIMT_ATOMIC_CAS:
        return old == compare ? v : old;
    case SIMT_ATOMIC_AND:
        return old & v;
    case SIMT_ATOMIC_OR:
        return old | v;
    default:
        return old ^ v;
    }
}

unsigned long long simt_atomic(int op, void *address, int bytes, unsigned long long value,
                               unsigned long long compare)
{
    thread *t = self;
    uintptr_t pc = RETURN_PC, a = (uintptr_t)address;
    if (t && device.traced) {
        int flags = WRITE | ATOMIC | UPDATE | (op == SIMT_ATOMIC_CAS ? CAS : 0);
        t->frame = FRAME;
        access_memory(t, a, (size_t)bytes, flags, pc, 0);
        if (!(a - t->fiber->stack < STACK_BYTES))
            order_read(t, a);
    }
    uint64_t old = 0;
    memcpy(&old, address, (size_t)bytes);
    uint64_t now = combined(op, old, value, compare, bytes);
    if (bytes < 8)
        now &= (1ull << 8 * bytes) - 1;
    memcpy(address, &now, (size_t)bytes);
    if (!t)
        return old;
    // A read by atomicAdd(p, 0), or by a CAS that fails, releases nothing.
    int wrote =
        now != old || op == SIMT_ATOMIC_EXCHANGE || (op == SIMT_ATOMIC_CAS && old == compare);
    if (device.traced && wrote)
        order_write(t, a, 1, (size_t)bytes);
    if (now != old)
        note_progress(t);
    else
        note_look(t, a, pc);
    return old;
}

void simt_fence(int device_wide)
{
    thread *t = self;
    if (!t)
        return;
    restore(t);
    if (device.traced)
        order_fence(t, device_wide);
    interleave(t->block->slot, 4);
}

void simt_sleep(void)
{
    thread *t = self;
    if (!t)
        return;
    restore(t);
    spin(t, RETURN_PC);
}

void simt_trap(void)
{
    thread *t = self;
    if (!t)
        abort();
    fault(t, SIMT_TRAP, RETURN_PC, 0, 0, NULL, "see why the kernel gave up here", "__trap()");
}

long long simt_clock(void)
{
    return self ? (long long)__builtin_ia32_rdtsc() : (long long)clock();
}

void __assert_fail(const char *what, const char *file, unsigned line, const char *function)
{
    thread *t = self;
    if (t)
        fault(t, SIMT_ASSERT, RETURN_PC, 0, 0, NULL, "see why it doesn't hold",
              "assertion `%s' failed in %s (%s:%u)", what, function, file, line);
    fflush(stdout);
    fprintf(stderr, "%s:%u: %s: Assertion `%s' failed.\n", file, line, function, what);
    abort();
}
