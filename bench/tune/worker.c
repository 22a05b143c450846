// SPDX-License-Identifier: MIT
//
// The process around gpu.c. A kernel that reads out of bounds takes its context with it, and one
// that never ends can't be stopped but with its process: so the GPU is used in a child, and this
// process, which never calls the driver, may start another.

#include "gpu.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// What the child tells: of itself first, then of each row.
typedef struct {
    long row;    // -1: it is ready, or message says why it can't be
    bool failed; // to begin; or, after a row, the context is lost
    char message[512];
    tune_device device;
    int driver_version;
    tune_row result;
} report;

static bool send_report(int to, const report *r)
{
    size_t sent = 0;
    while (sent < sizeof(*r)) {
        const ssize_t got = write(to, (const char *)r + sent, sizeof(*r) - sent);
        if (got <= 0 && errno != EINTR)
            return false;
        sent += got > 0 ? (size_t)got : 0;
    }
    return true;
}

// A report, within so many seconds. 1: it is there; 0: time is up; -1: the child is gone; -2:
// *stop.
static int receive(int from, report *r, double seconds, const volatile int *stop)
{
    enum { MOST_PAUSE = 1 }; // s of a turn: longer, and this process was stopped too (Ctrl-Z)
    struct timespec last, now;
    clock_gettime(CLOCK_MONOTONIC, &last);
    for (size_t have = 0; have < sizeof(*r); last = now) {
        struct pollfd p = {from, POLLIN, 0};
        const int ready = poll(&p, 1, 100);
        if (ready > 0) {
            const ssize_t got = read(from, (char *)r + have, sizeof(*r) - have);
            if (got == 0 || (got < 0 && errno != EINTR))
                return -1;
            have += got > 0 ? (size_t)got : 0;
        }
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (stop && *stop)
            return -2;
        const double passed =
            (double)(now.tv_sec - last.tv_sec) + (now.tv_nsec - last.tv_nsec) / 1e9;
        seconds -= passed < MOST_PAUSE ? passed : MOST_PAUSE;
        if (have == 0 && seconds < 0)
            return 0;
    }
    return 1;
}

// ---- The job ------------------------------------------------------------------------------------

// What the child is to do, in a file in memory: this, then count rows, count + 1 sizes of code, and
// the code itself, the reference's last.
typedef struct {
    size_t count;
    int samples, rounds;
    tune_problem problem; // but for what it points to
    tune_row reference;
} job;

static bool write_all(int to, const void *data, size_t bytes)
{
    for (size_t sent = 0; sent < bytes;) {
        const ssize_t got = write(to, (const char *)data + sent, bytes - sent);
        if (got < 0 && errno != EINTR)
            return false;
        sent += got > 0 ? (size_t)got : 0;
    }
    return true;
}

// The file, or -1.
static int write_job(const job *j, tune_row *const *rows, const tune_code *code,
                     const tune_code *reference)
{
    const int file = memfd_create("coarsen-tune", MFD_CLOEXEC);
    bool good = file >= 0 && write_all(file, j, sizeof(*j));
    for (size_t i = 0; i < j->count && good; i++)
        good = write_all(file, rows[i], sizeof(**rows));
    for (size_t i = 0; i <= j->count && good; i++)
        good = write_all(file, i < j->count ? &code[i].cubin_bytes : &reference->cubin_bytes,
                         sizeof(size_t));
    for (size_t i = 0; i <= j->count && good; i++) {
        const tune_code *const c = i < j->count ? &code[i] : reference;
        good = !c->cubin || write_all(file, c->cubin, c->cubin_bytes);
    }
    if (!good && file >= 0)
        close(file);
    return good ? file : -1;
}

// The row whose turn is next: those that have been measured in fewer rounds, forth and back. false:
// all have had theirs.
static bool next_row(tune_row *const *rows, const tune_code *code, size_t count, int rounds,
                     size_t *next)
{
    for (int round = 0; round < rounds; round++)
        for (size_t turn = 0; turn < count; turn++) {
            const size_t i = round % 2 ? count - 1 - turn : turn;
            const tune_status status = rows[i]->status;
            *next = i;
            if ((status == TUNE_PENDING || status == TUNE_OK) && code[i].cubin &&
                rows[i]->rounds <= round)
                return true;
        }
    return false;
}

// ---- The child ----------------------------------------------------------------------------------

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void summarise(double *samples, int count, tune_row *row)
{
    qsort(samples, (size_t)count, sizeof(*samples), by_value);
    row->us = (samples[(count - 1) / 2] + samples[count / 2]) / 2;
    row->least = samples[0];
    row->spread = (samples[3 * (count - 1) / 4] - samples[(count - 1) / 4]) / row->us;
    row->samples = count;
    row->timed = true;
}

static void find(int to)
{
    static report r;
    r.row = -1;
    r.failed = !gpu_open(&r.device, &r.driver_version, r.message, sizeof(r.message));
    send_report(to, &r);
}

static void work(const char *file, int to)
{
    static report r;
    const job *const j = (const job *)file;
    tune_row *const rows = (tune_row *)(j + 1);
    const size_t *const bytes = (const size_t *)(rows + j->count);
    const char *at = (const char *)(bytes + j->count + 1);
    const size_t most = (size_t)j->samples * GPU_MORE * j->rounds;
    tune_code *const code = calloc(j->count + 1, sizeof(*code));
    double *const samples = calloc(j->count * most, sizeof(*samples));
    int *const taken = calloc(j->count, sizeof(*taken));
    tune_row **const row = calloc(j->count + 1, sizeof(*row));
    r.row = -1;
    if (!code || !samples || !taken || !row) {
        r.failed = true;
        snprintf(r.message, sizeof(r.message), "no memory for %d samples of each setting",
                 j->samples);
        send_report(to, &r);
        return;
    }
    for (size_t i = 0; i <= j->count; i++) {
        code[i] = (tune_code){bytes[i] ? (void *)at : NULL, bytes[i]};
        at += bytes[i];
        if (i < j->count)
            row[i] = &rows[i];
    }

    gpu *const g = gpu_open(&r.device, &r.driver_version, r.message, sizeof(r.message));
    r.failed = !g || !gpu_prepare(g, &j->problem, &j->reference, &code[j->count], r.message,
                                  sizeof(r.message));
    if (!send_report(to, &r) || r.failed)
        return;
    for (size_t i; next_row(row, code, j->count, j->rounds, &i);) {
        double *const mine = samples + i * most;
        const bool going =
            gpu_measure(g, &j->problem, row[i], &code[i], mine, j->samples, &taken[i]);
        if (row[i]->status == TUNE_OK && taken[i] > 0)
            summarise(mine, taken[i], row[i]);
        row[i]->rounds++;
        r.row = (long)i;
        r.failed = !going;
        r.result = *row[i];
        if (!send_report(to, &r) || !going)
            return;
    }
}

int tune_worker_main(int argc, char **argv)
{
    if (argc != 4 || strcmp(argv[1], "--worker"))
        return -1;
    const int file = atoi(argv[2]), to = atoi(argv[3]);
    const off_t bytes = lseek(file, 0, SEEK_END);
    void *const job_file =
        bytes > 0 ? mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0)
                  : MAP_FAILED;
    if (job_file == MAP_FAILED)
        return 1;
    work(job_file, to);
    return 0;
}

// Starts a child on a job, or, without one, to say what GPU there is. NVRTC leaves the driver in a
// state that does not survive a fork, so that a child with a job begins anew by exec.
static pid_t start(int job_file, int *from)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    fflush(NULL);
    const pid_t id = fork();
    if (id == 0) {
        signal(SIGINT, SIG_IGN); // the parent says when to stop
        signal(SIGTERM, SIG_IGN);
        signal(SIGPIPE, SIG_IGN);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (job_file >= 0) {
            char in[16], out[16];
            snprintf(in, sizeof(in), "%d", dup(job_file)); // a copy is kept open by exec
            snprintf(out, sizeof(out), "%d", dup(ends[1]));
            execl("/proc/self/exe", "coarsen-tune", "--worker", in, out, (char *)NULL);
        } else
            find(ends[1]);
        _exit(0);
    }
    close(ends[1]);
    if (id < 0)
        close(ends[0]);
    *from = ends[0];
    return id;
}

static void end(pid_t id, int from)
{
    close(from);
    kill(id, SIGKILL);
    while (waitpid(id, NULL, 0) < 0 && errno == EINTR) {
    }
}

// ---- The parent ---------------------------------------------------------------------------------

bool tune_gpu_find(tune_device *device, int *driver_version, char *message, size_t size)
{
    static report r;
    int from;
    const pid_t id = start(-1, &from);
    if (id < 0) {
        snprintf(message, size, "can't start a process: %s", strerror(errno));
        return false;
    }
    const int got = receive(from, &r, 60, NULL);
    end(id, from);
    if (got != 1 || r.failed) {
        snprintf(message, size, "%s", got == 1 ? r.message : "the driver does not answer");
        return false;
    }
    *device = r.device; // what it points to is the same here, in a child without exec
    *driver_version = r.driver_version;
    return true;
}

bool tune_measure(const tune_problem *problem, tune_row *const *rows, const tune_code *code,
                  size_t count, const tune_row *reference, const tune_code *reference_code,
                  double limit, int samples, int rounds, const volatile int *stop,
                  void (*done)(size_t i, void *context), void *context)
{
    static report r;
    static job j;
    j = (job){count, samples, rounds, *problem, *reference};
    for (size_t i; !*stop && next_row(rows, code, count, rounds, &i);) {
        int from;
        const int file = write_job(&j, rows, code, reference_code);
        const pid_t id = file < 0 ? -1 : start(file, &from);
        if (file >= 0)
            close(file);
        // Data may be large, and a reference slow; but not for ever.
        int got = id < 0 ? -1 : receive(from, &r, 120 + limit, stop);
        if (got != 1 || r.failed) {
            if (id >= 0)
                end(id, from);
            for (i = 0; i < count && got != -2; i++)
                if (rows[i]->status == TUNE_PENDING) {
                    rows[i]->status = TUNE_NOT_LAUNCHED;
                    snprintf(rows[i]->reason, sizeof(rows[i]->reason), "%s",
                             got == 1   ? r.message
                             : got == 0 ? "the data and the reference took longer than two minutes"
                                        : "the process died on the data and the reference");
                }
            return got == -2;
        }
        while (next_row(rows, code, count, rounds, &i) &&
               (got = receive(from, &r, limit, stop)) == 1) {
            *rows[r.row] = r.result;
            if (done)
                done((size_t)r.row, context);
            if (r.failed)
                break;
        }
        end(id, from);
        if (got == 0 || got == -1) {
            rows[i]->status = got == 0 ? TUNE_TIMEOUT : TUNE_CRASHED;
            rows[i]->timed = false;
            if (got == 0)
                snprintf(rows[i]->reason, sizeof(rows[i]->reason), "took longer than %g s", limit);
            else
                snprintf(rows[i]->reason, sizeof(rows[i]->reason), "the process died");
            if (done)
                done(i, context);
        }
    }
    return true;
}
