// SPDX-License-Identifier: MIT
// Asynchronous copies (cuda_pipeline_primitives.h). The call checks, counts and orders source and
// destination as its reads and writes. The wait copies the bytes.

struct copy {
    char *to;
    const char *from;
    unsigned char bytes, zeros;
    unsigned group;
    struct copy *next;
};

static void put_down(struct copy *c)
{
    memcpy(c->to, c->from, c->bytes - c->zeros);
    memset(c->to + c->bytes - c->zeros, 0, c->zeros);
}

void simt_copy_async(void *to, const void *from, size_t bytes, size_t zeros)
{
    thread *t = self;
    if (!t)
        return;
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
    *c = (struct copy){to, from, (unsigned char)bytes, (unsigned char)zeros, t->copy_group, NULL};
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
    while (t->copies && t->copy_group - t->copies->group > pending) {
        struct copy *c = t->copies;
        put_down(c);
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
