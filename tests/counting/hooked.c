/*
 * Counts the operations on shared words of each path, as the hooks see them (src/sync/hook.h), and prints a row of
 * each: kind, path, atomic loads, stores and read-modify-writes of one call, and blocks asked of the allocator; of a
 * batch, those of one decision. Plain accesses are not seen by hooks: lines.c sees them.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>

#include "../schedule/alone.h"
#include "arena.h"
#include "scenes.h"

struct counts {
    unsigned operations[3]; /* by weiri_access */
    uint64_t blocks;
};

static struct counts now;

static void count(enum weiri_access access, const void *place)
{
    (void)place;
    if (access < 3)
        now.operations[access]++;
}

static void begin(void)
{
    now = (struct counts){{0, 0, 0}, arena_blocks};
    alone_hook = count;
}

static void end(void)
{
    alone_hook = NULL;
    now.blocks = arena_blocks - now.blocks;
}

/* What both calls had, or from the less to the more. */
static void print(uint64_t one, uint64_t other, unsigned decisions)
{
    uint64_t less = one < other ? one : other, more = one < other ? other : one;
    int digits = less % decisions == 0 && more % decisions == 0 ? 0 : 1;
    printf("\t%.*f", digits, (double)less / decisions);
    if (less != more)
        printf("-%.*f", digits, (double)more / decisions);
}

static void each(const struct scene_subject *subject, const struct scene_path *path, uint64_t keys[2][SCENE_BATCH])
{
    struct counts counts[2];
    for (unsigned i = 0; i < 2; i++) {
        scene_call(subject, path, keys[i]);
        counts[i] = now;
    }
    printf("%s\t%s", subject->name, path->name);
    for (unsigned i = 0; i < 3; i++)
        print(counts[0].operations[i], counts[1].operations[i], scene_decisions(path));
    print(counts[0].blocks, counts[1].blocks, scene_decisions(path));
    putchar('\n');
}

int main(void)
{
    scene_watcher = (struct scene_watcher){begin, end};
    for (enum scene_kind kind = 0; kind < SCENE_WEIR_KINDS; kind++) {
        struct scene_subject subject = scene_weir(kind);
        scene_run(&subject, each);
    }
    return 0;
}
