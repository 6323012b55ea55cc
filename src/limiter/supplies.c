/* The memory that logs need, allocated outside the lock, and what they let go of, freed outside it. */
#include "node.h"

static void free_chunks(weir *limiter, unsigned i, weiri_chunk *chunk)
{
    while (chunk) {
        weiri_chunk *next = weiri_chunk_after(chunk);
        weiri_release(&limiter->memory, chunk, weiri_chunk_size(chunk, &limiter->rules.rule[i]));
        chunk = next;
    }
}

void weiri_husks_free(weir *limiter, weiri_husks *husks)
{
    for (unsigned i = 0; i < limiter->rules.count; i++) {
        free_chunks(limiter, i, husks->chunks[i]);
        weiri_release(&limiter->memory, husks->index[i], husks->index_size[i]);
    }
}

void weiri_node_gut(weir *limiter, weiri_node *node, weiri_husks *husks)
{
    *husks = (weiri_husks){0};
    for (unsigned i = 0; i < limiter->rules.count; i++) {
        if (!weiri_is_log(limiter, i))
            continue;
        weiri_log *log = weiri_log_of(limiter, node, i);
        husks->chunks[i] = weiri_log_shed(log, &limiter->rules.rule[i], true);
        husks->index[i] = log->index; /* NULL where there was none: its one chunk has been shed */
        husks->index_size[i] = log->index_capacity * sizeof(weiri_chunk *);
        log->index = NULL;
        log->index_capacity = 0;
    }
}

void weiri_supplies_free(weir *limiter, weiri_supplies *supplies)
{
    for (unsigned i = 0; i < limiter->rules.count; i++) {
        weiri_release(&limiter->memory, supplies->of[i].chunk, supplies->of[i].chunk_size);
        weiri_release(&limiter->memory, supplies->of[i].index, supplies->of[i].index_size);
    }
}

/* Makes one piece at least `need` bytes long. */
static bool supply_piece(weir *limiter, void **piece, size_t *size, size_t need)
{
    if (need == 0 || (*piece && *size >= need))
        return true;
    weiri_release(&limiter->memory, *piece, *size);
    *piece = weiri_allocate(&limiter->memory, 16, need);
    *size = *piece ? need : 0;
    return *piece != NULL;
}

bool weiri_supplies_get(weir *limiter, weiri_supplies *supplies)
{
    bool there = true;
    for (unsigned i = 0; i < limiter->rules.count && there; i++)
        there =
            supply_piece(limiter, &supplies->of[i].chunk, &supplies->of[i].chunk_size, supplies->of[i].need.chunk) &&
            supply_piece(limiter, &supplies->of[i].index, &supplies->of[i].index_size, supplies->of[i].need.index);
    return there;
}

bool weiri_supply(weiri_node *node, const weiri_ask *ask, const weiri_views *views, weiri_supplies *supplies)
{
    const weir *limiter = ask->limiter;
    bool enough = true;
    for (unsigned i = 0; i < limiter->rules.count; i++) {
        const weiri_rule *rule = &limiter->rules.rule[i];
        if (!weiri_is_log(limiter, i) || weiri_rule_charge(rule, ask->cost) == 0)
            continue;
        weiri_log *log = weiri_log_of(limiter, node, i);
        const weiri_log_view *view = &views->of[i].log;
        weiri_log_need need = weiri_log_needs(log, rule, view);
        if (need.chunk == 0 && need.index == 0)
            continue;
        if (supplies && supplies->of[i].chunk_size >= need.chunk && supplies->of[i].index_size >= need.index) {
            weiri_log_supply(log, rule, view, &supplies->of[i].chunk, &supplies->of[i].chunk_size,
                             &supplies->of[i].index, &supplies->of[i].index_size);
            continue;
        }
        enough = false;
        if (supplies)
            supplies->of[i].need = need;
    }
    return enough;
}
