#include "testing.h"

#include "limiter.h"

void weiri_test_migrate(weir *limiter, uint64_t random, uint64_t now)
{
    weiri_table *table = &limiter->table;
    uint64_t hash = random << 8, time = weiri_drop_time(limiter, now);
    weiri_rcu_enter();
    weiri_segment *segment = weiri_table_settled(table, hash);
    switch (random >> 56 & 3) {
    case 0:
        if (segment->depth < 10)
            weiri_split(table, segment, time);
        break;
    case 1:
        if (segment->capacity < 1024)
            weiri_make_room(table, segment, time);
        break;
    default:
        weiri_compact(table, segment, time);
    }
    if (weiri_forward(segment) && (random >> 58 & 1))
        weiri_help(table, segment, hash);
    weiri_rcu_leave();
    weiri_relieve(limiter);
}
