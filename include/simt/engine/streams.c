// SPDX-License-Identifier: MIT
// What orders the work of streams. Here all runs at once, in the order of the calls; on a GPU two streams
// go on side by side, until an event, a synchronisation or the default stream orders them. So each piece
// of work has the number of its stream and a number in it, and each stream, event and the host know how
// far each stream had got before them. Two pieces that touch the same bytes, of which one writes, are a
// race where neither knows the other.

enum { STREAMS = 256 };

// How far each stream had got.
typedef struct {
    uint64_t of[STREAMS];
} past;

// A stream, by its handle. The first are the default streams of the devices, then cudaStreamPerThread.
struct CUstream_st {
    past past;
    int device, live, waits_for_default;
};
struct CUevent_st {
    past past;
    int device, recorded;
    struct timespec when;
};

static struct CUstream_st streams[STREAMS];

// What has ended, as some host thread knows. One for all of them, because how they wait for each other
// isn't seen.
static past ended;

static void learn(past *p, const past *of)
{
    for (int i = 0; i < STREAMS; ++i)
        p->of[i] = p->of[i] > of->of[i] ? p->of[i] : of->of[i];
}

static int number_of(const struct CUstream_st *s)
{
    return (int)(s - streams);
}

// Null when there is no such stream.
static struct CUstream_st *stream_of(cudaStream_t stream, int number)
{
    struct CUstream_st *s = !stream || stream == cudaStreamLegacy ? &streams[number]
                            : stream == cudaStreamPerThread       ? &streams[MAX_DEVICES + number]
                                                                  : stream;
    if (s >= streams && s < streams + 2 * MAX_DEVICES) {
        s->device = number_of(s) % MAX_DEVICES, s->live = 1;
        s->waits_for_default = s >= streams + MAX_DEVICES;
    }
    return s >= streams && s < streams + STREAMS && s->live ? s : NULL;
}

static void catch_up(struct CUstream_st *s)
{
    learn(&s->past, &ended);
    if (s->waits_for_default)
        learn(&s->past, &streams[s->device].past);
    for (int i = MAX_DEVICES; i < STREAMS && s < streams + MAX_DEVICES; ++i)
        if (streams[i].waits_for_default && streams[i].device == s->device)
            learn(&s->past, &streams[i].past);
}

// The next piece of work in a stream begins. Returns its number.
static uint64_t begin_work(struct CUstream_st *s)
{
    catch_up(s);
    return ++s->past.of[number_of(s)];
}

static void device_ended(int number)
{
    for (int i = 0; i < STREAMS; ++i)
        if (streams[i].live && streams[i].device == number)
            learn(&ended, &streams[i].past);
}

// ---- what the runtime's calls did to memory ---------------------------------------------------------

typedef struct {
    uintptr_t from;
    size_t width, pitch, rows;
    int write, stream, told;
    uint64_t number;
    const char *call;
    uintptr_t pc;
} action;

static struct {
    action list[1024]; // those that may not have ended; the newest, if there are more
    size_t count;
    unsigned open; // how many the running kernel doesn't know
} actions;

static int knows(const past *p, int stream, uint64_t number)
{
    return p->of[stream] >= number;
}

static int overlaps(const action *x, uintptr_t a, size_t bytes)
{
    if (a + bytes <= x->from || a >= x->from + (x->rows - 1) * x->pitch + x->width)
        return 0;
    size_t offset = a < x->from ? 0 : (a - x->from) % x->pitch;
    return a < x->from || offset < x->width || offset + bytes > x->pitch;
}

static action *unknown_action(const past *p, uintptr_t a, size_t bytes, int write)
{
    for (size_t i = actions.count; i--;) {
        action *x = &actions.list[i];
        if ((write || x->write) && !knows(p, x->stream, x->number) && overlaps(x, a, bytes))
            return x;
    }
    return NULL;
}

static void note_action(const struct CUstream_st *s, uintptr_t from, size_t width, size_t pitch,
                        size_t rows, int write, const char *call, uintptr_t pc)
{
    enum { MOST = sizeof actions.list / sizeof *actions.list };
    if (!width || !rows || !in_arena(from))
        return;
    size_t kept = 0;
    for (size_t i = 0; i < actions.count; ++i)
        if (!knows(&ended, actions.list[i].stream, actions.list[i].number))
            actions.list[kept++] = actions.list[i];
    if (kept == MOST)
        memmove(actions.list, actions.list + 1, --kept * sizeof *actions.list);
    actions.list[kept] = (action){
        from, width, pitch, rows, write, number_of(s), 0, s->past.of[number_of(s)], call, pc};
    actions.count = kept + 1;
}

// ---- what kernels did: their marks stay in the shadow ------------------------------------------------

typedef struct {
    uint32_t first, count; // its crews
    int stream;
    uint64_t number;
    tick_t start;
    uintptr_t kernel;
    uintptr_t pc;
} launched;

static struct {
    launched list[1024]; // by crews; the newest
    size_t count;
    unsigned open; // how many the running kernel doesn't know
} launches;

static void forget_launches(void)
{
    launches.count = 0;
}

static void note_launch(const struct CUstream_st *s, uintptr_t pc)
{
    enum { MOST = sizeof launches.list / sizeof *launches.list };
    if (!crews.count)
        return;
    if (launches.count == MOST)
        memmove(launches.list, launches.list + MOST / 2,
                (launches.count -= MOST / 2) * sizeof *launches.list);
    launches.list[launches.count++] = (launched){crews.first,
                                                 crews.count,
                                                 number_of(s),
                                                 s->past.of[number_of(s)],
                                                 device.start,
                                                 (uintptr_t)device.request->kernel,
                                                 pc};
}

// How many launches a piece of work doesn't know.
static unsigned unknown_launches(const past *p)
{
    unsigned n = 0;
    for (size_t i = 0; i < launches.count; ++i)
        n += !knows(p, launches.list[i].stream, launches.list[i].number);
    return n;
}

// The launch that made a mark, if a piece of work doesn't know it.
static const launched *unknown_launch(const past *p, mark m)
{
    size_t low = 0, high = launches.count;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (launches.list[mid].first <= m >> 6)
            low = mid + 1;
        else
            high = mid;
    }
    const launched *l = low && m ? &launches.list[low - 1] : NULL;
    return l && (m >> 6) - l->first < l->count && !knows(p, l->stream, l->number) ? l : NULL;
}

// The launch that touched bytes, of those that a piece of work doesn't know.
static const launched *unknown_toucher(const past *p, uintptr_t a, size_t bytes, int write)
{
    if (!in_arena(a) || !unknown_launches(p))
        return NULL;
    for (uintptr_t end = a + bytes; a < end;) {
        unsigned offset = (unsigned)(a % PAGE);
        unsigned n = end - a < PAGE - offset ? (unsigned)(end - a) : PAGE - offset;
        const page *q = arena.pages[(a - arena.base) / PAGE];
        a += n;
        if (!q || q->launch < launches.list[0].start)
            continue;
        unsigned shift = q->bytewise ? 0 : 2;
        for (int which = WRITER; which < (write ? MARKS : READER); ++which)
            for (unsigned i = offset >> shift; q->marks[which] && i <= (offset + n - 1) >> shift;
                 ++i) {
                const launched *l = unknown_launch(p, q->marks[which][i]);
                if (l)
                    return l;
            }
    }
    return NULL;
}

// ---- reports ------------------------------------------------------------------------------------

#define STREAM_HINT                                                                                \
    "order the two: cudaEventRecord after the first and cudaStreamWaitEvent before the second; "   \
    "or "                                                                                          \
    "the same stream; or synchronise between them"

static const char *say_action(const action *x)
{
    static char text[400];
    const place *at = resolved(x->pc);
    int n = snprintf(text, sizeof text, "%s %s", x->call, x->write ? "writes" : "reads");
    if (at->line)
        snprintf(text + n, sizeof text - (size_t)n, " (%s:%d)", at->file, at->line);
    return text;
}

static const char *say_launch(const launched *l)
{
    static char text[600];
    char name[128];
    name_kernel(name, sizeof name, &(simt_launch_request){.kernel = (const void *)l->kernel});
    const place *at = resolved(l->pc);
    int n = snprintf(text, sizeof text, "the kernel %s touched", name);
    if (at->line)
        snprintf(text + n, sizeof text - (size_t)n, " (launched at %s:%d)", at->file, at->line);
    return text;
}

// What a call of the runtime touches though nothing orders it after what touched it before; or null.
static const char *stream_race(const past *p, const void *pointer, size_t bytes, int write)
{
    static char text[900];
    uintptr_t a = (uintptr_t)pointer;
    if (!bytes || !device.config.check)
        return NULL;
    const action *x = unknown_action(p, a, bytes, write);
    const launched *l = x ? NULL : unknown_toucher(p, a, bytes, write);
    if (!x && !l)
        return NULL;
    snprintf(text, sizeof text,
             "it %s %zu bytes at %p, which %s in another stream, with nothing to order the two",
             write ? "writes" : "reads", bytes, pointer, x ? say_action(x) : say_launch(l));
    return text;
}

// Of the kernel that runs.
static const past *running;

static __attribute__((noinline, cold)) void check_actions(thread *t, uintptr_t a, size_t size,
                                                          int flags, uintptr_t pc)
{
    const action *x = unknown_action(running, a, size, flags & WRITE);
    if (x)
        flaw(t, SIMT_STREAM_RACE, pc, a, size, NULL, STREAM_HINT,
             "%s of %zu byte%s which %s in another stream, with nothing to order the two",
             flags & WRITE ? "write" : "read", size, size == 1 ? "" : "s", say_action(x));
}

// A mark of an earlier launch. Returns whether it is told.
static __attribute__((noinline, cold)) int check_launches(thread *t, const page *p, int which,
                                                          unsigned i, uintptr_t a, size_t size,
                                                          int flags, uintptr_t pc)
{
    mark m = p->marks[which] ? p->marks[which][i] : 0;
    const launched *l =
        in_arena(a) && !(m & 1 && flags & ATOMIC) ? unknown_launch(running, m) : NULL;
    if (l)
        flaw(t, SIMT_STREAM_RACE, pc, a, size, NULL, STREAM_HINT,
             "%s of %zu byte%s which %s in another stream, with nothing to order the two",
             flags & WRITE ? "write" : "read", size, size == 1 ? "" : "s", say_launch(l));
    return !!l;
}

// Host code touches pinned or managed memory.
static void check_host(uintptr_t a, size_t size, int write, uintptr_t pc)
{
    action *x = device.config.check ? unknown_action(&ended, a, size, write) : NULL;
    if (!x || x->told++)
        return;
    tell(SIMT_STREAM_RACE, cudaSuccess, "host code", pc, "synchronise first: cudaStreamSynchronize",
         "it %s %zu byte%s which %s, and has not waited for that", write ? "writes" : "reads", size,
         size == 1 ? "" : "s", say_action(x));
}
