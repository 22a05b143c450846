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
    // Those that were asked for last.
    static struct {
        uintptr_t pc;
        unsigned part, number;
    } known[1024];
    const unsigned k = (unsigned)(pc ^ pc >> 10 ^ (unsigned)part) % 1024;
    if (known[k].pc == pc && known[k].part == (unsigned)part)
        return known[k].number;
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
    known[k].pc = pc, known[k].part = (unsigned)part, known[k].number = places.hash[i] - 1;
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
            if (!colon || p->line)
                continue;
            *colon = 0;
            int line = atoi(colon + 1);
            if (line <= 0 || engine_file(text))
                continue;
            p->line = line;
            snprintf(p->file, sizeof p->file, "%.*s", (int)sizeof p->file - 1, text);
            snprintf(p->function, sizeof p->function, "%.*s", (int)sizeof p->function - 1,
                     function);
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
    const char *name = strncmp(p->function, "void ", 5) ? p->function : p->function + 5;
    // Without its parameters, in which there may be parentheses.
    const char *end = name + strlen(name);
    int depth = 0;
    for (const char *c = end; c > name && !(depth == 1 && c[-1] == '('); --c, end = c - 1)
        depth += (c[-1] == ')') - (c[-1] == '(');
    snprintf(to, size, "%.*s", (int)(end > name ? (size_t)(end - name) : strlen(name)), name);
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

static void unwind(void) __attribute__((noreturn));
static void unwritten_first(block *b, simt_kind kind);

// Where the other side of a fault was.
typedef struct {
    int present;
    uint64_t block;
    unsigned thread;
    uintptr_t pc;
    const char *what; // "wrote it", "waits at a barrier"
} party;

// Records and prints the fault of thread t, and ends the launch. The text says what happened, and the
// hint what to do.
static void fault(thread *t, simt_kind kind, uintptr_t pc, uintptr_t address, size_t size,
                  const party *other, const char *hint, const char *format, ...)
    __attribute__((noreturn, format(printf, 8, 9)));

static void fault(thread *t, simt_kind kind, uintptr_t pc, uintptr_t address, size_t size,
                  const party *other, const char *hint, const char *format, ...)
{
    unwritten_first(t->block, kind);
    simt_report *r = &device.report;
    memset(r, 0, sizeof *r);
    r->kind = kind;
    r->address = address;
    r->size = (unsigned)size;
    name_kernel(r->kernel, sizeof r->kernel, device.request);
    fill_place(&r->here, t->block->serial, t->id, pc);
    char what[1024], here[400], there[600] = "";
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    say_place(here, sizeof here, &r->here);
    if (other && other->present) {
        fill_place(&r->there, other->block, other->thread, other->pc);
        char where[400];
        say_place(where, sizeof where, &r->there);
        snprintf(there, sizeof there, "  other: %s %s\n", where, other->what);
    }
    snprintf(r->text, sizeof r->text, "simt: %s in %s\n  what:  %s\n  where: %s\n%s  fix:   %s\n",
             simt_kind_name(kind), r->kernel, what, here, there, hint);
    if (!device.quiet) {
        fflush(stdout);
        fputs(r->text, stderr);
    }
    device.failed = 1;
    unwind();
}

const simt_report *simt_last_report(void)
{
    return &device.report;
}

// ---- calls of the runtime API -------------------------------------------------------------------

static struct {
    simt_report last;
    unsigned long long count;
} api;

const simt_report *simt_last_api_report(void)
{
    return &api.last;
}
unsigned long long simt_api_reports(void)
{
    return api.count;
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
    simt_report *r = &api.last;
    memset(r, 0, sizeof *r);
    r->kind = kind;
    snprintf(r->kernel, sizeof r->kernel, "%s", call);
    char what[1024], where[400] = "";
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    const place *p = resolved(pc);
    if (p->line) {
        snprintf(r->here.file, sizeof r->here.file, "%s", p->file);
        r->here.line = p->line;
        snprintf(where, sizeof where, "  where: host code, %s:%d\n", p->file, p->line);
    }
    snprintf(r->text, sizeof r->text, "simt: %s in %s\n  what:  %s%s%s\n%s  fix:   %s\n",
             simt_kind_name(kind), call, what, error ? ": " : "",
             error ? cudaGetErrorName(error) : "", where, hint);
    ++api.count;
    if (!device.quiet) {
        fflush(stdout);
        fputs(r->text, stderr);
    }
    return error;
}

void simt_print_reports(int on)
{
    device.quiet = !on;
}
