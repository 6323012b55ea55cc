/*
 * directory: the top bits of a hash -> a segment, in two steps.
 *
 *   root (2^r pointers) --top r bits--> page (up to 512 entries) --the bits after the page's prefix--> segment
 *
 * Several root slots may hold one page, several entries one segment. Readers walk it inside a read section, without a
 * store. It is changed under one lock, which is only ever tried: who fails goes on, since a segment that was replaced
 * leads to its successors by itself, and a later visitor publishes it.
 *
 * Publishing goes by key, not by segment: while the entry for this hash is a done segment, every entry equal to it is
 * replaced by its successor, then it is retired. So an ancestor leaves the directory before its descendants do, a
 * segment is retired once, and never while an entry leads to it.
 *
 * Doubling: a page that is too coarse is replaced by one twice as fine, at most 512 entries; a full page by two; a root
 * that is too coarse by one of twice the length. The memory is allocated before the lock is taken.
 */
#ifndef WEIRI_TABLE_DIRECTORY_H
#define WEIRI_TABLE_DIRECTORY_H

#include "../sync/spinlock.h"
#include "migration.h"

#ifndef WEIRI_PAGE_BITS
#define WEIRI_PAGE_BITS 9
#endif
#ifndef WEIRI_SEGMENTS_LARGE
#define WEIRI_SEGMENTS_LARGE 256 /* a table of so many is large: half a MiB of cells */
#endif

typedef struct weiri_page {
    weiri_retired retired;
    uint8_t depth; /* hash bits that led here */
    uint8_t bits;  /* log2 of the number of entries */
    weiri_apointer entry[];
} weiri_page;

typedef struct weiri_root {
    weiri_retired retired;
    uint8_t bits;
    weiri_apointer page[];
} weiri_root;

typedef struct weiri_directory {
    weiri_apointer root;
    _Alignas(64) weiri_spinlock lock;
    weiri_a64 segments; /* the entries lead to so many; written under the lock */
    weiri_a64 entries;  /* in all pages; likewise */
} weiri_directory;

static inline weiri_page *weiri_directory_page(const weiri_root *root, uint64_t hash)
{
    return weiri_load_acquire_pointer(&root->page[weiri_hash_bits(hash, 0, root->bits)]);
}

/* Where the directory tells the segment for a hash: good until the end of the read section. */
static inline const weiri_apointer *weiri_directory_entry(const weiri_directory *directory, uint64_t hash)
{
    const weiri_root *root = weiri_load_acquire_pointer(&directory->root);
    const weiri_page *page = weiri_directory_page(root, hash);
    return &page->entry[weiri_hash_bits(hash, page->depth, page->bits)];
}

/* The segment for a hash, or an ancestor of it that is done and not published so far. Inside a read section. */
static inline weiri_segment *weiri_directory_find(const weiri_directory *directory, uint64_t hash)
{
    return weiri_load_acquire_pointer(weiri_directory_entry(directory, hash));
}

/* A directory with one segment. False: no memory. */
bool weiri_directory_init(weiri_directory *directory, weiri_memory *memory, weiri_segment *segment);

/* Frees root and pages; the segments are the caller's. Nobody reads. */
void weiri_directory_destroy(weiri_directory *directory, weiri_memory *memory);

/* Publishes what is done on the way to `hash`, if the lock is free, the fork gate open and memory there. Inside a read
 * section. */
void weiri_directory_publish(weiri_directory *directory, weiri_memory *memory, uint64_t hash);

/* May the directory become finer for a segment of this depth? A hint: 8 entries a segment is the measure, slots of the
 * root among them: keys that agree in many bits would double it with every bit. */
bool weiri_directory_may_deepen(const weiri_directory *directory, const weiri_segment *segment);

#endif
