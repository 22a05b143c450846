// SPDX-License-Identifier: MIT
// Blocks on several cores.
//
// A launch that takes long forks. The process goes on with the first blocks that are left, and each
// child runs a part of the others, on its own copy of memory. A child gives up if a block depends on
// others: by an atomic or volatile access to global memory, by a fault, by output. Those that finish
// hand over what they wrote, and who touched what. The process takes that if its own blocks touched
// nothing that the child wrote, and wrote nothing that the child read; otherwise it runs those blocks
// itself. So all is as if one core had run the blocks in their order.

static const double worth = 0.05; // seconds that must be left
static const size_t parcel_room = (size_t)1 << 31;

// What a child hands over, in memory that both have.
typedef struct {
    volatile int complete;
    uint64_t blocks_end; // of its part
    tick_t tick;
    simt_counts counts;
    uint32_t first_crew, crews; // its new crews
    unsigned places;            // all its places
    size_t pages;
    size_t used; // bytes, these included
} parcel;

typedef struct {
    uint64_t number; // of the page, in the arena or in the program's data
    int in_program, bytewise, has_data, has[MARKS];
} parcel_page;

static struct {
    const void *dependent; // the last kernel whose blocks were
    double started;        // the launch
    int forked;
    unsigned count, merged;
    struct {
        pid_t process;
        parcel *parcel;
        uint64_t end;
    } child[MAX_CORES];
    // at the fork
    uint32_t first_crew, known_crews;
    unsigned nodes, edges; // of the graph by which lanes are grouped
    double at;
} parallel;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// ---- the child ------------------------------------------------------------------------------------

static void give_up(void)
{
    if (device.child)
        _exit(1);
}

static void begin_parallel(void)
{
    parallel.started = now();
    parallel.forked = 0;
    parallel.count = parallel.merged = 0;
}

unsigned simt_last_cores(void)
{
    return 1 + parallel.merged;
}

static void *pack(size_t bytes)
{
    parcel *p = device.child;
    bytes = (bytes + 15) / 16 * 16;
    if (bytes > parcel_room - p->used)
        give_up();
    void *to = (char *)p + p->used;
    p->used += bytes;
    return to;
}

// Whether the child made a mark.
static int own_mark(mark m)
{
    return (m >> 6) - (parallel.first_crew + parallel.known_crews) <
           crews.count - parallel.known_crews;
}

static void pack_page(const page *p, uint64_t number, int in_program)
{
    if (!p || p->launch != device.start)
        return;
    unsigned n = p->bytewise ? PAGE : PAGE / 4;
    int has[MARKS] = {0}, any = 0;
    for (int k = 0; k < MARKS; ++k)
        for (unsigned i = 0; p->marks[k] && i < n && !has[k]; ++i)
            any |= has[k] = own_mark(p->marks[k][i]);
    if (!any)
        return;
    if (has[WRITER] && in_program)
        give_up(); // rare, and the host has it too
    parcel_page *to = pack(sizeof *to);
    *to = (parcel_page){number, in_program, p->bytewise, has[WRITER], {0}};
    memcpy(to->has, has, sizeof has);
    if (has[WRITER])
        memcpy(pack(PAGE), (const void *)(arena.base + number * PAGE), PAGE);
    for (int k = 0; k < MARKS; ++k)
        if (has[k])
            memcpy(pack(n * sizeof(mark)), p->marks[k], n * sizeof(mark));
    ++((parcel *)device.child)->pages;
}

// Lanes are grouped by what was seen before: then another process would group them otherwise.
static int graph_grew(void)
{
    return graph.listed != parallel.nodes || graph.edges != parallel.edges;
}

// Packs what the child's blocks left, and ends the process.
static void finish_child(void) __attribute__((noreturn));
static void finish_child(void)
{
    parcel *p = device.child;
    if (device.failed || device.ended || __fpending(stdout) || __fpending(stderr) ||
        lseek(STDERR_FILENO, 0, SEEK_CUR) || crews.first != parallel.first_crew || graph_grew())
        give_up();
    p->tick = device.tick;
    p->counts = device.counts;
    p->first_crew = parallel.first_crew + parallel.known_crews;
    p->crews = crews.count - parallel.known_crews;
    memcpy(pack(p->crews * sizeof(crew)), &crews.list[parallel.known_crews],
           p->crews * sizeof(crew));
    p->places = places.count;
    memcpy(pack(places.count * sizeof(place)), places.list, places.count * sizeof(place));
    for (size_t i = 0, k = 0; i < arena.count; ++i) {
        uintptr_t first = arena.list[i].base - arena.base;
        if (k < first / PAGE)
            k = first / PAGE;
        for (; !arena.list[i].freed && k <= (first + arena.list[i].size - 1) / PAGE; ++k)
            pack_page(arena.pages[k], k, 0);
    }
    for (size_t i = 0; i < (program.data_end - program.data) / PAGE + 1; ++i)
        pack_page(program.pages[i], i, 1);
    p->complete = 1;
    _exit(0);
}

// ---- the fork -------------------------------------------------------------------------------------

static int cores(void)
{
    if (device.config.cores)
        return (int)device.config.cores;
    cpu_set_t set;
    int all = sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
    return all < MAX_CORES ? all : MAX_CORES;
}

static void start_child(unsigned number, uint64_t from, uint64_t to)
{
    parcel *p = mmap(NULL, parcel_room, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return;
    pid_t process = fork();
    if (process < 0) {
        munmap(p, parcel_room);
        return;
    }
    if (process) {
        parallel.child[number].process = process;
        parallel.child[number].parcel = p;
        parallel.child[number].end = to;
        parallel.count = number + 1;
        return;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int output = memfd_create("simt", 0);
    if (output < 0 || dup2(output, STDOUT_FILENO) < 0 || dup2(output, STDERR_FILENO) < 0)
        _exit(1);
    device.child = p;
    p->used = (sizeof *p + 15) / 16 * 16;
    device.next_block = from, device.until = to;
    memset(&device.counts, 0, sizeof device.counts);
    for (unsigned i = 0; i < places.count; ++i)
        memset(&places.list[i].counts, 0, sizeof places.list[i].counts);
}

// Between two blocks: forks if it is worth it.
static void consider_fork(void)
{
    const simt_launch_request *r = device.request;
    if (parallel.forked || device.slots > 1 || !device.traced || !device.config.check ||
        device.failed || parallel.dependent == r->kernel || r->cooperative || cores() < 2)
        return;
    uint64_t done = device.next_block, left = device.blocks - done;
    if (left < (uint64_t)cores() || done % (1 + done / 64))
        return;
    double spent = now() - parallel.started;
    if (spent < worth / 4 || spent / (double)done * (double)left < worth)
        return;
    parallel.forked = 1;
    parallel.first_crew = crews.first, parallel.known_crews = crews.count;
    parallel.nodes = graph.listed, parallel.edges = graph.edges;
    parallel.at = now();
    fflush(NULL);
    uint64_t part = left / (uint64_t)cores();
    for (int i = 1; i < cores() && !device.child; ++i) {
        uint64_t from = device.blocks - (uint64_t)(cores() - i) * part;
        if (parallel.count == (unsigned)i - 1)
            start_child((unsigned)i - 1, from, from + part);
    }
    if (!device.child && parallel.count)
        device.until = parallel.child[0].end - part;
}

// ---- the merge ------------------------------------------------------------------------------------

static void stop_child(unsigned i)
{
    kill(parallel.child[i].process, SIGKILL);
    waitpid(parallel.child[i].process, NULL, 0);
    munmap(parallel.child[i].parcel, parcel_room);
}

// Whether the child ended well. It has ten times as long as the process took for its own blocks.
static int await_child(unsigned i)
{
    double most = 10 * (now() - parallel.at) + 5, since = now();
    for (;;) {
        int status = 0;
        if (waitpid(parallel.child[i].process, &status, WNOHANG))
            return parallel.child[i].parcel->complete;
        if (now() - since > most)
            return 0;
        nanosleep(&(struct timespec){0, 200000}, NULL);
    }
}

typedef struct {
    const parcel *from;
    size_t at;
    unsigned *place; // the child's places here
    uint32_t crews;  // where its crews are in the list here
} unpacking;

static const void *unpack(unpacking *u, size_t bytes)
{
    const void *p = (const char *)u->from + u->at;
    u->at += (bytes + 15) / 16 * 16;
    return p;
}

// Whether a mark is the child's own, and not one that it had from here.
static int from_child(const unpacking *u, mark m)
{
    return (m >> 6) - u->from->first_crew < u->from->crews;
}

// Takes over one page, or with `look` only sees whether that can be done.
static int take_page(unpacking *u, int look)
{
    const parcel_page *q = unpack(u, sizeof *q);
    const char *data = q->has_data ? unpack(u, PAGE) : NULL;
    const mark *marks[MARKS];
    for (int k = 0; k < MARKS; ++k)
        marks[k] = q->has[k] ? unpack(u, (q->bytewise ? PAGE : PAGE / 4) * sizeof(mark)) : NULL;
    page **at = q->in_program ? &program.pages[q->number] : &arena.pages[q->number];
    if (!*at && !look)
        *at = new_page();
    page *p = *at;
    if (look && (!p || p->launch != device.start))
        return 1;
    unsigned count;
    if (!look && (q->bytewise || p->bytewise))
        page_marks(p, 0, 1, &count);
    const unsigned step = q->bytewise || p->bytewise ? 1 : 4;
    const uint32_t fork_crews = parallel.first_crew + parallel.known_crews;
    const mark renumbered = (crews.first + u->crews - u->from->first_crew) << 6;
    for (int which = 0; which < MARKS; ++which)
        for (unsigned i = 0; marks[which] && i < PAGE; i += step) {
            const mark m = marks[which][q->bytewise ? i : i / 4];
            const unsigned own = p->bytewise ? i : i / 4;
            if (!from_child(u, m))
                continue;
            if (look) {
                for (int k = 0; k < (which == WRITER ? MARKS : READER); ++k)
                    if (get_mark(p, k, own) >> 6 >= fork_crews)
                        return 0;
                continue;
            }
            set_mark(p, which, own, m + renumbered);
            if (which == WRITER) {
                for (int k = READER; k < MARKS; ++k)
                    set_mark(p, k, own, 0);
                memcpy((char *)(arena.base + q->number * PAGE) + i, data + i, step);
                bits_set(p->written, i, step, 1);
            }
        }
    p->launch = device.start;
    return 1;
}

static int merge_child(const parcel *from)
{
    unpacking u = {from, (sizeof *from + 15) / 16 * 16, NULL, 0};
    if (crews.first != parallel.first_crew || graph_grew())
        return 0; // crews were numbered anew
    const crew *list = unpack(&u, from->crews * sizeof *list);
    const place *there = unpack(&u, from->places * sizeof *there);
    size_t pages = u.at;
    for (size_t i = 0; i < from->pages; ++i)
        if (!take_page(&u, 1))
            return 0;

    u.place = must(malloc((from->places + 1) * sizeof *u.place));
    for (unsigned i = 0; i < from->places; ++i) {
        u.place[i] = place_of(there[i].pc, there[i].part);
        add_line(&places.list[u.place[i]].counts, &there[i].counts);
    }
    u.crews = crews.count;
    if (crews.count + from->crews > crews.capacity) {
        crews.capacity = crews.count + from->crews;
        crews.list = must(realloc(crews.list, crews.capacity * sizeof *crews.list));
    }
    for (uint32_t i = 0; i < from->crews; ++i) {
        crew *c = &crews.list[crews.count++];
        *c = list[i];
        c->place = u.place[c->place] & 0x1ffffff;
    }
    u.at = pages;
    for (size_t i = 0; i < from->pages; ++i)
        take_page(&u, 0);
    free(u.place);
    add_counts(&device.counts, &from->counts);
    if (from->tick > device.tick)
        device.tick = from->tick;
    return 1;
}

static void run_blocks(slot *s);

// The process has run its own part: takes over the children's, or runs them too.
static void join_children(slot *s)
{
    if (device.child)
        finish_child();
    for (unsigned i = 0; i < parallel.count; ++i) {
        int merged = 0;
        if (!device.ended && !device.failed && parallel.dependent != device.request->kernel)
            merged = await_child(i) && merge_child(parallel.child[i].parcel);
        stop_child(i);
        if (merged) {
            ++parallel.merged;
            device.next_block = parallel.child[i].end;
            continue;
        }
        parallel.dependent = device.request->kernel;
        device.until = parallel.child[i].end;
        run_blocks(s);
    }
    parallel.count = 0;
}
