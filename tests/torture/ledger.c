/* Writing down, and putting together. SPDX-License-Identifier: MIT */
#include "torture.h"

void ledger_add(ledger *self, const ledger_entry *entry)
{
    if (self->count == self->room) {
        self->room = self->room ? 2 * self->room : 1024;
        self->entries = realloc(self->entries, self->room * sizeof(*self->entries));
        if (!self->entries)
            fault("no memory for the ledger");
    }
    self->entries[self->count++] = *entry;
}

static int by_key(const void *a, const void *b)
{
    const ledger_entry *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

ledger ledger_merge(ledger *ledgers, unsigned count)
{
    ledger all = {0};
    for (unsigned i = 0; i < count; i++) {
        for (size_t at = 0; at < ledgers[i].count; at++)
            ledger_add(&all, &ledgers[i].entries[at]);
        free(ledgers[i].entries);
        ledgers[i] = (ledger){0};
    }
    if (all.count > 0)
        qsort(all.entries, all.count, sizeof(*all.entries), by_key);
    return all;
}
