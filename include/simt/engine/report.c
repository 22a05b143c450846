// SPDX-License-Identifier: MIT
// Places in the source, and the report of a fault.

// ---- places: a hash from return address to a dense number ---------------------------------------

static struct {
    place *list;
    unsigned count, capacity;
    unsigned *hash; // number + 1
    unsigned hash_size;
} places;

static unsigned place_slot(uintptr_t pc, int part)
{
    uint64_t h = (pc + (uintptr_t)part * 0x51ed27) * 0x9e3779b97f4a7c15u;
    unsigned i = (unsigned)(h >> 40) & (places.hash_size - 1);
    while (places.hash[i]) {
        place *p = &places.list[places.hash[i] - 1];
        if (p->pc == pc && p->part == part)
            break;
        i = (i + 1) & (places.hash_size - 1);
    }
    return i;
}

static unsigned place_of(uintptr_t pc, int part)
{
    if (2 * places.count >= places.hash_size) {
        free(places.hash);
        places.hash_size = places.hash_size ? 2 * places.hash_size : 1024;
        places.hash = must(calloc(places.hash_size, sizeof *places.hash));
        for (unsigned i = 0; i < places.count; ++i)
            places.hash[place_slot(places.list[i].pc, places.list[i].part)] = i + 1;
    }
    unsigned i = place_slot(pc, part);
    if (!places.hash[i]) {
        if (places.count == places.capacity) {
            places.capacity = places.capacity ? 2 * places.capacity : 256;
            places.list = must(realloc(places.list, places.capacity * sizeof *places.list));
        }
        place *p = &places.list[places.count++];
        memset(p, 0, sizeof *p);
        p->pc = pc;
        p->part = part;
        places.hash[i] = places.count;
    }
    return places.hash[i] - 1;
}

// ---- from an address to a line: addr2line, called only when there is something to report ------------

// Whether a file is one of simt's headers: it lies where simt_device.h does.
static int engine_file(const char *file)
{
    char sibling[PATH_MAX];
    const char *name = strrchr(file, '/');
    name = name ? name + 1 : file;
    snprintf(sibling, sizeof sibling, "%.*ssimt_device.h", (int)(name - file), file);
    if (!access(sibling, F_OK))
        return 1;
    snprintf(sibling, sizeof sibling, "%.*s../simt_device.h", (int)(name - file), file);
    return !access(sibling, F_OK) || !strcmp(name, "simt_device.h") ||
           !strcmp(name, "cuda_runtime.h");
}

// Of `int get<4>(int*)` the name alone: get<4>.
static void plain_function(const char *from, char *to, size_t size)
{
    // The parameters begin at the parenthesis that the last one closes.
    const char *end = from + strlen(from);
    int depth = 0;
    for (const char *c = end; c > from && !(depth == 1 && c[-1] == '('); --c, end = c - 1)
        depth += (c[-1] == ')') - (c[-1] == '(');
    if (end <= from)
        end = from + strlen(from);
    // The result's type is there for templates only. It ends at the last space outside of brackets.
    const char *name = from;
    depth = 0;
    for (const char *c = from; c < end; ++c) {
        depth += (*c && strchr("<({", *c)) - (*c && strchr(">)}", *c));
        if (*c == ' ' && !depth && (c - from < 8 || strncmp(c - 8, "operator", 8)))
            name = c + 1;
    }
    snprintf(to, size, "%.*s", (int)(end - name), name);
}

static void resolve_module(const char *module, uintptr_t base, const unsigned *wanted, unsigned n)
{
    enum { BATCH = 200 };
    for (unsigned done = 0; done < n; done += BATCH) {
        unsigned batch = n - done < BATCH ? n - done : BATCH;
        char command[PATH_MAX + 64 + 20 * BATCH];
        size_t length =
            (size_t)snprintf(command, sizeof command, "addr2line -a -f -C -i -e '%s'", module);
        for (unsigned i = 0; i < batch; ++i)
            length += (size_t)snprintf(command + length, sizeof command - length, " 0x%" PRIxPTR,
                                       places.list[wanted[done + i]].pc - 1 - base);
        snprintf(command + length, sizeof command - length, " 2>/dev/null");
        FILE *out = popen(command, "r");
        if (!out)
            return;
        // For each address: the address, then a function and a file:line per level of inlining. The
        // first that isn't one of our wrappers is the place.
        char text[1024], function[1024] = "";
        int current = -1, named = 0;
        place *p = NULL;
        while (fgets(text, sizeof text, out)) {
            text[strcspn(text, "\n")] = 0;
            if (text[0] == '0' && text[1] == 'x') {
                if (++current >= (int)batch)
                    break;
                p = &places.list[wanted[done + (unsigned)current]];
                named = 0;
                continue;
            }
            if (!p)
                continue;
            if (!named) {
                snprintf(function, sizeof function, "%s", text);
                named = 1;
                continue;
            }
            named = 0;
            char *colon = strrchr(text, ':');
            if (!colon)
                continue;
            *colon = 0;
            int line = atoi(colon + 1);
            if (line <= 0 || engine_file(text))
                continue;
            if (p->line) {
                frame **last = &p->outer;
                while (*last)
                    last = &(*last)->outer;
                *last = must(calloc(1, sizeof **last));
                (*last)->line = line;
                snprintf((*last)->file, sizeof p->file, "%.*s", (int)sizeof p->file - 1, text);
                plain_function(function, (*last)->function, sizeof p->function);
                continue;
            }
            p->line = line;
            snprintf(p->file, sizeof p->file, "%.*s", (int)sizeof p->file - 1, text);
            plain_function(function, p->function, sizeof p->function);
        }
        pclose(out);
    }
}

static void resolve(const unsigned *numbers, unsigned n)
{
    unsigned *left = must(malloc((n + 1) * sizeof *left)), count = 0;
    for (unsigned i = 0; i < n; ++i)
        if (!places.list[numbers[i]].resolved)
            left[count++] = numbers[i];
    while (count) {
        // All addresses in the module of the first one go into one call.
        Dl_info info;
        uintptr_t base = 0;
        char module[PATH_MAX] = "";
        struct link_map *map = NULL;
        if (dladdr1((void *)(places.list[left[0]].pc - 1), &info, (void **)&map, RTLD_DL_LINKMAP) &&
            map) {
            base = map->l_addr;
            if (map->l_name && *map->l_name)
                snprintf(module, sizeof module, "%s", map->l_name);
        }
        if (!*module) {
            ssize_t length = readlink("/proc/self/exe", module, sizeof module - 1);
            module[length > 0 ? length : 0] = 0;
        }
        unsigned mine = 0, others = 0;
        unsigned *batch = must(malloc(count * sizeof *batch));
        for (unsigned i = 0; i < count; ++i) {
            struct link_map *m = NULL;
            int same = !i || (dladdr1((void *)(places.list[left[i]].pc - 1), &info, (void **)&m,
                                      RTLD_DL_LINKMAP) &&
                              m == map);
            if (same) {
                places.list[left[i]].resolved = 1;
                batch[mine++] = left[i];
            } else {
                left[others++] = left[i];
            }
        }
        if (*module && !strchr(module, '\''))
            resolve_module(module, base, batch, mine);
        free(batch);
        count = others;
    }
    free(left);
}

static const place *resolved(uintptr_t pc)
{
    unsigned number = place_of(pc, 0);
    resolve(&number, 1);
    return &places.list[number];
}

static int same_line(uintptr_t a, uintptr_t b)
{
    if (a == b)
        return 1;
    unsigned numbers[2] = {place_of(a, 0), place_of(b, 0)};
    resolve(numbers, 2);
    const place *p = &places.list[numbers[0]], *q = &places.list[numbers[1]];
    return p->line == q->line && !strcmp(p->file, q->file);
}

// ---- the report ---------------------------------------------------------------------------------

const char *simt_kind_name(simt_kind kind)
{
    static const char *const name[] = {
        "no fault",
        "out of bounds",
        "use after free",
        "host pointer",
        "misaligned",
        "unwritten",
        "race",
        "divergent barrier",
        "absent lane",
        "deadlock",
        "assertion",
        "trap",
        "invalid free",
        "constant written",
        "too much shared memory",
        "launch in a kernel",
        "invalid call",
        "unwritten copy",
    };
    return (unsigned)kind < sizeof name / sizeof *name ? name[kind] : "unknown kind";
}

static cudaError_t kind_error(simt_kind kind)
{
    switch (kind) {
    case SIMT_OK:
        return cudaSuccess;
    case SIMT_OUT_OF_BOUNDS:
    case SIMT_USE_AFTER_FREE:
    case SIMT_HOST_POINTER:
        return cudaErrorIllegalAddress;
    case SIMT_MISALIGNED:
        return cudaErrorMisalignedAddress;
    case SIMT_DEADLOCK:
        return cudaErrorLaunchTimeout;
    case SIMT_ASSERT:
        return cudaErrorAssert;
    case SIMT_TRAP:
        return cudaErrorIllegalInstruction;
    case SIMT_SHARED_SIZE:
        return cudaErrorLaunchOutOfResources;
    case SIMT_NESTED_LAUNCH:
        return cudaErrorNotSupported;
    default:
        return cudaErrorLaunchFailure;
    }
}

static uint3 block_index(uint64_t serial)
{
    uint3 i = {(unsigned)(serial % device.grid_x),
               (unsigned)(serial / device.grid_x % device.grid_y),
               (unsigned)(serial / device.grid_x / device.grid_y)};
    return i;
}

static uint3 thread_index(unsigned id)
{
    uint3 i = {id % simt_block_size.x, id / simt_block_size.x % simt_block_size.y,
               id / simt_block_size.x / simt_block_size.y};
    return i;
}

static void fill_place(simt_place *to, uint64_t block, unsigned id, uintptr_t pc)
{
    uint3 b = block_index(block), t = thread_index(id);
    memset(to, 0, sizeof *to);
    to->block[0] = b.x, to->block[1] = b.y, to->block[2] = b.z;
    to->thread[0] = t.x, to->thread[1] = t.y, to->thread[2] = t.z;
    if (!pc)
        return;
    const place *p = resolved(pc);
    snprintf(to->file, sizeof to->file, "%s", p->file);
    to->line = p->line;
}

static void name_kernel(char *to, size_t size, const simt_launch_request *r)
{
    if (r->name) {
        snprintf(to, size, "%s", r->name);
        return;
    }
    const void *kernel = r->kernel;
    // One past the entry, because a place is looked up one byte before its address.
    const place *p = resolved((uintptr_t)kernel + 1);
    const frame *outer = p->outer;
    while (outer && outer->outer)
        outer = outer->outer;
    snprintf(to, size, "%s", outer ? outer->function : p->function);
    if (!*to)
        snprintf(to, size, "kernel at %p", kernel);
}

static void say_place(char *to, size_t size, const simt_place *p)
{
    int n = snprintf(to, size, "block (%u,%u,%u) thread (%u,%u,%u)", p->block[0], p->block[1],
                     p->block[2], p->thread[0], p->thread[1], p->thread[2]);
    if (p->line && (size_t)n < size)
        snprintf(to + n, size - (size_t)n, ", %s:%d", p->file, p->line);
}

static void append(simt_report *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void append(simt_report *r, const char *format, ...)
{
    size_t length = strlen(r->text);
    va_list args;
    va_start(args, format);
    vsnprintf(r->text + length, sizeof r->text - length, format, args);
    va_end(args);
}

// ---- the calls that led to a place --------------------------------------------------------------

typedef struct {
    trail *to;
    uintptr_t pc;
} walker;

static _Unwind_Reason_Code walk_step(struct _Unwind_Context *context, void *argument)
{
    walker *w = argument;
    int before; // where a signal came, and not where a call returns to
    uintptr_t pc = _Unwind_GetIPInfo(context, &before);
    pc += !!before;
    if (w->to->count || pc == w->pc)
        w->to->pc[w->to->count++] = pc;
    return w->to->count == sizeof w->to->pc / sizeof *w->to->pc ? _URC_END_OF_STACK
                                                                : _URC_NO_REASON;
}

// The calls of the thread that runs, from the one that returns to `pc` outwards.
static void walk(trail *to, uintptr_t pc)
{
    to->count = 0;
    _Unwind_Backtrace(walk_step, &(walker){to, pc});
    if (!to->count)
        to->pc[to->count++] = pc;
}

typedef struct {
    char text[2048];
    unsigned count;
} calls;

// Whether this was the kernel, where the calls begin.
static int add_call(calls *c, const simt_report *r, const char *file, int line,
                    const char *function)
{
    enum { MOST = 12 };
    size_t length = strlen(c->text), bare = strcspn(r->kernel, "<");
    if (!line)
        return 0;
    if (c->count++ < MOST)
        snprintf(c->text + length, sizeof c->text - length, "  %s  %s (%s:%d)\n",
                 c->count == 1 ? "in:  " : "from:", function, file, line);
    else if (c->count == MOST + 1)
        snprintf(c->text + length, sizeof c->text - length, "  from:  ...\n");
    // The launch may have the kernel's name without its template arguments.
    return !strcmp(function, r->kernel) ||
           (!r->kernel[bare] && !strncmp(function, r->kernel, bare) && function[bare] == '<');
}

// Adds the calls between the kernel and a place, if there are any.
static void say_calls(simt_report *r, const trail *t)
{
    calls c = {.count = 0};
    unsigned numbers[sizeof t->pc / sizeof *t->pc];
    for (unsigned i = 0; i < t->count; ++i)
        numbers[i] = place_of(t->pc[i], 0);
    resolve(numbers, t->count);
    int done = 0;
    for (unsigned i = 0; i < t->count && !done; ++i) {
        const place *p = &places.list[numbers[i]];
        done = add_call(&c, r, p->file, p->line, p->function);
        for (const frame *f = p->outer; f && !done; f = f->outer)
            done = add_call(&c, r, f->file, f->line, f->function);
    }
    if (c.count > 1)
        append(r, "%s", c.text);
}

static void unwind(void) __attribute__((noreturn));
static void unwritten_first(const thread *t, simt_kind kind);
static void say_memory(simt_report *r, const thread *t);

// Where the other side of a fault was.
typedef struct {
    int present;
    uint64_t block;
    unsigned thread;
    uintptr_t pc;
    const char *what; // "wrote it", "waits at a barrier"
} party;

static void print_report(const simt_report *r)
{
    if (device.quiet)
        return;
    fflush(stdout);
    fputs(r->text, stderr);
}

// Writes what thread t found.
static void compose(simt_report *r, const thread *t, const char *severity, simt_kind kind,
                    uintptr_t pc, uintptr_t address, size_t size, const party *other,
                    const char *hint, const char *format, va_list args)
{
    memset(r, 0, sizeof *r);
    r->kind = kind;
    r->address = address;
    r->size = (unsigned)size;
    r->count = 1;
    name_kernel(r->kernel, sizeof r->kernel, device.request);
    fill_place(&r->here, t->block->serial, t->id, pc);
    char what[1024], where[400];
    vsnprintf(what, sizeof what, format, args);
    say_place(where, sizeof where, &r->here);
    append(r, "simt: %s%s in %s\n  what:  %s\n  where: %s\n", severity, simt_kind_name(kind),
           r->kernel, what, where);
    trail calls = {1, {pc}};
    if (kind == SIMT_UNWRITTEN) // it happened before
        calls = t->block->unwritten.trail;
    else if (t == self)
        walk(&calls, pc);
    say_calls(r, &calls);
    if (address)
        say_memory(r, t);
    if (other && other->present) {
        fill_place(&r->there, other->block, other->thread, other->pc);
        say_place(where, sizeof where, &r->there);
        append(r, "  other: %s %s\n", where, other->what);
        say_calls(r, &(trail){1, {other->pc}});
    }
    append(r, "  fix:   %s\n", hint);
}

// Records and prints the fault of thread t, and ends the launch. The text says what happened, and the
// hint what to do.
static void fault(thread *t, simt_kind kind, uintptr_t pc, uintptr_t address, size_t size,
                  const party *other, const char *hint, const char *format, ...)
    __attribute__((noreturn, format(printf, 8, 9)));

static void fault(thread *t, simt_kind kind, uintptr_t pc, uintptr_t address, size_t size,
                  const party *other, const char *hint, const char *format, ...)
{
    unwritten_first(t, kind);
    va_list args;
    va_start(args, format);
    compose(&device.report, t, "", kind, pc, address, size, other, hint, format, args);
    va_end(args);
    print_report(&device.report);
    device.failed = 1;
    unwind();
}

const simt_report *simt_last_report(void)
{
    return &device.report;
}

// ---- what ends no launch: warnings, and calls of the runtime API that fail -------------------------

static struct {
    simt_report last;
    unsigned long long count;
} warnings;

const simt_report *simt_last_warning(void)
{
    return &warnings.last;
}
unsigned long long simt_warnings(void)
{
    return warnings.count;
}

// What was found, and in which launch last. A launch is warned of it once, and it is printed once.
typedef struct finding {
    simt_kind kind;
    uintptr_t pc, other;
    tick_t launch;
    int printed;
    struct finding *next;
} finding;

static finding *find(simt_kind kind, uintptr_t pc, const party *other)
{
    static finding *list;
    uintptr_t there = other && other->present ? other->pc : 0;
    for (finding *f = list; f; f = f->next)
        if (f->kind == kind && f->pc == pc && f->other == there)
            return f;
    finding *f = must(calloc(1, sizeof *f));
    *f = (finding){.kind = kind, .pc = pc, .other = there, .next = list};
    return list = f;
}

// Says what is suspect about what thread t does. The thread continues.
static void warn(thread *t, simt_kind kind, uintptr_t pc, const party *other, const char *hint,
                 const char *format, ...) __attribute__((unused, format(printf, 6, 7)));

static void warn(thread *t, simt_kind kind, uintptr_t pc, const party *other, const char *hint,
                 const char *format, ...)
{
    if (!device.config.check)
        return;
    finding *f = find(kind, pc, other);
    if (f->launch == device.start) {
        ++warnings.last.count;
        return;
    }
    f->launch = device.start;
    va_list args;
    va_start(args, format);
    compose(&warnings.last, t, "warning: ", kind, pc, 0, 0, other, hint, format, args);
    va_end(args);
    ++warnings.count;
    if (!f->printed)
        print_report(&warnings.last);
    f->printed |= !device.quiet;
}

// Says why a call from the host is refused, or what is suspect about it. Nothing ends. Returns `error`.
static cudaError_t tell(simt_kind kind, cudaError_t error, const char *call, uintptr_t pc,
                        const char *hint, const char *format, ...)
    __attribute__((format(printf, 6, 7)));

static cudaError_t tell(simt_kind kind, cudaError_t error, const char *call, uintptr_t pc,
                        const char *hint, const char *format, ...)
{
    if (!device.config.check)
        return error;
    simt_report *r = &warnings.last;
    memset(r, 0, sizeof *r);
    r->kind = kind;
    r->count = 1;
    snprintf(r->kernel, sizeof r->kernel, "%s", call);
    char what[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    append(r, "simt: %s%s in %s\n  what:  %s%s%s\n", error ? "" : "warning: ", simt_kind_name(kind),
           call, what, error ? ": " : "", error ? cudaGetErrorName(error) : "");
    const place *p = resolved(pc);
    if (p->line) {
        snprintf(r->here.file, sizeof r->here.file, "%s", p->file);
        r->here.line = p->line;
        append(r, "  where: host code, %s:%d\n", p->file, p->line);
    }
    append(r, "  fix:   %s\n", hint);
    ++warnings.count;
    print_report(r);
    return error;
}

void simt_print_reports(int on)
{
    device.quiet = !on;
}
