#include "directory.h"

#include "../sync/gate.h"

/* Memory for one doubling, allocated before the lock is taken. */
struct spare {
    weiri_page *page[2];
    weiri_root *root;
};

/* What one doubling needs: pages of these bits, and a root of those (0 pages: nothing; root_bits 0: none). */
struct want {
    unsigned pages;
    uint8_t page_bits;
    uint8_t root_bits;
};

static size_t page_size(const weiri_page *page)
{
    return sizeof *page + (sizeof(weiri_apointer) << page->bits);
}

static size_t root_size(const weiri_root *root)
{
    return sizeof *root + (sizeof(weiri_apointer) << root->bits);
}

static void page_free(weiri_memory *memory, weiri_page *page)
{
    if (page)
        weiri_release(memory, page, page_size(page));
}

static void root_free(weiri_memory *memory, weiri_root *root)
{
    if (root)
        weiri_release(memory, root, root_size(root));
}

static void destroy_page(weiri_memory *memory, weiri_retired *retired)
{
    page_free(memory, (weiri_page *)(void *)retired);
}

static void destroy_root(weiri_memory *memory, weiri_retired *retired)
{
    root_free(memory, (weiri_root *)(void *)retired);
}

static weiri_page *page_new(weiri_memory *memory, uint8_t bits)
{
    weiri_page *page = weiri_allocate(memory, 16, sizeof *page + (sizeof(weiri_apointer) << bits));
    if (page)
        *page = (weiri_page){.retired.destroy = destroy_page, .bits = bits};
    return page;
}

static weiri_root *root_new(weiri_memory *memory, uint8_t bits)
{
    weiri_root *root = weiri_allocate(memory, 16, sizeof *root + (sizeof(weiri_apointer) << bits));
    if (root)
        *root = (weiri_root){.retired.destroy = destroy_root, .bits = bits};
    return root;
}

bool weiri_directory_init(weiri_directory *directory, weiri_memory *memory, weiri_segment *segment)
{
    weiri_root *root = root_new(memory, 0);
    weiri_page *page = page_new(memory, 0);
    if (!root || !page) {
        root_free(memory, root);
        page_free(memory, page);
        return false;
    }
    weiri_store_release_pointer(&page->entry[0], segment);
    weiri_store_release_pointer(&root->page[0], page);
    weiri_store_release_pointer(&directory->root, root);
    weiri_store_relaxed_64(&directory->segments, 1);
    weiri_store_relaxed_64(&directory->entries, 1);
    return true;
}

void weiri_directory_destroy(weiri_directory *directory, weiri_memory *memory)
{
    weiri_root *root = weiri_load_acquire_pointer(&directory->root);
    for (uint64_t i = 0; i < UINT64_C(1) << root->bits;) {
        weiri_page *page = weiri_load_acquire_pointer(&root->page[i]);
        i += UINT64_C(1) << (root->bits - page->depth);
        page_free(memory, page);
    }
    root_free(memory, root);
}

bool weiri_directory_may_deepen(const weiri_directory *directory, const weiri_segment *segment)
{
    const weiri_root *root = weiri_load_acquire_pointer(&directory->root);
    const weiri_page *page = weiri_directory_page(root, segment->prefix);
    if (page->depth + page->bits > segment->depth)
        return true;
    bool doubles = page->bits == WEIRI_PAGE_BITS && page->depth == root->bits;
    uint64_t more = UINT64_C(1) << page->bits, slots = UINT64_C(1) << (root->bits + doubles);
    return weiri_load_relaxed_64(&directory->entries) + more + slots <=
           8 * weiri_load_relaxed_64(&directory->segments) + 512;
}

/* Makes every root slot that leads to a page of this prefix lead to `page`. Under the lock. */
static void set_page(weiri_root *root, uint64_t prefix, weiri_page *page)
{
    unsigned below = (unsigned)(root->bits - page->depth);
    uint64_t first = weiri_hash_bits(prefix, 0, page->depth) << below;
    for (uint64_t i = 0; i < UINT64_C(1) << below; i++)
        weiri_store_release_pointer(&root->page[first + i], page); /* after its entries */
}

/* Twice the root. Readers of the old one go on; it is retired. Under the lock. */
static weiri_root *double_root(weiri_directory *directory, weiri_memory *memory, weiri_root *old, struct spare *spare)
{
    weiri_root *root = spare->root;
    spare->root = NULL;
    for (uint64_t i = 0; i < UINT64_C(1) << root->bits; i++)
        weiri_store_release_pointer(&root->page[i], weiri_load_relaxed_pointer(&old->page[i >> 1]));
    weiri_store_release_pointer(&directory->root, root); /* after its slots */
    weiri_retire(memory, &old->retired, root_size(old));
    return root;
}

/* Fills `page` with the entries of `old` from number `from` on, each as often as `page` is finer. */
static void fill_page(weiri_page *page, const weiri_page *old, uint64_t from)
{
    for (uint64_t i = 0; i < UINT64_C(1) << page->bits; i++)
        weiri_store_release_pointer(&page->entry[i], weiri_load_relaxed_pointer(&old->entry[from + (i >> 1)]));
}

/* The page for `hash` twice as fine. Under the lock, with what wanted() asked for. */
static void deepen(weiri_directory *directory, weiri_memory *memory, uint64_t hash, struct spare *spare)
{
    weiri_root *root = weiri_load_relaxed_pointer(&directory->root);
    weiri_page *old = weiri_directory_page(root, hash);
    unsigned pages = spare->page[1] ? 2 : 1;
    if (root->bits < old->depth + pages - 1)
        root = double_root(directory, memory, root, spare);
    uint64_t prefix = old->depth == 0 ? 0 : hash >> (64 - old->depth) << (64 - old->depth);
    for (unsigned i = 0; i < pages; i++) {
        weiri_page *page = spare->page[i];
        spare->page[i] = NULL;
        page->depth = (uint8_t)(old->depth + pages - 1);
        fill_page(page, old, i * (UINT64_C(1) << old->bits >> 1));
        set_page(root, prefix | (i ? UINT64_C(1) << 63 >> old->depth : 0), page);
    }
    weiri_add_relaxed_64(&directory->entries, UINT64_C(1) << old->bits);
    weiri_retire(memory, &old->retired, page_size(old));
}

/* What must be doubled before the entries of `segment` can be replaced. */
static struct want wanted(const weiri_directory *directory, const weiri_segment *segment)
{
    const weiri_root *root = weiri_load_acquire_pointer(&directory->root);
    const weiri_page *page = weiri_directory_page(root, segment->prefix);
    if (!weiri_forward(segment)->split || page->depth + page->bits > segment->depth)
        return (struct want){0};
    if (page->bits < WEIRI_PAGE_BITS)
        return (struct want){.pages = 1, .page_bits = (uint8_t)(page->bits + 1)};
    return (struct want){.pages = 2,
                         .page_bits = WEIRI_PAGE_BITS,
                         .root_bits = (uint8_t)(root->bits == page->depth ? root->bits + 1 : 0)};
}

static bool suits(const struct want *want, const struct spare *spare)
{
    for (unsigned i = 0; i < 2; i++)
        if ((i < want->pages) != (spare->page[i] != NULL) ||
            (i < want->pages && spare->page[i]->bits != want->page_bits))
            return false;
    return want->root_bits == 0 || (spare->root && spare->root->bits == want->root_bits);
}

static void spare_free(weiri_memory *memory, struct spare *spare)
{
    page_free(memory, spare->page[0]);
    page_free(memory, spare->page[1]);
    root_free(memory, spare->root);
    *spare = (struct spare){0};
}

static bool spare_make(weiri_memory *memory, struct spare *spare, const struct want *want)
{
    spare_free(memory, spare);
    bool there = true;
    for (unsigned i = 0; i < want->pages; i++)
        there = (spare->page[i] = page_new(memory, want->page_bits)) != NULL && there;
    if (want->root_bits)
        there = (spare->root = root_new(memory, want->root_bits)) != NULL && there;
    return there;
}

/*
 * Every entry that leads to `segment` -> its successor. They stand side by side in one page: a page is split only where
 * some segment has a single entry in it, so none fills it. Under the lock; the page is fine enough.
 */
static void replace(const weiri_directory *directory, const weiri_segment *segment)
{
    const weiri_migration *migration = weiri_forward(segment);
    weiri_page *page = weiri_directory_page(weiri_load_relaxed_pointer(&directory->root), segment->prefix);
    unsigned fine = (unsigned)(page->depth + page->bits);
    uint64_t first = weiri_hash_bits(segment->prefix, page->depth, page->bits);
    for (uint64_t i = 0; i < UINT64_C(1) << (fine - segment->depth); i++) {
        uint64_t hash = segment->prefix | i << 1 << (63 - fine);
        weiri_segment *successor = weiri_successor(segment, migration, hash);
        weiri_store_release_pointer(&page->entry[first + i], successor); /* after it is complete */
    }
}

/* Publishes as far as `spare` allows; tells what else is needed. Under the lock. */
static struct want publish_some(weiri_directory *directory, weiri_memory *memory, uint64_t hash, struct spare *spare)
{
    for (;;) {
        weiri_segment *segment = weiri_directory_find(directory, hash);
        if (!weiri_done(segment))
            return (struct want){0};
        struct want want = wanted(directory, segment);
        if (want.pages && !suits(&want, spare))
            return want;
        if (want.pages)
            deepen(directory, memory, segment->prefix, spare);
        replace(directory, segment);
        if (weiri_forward(segment)->split && weiri_add_relaxed_64(&directory->segments, 1) >= WEIRI_SEGMENTS_LARGE)
            weiri_memory_grew(memory);
        weiri_segment_retire(memory, segment);
    }
}

void weiri_directory_publish(weiri_directory *directory, weiri_memory *memory, uint64_t hash)
{
    struct spare spare = {0};
    struct want want = {0};
    bool holding, locked;
    do {
        if (want.pages && !spare_make(memory, &spare, &want))
            break; /* no memory: the way over the predecessor stays */
        locked = weiri_gate_pass(&holding) && weiri_spinlock_try(&directory->lock);
        if (locked) {
            want = publish_some(directory, memory, hash, &spare);
            weiri_spinlock_unlock(&directory->lock);
        }
        if (holding)
            weiri_gate_release(true);
    } while (locked && want.pages);
    spare_free(memory, &spare);
}
