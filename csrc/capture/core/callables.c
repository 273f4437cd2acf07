/* The table of callables by identity: what follows a call of one of them.

   A callable has one follower or several, which are asked in the order of their ranks until one
   takes the call.  Layers fill in what they follow, by functions given to `callables_filled_by`:
   once, and again when modules have been imported since, for names in modules that were not there
   before.  Nothing is imported for them.  What is in the table stays for the life of the process.
 */
#include "core.h"

enum { MOST_FILLS = 8 };

static int (*fills[MOST_FILLS])(void);
static int nfills;
static Arena *arena;
static PointerMap table;        /* callable -> its first Follower */
static Py_ssize_t modules_seen; /* how many modules there were when it was filled */

void
callables_filled_by(int (*fill)(void))
{
    for (int i = 0; i < nfills; i++)
        if (fills[i] == fill) return;
    fills[nfills++] = fill;
}

static int
fill_table(void)
{
    Py_ssize_t modules = PyDict_GET_SIZE(PyImport_GetModuleDict());
    if (modules == modules_seen) return 0;
    for (int i = 0; i < nfills; i++)
        if (fills[i]() < 0) return -1; /* skips callables that it has already added */
    modules_seen = modules;
    return 0;
}

const Follower *
callable_followers(PyObject *object)
{
    return fill_table() < 0 ? NULL : map_get(&table, object);
}

const Follower *
callable_follower(PyObject *object, Follow follow)
{
    const Follower *f = callable_followers(object);
    while (f != NULL && f->follow != follow) f = f->next;
    return f;
}

int
callable_add(PyObject *object, FollowRank rank, Follow follow, const void *row)
{
    if (arena == NULL && (arena = arena_new()) == NULL) return -1;
    Follower *first = map_get(&table, object), *before = NULL;
    for (Follower *f = first; f != NULL; f = f->next) {
        if (f->follow == follow) {
            f->row = row;
            return 0;
        }
        if (f->rank <= rank) before = f;
    }
    Follower *added = arena_alloc(arena, sizeof *added);
    if (added == NULL) return -1;
    *added = (Follower){follow, row, rank, before != NULL ? before->next : first};
    if (before != NULL) {
        before->next = added;
        return 0;
    }
    if (map_add(arena, &table, object, added) < 0) return -1;
    if (first == NULL) Py_INCREF(object);
    return 0;
}

int
callables_add_named(int n, NamedCallable *named)
{
    for (int i = 0; i < n; i++) {
        if (named[i].added) continue;
        PyObject *module = module_loaded(named[i].module);
        PyObject *found = module != NULL ? PyObject_GetAttrString(module, named[i].name) : NULL;
        Py_XDECREF(module);
        PyErr_Clear();
        if (found == NULL) continue;
        int failed = callable_add(found, named[i].rank, named[i].follow, NULL);
        Py_DECREF(found);
        if (failed < 0) return -1;
        named[i].added = true;
    }
    return 0;
}

Answer
call_followed(const Call *call, FollowRank least)
{
    const Follower *f = callable_followers(call->object);
    if (f == NULL && PyErr_Occurred()) return ANSWER_ERROR;
    for (; f != NULL; f = f->next) {
        Answer answer = f->rank < least ? ANSWER_NO : f->follow(call, f->row);
        if (answer != ANSWER_NO) return answer;
    }
    return ANSWER_NO;
}
