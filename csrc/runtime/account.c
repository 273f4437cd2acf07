/* What compiling may cost: one account for the process.

   A call is CPython's until compiling what it does has been earned.  The rules, with P the expected
   price of a capture (passes, lowering and loading included; the C compiler runs beside the program
   and is not waited for):

     1. A function's code is captured when CPython has spent TIMES * (P + what captures in it have
        cost so far) in its calls; or P alone, while the process has spent less than its ALLOWANCE;
        or when the call at hand alone is expected to take that long, as its loops tell; or when
        its plans have saved that much in former processes (prices.c).
     2. Whatever rule 1 says: all captures of the process together cost at most one part in SHARE of
        its own code's time, and the ALLOWANCE; beyond UNPAID of that, half of what plans have saved
        and one part in LEAST_SHARE of the time.  In a whole program code of installed packages gets
        half of all that, since most of it never has a plan, and what it takes to look at the
        program's calls is part of the cost.
     3. A capture that comes to nothing doubles the price of the next one of that code; one that
        takes twice its price, or needs more instructions than that buys, ends, and begins again
        when that can be afforded. What captures of that code have cost and its plans have not saved
        raises TIMES: where each call is of another kind, ever fewer get plans.

   Rule 2 is the bound.  With e the time so far, p the plain program's and s what was spent,
   s <= e / 12 + 20 ms and e <= p + s, so s <= p / 11 + 22 ms: within p / 10 + 30 ms there are 8 ms
   for what the last capture has taken longer than expected; where that may be more, it has to be
   afforded.  Rule 1 divides it: what is called
   often and takes long comes first.  P is learnt: the time per Instr of this process's captures so
   far.

   Captures are priced by the time in which their thread ran, and what was waited for.  The clock
   is read around calls of 20 us or more; of shorter ones, around one of some that stands
   for the others.  Under `fullgraph`, with options that ask for plans at once (mode "wait",
   plan_always, a backend of the program's) and while reports are collected the account decides
   nothing. */
#include "account.h"

#include "cache.h"
#include "hooks.h"

enum {
    TIMES = 10,
    TIMES_UNPAID = 4, /* more for each P that captures have cost and plans have not saved */
    ALLOWANCE = 20000000,
    LOOKING = 4000000,     /* of the allowance: to look at a whole program's calls, … */
    LOOKED_SHARE = 100,    /* … and one part in so many of the time; … */
    LOOKED_NS = 1000,      /* … a call, which the interpreter does not enter directly either */
    SKIPPED_NS = 200,      /* … and one that is skipped */
    LOOKED_GRACE = 100000, /* until plans can have paid for looks */
    SPARED = 8000000,      /* of the bound's 30 ms: for a capture that takes longer than expected */
    EXPLAINING = 1000000000, /* what a report may take beyond the program's own time */
    SHARE = 12,              /* of the time so far, one part in so many, … */
    UNPAID = 20000000,       /* … but once that is more, and plans have saved nothing, … */
    LEAST_SHARE = 50,        /* … only one in so many */
    FIRST_PRICE = 1500000,   /* what the first capture of a process needs besides */
    PRICE_PER_INSTR = 30000, /* until captures have told */
    LEAST_PRICE = 300000,
    FOLLOW_NS = 1500, /* to follow an instruction; a capture follows more than the code has */
    LEAST_FOLLOWED = 4096,
    LEAST_NS = 4000000, /* that a capture may take */
    MOST_PRICE_BITS = 40,
    CHEAP_NS = 2000,  /* calls for which the clock is dear, … */
    SHORT_NS = 20000, /* … and those for which it is not nothing */
    CHEAP_STRIDE = 32,
    SHORT_STRIDE = 4,
    FRESH_NS = 1000000,
    COUNTED_NS = 100,  /* a jump of a loop that is counted: live.c */
    LEFT_ARRAYS = 32,  /* calls of 2 us or less that are not looked at: their arrays may grow, … */
    LEFT_OTHERS = 256, /* … or arrays in what they are called with, … */
    LEFT_SCALARS = 1 << 14, /* … or nothing but numbers */
    SKIPS_SHORT = 16,       /* of 2 to 20 us, that were refused */
};

int64_t account_saved_ns;
static int64_t began_ns, began_ran_ns, spent_ns, looked_ns;
static int64_t learnt_ns, learnt_instrs; /* of captures: decayed sums */

static int64_t pretended_ns; /* for tests: the clock; 0: the real one */
static int64_t tick_ns;      /* by which it moves on when a call or a capture begins or ends */

static int64_t
now_of(clockid_t clock)
{
    return pretended_ns > 0 ? pretended_ns : clock_of(clock);
}

/* The account begins with the first code of the program's own that might be captured: what is
   imported before may take longer than all the rest, and has nothing to earn. */
static void
begin(void)
{
    if (began_ns != 0) return;
    began_ns = now_of(CLOCK_MONOTONIC);
    began_ran_ns = now_of(CLOCK_PROCESS_CPUTIME_ID);
}

/* Since then: the time in which the process ran, as captures are priced, but no more than has gone
   by, where several threads ran.  The process's clock takes a system call, a microsecond that a
   function of less cannot spend at each of its calls: what it said last is a little less. */
static int64_t
elapsed(void)
{
    static int64_t read_ns, last;
    if (began_ns == 0) return 0;
    int64_t now = now_of(CLOCK_MONOTONIC);
    if (pretended_ns == 0 && now - read_ns < FRESH_NS) return last;
    read_ns = now;
    return last = Py_MIN(now - began_ns, now_of(CLOCK_PROCESS_CPUTIME_ID) - began_ran_ns);
}

int64_t
account_clock(clockid_t clock)
{
    if (pretended_ns == 0) return clock_of(clock);
    return pretended_ns += tick_ns;
}

bool
account_decides(const Config *config)
{
    return config->sample && !config->wait && !config->fullgraph && !config->plan_always &&
           !config->capture_all && config->backend_call == NULL && !report_wanted();
}

/* Rule 2. */
static int64_t
affordable(void)
{
    int64_t time = elapsed();
    int64_t proven = UNPAID + account_saved_ns / 2 + time / LEAST_SHARE;
    return ALLOWANCE + Py_MIN(time / SHARE, proven);
}

bool
account_counts(int jumps)
{
    spent_ns += (int64_t)jumps * COUNTED_NS;
    return spent_ns <= affordable() / 2;
}

bool
account_has_paid(const Account *account, int64_t calls, int64_t skipped)
{
    return account->saved_ns + LOOKED_GRACE >= calls * LOOKED_NS + skipped * SKIPPED_NS;
}

bool
account_looks(int calls, int skipped)
{
    int64_t ns = (int64_t)calls * LOOKED_NS + (int64_t)skipped * SKIPPED_NS;
    looked_ns += ns;
    spent_ns += ns;
    return looked_ns <= LOOKING + elapsed() / LOOKED_SHARE;
}

bool
account_explains(const Config *config)
{
    begin();
    return !report_wanted() || !config->sample || config->fullgraph ||
           spent_ns <= elapsed() + EXPLAINING;
}

void
account_lost(int64_t ns)
{
    spent_ns += ns;
}

int64_t
account_spent(void)
{
    return spent_ns;
}

static int64_t
price_of(const Account *account, int instrs)
{
    if (account->price_ns > 0) return account->price_ns;
    if (learnt_instrs == 0) return FIRST_PRICE + (int64_t)instrs * PRICE_PER_INSTR;
    return LEAST_PRICE + learnt_ns / learnt_instrs * instrs;
}

bool
account_affords(const Account *account, int instrs)
{
    if (!account->installed) begin();
    int64_t price = price_of(account, instrs);
    int64_t most = Py_MAX(price, 2 * price - SPARED); /* it may take twice as long as expected */
    return spent_ns + most <= affordable() / (account->installed ? 2 : 1);
}

bool
account_allows(const Account *account, int instrs)
{
    int64_t price = price_of(account, instrs);
    int64_t here = account->plain_ns + account->promised_ns;
    int64_t unpaid = Py_MAX(account->paid_ns - account->saved_ns, 0);
    int64_t times = TIMES + TIMES_UNPAID * unpaid / price;
    if (!account->installed) begin();
    bool earned = here >= times * (account->paid_ns + price) ||
                  (!account->tried && account->known_ns >= TIMES * price) ||
                  (account->known_ns >= 0 && here >= account->paid_ns + price &&
                   spent_ns + price <= ALLOWANCE / 2);
    return earned && account_affords(account, instrs) && background_has_room();
}

bool
account_is_short(const Account *account)
{
    return account->stride == CHEAP_STRIDE;
}

bool
account_is_vain(const Account *account)
{
    bool vain = account->tried ? account->fruitless : account->known_ns < 0;
    return vain && account->stride > 1;
}

bool
account_is_hopeless(const Account *account)
{
    return account_is_vain(account) && account_is_short(account);
}

static int64_t
account_most(const Account *account, int instrs)
{
    return Py_MAX(2 * price_of(account, instrs), LEAST_NS);
}

int64_t
account_until(const Account *account, int instrs, int64_t began)
{
    return pretended_ns > 0 ? INT64_MAX : began + account_most(account, instrs);
}

int64_t
account_effort(const Account *account, int instrs)
{
    return Py_MAX(2 * price_of(account, instrs) / FOLLOW_NS, LEAST_FOLLOWED);
}

void
account_knows(Account *account, int64_t price_ns, int64_t saved_ns)
{
    account->price_ns = price_ns;
    account->known_ns = saved_ns;
}

void
account_captured(Account *account, int instrs, int64_t ns, int64_t waited_ns, bool fruitful)
{
    spent_ns += ns + waited_ns;
    account->paid_ns += ns + waited_ns;
    int64_t once = learnt_instrs == 0 ? Py_MIN(ns / 2, FIRST_PRICE) : 0;
    learnt_ns += ns - once - learnt_ns / 8;
    learnt_instrs += instrs - learnt_instrs / 8;
    account->tried = true;
    account->fruitless = !fruitful;
    int64_t dearer = 2 * Py_MIN(Py_MAX(ns, account->price_ns), (int64_t)1 << MOST_PRICE_BITS);
    account->price_ns = fruitful ? ns : dearer;
}

bool
account_times(Account *account)
{
    if (account->running || --account->untimed > 0) return false;
    return true;
}

int32_t
account_most_skips(PyObject *const *args, Py_ssize_t nargs)
{
    int32_t most = LEFT_SCALARS;
    for (Py_ssize_t i = 0; i < nargs; i++) {
        PyObject *object = args[i];
        if (array_is_exact(object)) return LEFT_ARRAYS;
        bool scalar = PyFloat_CheckExact(object) || PyLong_CheckExact(object) ||
                      PyUnicode_CheckExact(object) || PyBool_Check(object) || object == Py_None;
        if (!scalar) most = LEFT_OTHERS;
    }
    return most;
}

int32_t
account_skips(Account *account, int32_t most)
{
    if (!account->running && account->stride < CHEAP_STRIDE) return 0;
    account->skips = Py_MIN(2 * account->skips + 1, most);
    return account->skips;
}

int32_t
account_skips_refused(Account *account, int32_t most)
{
    bool short_calls = !account->running && account->stride == SHORT_STRIDE;
    return short_calls ? SKIPS_SHORT : account_skips(account, most);
}

int32_t
account_skips_untimed(Account *account, int32_t most)
{
    if (account->running) return account_skips(account, most);
    if (account->stride == 1) return 0;
    int32_t calls = account->untimed;
    account->untimed = 1;
    return calls;
}

void
account_plain(Account *account, int64_t ns)
{
    int32_t calls = Py_MAX(account->stride, 1);
    account->plain_ns += ns * calls;
    account->plain_calls += calls;
    account->stride = ns < CHEAP_NS ? CHEAP_STRIDE : ns < SHORT_NS ? SHORT_STRIDE : 1;
    account->untimed = account->stride;
    account->promised_ns = 0;
}

/* ---- what Python sees: the rules under a clock of the test's ---- */

enum { TESTED = 64 };
static Account tested[TESTED];

/* test_account(now_ns, tick_ns=0, begins=True): afresh at that time, where the account begins;
   calls that are timed and captures take a tick each.  test_account(0): the real clock again. */
static PyObject *
hook_account(PyObject *self, PyObject *args)
{
    (void)self;
    long long now, tick = 0;
    int begins = true;
    if (!PyArg_ParseTuple(args, "L|Lp", &now, &tick, &begins)) return NULL;
    memset(tested, 0, sizeof(tested));
    began_ns = began_ran_ns = spent_ns = looked_ns = learnt_ns = learnt_instrs = account_saved_ns =
        0;
    pretended_ns = now;
    tick_ns = tick;
    if (now > 0 && begins) begin();
    Py_RETURN_NONE;
}

/* test_account_call(number, instrs, now_ns) -> the most that a capture of account `number`
   may take now, 0: there is to be none. */
static PyObject *
hook_account_call(PyObject *self, PyObject *args)
{
    (void)self;
    long long now;
    int number, instrs;
    if (!PyArg_ParseTuple(args, "iiL", &number, &instrs, &now)) return NULL;
    pretended_ns = now;
    const Account *account = &tested[number % TESTED];
    bool may = account_allows(account, instrs);
    return PyLong_FromLongLong(may ? account_most(account, instrs) : 0);
}

/* test_account_plain(number, ns): a call took so long. */
static PyObject *
hook_account_plain(PyObject *self, PyObject *args)
{
    (void)self;
    long long ns;
    int number;
    if (!PyArg_ParseTuple(args, "iL", &number, &ns)) return NULL;
    Account *account = &tested[number % TESTED];
    if (account_times(account)) account_plain(account, ns);
    Py_RETURN_NONE;
}

/* test_account_captured(number, instrs, ns, fruitful). */
static PyObject *
hook_account_captured(PyObject *self, PyObject *args)
{
    (void)self;
    long long ns;
    int number, instrs, fruitful;
    if (!PyArg_ParseTuple(args, "iiLp", &number, &instrs, &ns, &fruitful)) return NULL;
    account_captured(&tested[number % TESTED], instrs, ns, 0, fruitful);
    Py_RETURN_NONE;
}

/* test_account_known(number, price_ns, saved_ns): what a former process has noted. */
static PyObject *
hook_account_known(PyObject *self, PyObject *args)
{
    (void)self;
    long long price, saved;
    int number;
    if (!PyArg_ParseTuple(args, "iLL", &number, &price, &saved)) return NULL;
    account_knows(&tested[number % TESTED], price, saved);
    Py_RETURN_NONE;
}

/* test_account_looks(calls, skipped, now_ns) -> may that go on? */
static PyObject *
hook_account_looks(PyObject *self, PyObject *args)
{
    (void)self;
    long long now;
    int calls, skipped;
    if (!PyArg_ParseTuple(args, "iiL", &calls, &skipped, &now)) return NULL;
    pretended_ns = now;
    return PyBool_FromLong(account_looks(calls, skipped));
}

/* test_account_lost(ns). */
static PyObject *
hook_account_lost(PyObject *self, PyObject *ns)
{
    (void)self;
    account_lost(PyLong_AsLongLong(ns));
    Py_RETURN_NONE;
}

PyMethodDef account_methods[] = {
    {"test_account_known", hook_account_known, METH_VARARGS, NULL},
    {"test_account_lost", hook_account_lost, METH_O, NULL},
    {"test_account_looks", hook_account_looks, METH_VARARGS, NULL},
    {"test_account", hook_account, METH_VARARGS, NULL},
    {"test_account_call", hook_account_call, METH_VARARGS, NULL},
    {"test_account_plain", hook_account_plain, METH_VARARGS, NULL},
    {"test_account_captured", hook_account_captured, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
