#include "testing.h"

#include "limiter.h"

enum { DEEP = 10, WIDE = 1024 }; /* forced migrations go no further */

void weiri_test_start(weir *limiter, uint64_t hash, enum weiri_test_migration kind, uint64_t now, bool helps)
{
    weiri_table *table = &limiter->table;
    uint64_t time = weiri_drop_time(limiter, now);
    weiri_rcu_enter();
    weiri_segment *segment = weiri_table_settled(table, hash);
    if (kind == WEIRI_TEST_COMPACT)
        weiri_compact(table, segment, time);
    else if (kind == WEIRI_TEST_SPLIT && segment->depth < DEEP)
        weiri_split(table, segment, time);
    else if (kind == WEIRI_TEST_MAKE_ROOM && segment->capacity < WIDE)
        weiri_make_room(table, segment, time);
    if (weiri_forward(segment) && helps)
        weiri_help(table, segment, hash);
    weiri_rcu_leave();
    weiri_relieve(limiter);
}

static enum weiri_test_migration kind_of(uint64_t random)
{
    unsigned kind = random >> 56 & 3;
    return kind > WEIRI_TEST_COMPACT ? WEIRI_TEST_COMPACT : kind;
}

void weiri_test_migrate(weir *limiter, uint64_t random, uint64_t now)
{
    weiri_test_start(limiter, random << 8, kind_of(random), now, random >> 58 & 1);
}

static void freeze(weiri_cell *cell)
{
    const weiri_pair empty = {{0, 0}}, sealed = {{WEIRI_MARK_SEALED, 0}};
    if (weiri_cas_128(&cell->identity, empty, sealed) ||
        weiri_load_once_128(&cell->identity).word[0] == WEIRI_MARK_SEALED)
        return;
    for (;;) {
        weiri_pair state = weiri_load_snapshot_128(&cell->state);
        weiri_pair frozen = {{state.word[0] | WEIRI_FROZEN, state.word[1]}};
        if ((state.word[0] & WEIRI_FROZEN) || weiri_cas_128(&cell->state, state, frozen))
            return;
    }
}

void weiri_test_freeze(weir *limiter, uint64_t random, uint64_t now)
{
    weiri_test_start(limiter, random << 8, kind_of(random), now, false);
    weiri_rcu_enter();
    weiri_segment *segment = weiri_directory_find(&limiter->table.directory, random << 8);
    uint64_t count = random >> 48 & 0xff;
    for (uint64_t i = 0; i < count && i < segment->capacity && weiri_forward(segment); i++)
        freeze(&segment->cell[(i + (random >> 40)) & (segment->capacity - 1)]);
    weiri_rcu_leave();
}

void weiri_test_hash_key(weir *limiter, uint64_t word0, uint64_t word1)
{
    limiter->table.hash_key = (weiri_hash_key){{word0, word1}};
}
