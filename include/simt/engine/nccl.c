// SPDX-License-Identifier: MIT
// NCCL, in the order of nccl.h. A rank is a host thread, or one of several communicators of a thread. What
// a rank asks for is put into its list; the rank that comes last finds all parts together, and copies.
// The others wait, and meanwhile it is not their turn.

enum { INIT, REDUCE, BROADCAST, ALL_REDUCE, REDUCE_SCATTER, ALL_GATHER, SEND, RECEIVE };

// A part: what one rank asks for.
typedef struct part {
    int kind;
    ncclComm_t comm, *made; // made: by INIT
    const char *send;
    char *receive;
    size_t count;
    ncclDataType_t type;
    ncclRedOp_t op;
    int peer; // or the root
    struct CUstream_st *stream;
    const char *call;
    uintptr_t pc;
    uint64_t number; // of its work in the stream
    int done;
    ncclResult_t result;
    struct part *next;  // of the same group
    struct part *after; // of the same communicator, not done
} part;

// The communicators of one unique id.
typedef struct clique {
    ncclUniqueId id;
    int ranks, joined, live;
    uint64_t matched;   // collectives and messages
    ncclResult_t error; // then nothing more happens in it
    ncclComm_t comm[MAX_DEVICES];
    struct clique *next;
} clique;

struct ncclComm {
    clique *clique;
    int rank, device;
    part *parts;
    const char *last_call;
    uintptr_t last_pc;
    ncclComm_t next;
};

static struct {
    clique *cliques;
    ncclComm_t comms;
    unsigned long long ids;
    char last[1024];
    pthread_cond_t changed;
} nccl = {.changed = PTHREAD_COND_INITIALIZER};

static __thread struct {
    int depth;
    ncclResult_t error;
    part *first, *last;
} simt_group;

// ---- errors -------------------------------------------------------------------------------------

static const struct {
    const char *name, *text;
} nccl_results[] = {{"ncclSuccess", "no error"},
                    {"ncclUnhandledCudaError", "unhandled cuda error"},
                    {"ncclSystemError", "unhandled system error"},
                    {"ncclInternalError", "internal error"},
                    {"ncclInvalidArgument", "invalid argument"},
                    {"ncclInvalidUsage", "invalid usage"},
                    {"ncclRemoteError", "remote process exited or there was a network error"},
                    {"ncclInProgress", "NCCL operation in progress"}};

static ncclResult_t nccl_tell(simt_kind kind, ncclResult_t result, const char *call, uintptr_t pc,
                              const char *hint, const char *format, ...)
    __attribute__((format(printf, 6, 7)));
static ncclResult_t nccl_tell(simt_kind kind, ncclResult_t result, const char *call, uintptr_t pc,
                              const char *hint, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(nccl.last, sizeof nccl.last, format, args);
    va_end(args);
    tell_call(kind, nccl_results[result].name, call, pc, hint, nccl.last);
    return result;
}
#define nccl_refuse(...) nccl_tell(SIMT_INVALID_CALL, __VA_ARGS__)

ncclResult_t ncclGetVersion(int *version)
{
    if (!version)
        return ncclInvalidArgument;
    *version = NCCL_VERSION_CODE;
    return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t result)
{
    return (unsigned)result < ncclNumResults ? nccl_results[result].text : "unknown result code";
}

const char *ncclGetLastError(ncclComm_t comm)
{
    (void)comm;
    return nccl.last;
}

// ---- the parts that belong together ---------------------------------------------------------------

static const char *const type_names[] = {"ncclInt8",    "ncclUint8",   "ncclInt32",   "ncclUint32",
                                         "ncclInt64",   "ncclUint64",  "ncclFloat16", "ncclFloat32",
                                         "ncclFloat64", "ncclBfloat16"};
static const size_t type_bytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
static const char *const op_names[] = {"ncclSum", "ncclProd", "ncclMax", "ncclMin"};

static size_t send_bytes(const part *p)
{
    size_t bytes = p->count * type_bytes[p->type];
    return p->kind == RECEIVE || (p->kind == BROADCAST && p->peer != p->comm->rank) ? 0
           : p->kind == REDUCE_SCATTER ? bytes * (size_t)p->comm->clique->ranks
                                       : bytes;
}
static size_t receive_bytes(const part *p)
{
    size_t bytes = p->count * type_bytes[p->type];
    return p->kind == SEND || (p->kind == REDUCE && p->peer != p->comm->rank) ? 0
           : p->kind == ALL_GATHER ? bytes * (size_t)p->comm->clique->ranks
                                   : bytes;
}

static void unlink_part(part *p)
{
    part **at = &p->comm->parts;
    while (*at != p)
        at = &(*at)->after;
    *at = p->after;
}

static void end_part(part *p, ncclResult_t result)
{
    unlink_part(p);
    p->done = 1;
    p->result = result;
}

static float of_bfloat16(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}
static uint16_t to_bfloat16(float value)
{
    uint32_t wide;
    memcpy(&wide, &value, sizeof wide);
    if (value != value)
        return 0x7fff;
    return (uint16_t)((wide + 0x7fff + (wide >> 16 & 1)) >> 16);
}

// to[i] = to[i] op from[i]. Sums of signed numbers wrap around, as on a GPU.
#define COMBINE_AS(T, U, load, store)                                                              \
    for (size_t i = 0; i < n; ++i) {                                                               \
        const U a = (U)load(((T *)to)[i]), b = (U)load(((const T *)from)[i]);                      \
        const int less = load(((T *)to)[i]) < load(((const T *)from)[i]);                          \
        ((T *)to)[i] = (T)store(op == ncclSum             ? a + b                                  \
                                : op == ncclProd          ? a * b                                  \
                                : (op == ncclMax) == less ? b                                      \
                                                          : a);                                    \
    }                                                                                              \
    break
static void combine(void *to, const void *from, size_t n, ncclDataType_t type, ncclRedOp_t op)
{
    switch (type) {
    case ncclInt8:
        COMBINE_AS(int8_t, unsigned, , );
    case ncclUint8:
        COMBINE_AS(uint8_t, unsigned, , );
    case ncclInt32:
        COMBINE_AS(int32_t, uint32_t, , );
    case ncclUint32:
        COMBINE_AS(uint32_t, uint32_t, , );
    case ncclInt64:
        COMBINE_AS(int64_t, uint64_t, , );
    case ncclUint64:
        COMBINE_AS(uint64_t, uint64_t, , );
    case ncclFloat16:
        COMBINE_AS(_Float16, float, , );
    case ncclFloat32:
        COMBINE_AS(float, float, , );
    case ncclFloat64:
        COMBINE_AS(double, double, , );
    default:
        COMBINE_AS(uint16_t, float, of_bfloat16, to_bfloat16);
    }
}

// The ranks in the order in which they have their turn.
static void order_ranks(const clique *c, int *rank)
{
    simt_order order = device.config.order == SIMT_ROTATE ? (simt_order)(c->matched % SIMT_ROTATE)
                                                          : device.config.order;
    uint64_t random = device.config.seed + c->matched * 0x9e3779b97f4a7c15u;
    for (int i = 0; i < c->ranks; ++i) {
        int at = order == SIMT_FORWARD   ? i
                 : order == SIMT_REVERSE ? 0
                                         : (int)(draw(&random) % ((unsigned)i + 1));
        memmove(rank + at + 1, rank + at, (size_t)(i - at) * sizeof *rank);
        rank[at] = i;
    }
}

// What all sent, one after the other; or combined, in the order of turns; to be freed.
static char *gathered(part *const *p, const int *turns, int ranks)
{
    size_t bytes = send_bytes(p[0]);
    int reduces = p[0]->kind != ALL_GATHER;
    char *all = must(malloc(bytes * (size_t)(reduces ? 1 : ranks) + 1));
    for (int r = 0; r < ranks && reduces; ++r) {
        lacking l = {0};
        note_lacking(&l, all, p[r]->send, bytes);
        tell_lacking(&l, 0, p[r]->call, p[r]->pc);
    }
    for (int i = 0; i < ranks; ++i) {
        const int r = turns[i];
        if (!bytes)
            continue;
        else if (!reduces || !i)
            memcpy(all + (reduces ? 0 : (size_t)r * bytes), p[r]->send, bytes);
        else
            combine(all, p[r]->send, bytes / type_bytes[p[0]->type], p[0]->type, p[0]->op);
    }
    return all;
}

// The stream of one part gets to know what was in the stream of another before that part.
static void learn_before(part *p, const part *of)
{
    const int number = number_of(of->stream);
    const uint64_t known = p->stream->past.of[number];
    learn(&p->stream->past, &of->stream->past);
    if (p->stream != of->stream)
        p->stream->past.of[number] = known > of->number - 1 ? known : of->number - 1;
}

// `from`: where the bytes come from, if what was unwritten there stays unwritten.
static void deliver(part *p, size_t offset, const void *bytes, const char *from, size_t n)
{
    if (!n)
        return;
    memcpy(p->receive + offset, bytes, n);
    note_write(p->receive + offset, from, n);
}

static void run_collective(part *const *p, int ranks)
{
    const size_t bytes = p[0]->count * type_bytes[p[0]->type];
    const part *root = p[p[0]->peer];
    int turns[MAX_DEVICES];
    order_ranks(p[0]->comm->clique, turns);
    char *all = p[0]->kind == BROADCAST ? must(malloc(bytes + 1)) : gathered(p, turns, ranks);
    if (p[0]->kind == BROADCAST && bytes)
        memcpy(all, root->send, bytes);
    for (int i = 0; i < ranks; ++i) {
        const int r = turns[i];
        switch (p[0]->kind) {
        case REDUCE:
            if (p[r] == root)
                deliver(p[r], 0, all, NULL, bytes);
            break;
        case BROADCAST:
            deliver(p[r], 0, all, root->send, bytes);
            break;
        case ALL_REDUCE:
            deliver(p[r], 0, all, NULL, bytes);
            break;
        case REDUCE_SCATTER:
            deliver(p[r], 0, all + (size_t)r * bytes, NULL, bytes);
            break;
        case ALL_GATHER:
            for (int from = 0; from < ranks; ++from)
                deliver(p[r], (size_t)from * bytes, all + (size_t)from * bytes, p[from]->send,
                        bytes);
        }
    }
    free(all);
    // What comes after it in the stream of any rank comes after what was before it in all of them.
    for (int r = 0; r < ranks; ++r)
        for (int other = 0; other < ranks; ++other)
            learn_before(p[r], p[other]);
}

// Why the parts of two ranks are not of one collective, or null.
static const char *mismatch(const part *a, const part *b)
{
    static char text[300];
#define DIFFERS(what, format, x, y)                                                                \
    (snprintf(text, sizeof text,                                                                   \
              "ranks %d and %d don't agree: " what " is " format " and " format, a->comm->rank,    \
              b->comm->rank, x, y),                                                                \
     text)
    if (a->kind != b->kind)
        return DIFFERS("the call", "%s", a->call, b->call);
    if (a->count != b->count)
        return DIFFERS("the count", "%zu", a->count, b->count);
    if (a->type != b->type)
        return DIFFERS("the type", "%s", type_names[a->type], type_names[b->type]);
    if (a->op != b->op)
        return DIFFERS("the operation", "%s", op_names[a->op], op_names[b->op]);
    if (a->peer != b->peer)
        return DIFFERS("the root", "%d", a->peer, b->peer);
    return NULL;
}

// A clique ends: all that wait in it get the error.
static void break_clique(clique *c, ncclResult_t error)
{
    if (!c->error)
        c->error = error;
    for (int r = 0; r < c->ranks; ++r)
        while (c->comm[r] && c->comm[r]->parts)
            end_part(c->comm[r]->parts, c->error);
    pthread_cond_broadcast(&nccl.changed);
}

static part *first_part(ncclComm_t comm, int collective)
{
    part *p = comm ? comm->parts : NULL;
    while (p && collective != (p->kind != SEND && p->kind != RECEIVE))
        p = p->after;
    return p;
}

// The collective that all ranks have come to.
static int match_collective(clique *c)
{
    part *p[MAX_DEVICES];
    for (int r = 0; r < c->ranks; ++r)
        if (!(p[r] = first_part(c->comm[r], 1)))
            return 0;
    for (int r = 1; r < c->ranks; ++r) {
        const char *why = mismatch(p[0], p[r]);
        if (why) {
            break_clique(c,
                         nccl_refuse(ncclInvalidArgument, p[r]->call, p[r]->pc,
                                     "let all ranks call the same, in the same order", "%s", why));
            return 0;
        }
    }
    if (p[0]->kind != INIT)
        run_collective(p, c->ranks);
    for (int r = 0; r < c->ranks; ++r)
        end_part(p[r], ncclSuccess);
    ++c->matched;
    return 1;
}

static part *receiver_of(const part *send)
{
    ncclComm_t to = send->comm->clique->comm[send->peer];
    part *p = to ? to->parts : NULL;
    while (p && !(p->kind == RECEIVE && p->peer == send->comm->rank))
        p = p->after;
    return p;
}

static int match_message(clique *c)
{
    int turns[MAX_DEVICES];
    order_ranks(c, turns);
    for (int i = 0; i < c->ranks; ++i) {
        const int r = turns[i];
        for (part *s = c->comm[r] ? c->comm[r]->parts : NULL; s; s = s->after) {
            part *to = s->kind == SEND ? receiver_of(s) : NULL;
            if (!to)
                continue;
            if (s->count != to->count || s->type != to->type) {
                break_clique(c, nccl_refuse(ncclInvalidArgument, to->call, to->pc,
                                            "receive as much as is sent",
                                            "rank %d sends %zu %s, and rank %d receives %zu %s", r,
                                            s->count, type_names[s->type], s->peer, to->count,
                                            type_names[to->type]));
                return 0;
            }
            char *message = must(malloc(send_bytes(s) + 1));
            memcpy(message, s->send, send_bytes(s));
            deliver(to, 0, message, s->send, send_bytes(s));
            free(message);
            learn_before(to, s);
            end_part(to, ncclSuccess);
            end_part(s, ncclSuccess);
            ++c->matched;
            return 1;
        }
    }
    return 0;
}

static void match(clique *c)
{
    while (c->joined == c->ranks && (match_collective(c) || match_message(c)))
        pthread_cond_broadcast(&nccl.changed);
}

// ---- waiting ------------------------------------------------------------------------------------

// Whether the part can't be done before this rank has come.
static int lacks(const part *p, int rank)
{
    const clique *c = p->comm->clique;
    if (p->kind == SEND || p->kind == RECEIVE)
        return rank == p->peer;
    return !first_part(c->comm[rank], 1);
}

// Whether all ranks wait, so that no one is left who could make another call; or one that a part needs has
// no communicator any more.
static int hopeless(const part *p)
{
    const clique *c = p->comm->clique;
    int waiting = 0, gone = 0;
    for (int r = 0; r < c->ranks; ++r) {
        waiting += c->comm[r] && c->comm[r]->parts;
        gone += !c->comm[r] && lacks(p, r);
    }
    return c->joined == c->ranks && (gone || waiting == c->ranks);
}

// Nothing happens any more: says which ranks a part waits for. `seconds`: 0 if that is certain.
static void give_up_waiting(const part *p, unsigned seconds)
{
    clique *c = p->comm->clique;
    char text[800] = "";
    size_t n = 0;
    for (int r = 0; r < c->ranks && n < sizeof text; ++r) {
        if (!lacks(p, r))
            continue;
        n += (size_t)snprintf(text + n, sizeof text - n, "%srank %d ", n ? ", " : "", r);
        const ncclComm_t comm = c->comm[r];
        if (n >= sizeof text)
            break;
        if (!comm) {
            n += (size_t)snprintf(text + n, sizeof text - n, "has no communicator");
            continue;
        }
        const place *at = resolved(comm->last_pc);
        n += (size_t)snprintf(text + n, sizeof text - n, "%s %s",
                              comm->parts ? "waits in" : "called last", comm->last_call);
        if (at->line && n < sizeof text)
            n += (size_t)snprintf(text + n, sizeof text - n, " (%s:%d)", at->file, at->line);
    }
    char time[60] = "for ever";
    if (seconds)
        snprintf(time, sizeof time, "%u s", seconds);
    break_clique(
        c, nccl_refuse(
               ncclSystemError, p->call, p->pc,
               "let every rank make the call, each in a thread of its own or all in one group; if "
               "they only take long, raise SIMT_WATCHDOG",
               "rank %d of %d waits %s: %s", p->comm->rank, c->ranks, time, text));
}

static int is_comm(const struct ncclComm *comm)
{
    ncclComm_t c = nccl.comms;
    while (c && c != comm)
        c = c->next;
    return !!c;
}

static void free_comm(ncclComm_t comm)
{
    clique *c = comm->clique;
    ncclComm_t *at = &nccl.comms;
    while (*at != comm)
        at = &(*at)->next;
    *at = comm->next;
    c->comm[comm->rank] = NULL;
    free(comm);
    if (--c->live)
        return;
    clique **where = &nccl.cliques;
    while (*where != c)
        where = &(*where)->next;
    *where = c->next;
    free(c);
}

// What nothing orders after what touched the bytes before, or null.
static const char *part_race(const part *p)
{
    const past *known = &p->stream->past;
    const char *why = stream_race(known, p->send, send_bytes(p), 0);
    return why ? why : stream_race(known, p->receive, receive_bytes(p), 1);
}

static int apart(uintptr_t a, size_t a_bytes, uintptr_t b, size_t b_bytes)
{
    return !a_bytes || !b_bytes || a + a_bytes <= b || b + b_bytes <= a;
}

// Messages of one group come and go at the same time.
static const char *group_race(const part *p, const part *q)
{
    static char text[400];
    if (p == q || q->kind != RECEIVE || (p->kind != SEND && p->kind != RECEIVE))
        return NULL;
    const uintptr_t a = (uintptr_t)(p->kind == SEND ? p->send : p->receive);
    if (apart(a, send_bytes(p) + receive_bytes(p), (uintptr_t)q->receive, receive_bytes(q)))
        return NULL;
    const place *at = resolved(q->pc);
    snprintf(text, sizeof text, "%s of the same group writes what this call %s (%s:%d)", q->call,
             p->kind == SEND ? "reads" : "writes", at->file, at->line);
    return text;
}

// The parts take their places in their streams.
static void enter_streams(part *first)
{
    for (part *p = first; p; p = p->next) {
        if (p->kind == INIT)
            continue;
        p->number = begin_work(p->stream);
        const char *why = part_race(p);
        for (const part *q = first; q && !why; q = q->next)
            why = group_race(p, q);
        if (why)
            break_clique(p->comm->clique, nccl_tell(SIMT_STREAM_RACE, ncclInvalidUsage, p->call,
                                                    p->pc, STREAM_HINT, "%s", why));
    }
    // Parts of one group are one piece of work: each has been compared with what was before it.
    for (part *p = first; p; p = p->next) {
        if (p->kind == INIT)
            continue;
        note_action(p->stream, (uintptr_t)p->send, send_bytes(p), send_bytes(p), 1, 0, p->call,
                    p->pc);
        note_action(p->stream, (uintptr_t)p->receive, receive_bytes(p), receive_bytes(p), 1, 1,
                    p->call, p->pc);
    }
}

// Waits until all parts are done. Their errors are the result.
static ncclResult_t finish(part *first)
{
    enter_streams(first);
    for (part *p = first; p; p = p->next) {
        part **at = &p->comm->parts;
        while (*at)
            at = &(*at)->after;
        *at = p;
        p->comm->last_call = p->call, p->comm->last_pc = p->pc;
    }
    for (part *p = first; p; p = p->next)
        if (!p->done && p->comm->clique->error)
            break_clique(p->comm->clique, p->comm->clique->error);
        else if (!p->done)
            match(p->comm->clique);
    uint64_t calls = device.calls;
    double since = now();
    for (;;) {
        part *open = first;
        while (open && open->done)
            open = open->next;
        if (!open)
            break;
        if (hopeless(open)) {
            give_up_waiting(open, 0);
            continue;
        }
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        t.tv_nsec += 100000000;
        t.tv_sec += t.tv_nsec / 1000000000, t.tv_nsec %= 1000000000;
        pthread_cond_clockwait(&nccl.changed, &turn, CLOCK_MONOTONIC, &t);
        if (device.calls != calls)
            calls = device.calls, since = now();
        else if (!open->done && device.config.watchdog && now() - since > device.config.watchdog)
            give_up_waiting(open, device.config.watchdog);
    }
    ncclResult_t result = ncclSuccess;
    for (part *next; first; first = next) {
        next = first->next;
        if (first->result && !result)
            result = first->result;
        if (first->result && first->made && is_comm(*first->made)) {
            free_comm(*first->made);
            *first->made = NULL;
        }
        free(first);
    }
    return result;
}

static ncclResult_t end_group(void)
{
    part *first = simt_group.first;
    ncclResult_t error = simt_group.error;
    simt_group.first = simt_group.last = NULL;
    simt_group.error = ncclSuccess;
    if (!error)
        return finish(first);
    for (part *next; first; first = next) { // one of the calls failed, and none happens
        next = first->next;
        if (first->made) {
            free_comm(*first->made);
            *first->made = NULL;
        }
        free(first);
    }
    return error;
}

// The result of a call: in a group, the end of the group has it too.
static ncclResult_t nccl_outcome(ncclResult_t result)
{
    if (result && simt_group.depth && !simt_group.error)
        simt_group.error = result;
    return result;
}

// A call begins: now, or at the end of the group.
static ncclResult_t begin_part(part p)
{
    part *mine = must(malloc(sizeof *mine));
    *mine = p;
    if (simt_group.last)
        simt_group.last->next = mine;
    else
        simt_group.first = mine;
    simt_group.last = mine;
    return simt_group.depth ? ncclSuccess : end_group();
}

ncclResult_t ncclGroupStart(void)
{
    ++simt_group.depth;
    return ncclSuccess;
}

ncclResult_t ncclGroupEnd(void)
{
    ALONE;
    if (!simt_group.depth)
        return nccl_refuse(ncclInvalidUsage, "ncclGroupEnd", RETURN_PC, "call ncclGroupStart first",
                           "no group was started");
    return --simt_group.depth ? ncclSuccess : end_group();
}

// ---- communicators ------------------------------------------------------------------------------

static const char id_mark[] = "simt's unique id";

static void make_id(ncclUniqueId *id)
{
    memset(id, 0, sizeof *id);
    snprintf(id->internal, sizeof id->internal, "%s %ld %llu", id_mark, (long)getpid(), ++nccl.ids);
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
    ALONE;
    if (!id)
        return nccl_refuse(ncclInvalidArgument, "ncclGetUniqueId", RETURN_PC,
                           "pass the address of an ncclUniqueId", "the place for the id is null");
    make_id(id);
    return ncclSuccess;
}

static clique *clique_of(const ncclUniqueId *id, int ranks)
{
    clique *c = nccl.cliques;
    while (c && memcmp(&c->id, id, sizeof *id))
        c = c->next;
    if (c)
        return c;
    c = must(calloc(1, sizeof *c));
    c->id = *id;
    c->ranks = ranks;
    c->next = nccl.cliques;
    return nccl.cliques = c;
}

static ncclComm_t join(clique *c, int rank, int number)
{
    ncclComm_t comm = must(calloc(1, sizeof *comm));
    *comm = (struct ncclComm){.clique = c, .rank = rank, .device = number, .next = nccl.comms};
    c->comm[rank] = comm;
    ++c->joined, ++c->live;
    return nccl.comms = comm;
}

ncclResult_t ncclCommInitRank(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank)
{
    ALONE;
#define NCCL_REFUSE(result, ...)                                                                   \
    nccl_outcome(nccl_refuse(result, "ncclCommInitRank", RETURN_PC, __VA_ARGS__))
    if (!comm)
        return NCCL_REFUSE(ncclInvalidArgument, "pass the address of an ncclComm_t",
                           "the place for the communicator is null");
    *comm = NULL;
    if (ranks < 1 || rank < 0 || rank >= ranks)
        return NCCL_REFUSE(ncclInvalidArgument, "count ranks from 0", "rank %d of %d", rank, ranks);
    if (ranks > (int)device.config.devices)
        return NCCL_REFUSE(ncclInvalidUsage, "raise SIMT_DEVICES",
                           "%d ranks, each on a device of its own, and there are %u devices", ranks,
                           device.config.devices);
    char mine[sizeof id.internal];
    snprintf(mine, sizeof mine, "%s %ld ", id_mark, (long)getpid());
    if (strncmp(id.internal, mine, strlen(mine)))
        return NCCL_REFUSE(ncclInvalidArgument,
                           "let one rank call ncclGetUniqueId, and give the others what it got; "
                           "ranks are threads of one process here",
                           "the id is not from ncclGetUniqueId of this process");
    clique *c = clique_of(&id, ranks);
    ncclResult_t error = ncclSuccess;
    if (c->ranks != ranks)
        error = NCCL_REFUSE(ncclInvalidArgument, "pass the same number in all ranks",
                            "rank %d says that there are %d ranks, and another says %d", rank,
                            ranks, c->ranks);
    else if (c->comm[rank])
        error = NCCL_REFUSE(ncclInvalidArgument, "give each rank a number of its own",
                            "there is a rank %d already", rank);
    for (int r = 0; r < c->ranks && !error; ++r)
        if (c->comm[r] && c->comm[r]->device == ordinal())
            error = NCCL_REFUSE(ncclInvalidUsage, "call cudaSetDevice before, in each rank",
                                "ranks %d and %d are both on device %d", r, rank, ordinal());
#undef NCCL_REFUSE
    if (error) {
        break_clique(c, error);
        return error;
    }
    *comm = join(c, rank, ordinal());
    return begin_part((part){
        .kind = INIT, .comm = *comm, .made = comm, .call = "ncclCommInitRank", .pc = RETURN_PC});
}

ncclResult_t ncclCommInitAll(ncclComm_t *comms, int devices, const int *list)
{
    ALONE;
#define NCCL_REFUSE(result, ...) nccl_refuse(result, "ncclCommInitAll", RETURN_PC, __VA_ARGS__)
    if (!comms || devices < 1)
        return NCCL_REFUSE(ncclInvalidArgument, "pass an array, and how many it holds",
                           "%d communicators at %p", devices, (void *)comms);
    unsigned taken = 0;
    for (int i = 0; i < devices; ++i) {
        int number = list ? list[i] : i;
        if (number < 0 || number >= (int)device.config.devices)
            return NCCL_REFUSE(ncclInvalidArgument, "raise SIMT_DEVICES",
                               "device %d, and there are %u devices", number,
                               device.config.devices);
        if (taken >> number & 1)
            return NCCL_REFUSE(ncclInvalidUsage, "name each device once",
                               "the list names device %d twice", number);
        taken |= 1u << number;
    }
#undef NCCL_REFUSE
    ncclUniqueId id;
    make_id(&id);
    clique *c = clique_of(&id, devices);
    for (int i = 0; i < devices; ++i) {
        comms[i] = join(c, i, list ? list[i] : i);
        comms[i]->last_call = "ncclCommInitAll", comms[i]->last_pc = RETURN_PC;
    }
    return ncclSuccess;
}

#define NEEDS_COMM(call)                                                                           \
    if (!is_comm(comm))                                                                            \
    return nccl_outcome(nccl_refuse(ncclInvalidArgument, call, RETURN_PC,                          \
                                    "use it from ncclCommInit to ncclCommDestroy",                 \
                                    "%p is no communicator", (void *)comm))

ncclResult_t ncclCommFinalize(ncclComm_t comm)
{
    ALONE;
    NEEDS_COMM("ncclCommFinalize");
    return comm->clique->error; // all calls have ended
}

ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
    ALONE;
    if (!comm)
        return ncclSuccess;
    NEEDS_COMM("ncclCommDestroy");
    while (comm->parts) // of another thread
        end_part(comm->parts, ncclInvalidUsage);
    free_comm(comm);
    pthread_cond_broadcast(&nccl.changed);
    return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm)
{
    ALONE;
    if (!comm)
        return ncclSuccess;
    NEEDS_COMM("ncclCommAbort");
    break_clique(comm->clique, ncclRemoteError);
    free_comm(comm);
    return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error)
{
    ALONE;
    NEEDS_COMM("ncclCommGetAsyncError");
    if (!error)
        return ncclInvalidArgument;
    *error = comm->clique->error;
    return ncclSuccess;
}

#define ASK(call, type, to, value)                                                                 \
    ncclResult_t call(type comm, int *to)                                                          \
    {                                                                                              \
        ALONE;                                                                                     \
        NEEDS_COMM(#call);                                                                         \
        if (!to)                                                                                   \
            return ncclInvalidArgument;                                                            \
        *to = value;                                                                               \
        return ncclSuccess;                                                                        \
    }
ASK(ncclCommCount, const ncclComm_t, count, comm->clique->ranks)
ASK(ncclCommCuDevice, const ncclComm_t, number, comm->device)
ASK(ncclCommUserRank, const ncclComm_t, rank, comm->rank)

// ---- collectives and messages -------------------------------------------------------------------

static ncclResult_t bad_buffer(const part *p, const char *side, const char *pointer, size_t bytes)
{
#define NCCL_REFUSE(...) nccl_refuse(ncclInvalidArgument, p->call, p->pc, __VA_ARGS__)
    if (!bytes)
        return ncclSuccess;
    const char *hint, *what = wrong_side(side, pointer, bytes, 1, 0, &hint);
    if (what)
        return NCCL_REFUSE(hint, "%s", what);
    if ((uintptr_t)pointer % type_bytes[p->type])
        return NCCL_REFUSE("align it to the type", "the %s, %p, is no address for %s", side,
                           (void *)pointer, type_names[p->type]);
    const allocation *m = in_arena((uintptr_t)pointer) ? allocation_at((uintptr_t)pointer) : NULL;
    if (m && m->type == cudaMemoryTypeDevice && m->device != p->comm->device)
        return NCCL_REFUSE("pass the rank's own memory",
                           "the %s is memory of device %d, and rank %d is on device %d", side,
                           m->device, p->comm->rank, p->comm->device);
    return ncclSuccess;
}

static ncclResult_t check_part(const part *p)
{
    const ncclComm_t comm = p->comm;
    if (!is_comm(comm))
        return NCCL_REFUSE("use it from ncclCommInit to ncclCommDestroy", "%p is no communicator",
                           (void *)comm);
    if (comm->clique->error)
        return comm->clique->error;
    if ((unsigned)p->type >= ncclNumTypes)
        return NCCL_REFUSE("pass an ncclDataType_t", "there is no type %d", (int)p->type);
    if ((unsigned)p->op >= ncclAvg)
        return NCCL_REFUSE("use ncclSum, ncclProd, ncclMax or ncclMin",
                           "simt does not have operation %d", (int)p->op);
    if (p->peer < 0 || p->peer >= comm->clique->ranks)
        return NCCL_REFUSE("count ranks from 0", "rank %d, and there are %d", p->peer,
                           comm->clique->ranks);
    if (p->count > SIZE_MAX / 8 / MAX_DEVICES)
        return NCCL_REFUSE("count elements", "the count is %zu", p->count);
    ncclResult_t error = bad_buffer(p, "send buffer", p->send, send_bytes(p));
    if (!error)
        error = bad_buffer(p, "receive buffer", p->receive, receive_bytes(p));
    if (error)
        return error;
    const size_t mine = (size_t)comm->rank * p->count * type_bytes[p->type];
    const int in_place = p->send + (p->kind == REDUCE_SCATTER ? mine : 0) ==
                         p->receive + (p->kind == ALL_GATHER ? mine : 0);
    if (!in_place &&
        !apart((uintptr_t)p->send, send_bytes(p), (uintptr_t)p->receive, receive_bytes(p)))
        return NCCL_REFUSE("use two buffers, or in place: the same address; of an all-gather and a "
                           "reduce-scatter, the rank's part of the longer one",
                           "the send buffer, %p, and the receive buffer, %p, overlap",
                           (void *)p->send, (void *)p->receive);
    return ncclSuccess;
#undef NCCL_REFUSE
}

// In a shuffled order a rank comes a little later, so that others may come before it.
static void come_late(void)
{
    static __thread uint64_t simt_comings;
    if (device.config.order != SIMT_SHUFFLE)
        return;
    uint64_t random = device.config.seed + ++simt_comings * MAX_DEVICES + (unsigned)simt_current;
    nanosleep(&(struct timespec){0, (long)(draw(&random) % 4 * 50000)}, NULL);
}

static ncclResult_t begin(int kind, const char *call, uintptr_t pc, const void *send, void *receive,
                          size_t count, ncclDataType_t type, ncclRedOp_t op, int peer,
                          ncclComm_t comm, cudaStream_t stream)
{
    come_late();
    ALONE;
    part p = {.kind = kind,
              .comm = comm,
              .send = send,
              .receive = receive,
              .count = count,
              .type = type,
              .op = op,
              .peer = peer,
              .call = call,
              .pc = pc};
    ncclResult_t error = check_part(&p);
    if (error)
        return nccl_outcome(error);
    p.stream = stream_of(stream, comm->device);
    if (!p.stream || p.stream->device != comm->device)
        return nccl_outcome(nccl_refuse(
            ncclUnhandledCudaError, call, pc, "pass a stream of the communicator's device",
            "stream %p is none of device %d", (void *)stream, comm->device));
    return begin_part(p);
}

ncclResult_t ncclReduce(const void *send, void *receive, size_t count, ncclDataType_t type,
                        ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream)
{
    return begin(REDUCE, "ncclReduce", RETURN_PC, send, receive, count, type, op, root, comm,
                 stream);
}
ncclResult_t ncclBroadcast(const void *send, void *receive, size_t count, ncclDataType_t type,
                           int root, ncclComm_t comm, cudaStream_t stream)
{
    return begin(BROADCAST, "ncclBroadcast", RETURN_PC, send, receive, count, type, 0, root, comm,
                 stream);
}
ncclResult_t ncclAllReduce(const void *send, void *receive, size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream)
{
    return begin(ALL_REDUCE, "ncclAllReduce", RETURN_PC, send, receive, count, type, op, 0, comm,
                 stream);
}
ncclResult_t ncclReduceScatter(const void *send, void *receive, size_t receive_count,
                               ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                               cudaStream_t stream)
{
    return begin(REDUCE_SCATTER, "ncclReduceScatter", RETURN_PC, send, receive, receive_count, type,
                 op, 0, comm, stream);
}
ncclResult_t ncclAllGather(const void *send, void *receive, size_t send_count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream)
{
    return begin(ALL_GATHER, "ncclAllGather", RETURN_PC, send, receive, send_count, type, 0, 0,
                 comm, stream);
}
ncclResult_t ncclSend(const void *send, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream)
{
    return begin(SEND, "ncclSend", RETURN_PC, send, NULL, count, type, 0, peer, comm, stream);
}
ncclResult_t ncclRecv(void *receive, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream)
{
    return begin(RECEIVE, "ncclRecv", RETURN_PC, NULL, receive, count, type, 0, peer, comm, stream);
}
