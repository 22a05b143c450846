// SPDX-License-Identifier: MIT
// A launch from beginning to end; settings and counts.

// ---- settings -----------------------------------------------------------------------------------

static int config_fits(const simt_config *c, const char **what)
{
    *what = c->order > SIMT_ROTATE ? "order must be forward, reverse, shuffle or rotate"
            : c->resident < 1 || c->resident > MAX_SLOTS          ? "resident must be 1 to 16"
            : c->check != 0 && c->check != 1                      ? "check must be 0 or 1"
            : c->count < 0 || c->count > 2                        ? "count must be 0, 1 or lines"
            : c->keep_going != 0 && c->keep_going != 1            ? "keep_going must be 0 or 1"
            : c->cores > MAX_CORES                                ? "cores must be 0 to 64"
            : c->processors < 1 || c->processors > MAX_PROCESSORS ? "processors must be 1 to 1024"
            : c->devices < 1 || c->devices > MAX_DEVICES          ? "devices must be 1 to 16"
                                                                  : NULL;
    return !*what;
}

simt_config simt_get_config(void)
{
    return device.config;
}

int simt_set_config(const simt_config *config)
{
    const char *what;
    if (config_fits(config, &what)) {
        device.config = *config;
        return 0;
    }
    fprintf(stderr, "simt: simt_set_config: %s; nothing changed\n", what);
    return -1;
}

static int env_number(const char *name, unsigned long long least, unsigned long long most,
                      const char *or_else, unsigned long long *to)
{
    const char *text = getenv(name);
    if (!text)
        return 0;
    char *end;
    errno = 0;
    unsigned long long v = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno || v < least || v > most) {
        fprintf(stderr, "simt: %s=%s: must be a number from %llu to %llu%s\n", name, text, least,
                most, or_else);
        exit(2);
    }
    *to = v;
    return 1;
}

__attribute__((constructor)) static void read_environment(void)
{
    simt_config c = device.config;
    unsigned long long v;
    const char *order = getenv("SIMT_ORDER"), *count = getenv("SIMT_COUNT");
    if (order) {
        static const char *const names[] = {"forward", "reverse", "shuffle", "rotate"};
        int i = 0;
        while (i < 4 && strcmp(order, names[i]))
            ++i;
        if (i == 4) {
            fprintf(stderr, "simt: SIMT_ORDER=%s: must be forward, reverse, shuffle or rotate\n",
                    order);
            exit(2);
        }
        c.order = (simt_order)i;
    }
    if (env_number("SIMT_SEED", 0, ULLONG_MAX, "", &v))
        c.seed = v;
    if (env_number("SIMT_RESIDENT", 1, MAX_SLOTS, "", &v))
        c.resident = (unsigned)v;
    if (env_number("SIMT_CHECK", 0, 1, "", &v))
        c.check = (int)v;
    if (env_number("SIMT_KEEP_GOING", 0, 1, "", &v))
        c.keep_going = (int)v;
    if (count && !strcmp(count, "lines"))
        c.count = 2;
    else if (env_number("SIMT_COUNT", 0, 1, ", or lines", &v))
        c.count = (int)v;
    if (env_number("SIMT_WATCHDOG", 0, 86400, "", &v))
        c.watchdog = (unsigned)v;
    if (env_number("SIMT_CORES", 0, MAX_CORES, ", 0 for all", &v))
        c.cores = (unsigned)v;
    if (env_number("SIMT_PROCESSORS", 1, MAX_PROCESSORS, "", &v))
        c.processors = (unsigned)v;
    if (env_number("SIMT_DEVICES", 1, MAX_DEVICES, "", &v))
        c.devices = (unsigned)v;
    device.config = c;
}

// ---- counts -------------------------------------------------------------------------------------

int simt_in_kernel(void)
{
    return !!self;
}

int simt_traced(void)
{
    return device.traced;
}
void simt_last_counts(simt_counts *counts)
{
    *counts = device.counts;
}
void simt_total_counts(simt_counts *counts)
{
    *counts = device.total;
}
void simt_reset_counts(void)
{
    memset(&device.total, 0, sizeof device.total);
}

static void add_counts(simt_counts *to, const simt_counts *from)
{
    unsigned long long *t = (void *)to;
    const unsigned long long *f = (const void *)from;
    const unsigned long long longest = to->longest_thread, later = to->longest_later;
    for (size_t i = 0; i < sizeof *to / sizeof *t; ++i)
        t[i] += f[i];
    to->longest_thread = longest > from->longest_thread ? longest : from->longest_thread;
    to->longest_later = later > from->longest_later ? later : from->longest_later;
}

static double share(unsigned long long part, unsigned long long whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

void simt_counts_print(FILE *f, const simt_counts *c)
{
    fprintf(
        f,
        "  blocks %llu  warps %llu  threads %llu  idle lanes %llu  barriers %llu  shuffles %llu\n",
        c->blocks, c->warps, c->threads, c->idle_lanes, c->barriers, c->shuffles);
    fprintf(
        f,
        "  global loads %llu  stores %llu  accesses %llu  requests %llu (loads %llu)  sectors %llu "
        "(loads %llu)  bytes %llu (loads %llu)\n",
        c->global_loads, c->global_stores, c->global_accesses, c->global_requests,
        c->global_load_requests, c->global_sectors, c->global_load_sectors, c->global_bytes,
        c->global_load_bytes);
    fprintf(f, "  shared loads %llu  stores %llu  accesses %llu  wavefronts %llu  conflicts %llu\n",
            c->shared_loads, c->shared_stores, c->shared_accesses, c->shared_wavefronts,
            c->shared_conflicts);
    fprintf(f, "  atomics global %llu (sectors %llu)  shared %llu  collisions %llu\n",
            c->atomics_global, c->atomic_sectors, c->atomics_shared, c->atomic_collisions);
    fprintf(f, "  active lanes %llu of %llu: %.1f%%  most global accesses of a thread %llu\n",
            c->active_lanes, c->lane_slots, share(c->active_lanes, c->lane_slots),
            c->longest_thread);
}

static int by_line(const void *a, const void *b)
{
    const simt_line *p = a, *q = b;
    int order = strcmp(p->file, q->file);
    return order ? order : p->line - q->line;
}

static void add_line(simt_line *to, const simt_line *from)
{
    to->executions += from->executions, to->threads += from->threads;
    to->least += from->least;
    to->loads += from->loads, to->stores += from->stores, to->atomics += from->atomics;
    to->requests += from->requests, to->sectors += from->sectors;
    to->wavefronts += from->wavefronts, to->conflicts += from->conflicts;
    to->lanes += from->lanes, to->slots += from->slots;
}

size_t simt_last_lines(simt_line *lines, size_t max)
{
    unsigned *used = must(calloc(places.count + 1, sizeof *used)), n = 0;
    for (unsigned i = 0; i < places.count; ++i)
        if (places.list[i].counts.slots)
            used[n++] = i;
    resolve(used, n);
    size_t executed;
    simt_line *of_blocks = executed_lines(&executed),
              *all = must(malloc((n + executed + 1) * sizeof *all));
    memcpy(all + n, of_blocks, executed * sizeof *all);
    free(of_blocks);
    for (unsigned i = 0; i < n; ++i) {
        const place *p = &places.list[used[i]];
        all[i] = p->counts;
        all[i].line = p->line;
        snprintf(all[i].file, sizeof all[i].file, "%s", p->file);
    }
    qsort(all, n + executed, sizeof *all, by_line);
    size_t rows = 0;
    for (unsigned i = 0; i < n + executed; ++i) {
        if (rows && !by_line(&all[rows - 1], &all[i])) {
            add_line(&all[rows - 1], &all[i]);
        } else {
            all[rows++] = all[i];
        }
    }
    if (lines)
        memcpy(lines, all, (rows < max ? rows : max) * sizeof *lines);
    free(all);
    free(used);
    return rows;
}

void simt_lines_print(FILE *f)
{
    size_t n = simt_last_lines(NULL, 0);
    simt_line *rows = must(malloc((n + 1) * sizeof *rows));
    simt_last_lines(rows, n);
    fprintf(f, "  %10s %7s %8s %8s %8s %9s %9s %10s %9s %7s  %s\n", "executions", "active", "loads",
            "stores", "atomics", "requests", "sectors", "wavefronts", "conflicts", "lanes", "line");
    for (size_t i = 0; i < n; ++i)
        fprintf(f, "  %10llu %6.1f%% %8llu %8llu %8llu %9llu %9llu %10llu %9llu %6.1f%%  %s:%d\n",
                rows[i].executions, share(rows[i].threads, LANES * rows[i].executions),
                rows[i].loads, rows[i].stores, rows[i].atomics, rows[i].requests, rows[i].sectors,
                rows[i].wavefronts, rows[i].conflicts, share(rows[i].lanes, rows[i].slots),
                rows[i].file, rows[i].line);
    free(rows);
}

// ---- the order of blocks ------------------------------------------------------------------------

const char *simt_last_order(void)
{
    static const char *const names[] = {"forward", "reverse", "shuffle"};
    static char text[100];
    int n = snprintf(text, sizeof text, "SIMT_ORDER=%s", names[device.order]);
    if (device.order == SIMT_SHUFFLE || device.slots > 1)
        n += snprintf(text + n, sizeof text - (size_t)n, " SIMT_SEED=%llu", device.config.seed);
    if (device.slots > 1)
        snprintf(text + n, sizeof text - (size_t)n, " SIMT_RESIDENT=%u", device.config.resident);
    return text;
}

// A permutation of 0 .. n-1 without a table: a bijection on the next power of 2, repeated until the
// result is below n.
static uint64_t shuffled_block(uint64_t i, uint64_t n, uint64_t seed)
{
    unsigned bits = n > 1 ? 64 - (unsigned)__builtin_clzll(n - 1) : 1;
    uint64_t mask = bits == 64 ? ~0ull : (1ull << bits) - 1;
    do {
        uint64_t state = seed;
        for (int round = 0; round < 4; ++round) {
            i = (i + draw(&state)) & mask;
            i = i * (draw(&state) | 1) & mask;
            i ^= i >> (bits / 2 + 1);
        }
    } while (i >= n);
    return i;
}

static uint64_t block_in_turn(uint64_t i)
{
    switch (device.order) {
    case SIMT_REVERSE:
        return device.blocks - 1 - i;
    case SIMT_SHUFFLE:
        return shuffled_block(i, device.blocks, device.config.seed);
    default:
        return i;
    }
}

// ---- blocks -------------------------------------------------------------------------------------

static void begin_block(slot *s, uint64_t serial)
{
    block *b = &s->block;
    clock_set *clock = b->clock;
    memset(b, 0, sizeof *b);
    b->slot = s;
    b->serial = serial;
    b->index = block_index(serial);
    b->thread = s->threads;
    b->threads = b->live = device.threads;
    b->warps = (device.threads + LANES - 1) / LANES;
    b->start = b->since = ++device.tick;
    if (device.slots == 1) // each block by itself, whichever process runs it
        device.random = device.config.seed + serial * 0x9e3779b97f4a7c15u;
    count_begin(s);
    b->clock = clock;
    clock_clear(clock);
    for (unsigned w = 0; w < b->warps; ++w) {
        unsigned lanes = device.threads - w * LANES;
        b->lanes[w] = b->ready[w] = lanes >= LANES ? ~0u : (1u << lanes) - 1;
    }
    if (device.order == SIMT_SHUFFLE) {
        b->reversed = (int)below(2);
        b->lane_turn = below(LANES);
        b->warp_turn = below(b->warps);
    } else {
        b->reversed = device.order == SIMT_REVERSE;
    }
    uint3 index = {0, 0, 0};
    for (unsigned i = 0; i < device.threads; ++i) {
        thread *t = &s->threads[i];
        t->index = index;
        t->id = i, t->warp = i / LANES, t->lane = i % LANES;
        t->state = UNSTARTED;
        t->fiber = NULL;
        t->block = b;
        t->last_pc = t->pc_before = t->wait_pc = t->spin_pc = 0;
        t->accesses = t->looks = 0;
        t->look_address = 0;
        t->read_address = 0;
        t->completes = 0;
        t->global = 0;
        t->path = NULL, t->next_step = NULL, t->first_frame = 0;
        drop_copies(t);
        if (device.traced) {
            t->near = t->far = (fenced){0, 0, 0};
            t->pending = NULL;
            t->fenced = 0;
            t->doubt.pc = t->stale.pc = 0;
            t->stale.to_restore = 0; // what it had `seen` is before all accesses of this block
        }
        if (++index.x == simt_block_size.x) {
            index.x = 0;
            if (++index.y == simt_block_size.y)
                index.y = 0, ++index.z;
        }
    }
    simt_block_index = b->index;
}

static void abandon_fibers(slot *s)
{
    s->free_fibers = NULL;
    for (unsigned i = 0; i < s->fibers_made; ++i) {
        s->fibers[i]->fresh = 1;
        free_fiber(s, s->fibers[i]);
    }
}

static void consider_fork(void);
static void join_children(slot *s);

// Runs blocks until none is left, or until a fault ends the launch; one may end just its block.
static void run_blocks(slot *s)
{
    while (!device.ended && device.next_block < device.until) {
        const int begins = device.next_block == 0;
        begin_block(s, block_in_turn(device.next_block++));
        s->block.begins = begins;
        int how = _setjmp(s->root);
        if (!how)
            resume(next_thread(&s->block, NULL, 0));
        self = NULL;
        if (how == 1) {
            abandon_fibers(s);
            continue;
        }
        for (unsigned w = 0; w < s->block.warps; ++w)
            count_together(&s->block, w);
        interleave(s, 4);
        consider_fork();
    }
    s->active = 0;
}

static slot *make_slot(int number)
{
    slot *s =
        must(mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    s->number = number;
    s->block.clock = must(calloc(1, sizeof *s->block.clock));
    s->shared_pages = must(calloc(program.shared_size / PAGE + 2, sizeof *s->shared_pages));
    sem_init(&s->baton, 0, 0);
    return s;
}

// ---- what the hardware catches in code that is not instrumented ------------------------------------

// An OS thread of its own that sees when a kernel only computes: a plain read in a loop may be done once.
static void *watchdog(void *unused)
{
    uint64_t last = 0;
    double since = 0;
    (void)unused;
    for (;;) {
        nanosleep(&(struct timespec){0, 250000000}, NULL);
        if (device.beat != last || !device.request) {
            last = device.beat;
            since = device.request ? cpu_seconds(device.runner) : 0;
        } else if (device.config.watchdog &&
                   cpu_seconds(device.runner) - since > device.config.watchdog) {
            device.alarm = last;
            pthread_kill(device.runner, SIGURG);
        }
    }
    return NULL;
}

static void start_watchdog(void)
{
    static int started;
    if (!device.config.watchdog || started++)
        return;
    pthread_t thread;
    sigset_t all, before; // signals are for the program's own threads
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (!pthread_create(&thread, NULL, watchdog, NULL))
        pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    thread *t = self;
    if (!t) { // a fault of the host: leave it alone
        if (number != SIGURG)
            signal(number, SIG_DFL);
        return;
    }
    if (number == SIGURG && (device.telling || device.alarm != device.beat))
        return; // something has happened meanwhile
    uintptr_t a = (uintptr_t)info->si_addr,
              pc = (uintptr_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    if (number == SIGURG && t->next_step) { // the signal may come in the engine
        if (!t->path || t->next_step == t->path->steps[t->lane])
            return; // which has just forgotten all steps: the next signal comes soon
        pc = (uintptr_t)t->next_step[-1].address - 1;
    }
    if (number == SIGURG)
        fault(t, SIMT_DEADLOCK, pc + 1, 0, 0, NULL,
              "wait by a volatile or atomic read: the compiler needn't repeat a plain one; if the "
              "loop does end, raise SIMT_WATCHDOG, or set it to 0",
              "the thread has run for %u seconds without an access to memory or a meeting",
              device.config.watchdog);
    if (number == SIGFPE)
        fault(t, SIMT_TRAP, pc + 1, 0, 0, NULL, "compare the divisor with 0 first",
              "integer division by zero, or one that overflows");
    if (t->fiber->stack - PAGE <= a && a < t->fiber->stack)
        fault(t, SIMT_OUT_OF_BOUNDS, pc + 1, a, 1, NULL, "keep large arrays in global memory",
              "the thread needs more than %d KiB of stack", STACK_BYTES >> 10);
    int write = ((ucontext_t *)context)->uc_mcontext.gregs[REG_ERR] >> 1 & 1;
    bad_address(t, a, 1, write ? WRITE : 0, pc + 1);
}

static void catch_signals(void)
{
    // Each OS thread needs a stack of its own for this, because a fiber's stack may have overflowed.
    enum { SIGNAL_STACK = 256 << 10 };
    stack_t stack = {.ss_sp = must(malloc(SIGNAL_STACK)), .ss_size = SIGNAL_STACK};
    sigaltstack(&stack, NULL);
    struct sigaction action = {.sa_sigaction = on_signal,
                               .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTART};
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGURG};
    for (int i = 0; i < 4; ++i) {
        struct sigaction old;
        sigaction(numbers[i], NULL, &old);
        if (!(old.sa_flags & SA_SIGINFO) && old.sa_handler == SIG_DFL)
            sigaction(numbers[i], &action, NULL);
    }
}

static void *slot_main(void *argument)
{
    slot *s = argument;
    s->shared = shared_base();
    catch_signals();
    wait_baton(s);
    for (;;) {
        run_blocks(s);
        // Those that are still active; otherwise the launch itself, which waits in slot 0.
        slot *next = other_slot(s);
        sem_post(next ? &next->baton : &device.slot[0]->baton);
        wait_baton(s);
    }
    return NULL;
}

// ---- a launch -----------------------------------------------------------------------------------

// How much dynamic shared memory a kernel may have on a device, where cudaFuncSetAttribute said so.
static struct {
    struct opt {
        const void *function;
        int device, bytes;
    } * list;
    size_t count;
} opted;

static int *opted_bytes(const void *function)
{
    for (size_t i = 0; i < opted.count; ++i)
        if (opted.list[i].function == function && opted.list[i].device == ordinal())
            return &opted.list[i].bytes;
    return NULL;
}

static int dynamic_limit(const void *function)
{
    const int *bytes = opted_bytes(function);
    return bytes ? *bytes : DEFAULT_DYNAMIC;
}

static cudaError_t check_request(const simt_launch_request *r, uintptr_t pc)
{
    if (!r->kernel)
        return tell(SIMT_INVALID_CALL, cudaErrorInvalidDeviceFunction, "a launch", pc,
                    "pass a kernel", "the kernel is a null pointer");
    char call[160] = "a launch of ";
    const unsigned shape[] = {r->grid.x, r->grid.y, r->grid.z, r->block.x, r->block.y, r->block.z};
    static const unsigned most[] = {INT_MAX, 65535, 65535, MAX_THREADS, MAX_THREADS, 64};
    static const char *const name[] = {"grid.x",  "grid.y",  "grid.z",
                                       "block.x", "block.y", "block.z"};
#define REFUSE(error, ...)                                                                         \
    (name_kernel(call + 12, sizeof call - 12, r),                                                  \
     tell(SIMT_INVALID_CALL, error, call, pc, __VA_ARGS__))
    for (int i = 0; i < 6; ++i)
        if (!shape[i] || shape[i] > most[i])
            return REFUSE(cudaErrorInvalidConfiguration,
                          shape[i] ? "make it smaller, and let each thread do more"
                                   : "launch nothing when there is nothing to do",
                          "%s is %u, and must be 1 to %u", name[i], shape[i], most[i]);
    uint64_t threads = (uint64_t)r->block.x * r->block.y * r->block.z,
             blocks = (uint64_t)r->grid.x * r->grid.y * r->grid.z;
    if (threads > MAX_THREADS)
        return REFUSE(cudaErrorInvalidConfiguration, "make the block smaller",
                      "a block of %u x %u x %u is %" PRIu64 " threads, and %d is the most",
                      r->block.x, r->block.y, r->block.z, threads, MAX_THREADS);
    if (threads > (unsigned)launch_bound(r->kernel))
        return REFUSE(cudaErrorInvalidValue, "launch smaller blocks, or raise the bound",
                      "a block of %" PRIu64 " threads, and the kernel's __launch_bounds__ says %d",
                      threads, launch_bound(r->kernel));
    if (r->shared_bytes > (size_t)dynamic_limit(r->kernel))
        return REFUSE(cudaErrorInvalidValue,
                      r->shared_bytes > MAX_DYNAMIC
                          ? "ask for less: a block has 232448 bytes"
                          : "raise it before the launch: cudaFuncSetAttribute(kernel, "
                            "cudaFuncAttributeMaxDynamicSharedMemorySize, bytes)",
                      "%zu bytes of dynamic shared memory, and %d is the most for this kernel",
                      r->shared_bytes, dynamic_limit(r->kernel));
    if (r->cooperative && blocks > MAX_SLOTS)
        return REFUSE(cudaErrorCooperativeLaunchTooLarge, "launch fewer blocks",
                      "%" PRIu64 " blocks must be resident together, and %d can", blocks,
                      MAX_SLOTS);
    const struct CUstream_st *s = stream_of(r->stream, simt_current);
    if (!s)
        return REFUSE(cudaErrorInvalidResourceHandle, "pass what cudaStreamCreate gave, or 0",
                      "%p is no stream", (void *)r->stream);
    if (s->device != simt_current)
        return REFUSE(cudaErrorInvalidResourceHandle, "cudaSetDevice first",
                      "the stream is of device %d, and device %d is current", s->device,
                      simt_current);
#undef REFUSE
    return cudaSuccess;
}

static void begin_parallel(void);

static cudaError_t launch(const simt_launch_request *r, uintptr_t pc)
{
    struct CUstream_st *stream = stream_of(r->stream, simt_current);
    begin_work(stream);
    running = &stream->past;
    launches.open = unknown_launches(running);
    actions.open = 0;
    for (size_t i = 0; i < actions.count; ++i)
        actions.open += !knows(running, actions.list[i].stream, actions.list[i].number);
    program_make();
    device.runner = pthread_self();
    device.request = r;
    device.ordinal = simt_current;
    start_watchdog();
    device.traced = r->traced;
    device.failed = device.abandoned = device.ended = 0;
    device.grid_x = r->grid.x, device.grid_y = r->grid.y;
    device.blocks = (uint64_t)r->grid.x * r->grid.y * r->grid.z;
    device.next_block = 0;
    device.until = device.blocks;
    begin_parallel();
    device.threads = r->block.x * r->block.y * r->block.z;
    device.random = device.config.seed;
    static unsigned rotation;
    device.order = device.config.order == SIMT_ROTATE ? (simt_order)(rotation++ % SIMT_ROTATE)
                                                      : device.config.order;
    device.idle = 0;
    device.reads = 0;
    device.static_shared = 0;
    simt_grid_size = (uint3){r->grid.x, r->grid.y, r->grid.z};
    simt_block_size = (uint3){r->block.x, r->block.y, r->block.z};
    memset(&device.report, 0, sizeof device.report);
    for (unsigned i = 0; i < places.count; ++i)
        memset(&places.list[i].counts, 0, sizeof places.list[i].counts);
    unsigned warps = (device.threads + LANES - 1) / LANES;
    device.counts = (simt_counts){.launches = 1,
                                  .blocks = device.blocks,
                                  .warps = device.blocks * warps,
                                  .threads = device.blocks * device.threads,
                                  .idle_lanes = device.blocks * (warps * LANES - device.threads)};
    forget_crews();
    device.start = ++device.tick;
    order_begin();

    // Code that is not instrumented can't be interrupted while it waits for another block. So a block
    // of such code runs to its end before the next one starts.
    unsigned wanted = r->cooperative ? MAX_SLOTS : r->traced ? device.config.resident : 1;
    device.slots = device.blocks < wanted ? (unsigned)device.blocks : wanted;
    for (unsigned i = 0; i < device.slots; ++i) {
        slot *s = device.slot[i];
        if (!s)
            s = device.slot[i] = make_slot((int)i);
        s->active = 1;
        if (!i) {
            // Any host thread may launch, and each has its own thread-local storage.
            s->shared = shared_base();
            static __thread int caught;
            if (!caught++)
                catch_signals();
        } else if (!s->started) {
            pthread_attr_t attributes;
            pthread_attr_init(&attributes);
            // Its thread-local storage is a part of its stack.
            pthread_attr_setstacksize(&attributes, program.shared_size + (1 << 20));
            if (pthread_create(&s->os_thread, &attributes, slot_main, s)) {
                device.slots = i;
                s->active = 0;
            } else {
                s->started = 1;
            }
            pthread_attr_destroy(&attributes);
        }
    }
    if (r->cooperative && device.slots < device.blocks)
        return cudaErrorCooperativeLaunchTooLarge;

    slot *first = device.slot[0];
    run_blocks(first);
    join_children(first);
    for (slot *next; (next = other_slot(first));) {
        sem_post(&next->baton);
        wait_baton(first);
    }

    note_launch(stream, pc);
    if (device.instrumented && !(device.traced && device.config.check))
        for (size_t i = 0; i < arena.count; ++i)
            arena.list[i].blind = 1;
    add_counts(&device.total, &device.counts);
    if (device.config.count) {
        char name[128];
        name_kernel(name, sizeof name, r);
        fprintf(stderr, "simt: %s <<<(%u,%u,%u), (%u,%u,%u)>>>%s\n", name, r->grid.x, r->grid.y,
                r->grid.z, r->block.x, r->block.y, r->block.z,
                device.traced ? "" : " (not instrumented: accesses weren't counted)");
        simt_counts_print(stderr, &device.counts);
        if (device.config.count > 1)
            simt_lines_print(stderr);
    }
    return device.failed ? kind_error(device.report.kind) : cudaSuccess;
}

cudaError_t simt_launch(const simt_launch_request *request)
{
    if (self)
        fault(self, SIMT_NESTED_LAUNCH, RETURN_PC, 0, 0, NULL,
              "launch it from the host, after this kernel",
              "a kernel launches a kernel, which this device can't do");
    ALONE;
    cudaError_t error = check_request(request, RETURN_PC);
    if (!error)
        error = launch(request, RETURN_PC);
    device.request = NULL;
    if (error)
        simt_error = error;
    return error;
}
