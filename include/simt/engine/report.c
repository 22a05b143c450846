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

// Those that were asked for last.
static struct {
    uintptr_t pc;
    unsigned part, number;
} known_places[1024];

static __attribute__((noinline)) unsigned find_place(uintptr_t pc, int part)
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

static inline unsigned place_of(uintptr_t pc, int part)
{
    const unsigned k = (unsigned)(pc ^ pc >> 10 ^ (unsigned)part) % 1024;
    if (known_places[k].pc != pc || known_places[k].part != (unsigned)part) {
        known_places[k].number = find_place(pc, part);
        known_places[k].pc = pc, known_places[k].part = (unsigned)part;
    }
    return known_places[k].number;
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
            char name[sizeof p->function];
            plain_function(function, name, sizeof name);
            if (!p->line) {
                p->line = line;
                snprintf(p->file, sizeof p->file, "%.*s", (int)sizeof p->file - 1, text);
                memcpy(p->function, name, sizeof name);
                continue;
            }
            // The same again is one function, which the compiler split and inlined in part.
            const char *inner = p->function;
            frame **last = &p->outer;
            for (; *last; last = &(*last)->outer)
                inner = (*last)->function;
            if (!strcmp(name, inner))
                continue;
            frame *f = *last = must(calloc(1, sizeof *f));
            f->line = line;
            snprintf(f->file, sizeof f->file, "%.*s", (int)sizeof f->file - 1, text);
            memcpy(f->function, name, sizeof name);
        }
        pclose(out);
    }
}

// The file that an address is from, and where that was loaded.
static uintptr_t module_of(uintptr_t pc, char module[PATH_MAX])
{
    Dl_info info;
    struct link_map *map = NULL;
    *module = 0;
    if (dladdr1((void *)(pc - 1), &info, (void **)&map, RTLD_DL_LINKMAP) && map && map->l_name)
        snprintf(module, PATH_MAX, "%s", map->l_name);
    if (!*module) {
        ssize_t length = readlink("/proc/self/exe", module, PATH_MAX - 1);
        module[length > 0 ? length : 0] = 0;
    }
    if (strchr(module, '\''))
        *module = 0; // it can't be put into a command
    return map ? map->l_addr : 0;
}

static void resolve(const unsigned *numbers, unsigned n)
{
    unsigned *left = must(malloc((n + 1) * sizeof *left)), count = 0;
    for (unsigned i = 0; i < n; ++i)
        if (!places.list[numbers[i]].resolved)
            left[count++] = numbers[i];
    while (count) {
        // All addresses in the module of the first one go into one call.
        char module[PATH_MAX];
        const uintptr_t base = module_of(places.list[left[0]].pc, module);
        unsigned mine = 0, others = 0;
        unsigned *batch = must(malloc(count * sizeof *batch));
        for (unsigned i = 0; i < count; ++i) {
            char other[PATH_MAX];
            if (!i || module_of(places.list[left[i]].pc, other) == base) {
                places.list[left[i]].resolved = 1;
                batch[mine++] = left[i];
            } else {
                left[others++] = left[i];
            }
        }
        if (*module)
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
        "no peer access",
        "stream race",
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
    case SIMT_PEER_ACCESS:
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
    return w->to->count == MOST_CALLS ? _URC_END_OF_STACK : _URC_NO_REASON;
}

// The calls of the thread that runs, from the one that returns to `pc` outwards.
static void walk(trail *to, uintptr_t pc)
{
    to->count = 0;
    _Unwind_Backtrace(walk_step, &(walker){to, pc});
    if (!to->count)
        to->pc[to->count++] = pc;
}

// ---- suppressions: reports that SIMT_SUPPRESSIONS names --------------------------------------------

static struct {
    struct suppression {
        char *kind, *pattern;
    } * list;
    unsigned count;
} suppressions;

static void bad_suppression(const char *file, unsigned line, const char *text)
    __attribute__((noreturn));
static void bad_suppression(const char *file, unsigned line, const char *text)
{
    fprintf(stderr,
            "simt: %s:%u: `%s' must be KIND:PATTERN, as race:my_kernel or unwritten:file.cu:12. "
            "Kinds:",
            file, line, text);
    for (int kind = 1; kind <= SIMT_UNWRITTEN_COPY; ++kind)
        fprintf(stderr, "%s %s", kind > 1 ? "," : "", simt_kind_name((simt_kind)kind));
    fputs("\n", stderr);
    exit(2);
}

__attribute__((constructor)) static void read_suppressions(void)
{
    const char *name = getenv("SIMT_SUPPRESSIONS");
    if (!name || !*name)
        return;
    FILE *file = fopen(name, "r");
    if (!file) {
        fprintf(stderr, "simt: SIMT_SUPPRESSIONS=%s: %s\n", name, strerror(errno));
        exit(2);
    }
    char *text = NULL;
    size_t size = 0;
    for (unsigned line = 1; getline(&text, &size, file) >= 0; ++line) {
        char *from = text + strspn(text, " \t\r\n"), *end = from + strlen(from);
        while (end > from && strchr(" \t\r\n", end[-1]))
            *--end = 0;
        if (!*from || *from == '#')
            continue;
        char *colon = strchr(from, ':');
        if (!colon || !colon[1])
            bad_suppression(name, line, from);
        struct suppression s = {must(strndup(from, (size_t)(colon - from))),
                                must(strdup(colon + 1))};
        int kind = 1;
        while (kind <= SIMT_UNWRITTEN_COPY && fnmatch(s.kind, simt_kind_name((simt_kind)kind), 0))
            ++kind;
        if (kind > SIMT_UNWRITTEN_COPY)
            bad_suppression(name, line, from);
        suppressions.list =
            must(realloc(suppressions.list, (suppressions.count + 1) * sizeof *suppressions.list));
        suppressions.list[suppressions.count++] = s;
    }
    free(text);
    fclose(file);
}

// Whether a line names reports of this kind with this function or place.
static int suppressed(simt_kind kind, const char *what)
{
    for (unsigned i = 0; i < suppressions.count; ++i)
        if (!fnmatch(suppressions.list[i].pattern, what, 0) &&
            !fnmatch(suppressions.list[i].kind, simt_kind_name(kind), 0))
            return 1;
    return 0;
}

// A place may be named with all folders of its file, with some, and with none.
static int suppressed_at(simt_kind kind, const char *file, int line)
{
    char place[300];
    snprintf(place, sizeof place, "%s:%d", file, line);
    for (const char *from = place; from; from = strchr(from, '/'), from += !!from)
        if (suppressed(kind, from))
            return 1;
    return 0;
}

// ---- the report of what a thread did --------------------------------------------------------------

// Where the other side of a fault was.
typedef struct {
    int present;
    uint64_t block;
    unsigned thread;
    uintptr_t pc;
    const char *what; // "wrote it", "waits at a barrier"
} party;

// After it, a thread: continues, and nothing failed; continues with SIMT_KEEP_GOING; can't continue.
typedef enum { WARNING, FLAW, END } severity;

// What was found, by kernel and places, and how often.
typedef struct {
    const void *kernel;
    simt_kind kind;
    severity severity;
    uintptr_t pc, other;
    tick_t launch; // the last one in which it was found
    int printed, suppressed;
    unsigned long long times;
    simt_report report; // in that launch
} finding;

static struct {
    finding **list, *first; // those of the last launch come last; the first that failed it
    size_t count, capacity;
} findings;

// What the summary says: launches that failed, and what was printed.
static struct {
    unsigned long long launches, kinds[SIMT_UNWRITTEN_COPY + 1], warnings, calls, suppressed;
} said;

static int same_place(uintptr_t a, uintptr_t b)
{
    return a == b || (a && b && resolved(a)->line && same_line(a, b));
}

static finding *find(severity severity, simt_kind kind, uintptr_t pc, const party *other)
{
    const uintptr_t there = other && other->present ? other->pc : 0;
    const void *kernel = device.request->kernel;
    finding *f = NULL;
    size_t i = findings.count;
    while (i && !f) {
        finding *g = findings.list[--i];
        if (g->kind == kind && g->kernel == kernel && g->severity == severity &&
            same_place(g->pc, pc) && same_place(g->other, there))
            f = g;
    }
    if (f && f->launch == device.start)
        return f;
    if (f) {
        memmove(&findings.list[i], &findings.list[i + 1],
                (--findings.count - i) * sizeof *findings.list);
    } else {
        f = must(calloc(1, sizeof *f));
        f->kernel = kernel, f->severity = severity, f->kind = kind;
        if (findings.count == findings.capacity) {
            findings.capacity = findings.capacity ? 2 * findings.capacity : 64;
            findings.list = must(realloc(findings.list, findings.capacity * sizeof *findings.list));
        }
    }
    f->pc = pc, f->other = there;
    return findings.list[findings.count++] = f;
}

static void resolve_all(const trail *t, uintptr_t other, uintptr_t kernel)
{
    unsigned numbers[MOST_CALLS + 2], n = 0;
    while (n < t->count)
        numbers[n] = place_of(t->pc[n], 0), ++n;
    numbers[n++] = place_of(kernel, 0);
    if (other)
        numbers[n++] = place_of(other, 0);
    resolve(numbers, n);
}

typedef struct {
    char text[2048];
    unsigned count;
} calls;

// Whether this was the kernel, where the calls begin.
static int add_call(calls *c, finding *f, const char *file, int line, const char *function)
{
    enum { MOST = 12 };
    size_t length = strlen(c->text);
    // The launch's own, where it has the name that the source gives the kernel.
    if (strstr(function, "{lambda((auto:1 const&)...)#"))
        return 1;
    if (!line)
        return 0;
    f->suppressed |= suppressed(f->kind, function) || suppressed_at(f->kind, file, line);
    if (c->count++ < MOST)
        snprintf(c->text + length, sizeof c->text - length, "  %s  %s (%s:%d)\n",
                 c->count == 1 ? "in:  " : "from:", function, file, line);
    else if (c->count == MOST + 1)
        snprintf(c->text + length, sizeof c->text - length, "  from:  ...\n");
    return !strcmp(function, f->report.kernel);
}

// Adds the calls between the kernel and a place, if there are any.
static void say_calls(finding *f, const trail *t)
{
    calls c = {.count = 0};
    int done = 0;
    for (unsigned i = 0; i < t->count && !done; ++i) {
        const place *p = resolved(t->pc[i]);
        done = add_call(&c, f, p->file, p->line, p->function);
        for (const frame *outer = p->outer; outer && !done; outer = outer->outer)
            done = add_call(&c, f, outer->file, outer->line, outer->function);
    }
    if (c.count > 1)
        append(&f->report, "%s", c.text);
}

static void say_memory(simt_report *r, const thread *t);

// Writes what thread t did, and whether it is suppressed.
static void compose(finding *f, const thread *t, uintptr_t address, size_t size, const party *other,
                    const char *hint, const char *format, va_list args)
{
    simt_report *r = &f->report;
    memset(r, 0, sizeof *r);
    r->kind = f->kind;
    r->warning = f->severity == WARNING;
    r->address = address;
    r->size = (unsigned)size;
    trail calls = {1, {f->pc}};
    if (f->kind == SIMT_UNWRITTEN) // it happened before
        calls = t->block->unwritten.trail;
    else if (t == self)
        walk(&calls, f->pc);
    // All places together, because addr2line is slow to start.
    resolve_all(&calls, f->other, (uintptr_t)device.request->kernel + 1);
    name_kernel(r->kernel, sizeof r->kernel, device.request);
    f->suppressed = suppressed(f->kind, r->kernel);
    fill_place(&r->here, t->block->serial, t->id, f->pc);
    char what[1024], where[400];
    vsnprintf(what, sizeof what, format, args);
    say_place(where, sizeof where, &r->here);
    append(r, "simt: %s%s in %s\n  what:  %s\n  where: %s\n", r->warning ? "warning: " : "",
           simt_kind_name(f->kind), r->kernel, what, where);
    say_calls(f, &calls);
    if (device.order != SIMT_FORWARD || device.slots > 1)
        append(r, "  order: %s\n", simt_last_order());
    if (address)
        say_memory(r, t);
    if (other && other->present) {
        fill_place(&r->there, other->block, other->thread, other->pc);
        say_place(where, sizeof where, &r->there);
        append(r, "  other: %s %s\n", where, other->what);
        say_calls(f, &(trail){1, {other->pc}});
    }
    append(r, "  fix:   %s\n", hint);
    if (f->suppressed && f->severity == END) {
        f->suppressed = 0;
        append(r, "  note:  SIMT_SUPPRESSIONS names it, but the thread can't go on after it\n");
    }
}

// The last that failed no launch, and how many there were.
static struct {
    const simt_report *last;
    unsigned long long count;
} warnings;

static void print_report(const simt_report *r)
{
    fflush(stdout);
    fputs(r->text, stderr);
}

// Records what thread t did, and prints it. Returns 0 if it is suppressed.
static int note(thread *t, severity severity, simt_kind kind, uintptr_t pc, uintptr_t address,
                size_t size, const party *other, const char *hint, const char *format, va_list args)
{
    give_up();
    finding *f = find(severity, kind, pc, other);
    int again = f->launch == device.start;
    f->launch = device.start;
    if (!again)
        compose(f, t, address, size, other, hint, format, args);
    ++f->report.count;
    if (!f->times++ && f->suppressed && !device.quiet)
        ++said.suppressed;
    if (f->suppressed)
        return 0;
    if (severity == WARNING) {
        warnings.count += !again;
        warnings.last = &f->report;
    } else if (!device.failed) {
        device.failed = 1;
        device.report = f->report;
        findings.first = f;
        said.launches += !device.quiet;
    } else if (f == findings.first) {
        ++device.report.count;
    }
    if (again || device.quiet || (f->printed && (severity == WARNING || device.config.keep_going)))
        return 1;
    print_report(&f->report);
    f->printed = 1;
    ++*(severity == WARNING ? &said.warnings : &said.kinds[kind]);
    return 1;
}

#define NOTE(severity, kind, address, size)                                                        \
    va_list args;                                                                                  \
    va_start(args, format);                                                                        \
    device.telling = 1;                                                                            \
    int counts = note(t, severity, kind, pc, address, size, other, hint, format, args);            \
    ++device.beat;                                                                                 \
    device.telling = 0;                                                                            \
    va_end(args)

// Says what is suspect about what thread t does. The thread continues.
static void warn(thread *t, simt_kind kind, uintptr_t pc, const party *other, const char *hint,
                 const char *format, ...) __attribute__((format(printf, 6, 7)));

static void warn(thread *t, simt_kind kind, uintptr_t pc, const party *other, const char *hint,
                 const char *format, ...)
{
    if (!device.config.check)
        return;
    NOTE(WARNING, kind, 0, 0);
    (void)counts;
}

static void unwind(void) __attribute__((noreturn));
static void unwritten_first(const thread *t, simt_kind kind);

// The fault of thread t, which fails the launch. The text says what happened, and the hint what to do.
// Returns if the launch goes on all the same.
static void flaw(thread *t, simt_kind kind, uintptr_t pc, uintptr_t address, size_t size,
                 const party *other, const char *hint, const char *format, ...)
    __attribute__((format(printf, 8, 9)));

static void flaw(thread *t, simt_kind kind, uintptr_t pc, uintptr_t address, size_t size,
                 const party *other, const char *hint, const char *format, ...)
{
    unwritten_first(t, kind);
    NOTE(FLAW, kind, address, size);
    if (!counts || device.config.keep_going)
        return;
    device.ended = 1;
    unwind();
}

// A fault after which the thread can't continue. With SIMT_KEEP_GOING, other blocks do.
static void fault(thread *t, simt_kind kind, uintptr_t pc, uintptr_t address, size_t size,
                  const party *other, const char *hint, const char *format, ...)
    __attribute__((noreturn, format(printf, 8, 9)));

static void fault(thread *t, simt_kind kind, uintptr_t pc, uintptr_t address, size_t size,
                  const party *other, const char *hint, const char *format, ...)
{
    unwritten_first(t, kind);
    // What waits for an abandoned block does so in vain.
    if (kind != SIMT_DEADLOCK || !device.abandoned) {
        NOTE(END, kind, address, size);
        (void)counts;
    }
    device.abandoned = 1;
    device.ended |= kind == SIMT_DEADLOCK || !device.config.keep_going;
    unwind();
}

const simt_report *simt_last_report(void)
{
    return &device.report;
}

size_t simt_reports(simt_report *reports, size_t max)
{
    size_t n = 0;
    for (size_t i = 0; i < findings.count; ++i) {
        const finding *f = findings.list[i];
        if (f->launch != device.start || f->suppressed)
            continue;
        if (n < max)
            reports[n] = f->report;
        ++n;
    }
    return n;
}

const simt_report *simt_last_warning(void)
{
    static const simt_report none;
    return warnings.last ? warnings.last : &none;
}
unsigned long long simt_warnings(void)
{
    return warnings.count;
}

// ---- calls of the runtime API ---------------------------------------------------------------------

// Says why a call from the host is refused, by the name of its error; or, without one, what is suspect
// about it. Nothing ends.
static void tell_call(simt_kind kind, const char *error, const char *call, uintptr_t pc,
                      const char *hint, const char *what)
{
    if (!device.config.check)
        return;
    static simt_report report;
    simt_report *r = &report;
    memset(r, 0, sizeof *r);
    r->kind = kind;
    r->warning = 1;
    r->count = 1;
    snprintf(r->kernel, sizeof r->kernel, "%s", call);
    append(r, "simt: %s%s in %s\n  what:  %s%s%s\n", error ? "" : "warning: ", simt_kind_name(kind),
           call, what, error ? ": " : "", error ? error : "");
    const place *p = resolved(pc);
    if (p->line) {
        snprintf(r->here.file, sizeof r->here.file, "%s", p->file);
        r->here.line = p->line;
        append(r, "  where: host code, %s:%d\n", p->file, p->line);
    }
    append(r, "  fix:   %s\n", hint);
    if (suppressed(kind, call) || suppressed_at(kind, p->file, p->line)) {
        said.suppressed += !device.quiet;
        return;
    }
    warnings.last = r;
    ++warnings.count;
    if (!device.quiet) {
        print_report(r);
        ++*(error ? &said.calls : &said.warnings);
    }
}

// The same for a call of the runtime API. Returns `error`.
static cudaError_t tell(simt_kind kind, cudaError_t error, const char *call, uintptr_t pc,
                        const char *hint, const char *format, ...)
    __attribute__((format(printf, 6, 7)));

static cudaError_t tell(simt_kind kind, cudaError_t error, const char *call, uintptr_t pc,
                        const char *hint, const char *format, ...)
{
    char what[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    tell_call(kind, error ? cudaGetErrorName(error) : NULL, call, pc, hint, what);
    return error;
}

void simt_print_reports(int on)
{
    device.quiet = !on;
}

// ---- the summary at exit ------------------------------------------------------------------------

static void sum_up(const char **separator, unsigned long long n, const char *what)
{
    if (!n)
        return;
    fprintf(stderr, "%s%llu %s", *separator, n, what);
    *separator = "; ";
}

__attribute__((destructor)) static void summarise(void)
{
    if (device.quiet || !(said.launches || said.warnings || said.calls || said.suppressed))
        return;
    fflush(stdout);
    const char *separator = "simt: ", *comma = ": ";
    sum_up(&separator, said.launches, said.launches == 1 ? "launch failed" : "launches failed");
    for (int kind = 0; kind <= SIMT_UNWRITTEN_COPY; ++kind)
        if (said.kinds[kind]) {
            fprintf(stderr, "%s%llu %s", comma, said.kinds[kind], simt_kind_name((simt_kind)kind));
            comma = ", ";
        }
    sum_up(&separator, said.calls, said.calls == 1 ? "call failed" : "calls failed");
    sum_up(&separator, said.warnings, said.warnings == 1 ? "warning" : "warnings");
    sum_up(&separator, said.suppressed, "suppressed");
    fputs("\n", stderr);
    for (size_t i = 0; i < findings.count && device.config.keep_going; ++i) {
        const finding *f = findings.list[i];
        const simt_place *here = &f->report.here, *there = &f->report.there;
        if (!f->printed)
            continue;
        fprintf(stderr, f->times == 1 ? "  once: " : "  %llu times: ", f->times);
        fprintf(stderr, "%s%s in %s", f->report.warning ? "warning: " : "", simt_kind_name(f->kind),
                f->report.kernel);
        if (here->line)
            fprintf(stderr, ", %s:%d", here->file, here->line);
        if (there->line && (there->line != here->line || strcmp(there->file, here->file)))
            fprintf(stderr, " and %s:%d", there->file, there->line);
        fputs("\n", stderr);
    }
}
