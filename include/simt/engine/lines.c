// SPDX-License-Identifier: MIT
// The source lines of the blocks that were executed: objdump, called only when somebody asks for them.
//
// A block is what can be reached from its call of the hook, up to the next such call.

enum { ORDINARY, ENTERS, BRANCHES, JUMPS, ENDS };

typedef struct {
    uintptr_t address, target;
    int kind;
    unsigned line, seen; // a row; the last block that reached it
} instruction;

typedef struct {
    instruction *list;
    size_t count, room;
    simt_line *line;
    size_t lines, line_room;
} listing;

static unsigned line_number(listing *l, const char *file, int line)
{
    for (size_t i = l->lines; i--;)
        if (l->line[i].line == line && !strcmp(l->line[i].file, file))
            return (unsigned)i;
    if (l->lines == l->line_room) {
        l->line_room = l->line_room ? 2 * l->line_room : 64;
        l->line = must(realloc(l->line, l->line_room * sizeof *l->line));
    }
    simt_line *row = &l->line[l->lines];
    memset(row, 0, sizeof *row);
    snprintf(row->file, sizeof row->file, "%s", file);
    row->line = line;
    return (unsigned)l->lines++;
}

// Reads the instructions from one address to another. Of a line and those it is inlined at, the first
// that is not in one of simt's headers is meant.
static void disassemble(listing *l, const char *module, uintptr_t base, uintptr_t from,
                        uintptr_t to)
{
    char command[PATH_MAX + 160], text[2048];
    snprintf(command, sizeof command,
             "objdump -dl --inlines --no-show-raw-insn --start-address=%#" PRIxPTR
             " --stop-address=%#" PRIxPTR " '%s' 2>/dev/null",
             from - base, to - base, module);
    FILE *out = popen(command, "r");
    if (!out)
        return;
    unsigned line = UINT_MAX;
    while (fgets(text, sizeof text, out)) {
        text[strcspn(text, "\n")] = 0;
        char *tab = strchr(text, '\t'), *end;
        if (*text != ' ' || !tab) {
            // FILE:LINE, with (discriminator ...) behind it, or inlined by before it
            char *file = strchr(text, '/'), *colon = file ? strrchr(file, ':') : NULL;
            const int number = colon ? atoi(colon + 1) : 0;
            if (number <= 0)
                continue;
            *colon = 0;
            if (!strncmp(text, "inlined by", 10) && line != UINT_MAX)
                continue;
            line = engine_file(file) ? UINT_MAX : line_number(l, file, number);
            continue;
        }
        if (l->count == l->room) {
            l->room = l->room ? 2 * l->room : 1024;
            l->list = must(realloc(l->list, l->room * sizeof *l->list));
        }
        instruction *i = &l->list[l->count++];
        *i = (instruction){.address = strtoull(text, &end, 16) + base, .line = line};
        const char *word = tab + 1, *operand = word + strcspn(word, " ");
        if (!strncmp(word, "call", 4) && strstr(operand, "<__sanitizer_cov_trace_pc"))
            i->kind = ENTERS;
        else if (!strncmp(word, "ret", 3) || !strncmp(word, "ud2", 3))
            i->kind = ENDS;
        else if (*word == 'j')
            i->kind = strncmp(word, "jmp", 3) ? BRANCHES : JUMPS;
        i->target = strtoull(operand, NULL, 16) + base;
    }
    pclose(out);
}

static size_t instruction_at(const listing *l, uintptr_t address)
{
    size_t low = 0, high = l->count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (l->list[middle].address < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < l->count && l->list[low].address == address ? low : l->count;
}

// Adds a block's executions to the rows of its lines.
static void add_block(listing *l, const place *p, unsigned number)
{
    size_t *todo = must(malloc((2 * l->count + 2) * sizeof *todo)), left = 0;
    todo[left++] = instruction_at(l, p->pc);
    for (size_t i; left;) {
        for (i = todo[--left]; i < l->count && l->list[i].seen != number; ++i) {
            instruction *at = &l->list[i];
            if (at->kind == ENTERS)
                break;
            at->seen = number;
            simt_line *row = at->line == UINT_MAX ? NULL : &l->line[at->line];
            if (row && row->executions < p->counts.executions) {
                row->executions = p->counts.executions;
                row->threads = p->counts.threads;
            }
            if (row && (!row->least || row->least > p->counts.executions))
                row->least = p->counts.executions;
            if (at->kind == BRANCHES || at->kind == JUMPS)
                todo[left++] = instruction_at(l, at->target);
            if (at->kind == JUMPS || at->kind == ENDS)
                break;
        }
    }
    free(todo);
}

static int by_pc(const void *a, const void *b)
{
    const uintptr_t p = places.list[*(const unsigned *)a].pc,
                    q = places.list[*(const unsigned *)b].pc;
    return p < q ? -1 : p > q;
}

// Rows of the lines of all blocks that were executed. The caller frees them.
static simt_line *executed_lines(size_t *count)
{
    enum { AROUND = 4096 }; // a block has fewer bytes
    unsigned *block = must(malloc((places.count + 1) * sizeof *block)), n = 0;
    for (unsigned i = 0; i < places.count; ++i)
        if (places.list[i].counts.executions)
            block[n++] = i;
    qsort(block, n, sizeof *block, by_pc);
    listing all = {0};
    for (unsigned i = 0, end; i < n; i = end) {
        const uintptr_t from = places.list[block[i]].pc;
        uintptr_t to = from;
        char module[PATH_MAX];
        const uintptr_t base = module_of(from, module);
        for (end = i; end < n && places.list[block[end]].pc - to < AROUND; ++end)
            to = places.list[block[end]].pc;
        all.count = 0;
        if (*module)
            disassemble(&all, module, base, from - 5, to + AROUND);
        for (unsigned b = i; b < end; ++b)
            add_block(&all, &places.list[block[b]], b + 1);
    }
    free(block);
    free(all.list);
    *count = 0;
    for (size_t i = 0; i < all.lines; ++i)
        if (all.line[i].executions)
            all.line[(*count)++] = all.line[i];
    return all.line;
}
