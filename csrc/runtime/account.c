/* What compiling may cost: one account for the process.

   A call is CPython's until compiling what it does has been earned.  The rules, with P the expected
   price of a capture (passes, lowering and loading included; the C compiler runs beside the program
   and is not waited for):

     1. A function's code is captured when CPython has spent TIMES * (P + what captures in it have
        cost so far) in its calls; or P alone, while the process has spent less than its ALLOWANCE;
        or when the call at hand alone is expected to take that long, as its loops tell.
     2. Whatever rule 1 says: all captures of the process together cost at most one part in TIMES of
        its time so far, and the ALLOWANCE.
     3. A capture that comes to nothing doubles the price of the next one of that code; one that
        needs more instructions than its price buys ends.

   Rule 2 is the bound: at any moment spent <= elapsed / TIMES + ALLOWANCE + the last capture's
   excess over P, which rule 3 bounds.  Rule 1 divides it: what is called often and takes long comes
   first.  P is learnt: the time per Instr of this process's captures so far.

   The clock is read around calls of 20 us or more; of shorter ones, around one of some that stands
   for the others.  Under `fullgraph`, with options that ask for plans at once (mode "wait",
   plan_always, a backend of the program's) and while reports are collected the account decides
   nothing. */
#include "account.h"

#include "cache.h"

enum {
    TIMES = 10,
    ALLOWANCE = 30000000,
    FIRST_PRICE = 1500000,   /* what the first capture of a process needs besides */
    PRICE_PER_INSTR = 30000, /* until captures have told */
    LEAST_PRICE = 300000,
    FOLLOW_NS = 6000,      /* to follow an instruction; a capture follows more than the code has */
    LEAST_FOLLOWED = 1024,
    MOST_PRICE_BITS = 40,
    CHEAP_NS = 2000, /* calls for which the clock is dear, … */
    SHORT_NS = 20000, /* … and those for which it is not nothing */
    CHEAP_STRIDE = 32,
    SHORT_STRIDE = 4,
    LOOK_EVERY = 1000000,
};

static int64_t began_ns, spent_ns;
static int64_t learnt_ns, learnt_instrs; /* of captures: decayed sums */

static int64_t
elapsed(void)
{
    int64_t now = clock_ns();
    if (began_ns == 0) began_ns = now;
    return now - began_ns;
}

bool
account_decides(const Config *config)
{
    return config->sample && !config->wait && !config->fullgraph && !config->plan_always &&
           !config->capture_all && config->backend_call == NULL && !report_wanted();
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
account_allows(const Account *account, int instrs, bool again)
{
    int64_t price = price_of(account, instrs), most = elapsed() / TIMES + ALLOWANCE;
    if (spent_ns + price > most) return false;
    if (again) return true;
    int64_t here = account->plain_ns + account->promised_ns;
    bool earned = here >= TIMES * (account->paid_ns + price) ||
                  (here >= account->paid_ns + price && spent_ns + price <= ALLOWANCE / 2);
    return earned && background_has_room();
}

int64_t
account_effort(const Account *account, int instrs)
{
    return Py_MAX(2 * price_of(account, instrs) / FOLLOW_NS, LEAST_FOLLOWED);
}

void
account_captured(Account *account, int instrs, int64_t ns, int64_t waited_ns, bool fruitful)
{
    spent_ns += ns;
    account->paid_ns += ns;
    ns -= waited_ns;
    learnt_ns += ns - learnt_ns / 8;
    learnt_instrs += instrs - learnt_instrs / 8;
    account->price_ns = ns;
    int64_t most = (int64_t)1 << MOST_PRICE_BITS;
    if (!fruitful) account->price_ns = Py_MIN(2 * Py_MAX(account->paid_ns, ns), most);
}

bool
account_times(Account *account)
{
    if (account->running || --account->untimed > 0) return false;
    return true;
}

void
account_plain(Account *account, int64_t ns)
{
    account->plain_ns += ns * Py_MAX(account->stride, 1);
    account->stride = ns < CHEAP_NS ? CHEAP_STRIDE : ns < SHORT_NS ? SHORT_STRIDE : 1;
    account->untimed = account->stride;
    account->promised_ns = 0;
}

bool
account_looks(Account *account)
{
    int64_t now = clock_ns();
    if (now - account->looked_ns < LOOK_EVERY) return false;
    account->looked_ns = now;
    return true;
}
