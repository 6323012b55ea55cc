/* What the limiters are made of. SPDX-License-Identifier: MIT */
#include "torture.h"

static weir_rule rule_for(enum weir_algorithm algorithm, enum weir_meter meter, uint64_t limit, uint64_t window)
{
    weir_rule rule = rule_of(algorithm, limit, window, meter);
    rule.buckets = algorithm == WEIR_BUCKETS ? 5 : 0;
    return rule;
}

/* The rules alone. Windows are odd numbers of ns here and there, so that no boundary is a round one. */
static void set_rules(torture_shape *self, unsigned number, uint64_t unit)
{
    weir_rule *rules = self->rules;
    self->count = 1;
    switch (number) {
    case 0:
        self->name = "inline counter";
        rules[0] = rule_for(WEIR_COUNTER, WEIR_PER_COST, 40, unit);
        break;
    case 1:
        self->name = "log";
        rules[0] = rule_for(WEIR_LOG, WEIR_PER_REQUEST, 25, unit);
        break;
    case 2:
        self->name = "long log of costs";
        rules[0] = rule_for(WEIR_LOG, WEIR_PER_COST, 5000, unit + 1);
        break;
    case 3:
        self->name = "buckets";
        rules[0] = rule_for(WEIR_BUCKETS, WEIR_PER_COST, 30, unit + 3);
        break;
    case 4:
        self->name = "wide counter";
        self->max_limit = UINT64_C(1) << 33; /* may pass 32 bits later: does not fit a cell */
        rules[0] = rule_for(WEIR_COUNTER, WEIR_PER_COST, 40, unit);
        break;
    case 5:
        self->name = "log and buckets of costs";
        self->count = 2;
        rules[0] = rule_for(WEIR_LOG, WEIR_PER_REQUEST, 20, unit / 4);
        rules[1] = rule_for(WEIR_BUCKETS, WEIR_PER_COST, 60, unit);
        break;
    case 6:
        self->name = "three rules";
        self->count = 3;
        rules[0] = rule_for(WEIR_COUNTER, WEIR_PER_REQUEST, 50, unit);
        rules[1] = rule_for(WEIR_LOG, WEIR_PER_COST, 30, unit / 2 + 1);
        rules[2] = rule_for(WEIR_BUCKETS, WEIR_PER_REQUEST, 40, unit / 3);
        break;
    case 7:
        self->name = "log of one";
        rules[0] = rule_for(WEIR_LOG, WEIR_PER_REQUEST, 1, unit);
        break;
    case 8: /* every charge is accepted: on a hot key they meet in one swap */
        self->name = "wide open inline counter";
        rules[0] = rule_for(WEIR_COUNTER, WEIR_PER_COST, 100000, unit);
        break;
    default:
        self->name = "small inline counter";
        rules[0] = rule_for(WEIR_COUNTER, WEIR_PER_REQUEST, 3, unit + 7);
        break;
    }
}

torture_shape torture_shape_of(unsigned number, uint64_t unit, bool single)
{
    torture_shape self = {.plans = single ? 1 : TORTURE_PLANS};
    set_rules(&self, number, unit);
    self.nodes = self.count > 1 || self.rules[0].algorithm != WEIR_COUNTER || self.max_limit;
    for (size_t rule = 0; rule < self.count; rule++) {
        uint64_t window = self.rules[rule].window_ns;
        self.longest = window > self.longest ? window : self.longest;
        for (uint32_t plan = 0; plan < self.plans; plan++)
            self.plan_limits[plan * self.count + rule] = self.rules[rule].limit * (plan + 1);
    }
    return self;
}

uint64_t torture_largest(const torture_shape *shape, unsigned rule)
{
    return 2 * shape->plan_limits[(shape->plans - 1) * shape->count + rule];
}

bool torture_records(const torture_shape *shape, uint64_t cost)
{
    bool records = cost > 0;
    for (size_t rule = 0; rule < shape->count; rule++)
        records = records || shape->rules[rule].meter == WEIR_PER_REQUEST;
    return records;
}
