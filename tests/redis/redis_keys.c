/*
 * Names of keys: user bytes steer nothing, no two keys are one name, and all names of a key are in one slot, which is
 * the one that a server tells.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "asker.h"
#include "check.h"
#include "redis/key.h"
#include "server.h"
#include "support/random.h"
#include "support/rows.h"

static redisContext *link_;

static weiri_redis_rules open_rules(const char *prefix, const weir_rule *rule, size_t count)
{
    weir_redis_options options = asker_options(false);
    weiri_redis_rules rules;

    options.prefix = prefix;
    CHECK_EQUAL(0, weiri_redis_rules_open(&rules, rule, count, &options));
    return rules;
}

/* The whole name of the first rule's key; to be freed. */
static char *name_of(const weiri_redis_rules *rules, const void *key, size_t key_len)
{
    size_t length = weiri_redis_tag_length(rules, key, key_len);
    char *name = malloc(length + sizeof rules->rule[0].suffix);
    char *end = weiri_redis_tag(rules, key, key_len, name);

    CHECK_EQUAL(length, end - name);
    strcpy(end, rules->rule[0].suffix);
    return name;
}

static void name_is(const char *wanted, const char *prefix, weir_rule rule, const void *key, size_t key_len)
{
    weiri_redis_rules rules = open_rules(prefix, &rule, 1);
    char *name = name_of(&rules, key, key_len);

    if (strcmp(wanted, name) != 0)
        printf("wanted %s, got %s\n", wanted, name);
    CHECK(strcmp(wanted, name) == 0);
    free(name);
    weiri_redis_rules_close(&rules);
}

static void names_tell_prefix_key_and_rule(void)
{
    weir_rule requests = log_rule(10, WEIR_MINUTE);

    requests.meter = WEIR_PER_REQUEST;
    name_is("{weir:user:7@host/a_b~c-d.e}0lr60000000", "weir", requests, "user:7@host/a_b~c-d.e", 21);
    name_is("{weir:}0cc1", "weir", counter_rule(10, 1), NULL, 0);
    name_is("{:}0cc1", "", counter_rule(10, 1), "", 0);
    name_is("{a%3Ab:c}0bc60000000/20000000", "a:b", buckets_rule(10, WEIR_MINUTE, 3), "c", 1);
    name_is("{a:b:c}0bc1/1", "a", buckets_rule(10, 999, 999), "b:c", 3);
    name_is("{%7B%7D:%7D%7B%25%00%FF%20%0A}0lc1125899906842624", "{}", log_rule(1, (UINT64_C(1) << 50) * 1000),
            "}{%\0\xff \n", 7);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void every_byte_has_a_name_of_its_own(void)
{
    weir_rule rule = log_rule(1, 1000);
    weiri_redis_rules rules = open_rules("weir", &rule, 1);
    char *names[257];

    for (int byte = 0; byte < 256; byte++) {
        names[byte] = name_of(&rules, &(unsigned char){(unsigned char)byte}, 1);
        CHECK_EQUAL(strlen(names[byte]), strspn(names[byte], "{}%:@/._~-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                                             "abcdefghijklmnopqrstuvwxyz"));
        CHECK(strchr(names[byte] + 1, '{') == NULL && strchr(names[byte], '}') == strrchr(names[byte], '}'));
    }
    names[256] = name_of(&rules, "", 0);
    qsort(names, 257, sizeof *names, by_text);
    for (int i = 0; i < 257; i++)
        CHECK(i == 0 || strcmp(names[i - 1], names[i]) != 0);
    for (int i = 0; i < 257; i++)
        free(names[i]);
    weiri_redis_rules_close(&rules);
}

static void the_slot_is_the_servers(const char *prefix, const void *key, size_t key_len)
{
    const weir_rule rule[] = {log_rule(1, 1000), counter_rule(1, 1000), buckets_rule(5, 1000000, 7)};
    weiri_redis_rules rules = open_rules(prefix, rule, 3);
    size_t length = weiri_redis_tag_length(&rules, key, key_len);
    char *name = malloc(length + sizeof rules.rule[0].suffix);
    char *end = weiri_redis_tag(&rules, key, key_len, name);

    for (size_t i = 0; i < 3; i++) {
        strcpy(end, rules.rule[i].suffix);
        CHECK_EQUAL(redis_server_number(link_, "CLUSTER KEYSLOT %s", name), weiri_redis_slot(&rules, key, key_len));
    }
    free(name);
    weiri_redis_rules_close(&rules);
}

static void all_names_of_a_key_are_in_the_slot_that_the_server_tells(uint64_t seed)
{
    random_source random = random_from(seed, 0);
    static unsigned char key[WEIR_KEY_MAX];

    the_slot_is_the_servers("weir", "", 0);
    the_slot_is_the_servers("", "", 0);
    the_slot_is_the_servers("", "{}", 2);
    the_slot_is_the_servers("{a}", "{b}", 3);
    memset(key, '{', sizeof key);
    the_slot_is_the_servers("weir", key, sizeof key);
    for (int i = 0; i < 300; i++) {
        size_t length = random_below(&random, 40);

        for (size_t n = 0; n < length; n++)
            key[n] = (unsigned char)random_next(&random);
        the_slot_is_the_servers(i % 2 == 0 ? "weir" : "}{", key, length);
    }
}

static void four_ways_to_join_two_words_are_four_keys(void)
{
    static const struct {
        const char *prefix;
        const char *key;
    } pairs[] = {{"a:b", "c"}, {"a", "b:c"}, {"a%3Ab", "c"}, {"", "a:b:c"}, {"ab", "c"}, {"a", "bc"}};
    weir_request request;
    weir_rule rule = log_rule(1, WEIR_HOUR);

    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        weir_redis_options options = asker_options(true);
        struct asker asker;

        options.prefix = pairs[i].prefix;
        CHECK_EQUAL(0, asker_open_with(&asker, link_, &rule, 1, &options));
        request = weir_request_for(pairs[i].key, strlen(pairs[i].key));
        CHECK_EQUAL(1, asker_take(&asker, &request, 0, NULL));
        CHECK_EQUAL(0, asker_take(&asker, &request, 0, NULL));
        asker_close(&asker);
    }
}

static void the_longest_keys_are_told_apart_by_their_last_byte(void)
{
    static unsigned char key[WEIR_KEY_MAX];
    weir_rule rules[] = {log_rule(1, WEIR_HOUR), counter_rule(1, WEIR_HOUR)};
    weir_request request = weir_request_for(key, sizeof key);
    struct asker asker;

    CHECK_EQUAL(0, asker_open(&asker, link_, rules, 2));
    for (unsigned last = 0; last < 3; last++) {
        key[sizeof key - 1] = (unsigned char)last;
        CHECK_EQUAL(1, asker_take(&asker, &request, 0, NULL));
        CHECK_EQUAL(0, asker_take(&asker, &request, 0, NULL));
    }
    asker_close(&asker);
}

int main(void)
{
    struct redis_server server;

    NEEDS_REDIS();
    uint64_t seed = random_seed("redis_keys");
    names_tell_prefix_key_and_rule();
    every_byte_has_a_name_of_its_own();
    redis_server_start(&server, (const char *const[]){"--cluster-enabled", "yes", NULL});
    link_ = redis_server_connect(&server);
    all_names_of_a_key_are_in_the_slot_that_the_server_tells(seed);
    redisFree(link_);
    redis_server_stop(&server);
    redis_server_start(&server, NULL);
    link_ = redis_server_connect(&server);
    four_ways_to_join_two_words_are_four_keys();
    the_longest_keys_are_told_apart_by_their_last_byte();
    redisFree(link_);
    redis_server_stop(&server);
    return checks_end();
}
