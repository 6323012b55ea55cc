/* Remembered refusals, under times that the test brings. */
#include <string.h>

#include "check.h"
#include "redis/remembered.h"

enum { KEYS = 64 };

static const uint64_t sent = 1000 * WEIR_SECOND, longest = 10 * WEIR_SECOND, took = 3 * WEIR_MILLISECOND;
static uint64_t version;
static weiri_redis_remembered memory;

static uint64_t newest(void *argument)
{
    return *(uint64_t *)argument;
}

static weiri_redis_subject subject(uint64_t number, uint64_t cost, uint32_t plan)
{
    weir_request request = weir_request_for(&number, sizeof number);
    request.plan = plan;
    return weiri_redis_subject_of(&memory, &request, cost, version);
}

static weir_decision refusal(uint64_t retry, uint64_t release)
{
    return (weir_decision){.rule = 2, .remaining = 4, .retry_after_ns = retry, .release_after_ns = release};
}

static void answer(const weiri_redis_subject *to, weir_decision decision)
{
    weiri_redis_remember(&memory, to, sent, sent + took, &decision, newest, &version);
}

/* Key 7, cost 5, plan 1: refused for 2 s, and `remaining` grows after one. */
static void refuse_seven(void)
{
    weiri_redis_subject seven = subject(7, 5, 1);
    answer(&seven, refusal(2 * WEIR_SECOND, WEIR_SECOND));
}

static bool refused(uint64_t number, uint64_t cost, uint32_t plan, uint64_t now)
{
    weiri_redis_subject asked = subject(number, cost, plan);
    return weiri_redis_recall(&memory, &asked, now, NULL);
}

static bool told(uint64_t number, uint64_t cost, uint64_t now, weir_decision *decision)
{
    weiri_redis_subject asked = subject(number, cost, 1);
    return weiri_redis_recall(&memory, &asked, now, decision);
}

static void begin(uint64_t keys)
{
    version = 0;
    CHECK_EQUAL(0, weiri_redis_remembered_open(&memory, keys, longest));
}

static void end(void)
{
    CHECK_EQUAL(0, weiri_redis_remembered_close(&memory));
}

static void a_refusal_holds_until_the_call_would_pass_counted_from_the_question(void)
{
    begin(KEYS);
    CHECK(!refused(7, 5, 1, sent));
    refuse_seven();
    CHECK(refused(7, 5, 1, sent));
    CHECK(refused(7, 5, 1, sent + 2 * WEIR_SECOND - 1));
    CHECK(!refused(7, 5, 1, sent + 2 * WEIR_SECOND));
    CHECK_EQUAL(2, weiri_redis_told(&memory));
    end();
}

static void it_holds_for_that_cost_and_above_and_for_nothing_else(void)
{
    begin(KEYS);
    refuse_seven();
    CHECK(refused(7, 6, 1, sent));
    CHECK(refused(7, UINT64_MAX, 1, sent));
    CHECK(!refused(7, 4, 1, sent));
    CHECK(!refused(7, 5, 0, sent));
    CHECK(!refused(8, 5, 1, sent));
    end();
}

static void a_whole_decision_is_told_for_the_same_cost_until_remaining_grows(void)
{
    weir_decision decision = {0};
    begin(KEYS);
    refuse_seven();
    CHECK(!told(7, 6, sent + took, &decision));
    CHECK(told(7, 5, sent + took, &decision));
    CHECK_EQUAL(0, decision.verdict);
    CHECK_EQUAL(2, decision.rule);
    CHECK_EQUAL(4, decision.remaining);
    CHECK_EQUAL(2 * WEIR_SECOND, decision.retry_after_ns); /* no shorter than the truth: from the answer on */
    CHECK_EQUAL(WEIR_SECOND, decision.release_after_ns);
    CHECK(told(7, 5, sent + WEIR_SECOND - 1, &decision));
    CHECK_EQUAL(WEIR_SECOND + took + 1, decision.retry_after_ns);
    CHECK_EQUAL(took + 1, decision.release_after_ns);
    CHECK(!told(7, 5, sent + WEIR_SECOND, &decision));
    CHECK(refused(7, 5, 1, sent + WEIR_SECOND));
    end();
}

static void once_this_process_has_charged_the_key_the_verdict_alone_is_told(void)
{
    weir_decision decision = {0}, accepted = {.verdict = 1};
    begin(KEYS);
    refuse_seven();
    weiri_redis_subject seven = subject(7, 1, 0);
    answer(&seven, accepted);
    CHECK(!told(7, 5, sent, &decision));
    CHECK(refused(7, 5, 1, sent));
    end();
}

static void what_never_passes_is_told_as_long_as_anything_is_remembered(void)
{
    weir_decision decision = {0};
    begin(KEYS);
    weiri_redis_subject seven = subject(7, 5, 1);
    answer(&seven, refusal(WEIR_NEVER, 0));
    CHECK(told(7, 5, sent + longest - 1, &decision));
    CHECK_EQUAL(WEIR_NEVER, decision.retry_after_ns);
    CHECK_EQUAL(0, decision.release_after_ns);
    CHECK(!told(7, 5, sent + longest, &decision));
    end();
}

static void no_refusal_is_remembered_longer_than_the_bound(void)
{
    begin(KEYS);
    weiri_redis_subject seven = subject(7, 5, 1);
    answer(&seven, refusal(WEIR_DAY, WEIR_DAY));
    CHECK(refused(7, 5, 1, sent + longest - 1));
    CHECK(!refused(7, 5, 1, sent + longest));
    end();
}

static void other_limits_end_it_and_so_does_a_question_from_before_them(void)
{
    begin(KEYS);
    refuse_seven();
    weiri_redis_subject before = subject(8, 5, 1);
    version++;
    CHECK(!refused(7, 5, 1, sent));
    answer(&before, refusal(WEIR_SECOND, WEIR_SECOND));
    CHECK(!refused(8, 5, 1, sent));
    refuse_seven();
    CHECK(refused(7, 5, 1, sent));
    before = subject(8, 5, 1);
    version += 256; /* an entry keeps 8 bits: who makes them turn over clears all */
    CHECK(refused(7, 5, 1, sent));
    weiri_redis_forget_all(&memory);
    CHECK(!refused(7, 5, 1, sent));
    answer(&before, refusal(WEIR_SECOND, WEIR_SECOND));
    CHECK(!refused(8, 5, 1, sent));
    end();
}

static void a_reset_ends_it_in_every_plan_and_so_does_a_question_from_before_it(void)
{
    begin(KEYS);
    refuse_seven();
    weiri_redis_subject plan0 = subject(7, 1, 0), seven = subject(7, 5, 1);
    answer(&plan0, refusal(WEIR_SECOND, WEIR_SECOND));
    CHECK(refused(7, 1, 0, sent));
    weiri_redis_forget(&memory, &plan0);
    CHECK(!refused(7, 1, 0, sent));
    CHECK(!refused(7, 5, 1, sent));
    answer(&seven, refusal(WEIR_SECOND, WEIR_SECOND)); /* was asked before the reset */
    CHECK(!refused(7, 5, 1, sent));
    refuse_seven();
    CHECK(refused(7, 5, 1, sent));
    end();
}

static void memory_is_bounded_and_what_ends_first_goes_first(void)
{
    unsigned held = 0;
    begin(WEIRI_REDIS_WAYS); /* one set */
    CHECK_EQUAL(1, memory.sets);
    for (uint64_t number = 1; number <= 100; number++) {
        weiri_redis_subject asked = subject(number, 1, 0);
        answer(&asked, refusal(number * WEIR_MILLISECOND, WEIR_MILLISECOND));
    }
    for (uint64_t number = 1; number <= 100; number++)
        held += refused(number, 1, 0, sent);
    CHECK_EQUAL(WEIRI_REDIS_WAYS, held);
    for (uint64_t number = 97; number <= 100; number++)
        CHECK(refused(number, 1, 0, sent));
    end();
}

static void a_key_is_told_from_all_others(void)
{
    unsigned strangers = 0, held = 0;
    begin(4096);
    for (uint64_t number = 0; number < 1000; number++) {
        weiri_redis_subject asked = subject(number, 1, 0);
        answer(&asked, refusal(WEIR_SECOND, WEIR_SECOND));
    }
    for (uint64_t number = 0; number < 1000; number++) {
        held += refused(number, 1, 0, sent);
        strangers += refused(number + 1000, 1, 0, sent);
    }
    CHECK(held > 950);
    CHECK_EQUAL(0, strangers);
    end();
}

#if defined(__has_feature)
#define HAS_FEATURE(name) __has_feature(name)
#else
#define HAS_FEATURE(name) 0
#endif
#if defined(__SANITIZE_THREAD__) || HAS_FEATURE(thread_sanitizer)
#define BY_THREAD_SANITIZER true
#else
#define BY_THREAD_SANITIZER false
#endif

/* In pages. */
static unsigned long resident(void)
{
    unsigned long size = 0, pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file && fscanf(file, "%lu %lu", &size, &pages) == 2);
    if (file)
        fclose(file);
    return pages;
}

static void clearing_all_touches_no_page_that_no_refusal_has_reached(void)
{
    enum { MANY = 1 << 21 }; /* 128 MB */
    if (BY_THREAD_SANITIZER) {
        puts("clearing_all_touches_no_page_that_no_refusal_has_reached: skipped: ThreadSanitizer touches pages");
        return;
    }
    begin(MANY);
    refuse_seven();
    unsigned long before = resident();
    weiri_redis_forget_all(&memory);
    CHECK(resident() < before + MANY / 2 * sizeof(weiri_redis_refusal) / 4096);
    CHECK(!refused(7, 5, 1, sent));
    end();
}

static void without_keys_or_time_nothing_is_remembered(void)
{
    for (int i = 0; i < 2; i++) {
        CHECK_EQUAL(0, weiri_redis_remembered_open(&memory, i ? 0 : KEYS, i ? longest : 0));
        refuse_seven();
        CHECK(!refused(7, 5, 1, sent));
        CHECK_EQUAL(0, weiri_redis_told(&memory));
        weiri_redis_forget_all(&memory);
        end();
    }
}

int main(void)
{
    a_refusal_holds_until_the_call_would_pass_counted_from_the_question();
    it_holds_for_that_cost_and_above_and_for_nothing_else();
    a_whole_decision_is_told_for_the_same_cost_until_remaining_grows();
    once_this_process_has_charged_the_key_the_verdict_alone_is_told();
    what_never_passes_is_told_as_long_as_anything_is_remembered();
    no_refusal_is_remembered_longer_than_the_bound();
    other_limits_end_it_and_so_does_a_question_from_before_them();
    a_reset_ends_it_in_every_plan_and_so_does_a_question_from_before_it();
    memory_is_bounded_and_what_ends_first_goes_first();
    a_key_is_told_from_all_others();
    clearing_all_touches_no_page_that_no_refusal_has_reached();
    without_keys_or_time_nothing_is_remembered();
    return checks_end();
}
