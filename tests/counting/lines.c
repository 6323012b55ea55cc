/*
 * Counts the cache lines of each counted call of traced.c, from the trace of all accesses that valgrind's lackey
 * writes:
 *
 *   { traced record | valgrind --tool=lackey --trace-mem=yes --log-fd=9 traced replay 9>&1 >ROWS; } | lines traced ROWS
 *
 * prints a row of each path: subject, path, then of one call
 *   lines read, common to all keys and the key's own; lines written, likewise; locked instructions that write,
 *   likewise.
 * That a call writes to a variable of the program is an error: none has to.
 * A range tells the least and the most over two keys and all places of blocks in their lines; of a batch, a decision's
 * share. The stack, thread-local memory and constants are nobody else's, and not counted.
 *
 * SPDX-License-Identifier: MIT
 */
#include <elf.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINES = 1024, ROWS = 512, NAME = 128, COLUMNS = 6 };
enum { READ, READ_OWN, WRITTEN, WRITTEN_OWN, LOCKED, LOCKED_OWN };

struct line {
    uint64_t number;
    unsigned reads, writes, locked;
};

/* What one call touched. */
struct window {
    struct line line[LINES];
    unsigned lines;
};

/* A path's counts, so far. */
struct row {
    char name[NAME];
    unsigned decisions;
    unsigned least[COLUMNS], most[COLUMNS];
};

/* What addresses mean. The program's variables lie around the arena. */
static struct {
    uint64_t mark, arena, arena_end, data, data_end;
} where;

static unsigned char *program;
static size_t program_size;
static struct row rows[ROWS];
static unsigned row_count;

__attribute__((noreturn)) static void fail(const char *what, const char *which)
{
    fprintf(stderr, "FAILED: %s %s\n", what, which);
    exit(1);
}

/* --- the program's instructions --- */

static void load(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0)
        fail("cannot read", path);
    program_size = (size_t)ftell(file);
    rewind(file);
    program = malloc(program_size);
    if (!program || fread(program, 1, program_size, file) != program_size || program_size < sizeof(Elf64_Ehdr))
        fail("cannot read", path);
    fclose(file);
}

static const unsigned char *instruction_at(uint64_t address)
{
    const Elf64_Ehdr *header = (const void *)program;
    const Elf64_Phdr *part = (const void *)(program + header->e_phoff);
    for (unsigned i = 0; i < header->e_phnum; i++)
        if (part[i].p_type == PT_LOAD && address - part[i].p_vaddr < part[i].p_filesz)
            return program + part[i].p_offset + (address - part[i].p_vaddr);
    fail("an instruction is not in", "the program");
}

/* Is it an atomic read-modify-write, where it writes memory? LOCK, or an exchange, which needs no prefix. */
static bool is_locked(uint64_t address)
{
    const unsigned char *byte = instruction_at(address);
    for (;; byte++) {
        if (*byte == 0xf0)
            return true;
        if (*byte != 0x66 && *byte != 0xf2 && *byte != 0xf3 && *byte != 0x64 && *byte != 0x65)
            break;
    }
    if (*byte >= 0x40 && *byte <= 0x4f) /* REX */
        byte++;
    return *byte == 0x86 || *byte == 0x87;
}

/* --- one call --- */

static struct line *line_of(struct window *window, uint64_t number)
{
    for (unsigned i = 0; i < window->lines; i++)
        if (window->line[i].number == number)
            return &window->line[i];
    if (window->lines == LINES)
        fail("too many lines", "");
    window->line[window->lines] = (struct line){number, 0, 0, 0};
    return &window->line[window->lines++];
}

static bool within(uint64_t address, uint64_t begin, uint64_t end)
{
    return address - begin < end - begin;
}

static void touch(struct window *window, char kind, uint64_t address, unsigned size, uint64_t instruction)
{
    if (!within(address, where.arena, where.arena_end)) {
        if (kind != 'L' && within(address, where.data, where.data_end))
            fail("a call writes to", "a variable of the program");
        return;
    }
    for (uint64_t number = address / 64; number <= (address + size - 1) / 64; number++) {
        struct line *line = line_of(window, number);
        line->reads += kind != 'S';
        line->writes += kind != 'L';
        line->locked += kind != 'L' && is_locked(instruction);
    }
}

/* --- counts of two calls --- */

static bool touched(const struct window *window, uint64_t number)
{
    for (unsigned i = 0; i < window->lines; i++)
        if (window->line[i].number == number)
            return true;
    return false;
}

static void add(struct row *row, const struct window *window, const struct window *other)
{
    unsigned count[COLUMNS] = {0};
    for (unsigned i = 0; i < window->lines; i++) {
        const struct line *line = &window->line[i];
        unsigned own = !touched(other, line->number);
        count[READ + own] += line->reads > 0;
        count[WRITTEN + own] += line->writes > 0;
        count[LOCKED + own] += line->locked;
    }
    for (unsigned i = 0; i < COLUMNS; i++) {
        row->least[i] = count[i] < row->least[i] ? count[i] : row->least[i];
        row->most[i] = count[i] > row->most[i] ? count[i] : row->most[i];
    }
}

static struct row *row_of(const char *name, unsigned decisions)
{
    for (unsigned i = 0; i < row_count; i++)
        if (strcmp(rows[i].name, name) == 0)
            return &rows[i];
    if (row_count == ROWS)
        fail("too many rows", "");
    struct row *row = &rows[row_count++];
    snprintf(row->name, sizeof row->name, "%s", name);
    row->decisions = decisions;
    memset(row->least, 0xff, sizeof row->least);
    return row;
}

static void print(const struct row *row)
{
    fputs(row->name, stdout);
    for (unsigned i = 0; i < COLUMNS; i++) {
        unsigned least = row->least[i], most = row->most[i];
        int digits = least % row->decisions == 0 && most % row->decisions == 0 ? 0 : 1;
        printf("\t%.*f", digits, (double)least / row->decisions);
        if (least != most)
            printf("-%.*f", digits, (double)most / row->decisions);
    }
    putchar('\n');
}

/* --- the trace --- */

static void read_where(const char *traced)
{
    char command[4096];
    snprintf(command, sizeof command, "'%s' where", traced);
    FILE *said = popen(command, "r");
    uint64_t *const to[] = {&where.mark, &where.arena, &where.arena_end, &where.data, &where.data_end};
    for (unsigned i = 0; i < sizeof to / sizeof to[0]; i++)
        if (!said || fscanf(said, "%" SCNx64, to[i]) != 1)
            fail("cannot run", command);
    pclose(said);
}

/* Every window of the trace, in order. Returns how many. */
static unsigned read_trace(struct window **windows)
{
    char text[256];
    unsigned count = 0;
    uint64_t instruction = 0;
    bool inside = false;
    while (fgets(text, sizeof text, stdin)) {
        char kind = text[0] == 'I' ? 'I' : text[1];
        if (!(text[0] == 'I' || (text[0] == ' ' && (kind == 'L' || kind == 'S' || kind == 'M'))))
            continue;
        char *end;
        uint64_t address = strtoull(text + 2, &end, 16);
        unsigned size = (unsigned)strtoul(end + (*end == ','), NULL, 10);
        if (kind == 'I') {
            instruction = address;
        } else if (address == where.mark) {
            inside = kind != 'L' ? !inside : inside;
            if (inside && kind != 'L') {
                *windows = realloc(*windows, (count + 1) * sizeof **windows);
                if (!*windows)
                    fail("no memory", "");
                (*windows)[count].lines = 0;
                count++;
            }
        } else if (inside) {
            touch(&(*windows)[count - 1], kind, address, size, instruction);
        }
    }
    return count;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        fail("usage: lines TRACED ROWS", "<TRACE");
    load(argv[1]);
    read_where(argv[1]);
    struct window *windows = NULL;
    unsigned count = read_trace(&windows), used = 0;
    FILE *names = fopen(argv[2], "r");
    char name[NAME];
    unsigned decisions;
    while (names && used + 2 <= count && fgets(name, sizeof name, names)) {
        char *last = strrchr(name, '\t');
        decisions = last ? (unsigned)strtoul(last + 1, NULL, 10) : 0;
        if (decisions == 0)
            fail("not a row:", name);
        *last = '\0';
        struct row *row = row_of(name, decisions);
        add(row, &windows[used], &windows[used + 1]);
        add(row, &windows[used + 1], &windows[used]);
        used += 2;
    }
    if (!names || used != count || count == 0)
        fail("rows and windows do not agree", argv[2]);
    for (unsigned i = 0; i < row_count; i++)
        print(&rows[i]);
    return 0;
}
