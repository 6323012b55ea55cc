/*
 * options: what weir_open was asked for, checked. Used by open.c alone; nothing here is shared between threads.
 */
#ifndef WEIRI_LIMITER_OPTIONS_H
#define WEIRI_LIMITER_OPTIONS_H

#include <weir/weir.h>

/* Copies the caller's options (NULL: the default ones) and checks them and the rules. 0 or -EINVAL, with the words in
 * the caller's error buffer. */
int weiri_options_check(const weir_rule *rules, size_t count, const weir_options *given, weir_options *options);

/* Says in words why the copies of weir in the process cannot go together. Returns -EBUSY. */
int weiri_options_busy(const weir_options *options);

/* Number of plans: at least one. */
size_t weiri_plan_count(const weir_options *options);

/* The limit of one rule in one plan. */
uint64_t weiri_plan_limit(const weir_rule *rules, size_t count, const weir_options *options, size_t plan, size_t rule);

/* What weir_set_limits may reach for a rule. */
uint64_t weiri_rule_max(const weir_rule *rules, size_t count, const weir_options *options, size_t rule);

#endif
