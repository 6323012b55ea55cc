/*
 * The directory: every hash finds its segment, however deep; what was replaced is retired, once.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sync/gate.h"
#include "table_bench.h"

/* What the directory holds, counted by walking it. */
struct extent {
    uint64_t segments, pages, entries;
    unsigned deepest;
};

/* Walks everything; every entry must lead to the segment whose prefix it has, and pages and counts must agree. */
static struct extent walk(const struct bench *bench)
{
    const weiri_directory *directory = &bench->table.directory;
    const weiri_root *root = weiri_load_acquire_pointer(&directory->root);
    struct extent extent = {0, 0, 0, 0};
    const weiri_segment *last = NULL;
    uint64_t hash = 0;

    do {
        const weiri_page *page = weiri_directory_page(root, hash);
        cr_assert_leq(page->depth, root->bits);
        cr_assert_leq(page->bits, WEIRI_PAGE_BITS);
        extent.pages++;
        extent.entries += UINT64_C(1) << page->bits;
        for (uint64_t i = 0; i < UINT64_C(1) << page->bits; i++) {
            unsigned fine = (unsigned)(page->depth + page->bits);
            uint64_t at = hash + (fine == 0 ? 0 : i << (64 - fine));
            const weiri_segment *segment = weiri_load_acquire_pointer(&page->entry[i]);
            cr_assert_leq(segment->depth, fine);
            cr_assert_eq(weiri_hash_bits(at, 0, segment->depth), weiri_hash_bits(segment->prefix, 0, segment->depth));
            extent.segments += segment != last;
            extent.deepest = segment->depth > extent.deepest ? segment->depth : extent.deepest;
            last = segment;
        }
        /* Every root slot below leads to the same page. */
        uint64_t end = page->depth == 0 ? 0 : hash + (UINT64_C(1) << (64 - page->depth));
        cr_assert_eq(weiri_directory_page(root, end - 1), page);
        hash = end;
    } while (hash != 0);
    cr_assert_eq(weiri_load_relaxed_64(&directory->segments), extent.segments);
    cr_assert_eq(weiri_load_relaxed_64(&directory->entries), extent.entries);
    return extent;
}

static weiri_segment *segment_at(struct bench *bench, uint64_t hash)
{
    return weiri_directory_find(&bench->table.directory, hash);
}

/* Splits the segment at `hash`, and helps; the directory may or may not know it. */
static void split(struct bench *bench, uint64_t hash)
{
    weiri_segment *segment = weiri_table_settled(&bench->table, hash);
    cr_assert(weiri_split(&bench->table, segment, 0));
    weiri_help(&bench->table, segment, hash);
}

/* Nothing but leaves, pages and the root is held once what was retired is freed. */
static void holds_no_more(struct bench *bench, const struct extent *extent)
{
    bench_reclaim(bench);
    cr_assert_eq(bench->counting.blocks, extent->segments + extent->pages + 1);
}

Test(directory, begins_with_one_segment_for_every_hash)
{
    struct bench bench;
    weiri_segment *segment = bench_open(&bench, 8, 0);
    struct extent extent = walk(&bench);

    cr_assert_eq(segment_at(&bench, 0), segment);
    cr_assert_eq(segment_at(&bench, UINT64_MAX), segment);
    cr_assert_eq(extent.segments, 1);
    cr_assert_eq(extent.pages, 1);
    cr_assert_eq(extent.entries, 1);
    bench_close(&bench);
}

Test(directory, fails_whole_without_memory)
{
    struct bench bench;

    bench_without_segment(&bench);
    weiri_segment *segment = weiri_segment_new(&bench.memory, 8, 0, 0, 0);
    for (uint64_t n = 1; n <= 2; n++) {
        bench.counting.fail_at = n;
        cr_assert(!weiri_directory_init(&bench.table.directory, &bench.memory, segment));
        cr_assert_eq(bench.counting.blocks, 1);
    }
    weiri_segment_free(&bench.memory, segment);
    bench_empty(&bench);
}

Test(directory, pages_double_up_to_their_bits_then_split_and_the_root_doubles)
{
    static const uint64_t hashes[] = {0, UINT64_MAX, UINT64_C(0xaaaaaaaaaaaaaaaa), UINT64_C(0x123456789abcdef0)};

    for (size_t i = 0; i < sizeof hashes / sizeof *hashes; i++) {
        struct bench bench;
        bench_open(&bench, 2, 0);
        const unsigned depths = WEIRI_PAGE_BITS + 4;
        for (unsigned depth = 1; depth <= depths; depth++) {
            split(&bench, hashes[i]);
            struct extent extent = walk(&bench);
            const weiri_root *root = weiri_load_acquire_pointer(&bench.table.directory.root);
            const weiri_page *page = weiri_directory_page(root, hashes[i]);
            bool one_page = depth <= WEIRI_PAGE_BITS;
            unsigned beyond = one_page ? 0 : depth - WEIRI_PAGE_BITS;
            cr_assert_eq(segment_at(&bench, hashes[i])->depth, depth);
            cr_assert_eq(extent.segments, depth + 1);
            cr_assert_eq(extent.deepest, depth);
            cr_assert_eq(page->bits, one_page ? depth : WEIRI_PAGE_BITS);
            cr_assert_eq(page->depth, beyond);
            cr_assert_eq(root->bits, beyond);
            cr_assert_eq(extent.pages, beyond + 1);
            if (depth % 2 == 0)
                holds_no_more(&bench, &extent);
        }
        bench_close(&bench);
    }
}

Test(directory, finds_every_key_through_random_splits)
{
    random_source random = random_from(random_seed("directory"), 0);
    enum { KEYS = 300 };
    static weir_identity key[KEYS];

    for (unsigned round = 0; round < 10; round++) {
        struct bench bench;
        bench_open(&bench, 0, 0);
        for (uint64_t i = 0; i < KEYS; i++) {
            key[i] = key_at(random_next(&random) & ~UINT64_C(0xff), 0, i);
            cr_assert(charge(&bench, &key[i], state_of(i + 1, 1), 0));
            if (random_one_in(&random, 3) && segment_at(&bench, key[i].hash)->depth < 10)
                split(&bench, key[i].hash);
            if (random_one_in(&random, 20))
                bench_reclaim(&bench);
        }
        struct extent extent = walk(&bench);
        for (uint64_t i = 0; i < KEYS; i++)
            same_pair(look(&bench, &key[i]).state, state_of(i + 1, 1), "a key");
        cr_assert_eq(weiri_table_count(&bench.table), KEYS);
        holds_no_more(&bench, &extent);
        bench_close(&bench);
    }
}

/* All replaced entries of a segment, though many lead to it. */
Test(directory, replaces_every_entry_of_a_shallow_segment)
{
    struct bench bench;
    bench_open(&bench, 2, 0);
    const unsigned deep = WEIRI_PAGE_BITS;
    const uint64_t high = UINT64_C(1) << 63;

    for (unsigned i = 0; i < deep; i++)
        split(&bench, 0);
    weiri_segment *shallow = segment_at(&bench, high);
    cr_assert_eq(shallow->depth, 1); /* half of the entries of the page */
    cr_assert_eq(segment_at(&bench, UINT64_MAX), shallow);
    split(&bench, UINT64_MAX);
    struct extent extent = walk(&bench);
    cr_assert_eq(extent.segments, deep + 2);
    cr_assert_eq(segment_at(&bench, high)->depth, 2);
    cr_assert_eq(segment_at(&bench, high)->prefix, high);
    cr_assert_eq(segment_at(&bench, UINT64_MAX)->prefix, UINT64_C(3) << 62);
    holds_no_more(&bench, &extent);
    /* One successor in place of many entries, too. */
    weiri_segment *old = segment_at(&bench, high);
    cr_assert(weiri_compact(&bench.table, old, 0));
    weiri_help(&bench.table, old, high);
    extent = walk(&bench);
    cr_assert_eq(extent.segments, deep + 2);
    cr_assert_eq(segment_at(&bench, high)->capacity, 0);
    holds_no_more(&bench, &extent);
    bench_close(&bench);
}

Test(directory, publishes_ancestors_before_descendants_and_retires_each_once)
{
    struct bench bench;
    weiri_segment *first = bench_open(&bench, 2, 0);
    weiri_directory *directory = &bench.table.directory;
    const unsigned depth = WEIRI_PAGE_BITS + 3;

    /* Somebody holds the lock: the way leads over all ancestors. */
    cr_assert(weiri_spinlock_try(&directory->lock));
    weiri_segment *segment = first;
    for (unsigned i = 0; i < depth; i++) {
        cr_assert(weiri_split(&bench.table, segment, 0));
        segment = weiri_help(&bench.table, segment, 0);
        cr_assert_eq(segment->depth, i + 1);
    }
    cr_assert_eq(segment_at(&bench, 0), first);
    cr_assert_eq(weiri_load_relaxed_64(&bench.memory.retired_bytes), 0);
    weiri_spinlock_unlock(&directory->lock);
    /* The first one behind it publishes them all. */
    weiri_directory_publish(directory, &bench.memory, 0);
    struct extent extent = walk(&bench);
    cr_assert_eq(segment_at(&bench, 0), segment);
    cr_assert_eq(extent.segments, depth + 1);
    holds_no_more(&bench, &extent);
    weiri_directory_publish(directory, &bench.memory, 0);
    cr_assert_eq(weiri_load_relaxed_64(&bench.memory.retired_bytes), 0);
    bench_close(&bench);
}

Test(directory, publishes_nothing_while_the_fork_gate_is_not_open)
{
    struct bench bench;
    weiri_segment *first = bench_open(&bench, 2, 0);

    weiri_store_release_32(&weiri_gate, WEIRI_GATE_CLOSING);
    split(&bench, 0);
    cr_assert_eq(segment_at(&bench, 0), first);
    cr_assert_eq(weiri_load_relaxed_32(&bench.table.directory.lock.held), 0);
    weiri_store_release_32(&weiri_gate, WEIRI_GATE_OPEN);
    weiri_directory_publish(&bench.table.directory, &bench.memory, 0);
    cr_assert_eq(segment_at(&bench, 0)->depth, 1);
    struct extent extent = walk(&bench);
    holds_no_more(&bench, &extent);
    bench_close(&bench);
}

Test(directory, a_segment_under_way_stays_until_it_is_done)
{
    struct bench bench;
    weiri_segment *first = bench_open(&bench, 2, 0);

    cr_assert(weiri_split(&bench.table, first, 0));
    weiri_directory_publish(&bench.table.directory, &bench.memory, 0);
    cr_assert_eq(segment_at(&bench, 0), first);
    cr_assert_eq(weiri_load_relaxed_64(&bench.memory.retired_bytes), 0);
    bench_close(&bench);
}

/* Every allocation of every doubling on the way down fails once. */
Test(directory, without_memory_to_double_the_way_leads_over_the_predecessor)
{
    struct bench bench;
    bench_open(&bench, 2, 0);
    uint64_t starved = 0;

    for (unsigned depth = 0; depth < WEIRI_PAGE_BITS + 3; depth++)
        for (uint64_t n = 1;; n++) {
            weiri_segment *old = segment_at(&bench, 0);
            weiri_segment *segment = old;
            uint64_t failed = bench.counting.failed;
            if (!weiri_forward(old))
                cr_assert(weiri_split(&bench.table, old, 0));
            bench.counting.fail_at = n;
            segment = weiri_help(&bench.table, old, 0);
            cr_assert_eq(segment->depth, depth + 1);
            test_allocator_relent(&bench.counting);
            if (bench.counting.failed == failed) {
                cr_assert_eq(segment_at(&bench, 0), segment);
                break;
            }
            starved++;
            cr_assert_eq(segment_at(&bench, 0), old);
            weir_identity key = key_at(0, 1, depth);
            cr_assert_eq(weiri_table_look(&bench.table, old, &key).floor, 0);
        }
    cr_assert_eq(starved, WEIRI_PAGE_BITS + 3 * 3); /* a page each, then two pages and a root */
    struct extent extent = walk(&bench);
    cr_assert_eq(extent.deepest, WEIRI_PAGE_BITS + 3);
    holds_no_more(&bench, &extent);
    bench_close(&bench);
}

Test(directory, deepens_for_eight_entries_a_segment_and_512)
{
    struct bench bench;
    weiri_segment *segment = bench_open(&bench, 2, 0);
    weiri_directory *directory = &bench.table.directory;

    cr_assert(weiri_directory_may_deepen(directory, segment));
    weiri_store_relaxed_64(&directory->segments, 100);
    weiri_store_relaxed_64(&directory->entries, 800 + 510); /* and one more, and the root's slot */
    cr_assert(weiri_directory_may_deepen(directory, segment));
    weiri_store_relaxed_64(&directory->entries, 800 + 511);
    cr_assert(!weiri_directory_may_deepen(directory, segment));
    weiri_store_relaxed_64(&directory->segments, 1);
    weiri_store_relaxed_64(&directory->entries, 1);
    split(&bench, 0);
    split(&bench, 0);
    /* A page that is fine enough already needs no more entries. */
    weiri_store_relaxed_64(&directory->entries, UINT32_MAX);
    cr_assert(weiri_directory_may_deepen(directory, segment_at(&bench, UINT64_MAX)));
    cr_assert(!weiri_directory_may_deepen(directory, segment_at(&bench, 0)));
    bench_close(&bench);
}

Test(directory, counts_the_slots_of_a_root_that_would_be_doubled)
{
    struct bench bench;
    weiri_directory *directory = &bench.table.directory;
    const uint64_t more = UINT64_C(1) << WEIRI_PAGE_BITS;
    bench_open(&bench, 2, 0);

    for (unsigned depth = 0; depth < WEIRI_PAGE_BITS; depth++)
        split(&bench, 0);
    weiri_store_relaxed_64(&directory->segments, 1000);
    weiri_store_relaxed_64(&directory->entries, 8000 + 512 - more - 2); /* one slot would be two */
    cr_assert(weiri_directory_may_deepen(directory, segment_at(&bench, 0)));
    weiri_store_relaxed_64(&directory->entries, 8000 + 512 - more - 1);
    cr_assert(!weiri_directory_may_deepen(directory, segment_at(&bench, 0)));
    bench_close(&bench);
}
