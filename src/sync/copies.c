#include "copies.h"

#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <string.h>

#include "rcu.h"
#include "spinlock.h"
#include "stay.h"

/* Another layout or another meaning of the steps is another version. */
#define VERSION 1
#define STRING_OF(x) #x
#define STRING(x) STRING_OF(x)

typedef struct weiri_copy {
    weiri_apointer leader; /* NULL: not in use. First in every version */
    weiri_apointer next;   /* of the leader: who came last; of the others: who came before. NULL at the end */
    void (*step)(weiri_fork_step step);
    void (*rcu)(void); /* which liburcu */
    /* of the leader: */
    weiri_a32 joined;  /* grows with the list */
    weiri_a32 forking; /* a fork is on */
    weiri_a64 forker;  /* the thread that is in it, or 0 */
} weiri_copy;

/* Not static, so that the note can name it. */
__attribute__((used, visibility("hidden"))) weiri_copy weiri_this_copy = {.rcu = WEIRI_RCU_IDENTITY};

/* The note: lengths of name and description, version, name, and the way from here to the record. */
__asm__(".pushsection .note.weir, \"a\", %note\n"
        ".balign 4\n"
        ".long 5, 8, " STRING(VERSION) "\n"
        ".asciz \"weir\"\n"
        ".balign 4\n"
        ".quad weiri_this_copy - .\n"
        ".popsection\n");

/* --- finding the leader --- */

typedef struct weiri_search {
    weiri_copy *leader;
    void (*step)(weiri_fork_step step); /* this copy's */
    bool foreign;                       /* a copy of another version is in use */
} weiri_search;

static void look_at_copy(weiri_search *search, uint32_t version, const char *description)
{
    int64_t distance;
    memcpy(&distance, description, sizeof distance);
    weiri_copy *copy = (weiri_copy *)((uintptr_t)description + (uintptr_t)distance);
    weiri_copy *leader = weiri_load_acquire_pointer(&copy->leader);
    if (leader && version == VERSION)
        search->leader = leader;
    else if (leader)
        search->foreign = true;
}

static void look_at_notes(weiri_search *search, const char *notes, size_t size, size_t align)
{
    ElfW(Nhdr) head;
    while (size >= sizeof head) {
        memcpy(&head, notes, sizeof head);
        size_t name = sizeof head, description = (name + head.n_namesz + align - 1) & ~(align - 1);
        size_t end = (description + head.n_descsz + align - 1) & ~(align - 1);
        if (description + head.n_descsz > size)
            return;
        if (head.n_namesz == 5 && head.n_descsz == 8 && memcmp(notes + name, "weir", 5) == 0)
            look_at_copy(search, head.n_type, notes + description);
        if (end >= size)
            return;
        notes += end;
        size -= end;
    }
}

static int look_at_object(struct dl_phdr_info *object, size_t size, void *argument)
{
    (void)size;
    for (size_t i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        if (part->p_type == PT_NOTE)
            look_at_notes(argument, (const char *)((uintptr_t)object->dlpi_addr + part->p_vaddr), part->p_memsz,
                          part->p_align == 8 ? 8 : 4);
    }
    return 0;
}

/* Already on the leader's list? A child of a fork may find that, where the thread that joined did not come along. */
static bool listed(const weiri_copy *leader)
{
    const weiri_copy *copy = leader;
    while (copy && copy != &weiri_this_copy)
        copy = weiri_load_acquire_pointer(&copy->next);
    return copy != NULL;
}

/* Leads or follows: one copy after the other, one thread after the other. */
static void enter(weiri_search *search)
{
    weiri_copy *self = &weiri_this_copy;
    if (search->foreign || weiri_load_acquire_pointer(&self->leader))
        return;
    self->step = search->step;
    weiri_copy *leader = search->leader ? search->leader : self;
    if (!listed(leader)) {
        weiri_store_release_pointer(&self->next, weiri_load_acquire_pointer(&leader->next));
        weiri_store_release_pointer(&leader->next, self); /* nobody else writes here, see above */
    }
    weiri_add_ordered_32(&leader->joined, 1); /* before looking at `forking` */
    weiri_store_release_pointer(&self->leader, leader);
}

/* Under the loader's lock, which the same thread may take again. Called for the first object; that is enough. */
static int search_and_enter(struct dl_phdr_info *object, size_t size, void *argument)
{
    (void)object;
    (void)size;
    dl_iterate_phdr(look_at_object, argument);
    enter(argument);
    return 1;
}

/* --- the leader's handlers --- */

static weiri_copy *first; /* on the list when the fork began, after the leader */

static weiri_copy *following(const weiri_copy *copy)
{
    return copy == &weiri_this_copy ? first : weiri_load_acquire_pointer(&copy->next);
}

static void take_step(weiri_copy *copy, weiri_fork_step step)
{
    if (step == WEIRI_FORK_RCU || step == WEIRI_FORK_PARENT_RCU || step == WEIRI_FORK_CHILD_RCU)
        for (weiri_copy *other = &weiri_this_copy; other != copy; other = following(other))
            if (other->rcu == copy->rcu)
                return;
    copy->step(step);
}

/* In the opposite order. The leader's comes last: after it, another fork may begin. */
static void step_back(weiri_copy *copy, weiri_fork_step step)
{
    weiri_copy *next = following(copy);
    if (next)
        step_back(next, step);
    take_step(copy, step);
}

static void lead(void)
{
    weiri_copy *self = &weiri_this_copy;
    take_step(self, WEIRI_FORK_BEFORE);
    weiri_store_relaxed_64(&self->forker, (uint64_t)pthread_self());
    weiri_store_ordered_32(&self->forking, 1);
    weiri_load_ordered_32(&self->joined); /* after our own word in `forking` */
    first = weiri_load_acquire_pointer(&self->next);
    for (weiri_copy *copy = first; copy; copy = following(copy))
        take_step(copy, WEIRI_FORK_BEFORE);
    for (unsigned step = WEIRI_FORK_CLOSING; step <= WEIRI_FORK_PREPARE; step++)
        for (weiri_copy *copy = self; copy; copy = following(copy))
            take_step(copy, (weiri_fork_step)step);
}

static void lead_back(weiri_fork_step from, weiri_fork_step to)
{
    weiri_copy *self = &weiri_this_copy;
    for (unsigned step = from; step <= to; step++)
        step_back(self, (weiri_fork_step)step);
    weiri_store_relaxed_64(&self->forker, 0);
    weiri_store_ordered_32(&self->forking, 0);
    step_back(self, WEIRI_FORK_AFTER);
}

/* --- the handlers of each copy --- */

/* This thread's fork: none; one that this copy does not lead; one that it leads. */
static _Thread_local enum { NO_FORK, NOT_LED, LED } mine;
static weiri_a32 not_led, searching; /* threads in such a fork, and in a search: never both, see copies.h, 4 */

/* Registered twice or more: the first to be called does all. */
static void before_fork(void)
{
    if (mine != NO_FORK)
        return;
    weiri_add_ordered_32(&not_led, 1); /* before looking at `searching` */
    for (unsigned attempt = 0; weiri_load_ordered_32(&searching) != 0; attempt++)
        weiri_backoff(attempt);
    mine = weiri_load_acquire_pointer(&weiri_this_copy.leader) == &weiri_this_copy ? LED : NOT_LED;
    if (mine == NOT_LED)
        return;
    weiri_add_ordered_32(&not_led, UINT32_MAX); /* less one */
    lead();
}

static void after_fork_in_parent(void)
{
    if (mine == LED)
        lead_back(WEIRI_FORK_PARENT, WEIRI_FORK_PARENT_RCU);
    else if (mine == NOT_LED)
        weiri_add_ordered_32(&not_led, UINT32_MAX);
    mine = NO_FORK;
}

static void after_fork_in_child(void)
{
    not_led.word = searching.word = 0; /* nobody else is here */
    if (mine == LED)
        lead_back(WEIRI_FORK_CHILD_RCU, WEIRI_FORK_CHILD_OPEN);
    mine = NO_FORK;
}

static int register_handlers(void)
{
    return -pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

/* Where that fails, forks are noticed from the first weir_open on. What could still be unloaded registers nothing. */
__attribute__((constructor)) static void notice_forks(void)
{
    if (weiri_stays_loaded())
        (void)register_handlers();
}

/* --- joining --- */

/* No fork copies a search half made, or what its caller does next. */
static void begin_search(void)
{
    weiri_add_ordered_32(&searching, 1); /* before looking at `not_led` */
    for (unsigned attempt = 0; weiri_load_ordered_32(&not_led) != 0; attempt++) {
        if (mine != NO_FORK || weiri_rcu_inside())
            return;
        weiri_add_ordered_32(&searching, UINT32_MAX);
        weiri_backoff(attempt);
        weiri_add_ordered_32(&searching, 1);
    }
}

/* A fork that began without this copy must not find it at work. */
static void wait_for_fork(const weiri_copy *leader)
{
    for (unsigned attempt = 0; weiri_load_ordered_32(&leader->forking) != 0; attempt++) {
        if (weiri_rcu_inside() || weiri_load_relaxed_64(&leader->forker) == (uint64_t)pthread_self())
            return;
        weiri_backoff(attempt);
    }
}

int weiri_copies_join(void (*step)(weiri_fork_step step))
{
    static weiri_a32 registered, done;
    if (weiri_load_acquire_32(&done))
        return 0;
    int error = weiri_load_acquire_32(&registered) ? 0 : register_handlers(); /* takes no lock of the loader's */
    if (error)
        return error;
    weiri_store_release_32(&registered, 1);
    weiri_search search = {.step = step};
    begin_search();
    if (dl_iterate_phdr(search_and_enter, &search) == 0)
        enter(&search); /* nothing is shown: the program is alone */
    weiri_add_ordered_32(&searching, UINT32_MAX);
    if (search.foreign)
        return -EBUSY;
    const weiri_copy *leader = weiri_load_acquire_pointer(&weiri_this_copy.leader);
    if (leader != &weiri_this_copy)
        wait_for_fork(leader);
    weiri_store_release_32(&done, 1);
    return 0;
}
