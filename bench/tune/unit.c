// SPDX-License-Identifier: MIT
//
// The text of a unit, and what it depends on.

#include "tune.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

char tune_include_dir[4096], tune_unit_dir[4096];
char *tune_flags = "";

// ---- The text -----------------------------------------------------------------------------------

char *tune_unit(const tune_problem *problem, bool reference)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    if (!out)
        return NULL;
    // The knobs are macros of the source alone: one may be called T, as much else is.
    fprintf(out, "#include \"launches.h\"\n");
    for (int k = 0; k < problem->knobs; k++)
        fprintf(out, "#define %s TUNE_KNOB_%d\n", problem->knob[k].name, k);
    fprintf(out, "#line 1 \"%s\"\n%s\n#line 1 \"the launch\"\n", problem->pattern,
            reference ? problem->reference : problem->source);

    fprintf(out, "static inline void tune_sizes(const unsigned long long *tune_size, "
                 "unsigned long long *tune_count, unsigned long long *tune_item, "
                 "unsigned long long *tune_most, double *tune_work, double *tune_tolerance)\n{\n");
    for (int s = 0; s < problem->sizes; s++)
        fprintf(out, "    const size_t %s = tune_size[%d];\n    (void)%s;\n", problem->size[s].name,
                s, problem->size[s].name);
    for (int b = 0; b < problem->buffers; b++)
        fprintf(out,
                "    tune_count[%d] = (unsigned long long)(%s);\n    tune_item[%d] = sizeof(%s);\n"
                "    tune_most[%d] = (unsigned long long)(%s);\n",
                b, problem->buffer[b].count, b, problem->buffer[b].type, b,
                *problem->buffer[b].most ? problem->buffer[b].most : "0");
    fprintf(out, "    *tune_work = (double)(%s);\n    *tune_tolerance = (double)(%s);\n}\n",
            problem->work, *problem->tolerance ? problem->tolerance : "-1");

    fprintf(out, "static inline cudaError_t tune_run(const unsigned long long *tune_size, "
                 "const unsigned long long *tune_buffer)\n{\n");
    for (int s = 0; s < problem->sizes; s++)
        fprintf(out, "    const size_t %s = tune_size[%d];\n    (void)%s;\n", problem->size[s].name,
                s, problem->size[s].name);
    for (int b = 0; b < problem->buffers; b++)
        // Not const, for there are kernels that do not say so of what they only read.
        fprintf(out, "    %s *const %s = (%s *)tune_buffer[%d];\n    (void)%s;\n",
                problem->buffer[b].type, problem->buffer[b].name, problem->buffer[b].type, b,
                problem->buffer[b].name);
    fprintf(out, "    return %s;\n}\n", problem->run);
    for (int k = 0; k < problem->knobs; k++)
        fprintf(out, "#undef %s\n", problem->knob[k].name);
    fprintf(out, "#include \"entry.h\"\n");
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

// ---- What it depends on -------------------------------------------------------------------------

typedef struct {
    uint64_t value;
    char *seen[256]; // files, each taken once
    int files;
    bool unknown;            // an #include names its file by a macro
    const char *folders[36]; // where <> is looked for: three, -I, and NULL
} hash;

// FNV-1a.
static void add(hash *h, const void *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        h->value = (h->value ^ ((const unsigned char *)data)[i]) * 0x100000001b3u;
}

static void add_includes(hash *h, const char *text, const char *folder);

// Takes a file and what it includes; one that isn't found is left to the compiler.
static bool add_file(hash *h, const char *folder, const char *name)
{
    char path[8192];
    if (name[0] == '/' || !folder)
        snprintf(path, sizeof(path), "%s", name);
    else
        snprintf(path, sizeof(path), "%s/%s", folder, name);
    char *const real = realpath(path, NULL);
    if (!real)
        return false;
    for (int i = 0; i < h->files; i++)
        if (!strcmp(h->seen[i], real)) {
            free(real);
            return true;
        }
    FILE *const in = h->files < 256 ? fopen(real, "r") : NULL;
    if (!in) {
        free(real);
        return false;
    }
    h->seen[h->files++] = real;

    char *text = NULL, *within = strdup(real);
    size_t bytes = 0, got;
    char part[4096];
    FILE *const all = open_memstream(&text, &bytes);
    while (all && (got = fread(part, 1, sizeof(part), in)) > 0)
        fwrite(part, 1, got, all);
    fclose(in);
    if (all && fclose(all) == 0 && text && within) {
        char *const slash = strrchr(within, '/');
        *slash = 0;
        add(h, text, bytes);
        add_includes(h, text, within);
    }
    free(text);
    free(within);
    return true;
}

// Every include, whatever the conditions around it: too many files cost a needless new measurement,
// too few a wrong old one.
static void add_includes(hash *h, const char *text, const char *folder)
{
    for (const char *at = text; (at = strstr(at, "include")); at += 7) {
        const char *hash_sign = at;
        while (hash_sign > text && (hash_sign[-1] == ' ' || hash_sign[-1] == '\t'))
            hash_sign--;
        const char *open = at + 7;
        open += strspn(open, " \t");
        const char *first = hash_sign > text ? hash_sign - 1 : text;
        while (first > text && (first[-1] == ' ' || first[-1] == '\t'))
            first--;
        if (hash_sign > text && hash_sign[-1] == '#' && (first == text || first[-1] == '\n') &&
            *open != '"' && *open != '<')
            h->unknown = true;
        const char *const close = strpbrk(*open ? open + 1 : open, "\">\n");
        char name[4096];
        if (hash_sign == text || hash_sign[-1] != '#' || (*open != '"' && *open != '<') || !close ||
            *close == '\n' || (size_t)(close - open) > sizeof(name))
            continue;
        memcpy(name, open + 1, close - open - 1);
        name[close - open - 1] = 0;
        bool found = *open == '"' && folder && add_file(h, folder, name);
        for (int i = 0; !found && h->folders[i]; i++)
            found = add_file(h, h->folders[i], name);
    }
}

uint64_t tune_unit_hash(const tune_problem *problem, const char *unit)
{
    char simt[sizeof(tune_include_dir) + 8];
    snprintf(simt, sizeof(simt), "%s/simt", tune_include_dir);
    hash h = {.value = 0xcbf29ce484222325u, .folders = {simt, tune_include_dir, tune_unit_dir}};
    char *const flags = strdup(tune_flags);
    int folders = 3;
    char *state = NULL;
    if (flags)
        for (char *flag = strtok_r(flags, " ", &state); flag && folders < 35;
             flag = strtok_r(NULL, " ", &state))
            if (!strncmp(flag, "-I", 2))
                h.folders[folders++] = flag + 2;
    add(&h, tune_flags, strlen(tune_flags));
    add(&h, unit, strlen(unit));
    add_includes(&h, unit, NULL);
    add_file(&h, simt, "simt.c"); // as the counts depend on how it counts
    if (problem->reference) {
        add(&h, problem->reference, strlen(problem->reference));
        add_includes(&h, problem->reference, NULL);
    } else
        for (int k = 0; k < problem->knobs; k++) // the setting that all are compared with
            add(&h, problem->knob[k].value, sizeof(*problem->knob[k].value));
    for (int s = 0; s < problem->sizes; s++) {
        char size[64];
        snprintf(size, sizeof(size), " %s=%" PRIu64, problem->size[s].name, problem->size[s].value);
        add(&h, size, strlen(size));
    }
    for (int b = 0; b < problem->buffers; b++)
        add(&h, &problem->buffer[b].role, sizeof(problem->buffer[b].role));
    add(&h, &problem->data, sizeof(problem->data));
    if (problem->data == TUNE_FILE)
        add_file(&h, NULL, problem->data_file);
    for (int i = 0; i < h.files; i++)
        free(h.seen[i]);
    free(flags);
    return h.unknown ? 0 : h.value | 1;
}
