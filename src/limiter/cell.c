/* Every call on an inline counter: new keys, migrations, whole decisions, resets. */
#include "cell.h"

bool weiri_cell_live(const void *limiter, weiri_pair state, uint64_t time)
{
    weiri_counter counter = weiri_cell_unpack(state);
    return weiri_counter_expires(&counter, &((const weir *)limiter)->rules.rule[0]) > time;
}

/* The whole answer; `counter` is charged already where the call was recorded. */
static void answer(const weiri_ask *ask, weiri_counter counter, const weiri_counter_view *view, uint64_t floor,
                   bool accepted, bool charged, weir_decision *decision)
{
    weiri_call call = {ask->now, floor, ask->cost, ask->limits->limit};
    weiri_views views;
    views.accepted = accepted;
    views.accepts[0] = accepted;
    views.late = view->late;
    views.records = charged;
    views.of[0].counter = *view;
    weiri_answer(&ask->limiter->rules, &counter, &call, &views, charged, decision);
}

/*
 * The key's own cell, to charge: claimed, or after a step along a migration. Sets spot->held, or tells why the call
 * cannot be recorded in *flag; where neither, look again from *segment on.
 */
static void get_cell(weiri_ask *ask, weiri_segment **segment, weiri_spot *spot, bool *swept, uint32_t *flag)
{
    weiri_table *table = &ask->limiter->table;
    if (!spot->cell) {
        weiri_segment *next = weiri_find_room(ask, *segment);
        *segment = next ? next : *segment;
        *flag = next ? 0 : WEIR_NO_MEMORY;
        return;
    }
    int room = weiri_reserve(ask, segment, swept);
    if (room == 0)
        *flag = WEIR_TABLE_FULL;
    if (room <= 0)
        return;
    spot->held = weiri_claim(spot->cell, weiri_identity_pair(ask->identity));
    if (!spot->held)
        weiri_table_unreserve(table, 1);
}

int weiri_cell_call(weiri_ask *ask, weir_decision *decision)
{
    weir *limiter = ask->limiter;
    const weiri_rule *rule = &limiter->rules.rule[0];
    const uint64_t limit = ask->limits->limit[0], charge = weiri_rule_charge(rule, ask->cost);
    weiri_segment *segment = weiri_directory_find(&limiter->table.directory, ask->identity->hash);
    uint32_t flag = 0;
    bool swept = false;
    for (;;) {
        weiri_spot spot = weiri_table_look(&limiter->table, segment, ask->identity);
        weiri_counter counter = weiri_cell_unpack(spot.state);
        weiri_counter_view view = weiri_counter_look(counter, rule, ask->now, spot.floor);
        bool accepted = weiri_counter_accepts(&view, rule, limit, charge);
        bool charged = accepted && charge > 0 && !ask->peek;
        if (charged && !spot.held)
            get_cell(ask, &segment, &spot, &swept, &flag);
        if (charged && flag == 0) {
            counter = weiri_counter_charged(&view, charge);
            if (!spot.held || !weiri_cas_128(&spot.cell->state, spot.state, weiri_cell_pack(counter)))
                continue;
        }
        if (decision)
            answer(ask, counter, &view, spot.floor, accepted, charged && flag == 0, decision);
        return flag ? weiri_unrecorded(limiter, flag, decision) : accepted;
    }
}

int weiri_cell_reset(weiri_ask *ask, weir_decision *unused)
{
    (void)unused;
    weiri_table *table = &ask->limiter->table;
    weiri_segment *segment = weiri_directory_find(&table->directory, ask->identity->hash);
    for (;;) {
        weiri_spot spot = weiri_table_look(table, segment, ask->identity);
        if (weiri_uninit(spot.state))
            return 1; /* nothing charged */
        if (!spot.cell) {
            segment = weiri_advance(table, segment, ask->identity);
            ask->slow = true;
            continue;
        }
        uint64_t index = spot.state.word[0];
        weiri_pair cleared = {{index, index == 0 ? WEIRI_RESET_AT_ZERO : 0}};
        if (weiri_cas_128(&spot.cell->state, spot.state, cleared))
            return 1;
    }
}
