// SPDX-License-Identifier: MIT
// Asynchronous copies (cuda_pipeline_primitives.h). The call checks and counts source and destination
// as its read and its write. Until the thread waits, nobody may touch the destination. The wait copies
// the bytes, and is the moment at which they are written.

struct copy {
    char *to;
    const char *from;
    uintptr_t pc; // of the call
    unsigned char bytes, zeros;
    unsigned group;
    struct copy *next;
};

static page *copy_page(const thread *t, const struct copy *c)
{
    uintptr_t a = (uintptr_t)c->to, base = t->block->slot->shared;
    if (!device.traced || !device.config.check || a - base >= program.shared_size)
        return NULL;
    return t->block->slot->shared_pages[(a - (base & ~(uintptr_t)(PAGE - 1))) / PAGE];
}

static void put_down(thread *t, struct copy *c)
{
    page *p = copy_page(t, c);
    uintptr_t a = (uintptr_t)c->to;
    if (p) {
        bits_set(p->flying, (unsigned)(a % PAGE), c->bytes, 0);
        check_race(t, p, (unsigned)(a % PAGE), c->bytes, a, WRITE, 1, c->pc, place_of(c->pc, 32));
    }
    memcpy(c->to, c->from, c->bytes - c->zeros);
    memset(c->to + c->bytes - c->zeros, 0, c->zeros);
}

static void touched_in_flight(thread *t, uintptr_t a, unsigned size, uintptr_t whole,
                              size_t whole_size, int flags, uintptr_t pc)
{
    party other = {0, 0, 0, 0, NULL};
    for (unsigned i = 0; i < t->block->threads && !other.present; ++i)
        for (const struct copy *c = t->block->thread[i].copies; c; c = c->next)
            if ((uintptr_t)c->to < a + size && a < (uintptr_t)c->to + c->bytes) {
                other = (party){1, t->block->serial, i, c->pc, "copies to it, and has not waited"};
                break;
            }
    flaw(t, SIMT_RACE, pc, whole, whole_size, &other,
         "wait for the copy first: __pipeline_wait_prior(), in the thread that made it, and then "
         "__syncthreads() for the others; or start it later, after the barrier that follows the "
         "last "
         "use of what was there",
         "%s of %zu byte%s of shared memory to which an asynchronous copy is under way",
         flags & UPDATE  ? "atomic update"
         : flags & WRITE ? "write"
                         : "read",
         whole_size, whole_size == 1 ? "" : "s");
}

void simt_copy_async(void *to, const void *from, size_t bytes, size_t zeros)
{
    thread *t = self;
    if (!t)
        return;
    restore(t);
    uintptr_t pc = RETURN_PC, a = (uintptr_t)to, b = (uintptr_t)from;
    if ((bytes != 4 && bytes != 8 && bytes != 16) || zeros > bytes)
        fault(t, SIMT_MISALIGNED, pc, a, bytes, NULL, "copy 4, 8 or 16 bytes at a time",
              "an asynchronous copy of %zu bytes, %zu of them zeros", bytes, zeros);
    if ((a | b) & (bytes - 1))
        fault(t, SIMT_MISALIGNED, pc, (a & (bytes - 1)) ? a : b, bytes, NULL,
              "align both sides to the bytes copied",
              "an asynchronous copy of %zu bytes from %#" PRIxPTR " to %#" PRIxPTR, bytes, b, a);
    if (device.traced) {
        size_t n = bytes - zeros;
        if (n == bytes) {
            access_memory(t, b, n, 0, pc, 0);
        } else {
            for (size_t done = 0; done < n; ++done)
                access_memory(t, b + done, 1, 0, pc, (int)done + 1);
        }
        access_memory(t, a, bytes, WRITE, pc, 32);
    }
    struct copy *c = must(malloc(sizeof *c));
    *c = (struct copy){to,  from, pc, (unsigned char)bytes, (unsigned char)zeros, t->copy_group,
                       NULL};
    page *p = copy_page(t, c);
    if (p) {
        if (!p->flying)
            p->flying = must(calloc(1, sizeof p->written));
        bits_set(p->flying, (unsigned)(a % PAGE), (unsigned)bytes, 1);
    }
    *(t->last_copy ? &t->last_copy->next : &t->copies) = c;
    t->last_copy = c;
}

void simt_copy_commit(void)
{
    if (self)
        ++self->copy_group;
}

void simt_copy_wait(unsigned pending)
{
    thread *t = self;
    if (!t)
        return;
    restore(t);
    while (t->copies && t->copy_group - t->copies->group > pending) {
        struct copy *c = t->copies;
        put_down(t, c);
        if (!(t->copies = c->next))
            t->last_copy = NULL;
        free(c);
    }
}

// A thread that returns, or whose launch is abandoned, waits for nothing.
static void drop_copies(thread *t)
{
    for (struct copy *c; (c = t->copies);) {
        t->copies = c->next;
        free(c);
    }
    t->last_copy = NULL;
    t->copy_group = 0;
}
