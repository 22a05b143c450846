// SPDX-License-Identifier: MIT
// CUDA threads, each on a stack of its own, and the resident blocks.
//
// A thread that must wait jumps directly to the next that can run. Threads that never wait share one
// stack, one after the other. setjmp and longjmp switch, because swapcontext would make a system call
// for each switch.

// ---- the baton: exactly one slot runs -----------------------------------------------------------

static void wait_baton(slot *s)
{
    while (sem_wait(&s->baton) && errno == EINTR) {
    }
    device.runner = pthread_self();
}

static void pass_baton(slot *from, slot *to)
{
    if (from == to)
        return;
    sem_post(&to->baton);
    wait_baton(from);
    if (device.ended && from->active && self)
        longjmp(from->root, 1);
}

static slot *other_slot(slot *s)
{
    slot *others[MAX_SLOTS];
    unsigned n = 0;
    for (unsigned i = 0; i < device.slots; ++i)
        if (device.slot[i] != s && device.slot[i]->active)
            others[n++] = device.slot[i];
    return n ? others[below(n)] : NULL;
}

// A point at which another resident block may continue. This happens one time in `odds`.
static void interleave(slot *s, unsigned odds)
{
    if (device.slots < 2 || (odds > 1 && below(odds)))
        return;
    slot *to = other_slot(s);
    if (to)
        pass_baton(s, to);
}

static void restore(thread *t);

static void unwind(void)
{
    restore(self);
    longjmp(self->block->slot->root, 1);
}

// ---- which thread is next -----------------------------------------------------------------------

// Lanes are taken in turn, from the block's first lane upwards or downwards.
static int next_lane(const block *b, uint32_t lanes, int after)
{
    if (!lanes)
        return -1;
    unsigned turn = b->lane_turn;
    uint32_t m = turn ? lanes >> turn | lanes << (LANES - turn) : lanes;
    int p = after < 0 ? -1 : (int)((unsigned)(after - (int)turn) & 31);
    if (b->reversed) {
        uint32_t rest = p < 0 ? m : m & ((1u << p) - 1);
        if (!rest)
            return -1;
        p = 31 - __builtin_clz(rest);
    } else {
        uint32_t rest = p < 0 ? m : p == 31 ? 0 : m & ~0u << (p + 1);
        if (!rest)
            return -1;
        p = __builtin_ctz(rest);
    }
    return (int)(((unsigned)p + turn) & 31);
}

static void answer_activemask(block *b, unsigned warp);

// The lanes of a warp that can run.
static uint32_t ready_lanes(block *b, unsigned warp)
{
    if (!b->ready[warp] && b->asking[warp])
        answer_activemask(b, warp);
    return b->ready[warp];
}

// The next thread of the block that can run. Its warp goes first, unless `yielding`.
static thread *next_thread(block *b, thread *after, int yielding)
{
    unsigned warp, step = b->reversed ? b->warps - 1 : 1;
    if (after) {
        warp = after->warp;
        uint32_t ready = ready_lanes(b, warp);
        int lane = next_lane(b, ready, (int)after->lane);
        if (lane < 0 && !yielding)
            lane = next_lane(b, ready, -1);
        if (lane >= 0)
            return &b->thread[warp * LANES + (unsigned)lane];
        warp = (warp + step) % b->warps;
    } else {
        warp = b->reversed ? (b->warp_turn + b->warps - 1) % b->warps : b->warp_turn;
    }
    for (unsigned i = 0; i < b->warps; ++i, warp = (warp + step) % b->warps) {
        int lane = next_lane(b, ready_lanes(b, warp), -1);
        if (lane >= 0)
            return &b->thread[warp * LANES + (unsigned)lane];
    }
    return NULL;
}

// ---- switching ----------------------------------------------------------------------------------

static void thread_done(thread *t);
static void stuck(block *b) __attribute__((noreturn));

static void enter(thread *t)
{
    self = t;
    simt_thread_index = t->index;
    t->block->ready[t->warp] &= ~(1u << t->lane);
}

static void fiber_main(void)
{
    for (;;) {
        thread *t = self;
        t->state = READY;
        ++device.beat;
        device.request->call(device.request->arguments);
        thread_done(t); // returns when this stack has a thread to start
    }
}

static fiber *take_fiber(slot *s)
{
    fiber *f = s->free_fibers;
    if (f) {
        s->free_fibers = f->next_free;
        return f;
    }
    f = must(calloc(1, sizeof *f));
    // Below each stack lies a page that nothing may touch.
    char *memory = must(mmap(NULL, STACK_BYTES + PAGE, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0));
    mprotect(memory, PAGE, PROT_NONE);
    f->stack = (uintptr_t)memory + PAGE;
    f->fresh = 1;
    f->number = s->fibers_made;
    s->fibers[s->fibers_made++] = f;
    return f;
}

static void free_fiber(slot *s, fiber *f)
{
    f->next_free = s->free_fibers;
    s->free_fibers = f;
}

static void jump(fiber *f) __attribute__((noreturn));
static void jump(fiber *f)
{
    if (!f->fresh)
        _longjmp(f->here, 1);
    f->fresh = 0;
    getcontext(&f->context);
    f->context.uc_stack.ss_sp = (void *)f->stack;
    // The tops are at different offsets in their pages. Otherwise all would share a few cache sets.
    f->context.uc_stack.ss_size = STACK_BYTES - f->number % 64 * 192;
    f->context.uc_link = NULL;
    makecontext(&f->context, fiber_main, 0);
    setcontext(&f->context);
    abort(); // setcontext came back: the stack can't be used
}

// Continues with thread t. Never returns.
static void resume(thread *t) __attribute__((noreturn));
static void resume(thread *t)
{
    enter(t);
    if (t->state == UNSTARTED)
        t->fiber = take_fiber(t->block->slot);
    t->state = READY;
    jump(t->fiber);
}

// Thread t waits, or yields; other threads run until it is its turn again.
static void __attribute__((noinline)) switch_from(thread *t, int yielding)
{
    thread *next = next_thread(t->block, t, yielding);
    if (next == t) {
        enter(t);
        return;
    }
    if (!next)
        stuck(t->block);
    if (!_setjmp(t->fiber->here))
        resume(next);
}

static void make_ready(thread *t)
{
    t->state = READY;
    t->block->ready[t->warp] |= 1u << t->lane;
}

static void yield(thread *t)
{
    make_ready(t);
    switch_from(t, 1);
}

// The thread can't continue until another has done something.
static void spin(thread *t, uintptr_t pc)
{
    if (++device.idle >
        (device.slots > 1 ? 1u << 18 : 1u << 22)) { // with several, a turn takes longer
        static char what[256];
        uint64_t waiting = device.blocks - device.next_block;
        snprintf(
            what, sizeof what,
            "it waits for a value that nothing that runs will write; %u block%s resident, %" PRIu64
            " not started",
            device.slots, device.slots == 1 ? "" : "s", waiting);
        fault(
            t, SIMT_DEADLOCK, pc, t->spin_address, 0, NULL,
            "release a lock on every path; wait only for blocks that have started, by numbers from "
            "an atomic counter; or let more run: SIMT_RESIDENT",
            "%s", what);
    }
    thread *next;
    // Those that wait for this one to come are perhaps what it waits for.
    if (device.idle % 256 == 0)
        for (unsigned w = 0; w < t->block->warps; ++w)
            answer_activemask(t->block, w);
    make_ready(t);
    next = next_thread(t->block, t, 1);
    // After each turn over the block's threads, let the other blocks run.
    int wrapped = next == t || next->id == 0 || !below(64);
    if (next != t)
        switch_from(t, 1);
    else
        enter(t);
    if (wrapped)
        interleave(t->block->slot, 1);
}
