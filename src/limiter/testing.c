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

void weiri_test_migrate(weir *limiter, uint64_t random, uint64_t now)
{
    unsigned kind = random >> 56 & 3;
    weiri_test_start(limiter, random << 8, kind > WEIRI_TEST_COMPACT ? WEIRI_TEST_COMPACT : kind, now, random >> 58 & 1);
}
