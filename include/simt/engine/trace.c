// SPDX-License-Identifier: MIT
// The compiler's hooks: -fsanitize=thread puts a call before each load and store. These functions are
// called.

// ---- what is wrong with an address --------------------------------------------------------------

static int mapped(uintptr_t a)
{
    unsigned char in_core;
    return !mincore((void *)(a & ~(uintptr_t)(PAGE - 1)), 1, &in_core);
}

static void bad_address(thread *t, uintptr_t a, size_t size, int flags, uintptr_t pc)
    __attribute__((noreturn));

static void bad_address(thread *t, uintptr_t a, size_t size, int flags, uintptr_t pc)
{
    const char *verb = flags & UPDATE ? "atomic update" : flags & WRITE ? "write" : "read";
    const char *plural = size == 1 ? "" : "s";
    slot *s = t->block->slot;
    if (t->stale.pc) // the address may come from it
        settle_stale(t);
    if (a < 65536)
        fault(t, SIMT_OUT_OF_BOUNDS, pc, a, size, NULL, "pass a pointer from cudaMalloc",
              "%s of %zu byte%s at %#" PRIxPTR ", a null pointer", verb, size, plural, a);
    if (in_arena(a)) {
        const allocation *m = nearest_allocation(a);
        size_t past = m ? a - m->base : 0;
        if (m && m->freed && past < m->size)
            fault(t, SIMT_USE_AFTER_FREE, pc, a, size, NULL,
                  "free the memory after the last kernel that uses it",
                  "%s of %zu byte%s, %zu bytes into an allocation of %zu bytes that was freed",
                  verb, size, plural, past, m->size);
        if (m && a >= m->base)
            fault(t, SIMT_OUT_OF_BOUNDS, pc, a, size, NULL, "compare the index with the size first",
                  "%s of %zu byte%s that ends %zu byte%s past an allocation of %zu bytes%s", verb,
                  size, plural, past + size - m->size, past + size - m->size == 1 ? "" : "s",
                  m->size, m->freed ? " (freed)" : "");
        if (m)
            fault(t, SIMT_OUT_OF_BOUNDS, pc, a, size, NULL, "compare the index with 0 first",
                  "%s of %zu byte%s, %zu bytes before an allocation of %zu bytes", verb, size,
                  plural, m->base - a, m->size);
        fault(t, SIMT_OUT_OF_BOUNDS, pc, a, size, NULL, "pass a pointer from cudaMalloc",
              "%s of %zu byte%s at %#" PRIxPTR ", where nothing was allocated", verb, size, plural,
              a);
    }
    if (s->shared - a <= PAGE && program.shared.count)
        fault(t, SIMT_OUT_OF_BOUNDS, pc, a, size, NULL, "compare the index with 0 first",
              "%s of %zu byte%s, %zu bytes before the shared variable %s", verb, size, plural,
              (size_t)(s->shared - a) + program.shared.list[0].from, program.shared.list[0].name);
    for (unsigned i = 0; i < MAX_SLOTS; ++i) {
        const slot *o = device.slot[i];
        if (!o)
            continue;
        if (a - o->shared < program.shared_size) {
            uintptr_t dynamic = (uintptr_t)simt_dynamic_shared;
            if (o != s)
                fault(t, SIMT_OUT_OF_BOUNDS, pc, a, size, NULL,
                      "shared memory is a block's own: exchange through global memory",
                      "%s of %zu byte%s in another block's shared memory", verb, size, plural);
            if (a - dynamic < MAX_DYNAMIC)
                fault(t, SIMT_OUT_OF_BOUNDS, pc, a, size, NULL,
                      "ask for more at the launch, or compare the index with the size first",
                      "%s of %zu byte%s that ends %zu bytes past the launch's %zu bytes of dynamic "
                      "shared memory",
                      verb, size, plural, a + size - dynamic - device.request->shared_bytes,
                      device.request->shared_bytes);
            const range *r = find_range(&program.shared, a - o->shared, 1), *next = r + 1;
            if (r && next < program.shared.list + program.shared.count &&
                next->from - (a - o->shared) < a - o->shared - r->to)
                fault(t, SIMT_OUT_OF_BOUNDS, pc, a, size, NULL, "compare the index with 0 first",
                      "%s of %zu byte%s, %zu bytes before the shared variable %s", verb, size,
                      plural, (size_t)(next->from - (a - o->shared)), next->name);
            fault(t, SIMT_OUT_OF_BOUNDS, pc, a, size, NULL, "compare the index with the size first",
                  "%s of %zu byte%s that ends %zu bytes past the shared variable %s", verb, size,
                  plural, r ? (size_t)(a + size - o->shared - r->to) : 0,
                  r ? r->name : "(unnamed)");
        }
        for (unsigned k = 0; k < o->fibers_made; ++k)
            if (a - o->fibers[k]->stack < STACK_BYTES)
                fault(t, SIMT_OUT_OF_BOUNDS, pc, a, size, NULL,
                      "a local variable is its thread's own: exchange through shared memory",
                      "%s of %zu byte%s on another thread's stack", verb, size, plural);
    }
    if (mapped(a))
        fault(t, SIMT_HOST_POINTER, pc, a, size, NULL,
              "allocate it with cudaMalloc and copy it with cudaMemcpy",
              "%s of %zu byte%s of host memory at %#" PRIxPTR, verb, size, plural, a);
    fault(t, SIMT_OUT_OF_BOUNDS, pc, a, size, NULL, "pass a pointer from cudaMalloc",
          "%s of %zu byte%s at %#" PRIxPTR ", where there is no memory", verb, size, plural, a);
}

// ---- races --------------------------------------------------------------------------------------

static void report_race(thread *t, const party *other, int same_warp, uintptr_t a, size_t size,
                        int flags, uintptr_t pc)
{
    int same = other->block == (uint32_t)t->block->serial;
    flaw(t, SIMT_RACE, pc, a, size, other,
         same && flags & WRITE && !strncmp(other->what, "wrote", 5) && same_place(other->pc, pc)
             ? "make it atomic: atomicAdd and its like, or let each thread write its own element"
         : same && same_warp ? "put __syncwarp() between them, as lanes of a warp needn't run "
                               "together (__syncthreads() if other warps touch it too); or make "
                               "both atomic"
         : same              ? "put __syncthreads() between them, or make both atomic"
                : "between blocks: a later launch, or __threadfence() and an atomic flag; "
                  "or make both atomic",
         "%s of %zu byte%s that another thread touched, with nothing between them to order the two",
         flags & UPDATE  ? "atomic update"
         : flags & WRITE ? "write"
                         : "read",
         size, size == 1 ? "" : "s");
}

// ---- a plain read of what others update by atomics ------------------------------------------------
//
// A loop around a CAS may begin with one. An old value makes the CAS fail, and the loop goes on with the
// right one. So the verdict waits for the thread's next atomic or write of that word: a CAS, or
// something else.

static void settle_doubt(thread *t, uintptr_t compared)
{
    uintptr_t pc = t->doubt.pc;
    unsigned size = t->doubt.size;
    party other = {1, t->doubt.block, t->doubt.other, t->doubt.other_pc, "updated it (atomic)"};
    t->doubt.pc = 0;
    if (t->doubt.address != compared && !places.list[place_of(pc, 0)].compared)
        report_race(t, &other, t->doubt.other / LANES == t->warp, t->doubt.address, size, 0, pc);
    else
        warn(t, SIMT_RACE, pc, &other, "read it through a volatile pointer",
             "plain read of %u bytes that others update by atomics; a CAS follows, so an old value "
             "may do no harm",
             size);
}

// The thread that made a record, if it is still there.
static thread *resident_thread(const record *x)
{
    for (unsigned i = 0; i < device.slots; ++i) {
        slot *s = device.slot[i];
        if (s->active && (uint32_t)s->block.serial == x->block &&
            s->threads[x->thread].state != DONE)
            return &s->threads[x->thread];
    }
    return NULL;
}

// Whether a race waits for a verdict.
static __attribute__((noinline)) int doubt(thread *t, const record *x, int x_wrote, uintptr_t a,
                                           unsigned size, int flags, uintptr_t pc)
{
    thread *reader = NULL, *other = t;
    uintptr_t read_pc = pc, other_pc = places.list[x->place].pc;
    if (!flags && x_wrote && x->update)
        reader = t;
    else if (flags & UPDATE && !x_wrote && !x->atomic && (reader = resident_thread(x)))
        read_pc = other_pc, other_pc = pc;
    else if (flags & UPDATE && !x_wrote && !x->atomic && places.list[x->place].compared)
        return 1; // it returned, as what it read was enough; its CAS would have followed
    if (reader && reader->doubt.pc == read_pc && reader->doubt.address == a)
        return 1; // for another of its bytes
    if (!reader || reader->doubt.pc || (size != 4 && size != 8 && size != 2))
        return 0;
    reader->doubt.pc = read_pc, reader->doubt.other_pc = other_pc;
    reader->doubt.address = a, reader->doubt.size = size;
    reader->doubt.block = reader == t ? x->block : (uint32_t)other->block->serial;
    reader->doubt.other = reader == t ? x->thread : other->id;
    return 1;
}

// ---- volatile reads -------------------------------------------------------------------------------

// Which elements the threads of a block read at a place: one, as a flag, or several, as data.
static void note_element(place *p, const thread *t, uintptr_t a)
{
    uint32_t block = (uint32_t)t->block->serial + 1;
    if (p->element_block != block)
        p->element_block = block, p->element = a, p->elements = 0;
    p->elements |= p->element != a;
}

static void read_volatile(thread *t, uintptr_t a, size_t size, page *p, int shared, uintptr_t pc,
                          unsigned number)
{
    order_read(t, a);
    if (!p)
        return; // nothing is checked
    note_element(&places.list[number], t, a);
    mark writer = get_mark(p, WRITER, (unsigned)(a % PAGE) >> (p->bytewise ? 0 : 2));
    if (writer)
        mislead(t, a, size, writer, shared, pc);
}

// A lane writes what another lane of its warp read, both by volatile. It is a race if the lanes read
// data there, each its own element, and the reader doesn't look again.
static int lane_read(const thread *t, mark m, uintptr_t a)
{
    const crew *c = crew_of(m);
    if (!c->is_volatile || c->block != (uint32_t)t->block->serial || c->warp != t->warp ||
        !places.list[c->place].elements)
        return 0;
    const thread *reader = &t->block->thread[t->warp * LANES + (m >> 1 & 31)];
    return reader != t && !(reader->spin_pc && reader->spin_address == a);
}

// A volatile write right after a volatile read of the same address in the same line, as in ++. If another
// thread wrote there between the two, its value is lost.
static int loses_write(const thread *t, mark m, uintptr_t a, uintptr_t pc)
{
    return crew_of(m)->is_volatile && t->spin_pc && t->spin_address == a &&
           t->spin_pc == t->pc_before && same_place(t->pc_before, pc);
}

// Of two accesses that are both atomic or volatile: whether no value is lost between them.
static int compatible(const thread *t, mark m, mark me, int which, uintptr_t a, int flags,
                      uintptr_t pc)
{
    if (!(flags & VOLATILE) || same_thread(m, me))
        return 1;
    return which == WRITER ? !(flags & WRITE) || !loses_write(t, m, a, pc) : !lane_read(t, m, a);
}

static inline __attribute__((always_inline)) void check_race(thread *t, page *p, unsigned offset,
                                                             unsigned size, uintptr_t a, int flags,
                                                             int shared, uintptr_t pc,
                                                             unsigned number)
{
    mark me = mark_of(t, number, flags);
    unsigned count, i = page_marks(p, offset, size, &count);
    int told = 0;
    for (unsigned end = i + count; i < end; ++i) {
        for (int which = WRITER; which < (flags & WRITE ? MARKS : READER); ++which) {
            mark m = get_mark(p, which, i);
            if (!m) {
                if (launches.open && !told && !shared)
                    told = check_launches(t, p, which, i, a, size, flags, pc);
                continue;
            }
            const crew *c = crew_of(m);
            if (c->block == (uint32_t)t->block->serial &&
                (c->tick < t->block->since || (c->warp == t->warp && (m >> 1 & 31) == t->lane)))
                continue; // as most are: a barrier came between, or it is its own
            if (m & me & 1 && compatible(t, m, me, which, a, flags, pc))
                continue;
            record x = recorded(m);
            if (told || ordered(t, &x, shared) || doubt(t, &x, which == WRITER, a, size, flags, pc))
                continue;
            party other = {1, x.block, x.thread, places.list[x.place].pc,
                           which == WRITER ? x.atomic ? "wrote it (atomic or volatile)" : "wrote it"
                           : x.atomic      ? "read it (atomic or volatile)"
                                           : "read it"};
            report_race(t, &other, x.thread / LANES == t->warp, a, size, flags, pc);
            told = 1;
        }
        if (flags & WRITE) {
            // An atomic behind a plain write of its own leaves that one's mark: others' atomics race with it alone.
            mark own = get_mark(p, WRITER, i);
            if (!(me & 1) || !own || own & 1 || !same_thread(own, me) ||
                crew_of(own)->tick < t->block->since)
                set_mark(p, WRITER, i, me);
            for (int which = READER; which < MARKS; ++which)
                if (get_mark(p, which, i))
                    set_mark(p, which, i, 0);
            continue;
        }
        mark last = get_mark(p, READER, i);
        if (last && !same_thread(last, me)) {
            mark before = get_mark(p, READER_BEFORE, i);
            if (before && same_thread(before, me)) {
                set_mark(p, READER_BEFORE, i, me);
                continue;
            }
            set_mark(p, READER_BEFORE, i, last);
        }
        set_mark(p, READER, i, me);
    }
}

// ---- reads of what nothing wrote ----------------------------------------------------------------

static void report_unwritten(block *b)
{
    thread *t = b->unwritten.by;
    if (!t)
        return;
    b->unwritten.by = NULL;
    unsigned size = b->unwritten.size;
    int shared = b->unwritten.shared;
    flaw(t, SIMT_UNWRITTEN, b->unwritten.pc, b->unwritten.address, size, NULL,
         shared ? "shared memory starts undefined in each block: write it, then __syncthreads()"
                : "cudaMalloc doesn't clear: write it, or cudaMemset",
         "%s of %u byte%s of %s memory that nothing has written",
         b->unwritten.update ? "atomic update" : "read", size, size == 1 ? "" : "s",
         shared ? "shared" : "global");
}

// A fault that follows from such a read is reported as the read. A race is the better report; and a bad
// address is, unless it may come from what was read just before.
static void unwritten_first(const thread *t, simt_kind kind)
{
    block *b = t->block;
    int address = kind == SIMT_OUT_OF_BOUNDS || kind == SIMT_USE_AFTER_FREE ||
                  kind == SIMT_HOST_POINTER || kind == SIMT_MISALIGNED;
    int just_before =
        b->unwritten.by == t && (t->last_pc == b->unwritten.pc || t->pc_before == b->unwritten.pc);
    if (kind != SIMT_RACE && (!address || just_before))
        report_unwritten(b);
}

// ---- variables that a kernel can't have ---------------------------------------------------------

static int *opted_bytes(const void *function);

// The first touch of a shared variable in this launch. nvcc refuses too many of them; only here is it
// known which ones the kernel and its functions have.
static void add_shared(thread *t, range *r, uintptr_t pc)
{
    give_up();
    r->used = device.start;
    device.static_shared += r->to - r->from;
    size_t dynamic = device.request->shared_bytes, sum = device.static_shared + dynamic;
    if (device.static_shared > DEFAULT_DYNAMIC)
        flaw(t, SIMT_SHARED_SIZE, pc, 0, 0, NULL,
             "make it dynamic shared memory, which can be up to 227 KiB",
             "with %s the kernel has %zu bytes of shared variables, and %d is the most", r->name,
             device.static_shared, DEFAULT_DYNAMIC);
    int most = opted_bytes(device.request->kernel) ? MAX_DYNAMIC : DEFAULT_DYNAMIC;
    if (sum > (size_t)most)
        flaw(
            t, SIMT_SHARED_SIZE, pc, 0, 0, NULL,
            most == MAX_DYNAMIC ? "use less" : "use less, or ask for more: cudaFuncSetAttribute",
            "with %s the kernel has %zu bytes of shared variables, beside %zu dynamic ones, and %d "
            "is the most",
            r->name, device.static_shared, dynamic, most);
}

// A variable in the program's data.
static void bad_variable(thread *t, uintptr_t a, size_t size, int flags, uintptr_t pc)
    __attribute__((noreturn));

static void bad_variable(thread *t, uintptr_t a, size_t size, int flags, uintptr_t pc)
{
    const range *v = find_range(&program.variables, a, 0);
    const char *name = v ? v->name : "a variable", *plural = size == 1 ? "" : "s";
    const char *verb = flags & WRITE ? "write" : "read";
    if (find_range(&program.constants, a, 0))
        fault(t, SIMT_CONSTANT_WRITE, pc, a, size, NULL,
              "write it from the host: cudaMemcpyToSymbol; or make it a __device__ variable",
              "write of %zu byte%s of %s, which is __constant__", size, plural, name);
    fault(t, SIMT_HOST_POINTER, pc, a, size, NULL,
          "pass the value as an argument, or make it a __device__ variable and cudaMemcpyToSymbol",
          "%s of %zu byte%s of %s, which host code writes by its name", verb, size, plural, name);
}

// Memory of another device. The heap of malloc in kernels is one for all devices here.
static __attribute__((noinline, cold)) void check_peer(thread *t, const allocation *m, uintptr_t a,
                                                       size_t size, int flags, uintptr_t pc)
{
    if (device.config.check && m->type == cudaMemoryTypeDevice && !m->heap &&
        !reaches[device.ordinal][m->device])
        fault(t, SIMT_PEER_ACCESS, pc, a, size, NULL,
              "call cudaDeviceEnablePeerAccess on the kernel's device first, or copy the memory",
              "%s of %zu byte%s of device %d's memory by a kernel on device %d",
              flags & WRITE ? "write" : "read", size, size == 1 ? "" : "s", m->device,
              device.ordinal);
}

// ---- one access ---------------------------------------------------------------------------------

static void touched_in_flight(thread *t, uintptr_t a, unsigned size, uintptr_t whole,
                              size_t whole_size, int flags, uintptr_t pc);

static inline __attribute__((always_inline)) void
check_bytes(thread *t, page *p, const allocation *m, uintptr_t a, unsigned size, int flags,
            int shared, uintptr_t whole, size_t whole_size, uintptr_t pc, unsigned number)
{
    unsigned offset = (unsigned)(a % PAGE);
    if (shared && p->start != t->block->start) {
        memset(p->written, 0, sizeof p->written);
        if (p->flying)
            memset(p->flying, 0, sizeof p->written);
        p->start = t->block->start;
    }
    if (p->flying && bits_any(p->flying, offset, size))
        touched_in_flight(t, a, size, whole, whole_size, flags, pc);
    int judged = shared || (m && m->type == cudaMemoryTypeDevice && !m->blind);
    if (judged && (!(flags & WRITE) || flags & UPDATE) && !t->block->unwritten.by &&
        bits_lack(p->written, offset, size, flags & COPY ? 16 : whole_size)) {
        t->block->unwritten.by = t;
        t->block->unwritten.pc = pc;
        t->block->unwritten.address = whole;
        t->block->unwritten.size = (unsigned)whole_size;
        t->block->unwritten.shared = shared;
        t->block->unwritten.update = flags & UPDATE;
        walk(&t->block->unwritten.trail, pc);
    }
    p->launch = device.start;
    check_race(t, p, offset, size, whole, flags, shared, pc, number);
    if (flags & WRITE && (shared || m))
        bits_set(p->written, offset, size, 1);
}

static void note_progress(thread *t)
{
    device.idle = 0;
    t->spin_pc = 0;
    t->look_address = 0;
    t->looks = 0;
}

static double cpu_seconds(pthread_t thread)
{
    clockid_t clock;
    struct timespec t = {0, 0};
    if (!pthread_getcpuclockid(thread, &clock))
        clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// Very many reads, and nothing else: do the threads read the same few places for ever?
static void __attribute__((noinline, cold)) note_idle_read(thread *t, uintptr_t a, uintptr_t pc)
{
    enum { FEW = 16, WINDOW = 4096 };
    static uintptr_t seen[FEW];
    static unsigned count;
    static double since;
    if (device.reads == IDLE_READS)
        count = 0, since = cpu_seconds(pthread_self());
    unsigned i = 0;
    while (i < count && seen[i] != a)
        ++i;
    if (i == FEW) {
        device.reads = 0;
        return;
    }
    if (i == count)
        seen[count++] = a;
    if (device.reads % WINDOW || cpu_seconds(pthread_self()) - since < device.config.watchdog)
        return;
    fault(t, SIMT_DEADLOCK, pc, a, 0, NULL,
          "wait by a volatile or atomic read, as the compiler needn't repeat a plain one; if the "
          "loop "
          "does end, SIMT_WATCHDOG=0",
          "it has made the same plain reads for %u seconds, of %u address%s, and lets no other "
          "thread "
          "go on",
          device.config.watchdog, count, count == 1 ? "" : "es");
}

// A read of a value that may not have changed since the last read. The warp may have voted since, or the block met
// at a barrier: they can wait together.
static void note_look(thread *t, uintptr_t a, uintptr_t pc)
{
    // The same again, or one of several that it looks at in turn
    enum { IN_TURN = 32 };
    if (t->look_address != a && ++t->looks % IN_TURN == 0) {
        device.idle += IN_TURN - 1;
        spin(t, pc);
    } else if (t->look_address == a) {
        spin(t, pc);
    }
    t->look_address = t->spin_address = a;
    t->spin_pc = pc;
}

static inline __attribute__((always_inline)) void access_inline(thread *t, uintptr_t a, size_t size,
                                                                int flags, uintptr_t pc, int part)
{
    block *b = t->block;
    slot *s = b->slot;
    if (a - t->fiber->stack < STACK_BYTES && a + size - t->fiber->stack <= STACK_BYTES)
        return;
    restore(t);
    ++device.beat;
    t->pc_before = t->last_pc;
    t->last_pc = pc;
    if (flags & WRITE && t->stale.pc && ++t->stale.writes == STALE_WRITES)
        settle_stale(t);
    if (flags & WRITE && t->doubt.pc && (flags & ATOMIC || a == t->doubt.address))
        settle_doubt(t, flags & CAS ? a : 0);
    if (++t->accesses >= QUANTUM)
        take_turns(t);
    // What the thread read and decided may be out of date when it acts.
    if (flags & UPDATE && device.order == SIMT_SHUFFLE && !below(8))
        yield(t);

    // Other threads may run now. The access happens after that.
    if (flags & (WRITE | ATOMIC)) {
        device.reads = 0;
        if (flags & CAS && t->read_address == a)
            places.list[place_of(t->read_pc, 0)].compared = 1;
    } else {
        t->read_pc = pc, t->read_address = a;
        if (++device.reads >= IDLE_READS && device.config.watchdog)
            note_idle_read(t, a, pc);
    }
    if ((flags & (ATOMIC | WRITE)) == ATOMIC)
        note_look(t, a, pc);

    int check = device.config.check, shared = 0;
    const allocation *m = NULL;
    page **pages = NULL, *first = NULL;
    uintptr_t base = 0;
    if (in_arena(a)) {
        m = recent_allocation(a);
        if (!m || m->freed || a - m->base >= m->size || size > m->size - (a - m->base))
            bad_address(t, a, size, flags, pc);
        if (m->device != device.ordinal)
            check_peer(t, m, a, size, flags, pc);
        if (actions.open && check)
            check_actions(t, a, size, flags, pc);
        pages = arena.pages, base = arena.base;
    } else if (a - s->shared < program.shared_size) {
        shared = 1;
        uintptr_t dynamic = (uintptr_t)simt_dynamic_shared, offset = a - s->shared;
        if (a - dynamic < MAX_DYNAMIC) {
            if (check && a + size - dynamic > device.request->shared_bytes)
                bad_address(t, a, size, flags, pc);
        } else if (program.shared.count) {
            static const range *recent;
            const range *r = recent;
            if (!r || offset < r->from || offset >= r->to)
                r = find_range(&program.shared, offset, 0);
            if (check && (!r || offset + size > r->to))
                bad_address(t, a, size, flags, pc);
            recent = r;
            if (r && r->guard) // g++ has one for an array of __half, whose constructor does nothing
                return;
            if (check && r->used != device.start)
                add_shared(t, (range *)r, pc);
        }
        pages = s->shared_pages, base = s->shared & ~(uintptr_t)(PAGE - 1);
    } else if (a >= program.data && a < program.data_end) {
        int constant = !!find_range(&program.constants, a, 0);
        if (check && (constant ? flags & WRITE : host_wrote(a)))
            bad_variable(t, a, size, flags, pc);
        if (constant)
            return;
        pages = program.pages, base = program.data;
    } else if (a - (uintptr_t)device.request->arguments < device.request->arguments_size ||
               (a >= program.fixed && a < program.fixed_end && !(flags & WRITE))) {
        return;
    } else if (check) {
        bad_address(t, a, size, flags, pc);
    } else {
        return;
    }

    if (flags & ATOMIC && !shared)
        give_up();
    unsigned number = place_of(pc, part);
    if (check) {
        // The hooks for 16 bytes are also used for types aligned to 8. For those aligned to 16,
        // -fsanitize=alignment is exact.
        size_t alignment = size > 8 ? 8 : size;
        if (size <= 16 && !(flags & UNALIGNED) && !(size & (size - 1)) && a & (alignment - 1))
            fault(t, SIMT_MISALIGNED, pc, a, size, NULL,
                  "round the address to the size, or access smaller pieces",
                  "%s of %zu bytes at %#" PRIxPTR ", no multiple of %zu",
                  flags & WRITE ? "write" : "read", size, a, size);
        for (uintptr_t at = a, end = a + size; at < end;) {
            unsigned n = (unsigned)(PAGE - at % PAGE);
            if (n > end - at)
                n = (unsigned)(end - at);
            page **p = &pages[(at - base) / PAGE];
            if (!*p)
                *p = new_page();
            check_bytes(t, *p, m, at, n, flags, shared, a, size, pc, number);
            first = first ? first : *p;
            at += n;
        }
    }
    count_access(t, a, size, flags, shared, number);
    if (flags & UPDATE)
        return; // simt_atomic continues
    if (flags & WRITE)
        note_progress(t);
    if (!(flags & ATOMIC))
        return;
    if (flags & WRITE)
        order_write(t, a, 0, size);
    else
        read_volatile(t, a, size, first, shared, pc, number);
}

static __attribute__((noinline)) void access_memory(thread *t, uintptr_t a, size_t size, int flags,
                                                    uintptr_t pc, int part)
{
    access_inline(t, a, size, flags, pc, part);
}

// Host code that writes a variable, or accesses device memory: with a GPU, the program would have
// crashed at that.
static void __attribute__((noinline, cold))
host_access(const void *p, size_t size, int flags, uintptr_t pc)
{
    ALONE;
    if (!in_arena((uintptr_t)p)) {
        note_host_write((uintptr_t)p, size);
        return;
    }
    const allocation *m = allocation_at((uintptr_t)p);
    if (m && m->type != cudaMemoryTypeDevice && !m->freed) {
        check_host((uintptr_t)p, size, flags & WRITE, pc);
        return;
    }
    if (!device.config.check)
        return;
    const place *at = resolved(pc);
    fflush(stdout);
    fprintf(stderr,
            "simt: host code %s %zu bytes of device memory at %p, %s:%d\n  fix:   copy with "
            "cudaMemcpy, or "
            "allocate with cudaMallocManaged\n",
            flags & WRITE ? "writes" : "reads", size, p, at->file, at->line);
    abort();
}

static inline __attribute__((always_inline)) void hook(const void *p, size_t size, int flags,
                                                       uintptr_t pc)
{
    thread *t = self;
    if (!t) {
        uintptr_t at = (uintptr_t)p;
        if (in_arena(at) || (flags & WRITE && at - program.data < program.data_end - program.data))
            host_access(p, size, flags, pc);
        return;
    }
    if (!device.traced || !size)
        return;
    t->frame = FRAME;
    uintptr_t a = (uintptr_t)p;
    // Most accesses are plain: for each of these the compiler leaves out what is for others.
    if ((size == 4 || size == 8) && !(flags & ~WRITE)) {
        access_inline(t, a, size, flags, pc, 0);
        return;
    }
    if (size <= 8 || (size == 16 && !(flags & UNALIGNED))) {
        access_memory(t, a, size, flags, pc, 0);
        return;
    }
    // The alignment of a structure decides how many instructions its copy is. It divides the size. One
    // of 16 bytes that is aligned to 8 would have come by another hook.
    size_t step = (a | size | 16) & -(a | size | 16);
    if (size == 16)
        step = step > 4 ? 4 : step;
    int part = 0;
    for (size_t done = 0; done < size; done += step) {
        while (size - done < step)
            step /= 2;
        access_memory(t, a + done, step, flags | COPY, pc, ++part);
    }
}

void simt_touch(const void *address, size_t bytes, int write, int aligned)
{
    hook(address, bytes, (write ? WRITE : 0) | (aligned ? 0 : UNALIGNED), RETURN_PC);
}

// ---- the C library's functions that write through pointers ------------------------------------------

void simt_sincos(double x, double *s, double *c)
{
    hook(s, sizeof *s, WRITE, RETURN_PC), hook(c, sizeof *c, WRITE, RETURN_PC);
    sincos(x, s, c);
}
void simt_sincosf(float x, float *s, float *c)
{
    hook(s, sizeof *s, WRITE, RETURN_PC), hook(c, sizeof *c, WRITE, RETURN_PC);
    sincosf(x, s, c);
}
#define WRITES(T, name, parameters, arguments, to)                                                 \
    T simt_##name parameters                                                                       \
    {                                                                                              \
        hook(to, sizeof *to, WRITE, RETURN_PC);                                                    \
        return name arguments;                                                                     \
    }
WRITES(double, modf, (double x, double *whole), (x, whole), whole)
WRITES(float, modff, (float x, float *whole), (x, whole), whole)
WRITES(double, frexp, (double x, int *exponent), (x, exponent), exponent)
WRITES(float, frexpf, (float x, int *exponent), (x, exponent), exponent)
WRITES(double, remquo, (double x, double y, int *quotient), (x, y, quotient), quotient)
WRITES(float, remquof, (float x, float y, int *quotient), (x, y, quotient), quotient)

// ---- the hooks' names ---------------------------------------------------------------------------

void __tsan_init(void)
{
    device.instrumented = 1;
    program_make();
}
void __tsan_func_entry(void *pc)
{
    (void)pc;
}
void __tsan_func_exit(void)
{
}

#define HOOKS(n)                                                                                   \
    void __tsan_read##n(void *p)                                                                   \
    {                                                                                              \
        hook(p, n, 0, RETURN_PC);                                                                  \
    }                                                                                              \
    void __tsan_write##n(void *p)                                                                  \
    {                                                                                              \
        hook(p, n, WRITE, RETURN_PC);                                                              \
    }                                                                                              \
    void __tsan_volatile_read##n(void *p)                                                          \
    {                                                                                              \
        hook(p, n, ATOMIC | VOLATILE, RETURN_PC);                                                  \
    }                                                                                              \
    void __tsan_volatile_write##n(void *p)                                                         \
    {                                                                                              \
        hook(p, n, WRITE | ATOMIC | VOLATILE, RETURN_PC);                                          \
    }                                                                                              \
    void __tsan_unaligned_read##n(void *p)                                                         \
    {                                                                                              \
        hook(p, n, UNALIGNED, RETURN_PC);                                                          \
    }                                                                                              \
    void __tsan_unaligned_write##n(void *p)                                                        \
    {                                                                                              \
        hook(p, n, WRITE | UNALIGNED, RETURN_PC);                                                  \
    }                                                                                              \
    void __tsan_unaligned_volatile_read##n(void *p)                                                \
    {                                                                                              \
        hook(p, n, ATOMIC | VOLATILE | UNALIGNED, RETURN_PC);                                      \
    }                                                                                              \
    void __tsan_unaligned_volatile_write##n(void *p)                                               \
    {                                                                                              \
        hook(p, n, WRITE | ATOMIC | VOLATILE | UNALIGNED, RETURN_PC);                              \
    }
HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)
HOOKS(16)

void __tsan_read_range(void *p, unsigned long size)
{
    hook(p, size, UNALIGNED, RETURN_PC);
}
void __tsan_write_range(void *p, unsigned long size)
{
    hook(p, size, WRITE | UNALIGNED, RETURN_PC);
}
void __tsan_vptr_update(void **p, void *value)
{
    (void)value, hook(p, 8, WRITE, RETURN_PC);
}
void __tsan_vptr_read(void **p)
{
    hook(p, 8, 0, RETURN_PC);
}

// The compiler's own atomics, as std::atomic uses them in host code, or __atomic_ in a kernel.
#define LOOK (ATOMIC)
#define ATOMICS(bits, T)                                                                           \
    T __tsan_atomic##bits##_load(const volatile T *p, int order)                                   \
    {                                                                                              \
        (void)order;                                                                               \
        hook((const void *)p, sizeof(T), LOOK, RETURN_PC);                                         \
        return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                               \
    }                                                                                              \
    void __tsan_atomic##bits##_store(volatile T *p, T v, int order)                                \
    {                                                                                              \
        (void)order;                                                                               \
        hook((const void *)p, sizeof(T), WRITE | ATOMIC, RETURN_PC);                               \
        __atomic_store_n(p, v, __ATOMIC_SEQ_CST);                                                  \
    }                                                                                              \
    ATOMIC_UPDATE(bits, T, exchange, __atomic_exchange_n)                                          \
    ATOMIC_UPDATE(bits, T, fetch_add, __atomic_fetch_add)                                          \
    ATOMIC_UPDATE(bits, T, fetch_sub, __atomic_fetch_sub)                                          \
    ATOMIC_UPDATE(bits, T, fetch_and, __atomic_fetch_and)                                          \
    ATOMIC_UPDATE(bits, T, fetch_or, __atomic_fetch_or)                                            \
    ATOMIC_UPDATE(bits, T, fetch_xor, __atomic_fetch_xor)                                          \
    ATOMIC_UPDATE(bits, T, fetch_nand, __atomic_fetch_nand)                                        \
    int __tsan_atomic##bits##_compare_exchange_strong(volatile T *p, T *expected, T v, int order,  \
                                                      int failure)                                 \
    {                                                                                              \
        (void)order, (void)failure;                                                                \
        update_hook((const void *)p, sizeof(T), CAS, RETURN_PC);                                   \
        return __atomic_compare_exchange_n(p, expected, v, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
    }                                                                                              \
    int __tsan_atomic##bits##_compare_exchange_weak(volatile T *p, T *expected, T v, int order,    \
                                                    int failure)                                   \
    {                                                                                              \
        (void)order, (void)failure;                                                                \
        update_hook((const void *)p, sizeof(T), CAS, RETURN_PC);                                   \
        return __atomic_compare_exchange_n(p, expected, v, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
    }                                                                                              \
    T __tsan_atomic##bits##_compare_exchange_val(volatile T *p, T expected, T v, int order,        \
                                                 int failure)                                      \
    {                                                                                              \
        (void)order, (void)failure;                                                                \
        update_hook((const void *)p, sizeof(T), CAS, RETURN_PC);                                   \
        __atomic_compare_exchange_n(p, &expected, v, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);       \
        return expected;                                                                           \
    }
#define ATOMIC_UPDATE(bits, T, name, builtin)                                                      \
    T __tsan_atomic##bits##_##name(volatile T *p, T v, int order)                                  \
    {                                                                                              \
        (void)order;                                                                               \
        update_hook((const void *)p, sizeof(T), 0, RETURN_PC);                                     \
        return builtin(p, v, __ATOMIC_SEQ_CST);                                                    \
    }

static inline __attribute__((always_inline)) void update_hook(const void *p, size_t size, int more,
                                                              uintptr_t pc)
{
    thread *t = self;
    if (!t || !device.traced)
        return;
    t->frame = FRAME;
    note_look(t, (uintptr_t)p, pc);
    access_memory(t, (uintptr_t)p, size, WRITE | ATOMIC | UPDATE | more, pc, 0);
    order_read(t, (uintptr_t)p);
    order_write(t, (uintptr_t)p, 1, size);
}

ATOMICS(8, unsigned char)
ATOMICS(16, unsigned short)
ATOMICS(32, unsigned)
ATOMICS(64, unsigned long)
void __tsan_atomic_thread_fence(int order)
{
    (void)order;
    if (self && device.traced)
        restore(self), order_fence(self, 1);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
void __tsan_atomic_signal_fence(int order)
{
    (void)order;
}

// ---- -fsanitize=bounds, alignment: an index, or an address, that a type can't have --------------

struct type_description {
    uint16_t kind, info;
    char name[];
};

struct bounds_site {
    const char *file;
    uint32_t line, column;
    const struct type_description *array, *index;
};

struct alignment_site {
    const char *file;
    uint32_t line, column;
    const struct type_description *type;
    unsigned char log_alignment, kind;
};

static void misaligned_type(const struct alignment_site *site, uintptr_t a, uintptr_t pc)
{
    thread *t = self;
    unsigned long alignment = 1ul << site->log_alignment;
    if (!t) {
        fprintf(stderr,
                "simt: host code: %#" PRIxPTR " is no address for %s, aligned to %lu, at %s:%u\n",
                a, site->type->name, alignment, site->file, site->line);
        return;
    }
    if (!device.config.check)
        return;
    fault(t, SIMT_MISALIGNED, pc, a, 0, NULL,
          "round the address to the size, or access smaller pieces",
          "access of type %s at %#" PRIxPTR ", no multiple of %lu", site->type->name, a, alignment);
}

void __ubsan_handle_type_mismatch_v1(void *site, uintptr_t a)
{
    misaligned_type(site, a, RETURN_PC);
}
void __ubsan_handle_type_mismatch_v1_abort(void *site, uintptr_t a)
{
    misaligned_type(site, a, RETURN_PC);
    abort();
}

static void out_of_declared(const struct bounds_site *site, uintptr_t index, uintptr_t pc)
{
    int is_signed = site->index->info & 1;
    unsigned bits = 1u << (site->index->info >> 1);
    long long value = bits == 32   ? is_signed ? (int32_t)index : (long long)(uint32_t)index
                      : bits == 64 ? (long long)index
                      : is_signed  ? (long long)(int64_t)(index << (64 - bits)) >> (64 - bits)
                                   : (long long)(index & ((1ull << bits) - 1));
    thread *t = self;
    if (!t) {
        fprintf(stderr, "simt: host code: index %lld is outside %s, at %s:%u\n", value,
                site->array->name, site->file, site->line);
        return;
    }
    if (!device.config.check)
        return;
    fault(t, SIMT_OUT_OF_BOUNDS, pc, 0, 0, NULL, "compare the index with the size first",
          "index %lld is outside an array of type %s (%s:%u)", value, site->array->name, site->file,
          site->line);
}

void __ubsan_handle_out_of_bounds(void *site, uintptr_t index)
{
    out_of_declared(site, index, RETURN_PC);
}
void __ubsan_handle_out_of_bounds_abort(void *site, uintptr_t index)
{
    out_of_declared(site, index, RETURN_PC);
    abort();
}
