/*
 * counter: what is asked for answers only, not for a verdict; divisions are allowed here.
 */
#include "counter.h"

uint64_t weiri_counter_remaining(const weiri_counter_view *view, const weiri_rule *rule, uint64_t limit)
{
    if (view->at.current >= limit)
        return 0;
    uint64_t room = limit - view->at.current;
    weiri_u128 weighted = (weiri_u128)view->at.previous * (rule->window - view->offset);
    uint64_t counts = (uint64_t)((weighted + rule->window - 1) / rule->window);
    return counts < room ? room - counts : 0;
}

/*
 * The offset in a window from which `previous` leaves `room`: the smallest e with previous * (W - e) <= room * W. It is
 * W, the start of the next window, where no offset in this one will do.
 */
static uint64_t offset_with_room(uint64_t previous, uint64_t room, uint64_t window)
{
    return room >= previous ? 0 : window - (uint64_t)((weiri_u128)room * window / previous);
}

/*
 * What counts falls steadily: within a window `previous` wears off, and at its end the charges in the two windows count
 * exactly as much as before. So the first fitting time is in this window if `current` leaves room for the charge, else
 * in the next, where `current` wears off; the sums stay below 2^64, since index * W < 2^63 and W <= 2^62.
 */
uint64_t weiri_counter_opens(const weiri_counter_view *view, const weiri_rule *rule, uint64_t limit, uint64_t charge)
{
    uint64_t room = limit - charge;
    uint64_t start = view->time - view->offset;
    if (view->at.current > room)
        return start + rule->window + offset_with_room(view->at.current, room, rule->window);
    uint64_t offset = offset_with_room(view->at.previous, room - view->at.current, rule->window);
    return start + (offset > view->offset ? offset : view->offset);
}
