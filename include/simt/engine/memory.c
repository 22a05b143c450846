// SPDX-License-Identifier: MIT
// Device memory, what is known about each byte of it, and the segments of the program.

// ---- shadow: what is known about a page of device memory -------------------------------------------

// One side of a possible race.
typedef struct {
    uint64_t tick : 46, thread : 10, atomic : 1, update : 1, is_volatile : 1, used : 1;
    uint32_t block; // serial, modulo 2^32
    uint32_t place;
} record;

// A record in 32 bits: the number of a crew, the lane, and whether it was atomic. 0: none. A crew is
// what the lanes of a warp have in common, which make one access between two synchronisations.
typedef uint32_t mark;
enum { MAX_CREWS = 1 << 26 };

typedef struct {
    tick_t tick;
    uint32_t block, place : 25, warp : 5, update : 1, is_volatile : 1;
} crew;

static struct {
    crew *list; // of this launch; the first has the number `first`
    uint32_t first, count, capacity;
    uint32_t limit; // of count: then drop those that no mark names
} crews = {.first = 1};

// The last write; the last reads by two different threads.
enum { WRITER, READER, READER_BEFORE, MARKS };

typedef struct page {
    uint8_t written[PAGE / 8]; // one bit per byte
    mark *marks[MARKS]; // one per word; or per byte, after an access that was smaller or unaligned
    int bytewise;
    tick_t start;    // of the block whose shared memory this is
    tick_t launch;   // the last that touched it
    uint8_t *flying; // one bit per byte: an asynchronous copy is under way to it
} page;

static int bits_all(const uint8_t *bits, unsigned from, unsigned n)
{
    for (unsigned i = from; i < from + n; ++i)
        if (!(bits[i >> 3] >> (i & 7) & 1))
            return 0;
    return 1;
}

// Whether some piece of an access was never written at all. Pieces and not bytes, because the padding
// of a structure is copied with it.
static int bits_lack(const uint8_t *bits, unsigned from, unsigned n, size_t whole)
{
    if ((whole == 4 || whole == 8) && !((from | n) & 3)) {
        for (unsigned i = from; i < from + n; i += 4)
            if (!(bits[i >> 3] >> (i & 4) & 15))
                return 1;
        return 0;
    }
    unsigned piece = whole > 8 ? 8 : whole >= 4 ? 4 : (unsigned)whole;
    for (unsigned i = from; i < from + n;) {
        unsigned end = (i / piece + 1) * piece, any = 0;
        if (end > from + n)
            end = from + n;
        for (; i < end; ++i)
            any |= bits[i >> 3] >> (i & 7) & 1;
        if (!any)
            return 1;
    }
    return 0;
}

static int bits_any(const uint8_t *bits, unsigned from, unsigned n)
{
    for (unsigned i = from; i < from + n; ++i)
        if (bits[i >> 3] >> (i & 7) & 1)
            return 1;
    return 0;
}

static void bits_set(uint8_t *bits, unsigned from, unsigned n, int value)
{
    if (n == 4 && !(from & 3) && value) {
        bits[from >> 3] |= (uint8_t)(15u << (from & 4));
        return;
    }
    for (unsigned i = from; i < from + n;) {
        if (!(i & 7) && i + 8 <= from + n) {
            unsigned bytes = (from + n - i) / 8;
            memset(bits + (i >> 3), value ? 255 : 0, bytes);
            i += 8 * bytes;
        } else {
            if (value)
                bits[i >> 3] |= (uint8_t)(1u << (i & 7));
            else
                bits[i >> 3] &= (uint8_t) ~(1u << (i & 7));
            ++i;
        }
    }
}

static page *new_page(void)
{
    return must(calloc(1, sizeof(page)));
}

static void drop_page(page **p)
{
    if (!*p)
        return;
    for (int k = 0; k < MARKS; ++k)
        free((*p)->marks[k]);
    free((*p)->flying);
    free(*p);
    *p = NULL;
}

static __attribute__((noinline, cold)) void make_bytewise(page *p)
{
    for (int k = 0; k < MARKS; ++k) {
        if (!p->marks[k])
            continue;
        mark *fine = must(malloc(PAGE * sizeof *fine));
        for (unsigned i = 0; i < PAGE; ++i)
            fine[i] = p->marks[k][i / 4];
        free(p->marks[k]);
        p->marks[k] = fine;
    }
    p->bytewise = 1;
}

// The marks for [offset, offset + size) of a page: sets their number, and returns the first.
static inline unsigned page_marks(page *p, unsigned offset, unsigned size, unsigned *count)
{
    if (!p->bytewise && ((offset | size) & 3))
        make_bytewise(p);
    unsigned shift = p->bytewise ? 0 : 2;
    *count = size >> shift;
    return offset >> shift;
}

// 0 when it is of an earlier launch, which orders it before everything.
static mark get_mark(const page *p, int which, unsigned i)
{
    mark m = p->marks[which] ? p->marks[which][i] : 0;
    return (m >> 6) - crews.first < crews.count ? m : 0;
}

static void set_mark(page *p, int which, unsigned i, mark m)
{
    if (!p->marks[which]) {
        if (!m)
            return;
        p->marks[which] = must(calloc(p->bytewise ? PAGE : PAGE / 4, sizeof m));
    }
    p->marks[which][i] = m;
}

static const crew *crew_of(mark m)
{
    return &crews.list[(m >> 6) - crews.first];
}

static record recorded(mark m)
{
    const crew *c = crew_of(m);
    return (record){.tick = c->tick,
                    .thread = c->warp * LANES + (m >> 1 & 31),
                    .atomic = m & 1,
                    .update = c->update,
                    .is_volatile = c->is_volatile,
                    .used = 1,
                    .block = c->block,
                    .place = c->place};
}

static int same_thread(mark a, mark b)
{
    if (((a ^ b) >> 1 & 31) != 0)
        return 0;
    const crew *c = crew_of(a), *d = crew_of(b);
    return c == d || (c->block == d->block && c->warp == d->warp);
}

static void collect_crews(void);

static __attribute__((noinline)) void add_crew(const thread *t, unsigned number, int flags)
{
    if (crews.count >= crews.limit)
        collect_crews();
    if (crews.count == crews.capacity) {
        crews.capacity = crews.capacity ? 2 * crews.capacity : 1024;
        crews.list = must(realloc(crews.list, crews.capacity * sizeof *crews.list));
    }
    places.list[number].crew = crews.first + crews.count;
    crews.list[crews.count++] = (crew){.tick = device.tick,
                                       .block = (uint32_t)t->block->serial,
                                       .place = number & 0x1ffffff,
                                       .warp = t->warp & 31,
                                       .update = !!(flags & UPDATE),
                                       .is_volatile = !!(flags & VOLATILE)};
}

static inline mark mark_of(const thread *t, unsigned number, int flags)
{
    const uint32_t i = places.list[number].crew - crews.first;
    const crew *c = i < crews.count ? &crews.list[i] : NULL;
    if (!c || c->tick != device.tick || c->block != (uint32_t)t->block->serial ||
        c->warp != t->warp)
        add_crew(t, number, flags);
    return places.list[number].crew << 6 | t->lane << 1 | !!(flags & ATOMIC);
}

// ---- allocations: one range of addresses, handed out upwards, and again only when it is used up ------

typedef struct {
    uintptr_t base;
    size_t size;
    cudaMemoryType type;
    int device;
    uint64_t freed; // 0: it is live; otherwise it was the n-th to be freed
    int blind;      // unchecked kernels may have written it, so who wrote what is not known
    int heap;       // a kernel allocated it: 1; as a piece of a chunk: 2
    int told;       // a copy of bytes that nothing wrote was reported
    uintptr_t made_at, freed_at; // where the program called for it
} allocation;

// Whether kernels of one device may touch the memory of another.
static unsigned char reaches[MAX_DEVICES][MAX_DEVICES];

static struct {
    uintptr_t base, next, end;
    page **pages;
    allocation *list; // by address
    size_t count, capacity, live_bytes[MAX_DEVICES];
    uint64_t frees;
} arena;

static void arena_make(void)
{
    if (arena.base)
        return;
    for (size_t size = (size_t)1 << 40; size >= (size_t)1 << 30; size >>= 1) {
        int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
        void *base = mmap(NULL, size, PROT_NONE, flags, -1, 0);
        if (base == MAP_FAILED)
            continue;
        void *pages =
            mmap(NULL, size / PAGE * sizeof(page *), PROT_READ | PROT_WRITE, flags, -1, 0);
        if (pages == MAP_FAILED) {
            munmap(base, size);
            continue;
        }
        arena.base = (uintptr_t)base;
        arena.next = arena.base + PAGE;
        arena.end = arena.base + size;
        arena.pages = pages;
        return;
    }
    must(NULL);
}

static int in_arena(uintptr_t a)
{
    return a - arena.base < arena.end - arena.base;
}

// The last allocation that begins at or before an address; null when there is none.
static allocation *allocation_at(uintptr_t a)
{
    size_t low = 0, high = arena.count;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (arena.list[mid].base <= a)
            low = mid + 1;
        else
            high = mid;
    }
    return low ? &arena.list[low - 1] : NULL;
}

// The one that holds an address, or lies nearest to it; null when there is none.
static const allocation *nearest_allocation(uintptr_t a)
{
    const allocation *m = allocation_at(a), *next = m ? m + 1 : arena.list;
    if (next == arena.list + arena.count)
        return m;
    return m && (a - m->base < m->size || a - m->base - m->size < next->base - a) ? m : next;
}

// The allocation that holds an address, or would hold it if it were longer.
static allocation *recent_allocation(uintptr_t a)
{
    static size_t known[64]; // by page; indices, as the list moves when it grows
    size_t *recent = &known[a / PAGE % 64];
    allocation *m = *recent < arena.count ? &arena.list[*recent] : NULL;
    if (!m || a - m->base >= m->size) {
        m = allocation_at(a);
        *recent = m ? (size_t)(m - arena.list) : 0;
    }
    return m;
}

static void arena_insert(size_t index, allocation a)
{
    if (arena.count == arena.capacity) {
        arena.capacity = arena.capacity ? 2 * arena.capacity : 64;
        arena.list = must(realloc(arena.list, arena.capacity * sizeof *arena.list));
    }
    allocation *at = &arena.list[index];
    memmove(at + 1, at, (arena.count++ - index) * sizeof *at);
    *at = a;
}

// Room for `length` bytes and a page after them, from freed neighbours: of all places, the one that was
// freed first. Returns the index for the new allocation, or arena.count when there is no room.
static size_t arena_reuse(size_t length)
{
    size_t best = arena.count, best_end = 0;
    uint64_t best_freed = UINT64_MAX;
    uintptr_t bytes = length + PAGE;
#define END(i) ((i) < arena.count ? arena.list[i].base : arena.end) // of what lies before
    for (size_t from = 0, to = 0; from < arena.count; ++from) {
        // Take as few as are enough: [from, to).
        if (to < from)
            to = from;
        while (to < arena.count && arena.list[to].freed && arena.list[to].heap != 2 &&
               END(to) - arena.list[from].base < bytes)
            ++to;
        if (END(to) - arena.list[from].base < bytes)
            continue;
        uint64_t freed = 0;
        for (size_t i = from; i < to; ++i)
            freed = arena.list[i].freed > freed ? arena.list[i].freed : freed;
        if (freed < best_freed)
            best = from, best_end = to, best_freed = freed;
    }
    if (best == arena.count)
        return best;
    uintptr_t rest = arena.list[best].base + bytes, end = END(best_end);
#undef END
    int last = best_end == arena.count;
    uintptr_t base = arena.list[best].base;
    allocation *tail = &arena.list[best_end];
    memmove(&arena.list[best], tail, (arena.count - best_end) * sizeof *tail);
    arena.count -= best_end - best;
    if (last)
        arena.next = rest;
    else if (end > rest + PAGE) // what is left over stays freed
        arena_insert(best, (allocation){rest, end - rest - PAGE, .freed = best_freed});
    arena_insert(best, (allocation){.base = base});
    return best;
}

static cudaError_t arena_take(void **pointer, size_t bytes, cudaMemoryType type)
{
    if (!pointer)
        return cudaErrorInvalidValue;
    *pointer = NULL;
    if (!bytes)
        return cudaSuccess;
    arena_make();
    if (bytes > arena.end - arena.base)
        return cudaErrorMemoryAllocation;
    size_t length = (bytes + PAGE - 1) / PAGE * PAGE, index = arena.count;
    if (length + PAGE <= arena.end - arena.next) {
        arena_insert(index, (allocation){.base = arena.next});
        arena.next += length + PAGE; // a page that nothing may touch follows
    } else if ((index = arena_reuse(length)) == arena.count) {
        return cudaErrorMemoryAllocation;
    }
    allocation *m = &arena.list[index];
    if (mprotect((void *)m->base, length, PROT_READ | PROT_WRITE)) {
        *m = (allocation){m->base, bytes, type, ordinal(), .freed = ++arena.frees};
        return cudaErrorMemoryAllocation;
    }
    *m = (allocation){m->base, bytes, type, ordinal(), .freed = 0};
    *pointer = (void *)m->base;
    arena.live_bytes[m->device] += bytes;
    return cudaSuccess;
}

static void arena_give(allocation *a)
{
    a->freed = ++arena.frees;
    if (a->heap == 2)
        return;
    arena.live_bytes[a->device] -= a->size;
    size_t pages = (a->size + PAGE - 1) / PAGE;
    page **first = &arena.pages[(a->base - arena.base) / PAGE];
    if (device.instrumented) {
        for (size_t i = 0; i < pages; ++i)
            drop_page(&first[i]);
        // The table itself, where it is all null now.
        uintptr_t from = ((uintptr_t)first + PAGE - 1) / PAGE * PAGE,
                  to = (uintptr_t)(first + pages) / PAGE * PAGE;
        if (from < to)
            madvise((void *)from, to - from, MADV_DONTNEED);
    }
    mmap((void *)a->base, pages * PAGE, PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

static page *arena_page(uintptr_t a)
{
    page **p = &arena.pages[(a - arena.base) / PAGE];
    if (!*p)
        *p = new_page();
    return *p;
}

// The runtime wrote [to, to + bytes). If from is not null, it copied them from device memory, and
// bytes that were unwritten there stay unwritten.
static void note_write(void *to, const void *from, size_t bytes)
{
    if (!device.instrumented || !in_arena((uintptr_t)to))
        return;
    uintptr_t source = (uintptr_t)from;
    allocation *origin = from && in_arena(source) ? allocation_at(source) : NULL;
    if (origin && origin->blind)
        origin = NULL;
    for (uintptr_t a = (uintptr_t)to, end = a + bytes; a < end;) {
        unsigned offset = (unsigned)(a % PAGE);
        unsigned n = end - a < PAGE - offset ? (unsigned)(end - a) : PAGE - offset;
        page *p = arena_page(a);
        if (!origin) {
            bits_set(p->written, offset, n, 1);
        } else {
            for (unsigned i = 0; i < n; ++i) {
                uintptr_t s = source + (a - (uintptr_t)to) + i;
                bits_set(p->written, offset + i, 1, bits_all(arena_page(s)->written, s % PAGE, 1));
            }
        }
        a += n;
    }
}

// How many bytes of [a, a + bytes) nothing has written, and the first of them.
static size_t count_unwritten(uintptr_t a, size_t bytes, uintptr_t *first)
{
    size_t lacking = 0;
    for (uintptr_t end = a + bytes; a < end;) {
        unsigned i = (unsigned)(a % PAGE), n = end - a < PAGE - i ? (unsigned)(end - a) : PAGE - i;
        const page *p = arena.pages[(a - arena.base) / PAGE];
        for (uintptr_t page_end = a + n; a < page_end; ++a, ++i) {
            if (p && !(i & 7) && p->written[i >> 3] == 255 && page_end - a >= 8) {
                a += 7, i += 7; // all eight were
                continue;
            }
            if (p && p->written[i >> 3] >> (i & 7) & 1)
                continue;
            if (!lacking++)
                *first = a;
        }
    }
    return lacking;
}

// ---- the program: its segments, and the names of its variables ----------------------------------

typedef struct {
    uintptr_t from, to;
    char name[64];
    tick_t used; // the start of the last launch that touched this shared variable
    int guard;   // it says whether another variable's constructors ran
} range;

typedef struct {
    range *list;
    size_t count, capacity;
} ranges;

static struct {
    int known;
    uintptr_t base;             // where it was loaded
    uintptr_t data, data_end;   // writable
    uintptr_t fixed, fixed_end; // the rest of it
    size_t shared_size;         // of its thread-local storage
    ranges constants, managed;  // sections of such variables
    ranges shared;              // thread-local variables, as offsets
    ranges variables;
    page **pages; // of its writable data
} program;

static void add_range(ranges *r, uintptr_t from, uintptr_t to, const char *name)
{
    if (r->count == r->capacity) {
        r->capacity = r->capacity ? 2 * r->capacity : 64;
        r->list = must(realloc(r->list, r->capacity * sizeof *r->list));
    }
    range *e = &r->list[r->count++];
    e->from = from, e->to = to, e->used = 0, e->guard = 0;
    snprintf(e->name, sizeof e->name, "%s", name);
}

static int by_address(const void *a, const void *b)
{
    const range *p = a, *q = b;
    return p->from < q->from ? -1 : p->from > q->from;
}

static void sort_ranges(ranges *r)
{
    if (r->count)
        qsort(r->list, r->count, sizeof *r->list, by_address);
}

// The range that holds an address. If there is none, with `before`: the last that begins before it.
static const range *find_range(const ranges *r, uintptr_t a, int before)
{
    size_t low = 0, high = r->count;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (r->list[mid].from <= a)
            low = mid + 1;
        else
            high = mid;
    }
    if (!low)
        return NULL;
    const range *e = &r->list[low - 1];
    return before || a < e->to ? e : NULL;
}

// For _ZZ6kernelPfE4tile the author wrote `tile`: keep the last, innermost name.
static void plain_name(const char *symbol, char *to, size_t size)
{
    const char *from = symbol;
    size_t length = strlen(symbol);
    // A local variable ends the symbol: E, its length, its name, and _0 or such if it isn't the first.
    const char *last = !strncmp(symbol, "_ZZ", 3) ? strchr(symbol, 'E') : NULL;
    for (; last; last = strchr(last + 1, 'E')) {
        char *end;
        unsigned long n = last[1] >= '1' && last[1] <= '9' ? strtoul(last + 1, &end, 10) : 0;
        if (!n || n > strlen(end) || end[n + strspn(end + n, "_0123456789")])
            continue;
        from = end, length = n;
        break;
    }
    if (!last && !strncmp(symbol, "_Z", 2)) {
        for (const char *p = symbol; *p; ++p) {
            if (*p < '1' || *p > '9' || (p > symbol && p[-1] >= '0' && p[-1] <= '9'))
                continue;
            char *end;
            unsigned long n = strtoul(p, &end, 10);
            if (n <= strlen(end))
                from = end, length = n;
            if (n <= strlen(end))
                p = end + n - 1;
        }
    }
    snprintf(to, size, "%.*s", (int)length, from);
}

static int see_module(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size, (void)unused;
    program.base = info->dlpi_addr;
    program.fixed = UINTPTR_MAX;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        uintptr_t from = info->dlpi_addr + h->p_vaddr, to = from + h->p_memsz;
        if (h->p_type == PT_TLS)
            program.shared_size = h->p_memsz;
        if (h->p_type != PT_LOAD)
            continue;
        if (h->p_flags & PF_W) {
            program.data = from & ~(uintptr_t)(PAGE - 1);
            program.data_end = to;
        }
        if (from < program.fixed)
            program.fixed = from;
        if (to > program.fixed_end)
            program.fixed_end = to;
    }
    return 1; // the first is the program itself
}

static void read_symbols(void)
{
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (fd < 0)
        return;
    if (fstat(fd, &status)) {
        close(fd);
        return;
    }
    size_t size = (size_t)status.st_size;
    const char *file = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (file == MAP_FAILED)
        return;
    const ElfW(Ehdr) *header = (const void *)file;
    if (size >= sizeof *header && header->e_shoff &&
        header->e_shoff + (size_t)header->e_shnum * sizeof(ElfW(Shdr)) <= size) {
        const ElfW(Shdr) *section = (const void *)(file + header->e_shoff);
        const char *names = file + section[header->e_shstrndx].sh_offset;
        for (int i = 0; i < header->e_shnum; ++i) {
            const ElfW(Shdr) *s = &section[i];
            const char *name = names + s->sh_name;
            if (!strncmp(name, "simt_constant_", 14))
                add_range(&program.constants, program.base + s->sh_addr,
                          program.base + s->sh_addr + s->sh_size, name);
            if (!strncmp(name, "simt_managed_", 13))
                add_range(&program.managed, program.base + s->sh_addr,
                          program.base + s->sh_addr + s->sh_size, name);
            if (s->sh_type != SHT_SYMTAB)
                continue;
            const ElfW(Sym) *symbol = (const void *)(file + s->sh_offset);
            const char *strings = file + section[s->sh_link].sh_offset;
            for (size_t k = 0; k < s->sh_size / sizeof *symbol; ++k) {
                const ElfW(Sym) *e = &symbol[k];
                int type = ELF64_ST_TYPE(e->st_info);
                if (!e->st_size || e->st_shndx == SHN_UNDEF)
                    continue;
                const char *name = strings + e->st_name;
                char plain[64];
                plain_name(name, plain, sizeof plain);
                if (type == STT_TLS && strncmp(name, "simt_", 5) && strcmp(name, "self")) {
                    add_range(&program.shared, e->st_value, e->st_value + e->st_size, plain);
                    program.shared.list[program.shared.count - 1].guard = !strncmp(name, "_ZGV", 4);
                }
                if (type == STT_OBJECT)
                    add_range(&program.variables, program.base + e->st_value,
                              program.base + e->st_value + e->st_size, plain);
            }
        }
    }
    munmap((void *)file, size);
    sort_ranges(&program.constants);
    sort_ranges(&program.managed);
    sort_ranges(&program.shared);
    sort_ranges(&program.variables);
}

static void program_make(void)
{
    if (program.known)
        return;
    program.known = 1;
    dl_iterate_phdr(see_module, NULL);
    read_symbols();
    program.pages =
        must(calloc((program.data_end - program.data) / PAGE + 1, sizeof *program.pages));
}

// Host code writes a variable by its name. With a GPU, kernels don't see that.
static void note_host_write(uintptr_t a, size_t size)
{
    if (size > program.data_end - a || find_range(&program.managed, a, 0))
        return;
    while (size) {
        unsigned offset = (unsigned)((a - program.data) % PAGE);
        unsigned n = size < PAGE - offset ? (unsigned)size : PAGE - offset;
        page **p = &program.pages[(a - program.data) / PAGE];
        if (!*p)
            *p = new_page();
        bits_set((*p)->written, offset, n, 1);
        a += n, size -= n;
    }
}

static int host_wrote(uintptr_t a)
{
    const page *p = program.pages[(a - program.data) / PAGE];
    unsigned offset = (unsigned)((a - program.data) % PAGE);
    return p && p->written[offset >> 3] >> (offset & 7) & 1;
}

// ---- what __launch_bounds__ says -----------------------------------------------------------------

extern const uintptr_t __start___patchable_function_entries[]
    __attribute__((weak, visibility("hidden")));
extern const uintptr_t __stop___patchable_function_entries[]
    __attribute__((weak, visibility("hidden")));

// The most threads of a block; MAX_THREADS when the kernel doesn't say.
static int launch_bound(const void *kernel)
{
    uintptr_t best = 0, entry = (uintptr_t)kernel;
    for (const uintptr_t *e = __start___patchable_function_entries;
         e < __stop___patchable_function_entries; ++e)
        if (*e > best && *e < entry)
            best = *e;
    if (!best || entry - best > MAX_THREADS)
        return MAX_THREADS;
    for (uintptr_t a = best; a < entry; ++a)
        if (*(const unsigned char *)a != 0x90)
            return MAX_THREADS; // it is of the function before
    return (int)(entry - best);
}

static int see_shared(struct dl_phdr_info *info, size_t size, void *to)
{
    (void)size;
    *(uintptr_t *)to = (uintptr_t)info->dlpi_tls_data;
    return 1;
}

// Where this OS thread's copy of the program's thread-local variables begins.
static uintptr_t shared_base(void)
{
    uintptr_t base = 0;
    dl_iterate_phdr(see_shared, &base);
    return base;
}

// ---- memory by the names that a program has for it ------------------------------------------------

// Where an allocation was made, and freed: ", made at a.cu:12 and freed at a.cu:20".
static const char *origin(const allocation *m)
{
    static char text[600];
    const place *made = resolved(m->made_at);
    int n = made->line ? snprintf(text, sizeof text, ", made at %s:%d", made->file, made->line) : 0;
    text[n] = 0;
    const place *freed = m->freed && m->freed_at ? resolved(m->freed_at) : made;
    if (freed != made && freed->line)
        snprintf(text + n, sizeof text - (size_t)n, "%s freed at %s:%d", n ? " and" : ",",
                 freed->file, freed->line);
    return text;
}

// Adds the bytes that a report is of: as the element of what holds them, and by their offset in it.
static void say_memory(simt_report *r, const thread *t)
{
    uintptr_t a = r->address, base = 0, offset = a - t->block->slot->shared;
    size_t whole = 0;
    char name[800] = "";
    const range *v = find_range(&program.variables, a, 0);
    if (in_arena(a)) {
        const allocation *m = nearest_allocation(a);
        if (!m)
            return;
        base = m->base, whole = m->size;
        snprintf(name, sizeof name, "an allocation of %zu byte%s%s", whole, whole == 1 ? "" : "s",
                 origin(m));
        if (device.config.devices > 1 && m->type == cudaMemoryTypeDevice)
            snprintf(name + strlen(name), sizeof name - strlen(name), " on device %d", m->device);
    } else if (a - (uintptr_t)simt_dynamic_shared < MAX_DYNAMIC) {
        base = (uintptr_t)simt_dynamic_shared, whole = device.request->shared_bytes;
        snprintf(name, sizeof name, "the launch's %zu bytes of dynamic shared memory", whole);
    } else if (offset < program.shared_size && (v = find_range(&program.shared, offset, 1))) {
        base = t->block->slot->shared + v->from, whole = v->to - v->from;
        snprintf(name, sizeof name, "the shared variable %s", v->name);
    } else if (v) {
        base = v->from, whole = v->to - v->from;
        snprintf(name, sizeof name, "the variable %s", v->name);
    } else {
        return;
    }
    long long first = (long long)(a - base), size = r->size;
    append(r, "  data:  ");
    if (a == base && size == (long long)whole)
        append(r, "%s\n", name);
    else if (size > 1 && first % size == 0)
        append(r, "element %lld (bytes %lld to %lld) of %s\n", first / size, first,
               first + size - 1, name);
    else if (size > 1)
        append(r, "bytes %lld to %lld of %s\n", first, first + size - 1, name);
    else
        append(r, "byte %lld of %s\n", first, name);
}

// ---- crews that no mark names -------------------------------------------------------------------

static void each_page(void (*visit)(page *))
{
    for (size_t i = 0, k = 0; i < arena.count; ++i) {
        uintptr_t first = arena.list[i].base - arena.base;
        if (k < first / PAGE) // pieces of the heap share pages
            k = first / PAGE;
        for (; !arena.list[i].freed && k <= (first + arena.list[i].size - 1) / PAGE; ++k)
            if (arena.pages[k])
                visit(arena.pages[k]);
    }
    for (size_t i = 0; i < (program.data_end - program.data) / PAGE + 1; ++i)
        if (program.pages[i])
            visit(program.pages[i]);
    for (int s = 0; s < MAX_SLOTS; ++s)
        for (size_t i = 0; device.slot[s] && i < program.shared_size / PAGE + 2; ++i)
            if (device.slot[s]->shared_pages[i])
                visit(device.slot[s]->shared_pages[i]);
}

static void forget_marks(page *p)
{
    for (int k = 0; k < MARKS; ++k) {
        free(p->marks[k]);
        p->marks[k] = NULL;
    }
}

static struct {
    uint32_t *number, count; // the new number of each crew; how many have one
} kept;

static void renumber_marks(page *p)
{
    for (int k = 0; k < MARKS; ++k)
        for (unsigned i = 0; p->marks[k] && i < (p->bytewise ? PAGE : PAGE / 4); ++i) {
            mark m = get_mark(p, k, i);
            if (m) {
                uint32_t *number = &kept.number[(m >> 6) - crews.first];
                if (!*number)
                    *number = ++kept.count;
                m = *number << 6 | (m & 63);
            }
            p->marks[k][i] = m;
        }
}

static void forget_launches(void);

static void number_from_1(void)
{
    forget_launches();
    crews.first = 1;
    for (unsigned i = 0; i < places.count; ++i)
        places.list[i].crew = 0;
}

static void collect_crews(void)
{
    enum { FEW = 1 << 22 };
    give_up(); // the marks would have other numbers
    if (crews.count) {
        kept.number = must(calloc(crews.count, sizeof *kept.number));
        kept.count = 0;
        each_page(renumber_marks);
        crew *list = must(malloc((kept.count + 1) * sizeof *list));
        for (uint32_t i = 0; i < crews.count; ++i)
            if (kept.number[i])
                list[kept.number[i] - 1] = crews.list[i];
        free(kept.number);
        free(crews.list);
        crews.list = list;
        crews.count = kept.count, crews.capacity = kept.count + 1;
        number_from_1();
    }
    if (crews.count > MAX_CREWS / 4) { // better to miss a race than to fill the host's memory
        each_page(forget_marks);
        crews.count = 0;
    }
    crews.limit = crews.count > FEW / 2 ? 2 * crews.count : FEW;
}

// A launch begins: marks of earlier ones mean nothing.
static void forget_crews(void)
{
    crews.first += crews.count;
    crews.count = 0;
    crews.limit = 0; // the first access sets it
    if (crews.first > MAX_CREWS / 4) {
        each_page(forget_marks);
        number_from_1();
    }
}
