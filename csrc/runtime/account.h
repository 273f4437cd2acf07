/* Private to runtime/: what compiling may cost; see account.c. */
#ifndef PYCOMPILE_RUNTIME_ACCOUNT_H
#define PYCOMPILE_RUNTIME_ACCOUNT_H

#include "../clock.h"
#include "runtime.h"

/* The account of one function's code under one config.  All times in ns. */
typedef struct {
    int64_t plain_ns;    /* CPython's time in its calls, as far as no plan covered them, … */
    int64_t plain_calls; /* … and how many these are */
    int64_t paid_ns;     /* what captures in it have cost */
    int64_t saved_ns;    /* what its plans have saved, by the model */
    int64_t price_ns;    /* what the next capture is expected to cost; 0: by the code's length */
    int64_t promised_ns; /* the least that the call at hand is expected to take */
    int64_t known_ns;    /* what its plans saved in a former process; below 0: there were none */
    int32_t stride;      /* of so many calls one is timed; 0: it was not called yet */
    int32_t untimed;     /* calls until the next one that is timed */
    int32_t skips;       /* the last result of account_skips */
    bool tried;          /* something was captured, … */
    bool fruitless;      /* … the last time in vain */
    bool installed;      /* code of an installed package, in a whole program */
    bool running;        /* a timed call is under way: calls inside are part of it */
} Account;

/* The clock by which calls and captures are measured: this one, or a test's. */
int64_t account_clock(clockid_t clock);

/* Does the account decide about captures under this config?  Else they come at once, and the C
   compiler is waited for. */
bool account_decides(const Config *config);
/* While reports are collected, each place gets its first plan at once, and its compiler is waited
   for.  May it get another one?  Yes, until compiling has taken as long as the program and one
   second more. */
bool account_explains(const Config *config);
/* Rule 2 alone: for a loop that is running, whose turns to come are what pays. */
bool account_affords(const Account *account, int instrs);
/* May code of so many Instrs be captured now? */
bool account_allows(const Account *account, int instrs);
/* Calls of 2 us or less. */
bool account_is_short(const Account *account);
/* Calls of 20 us or less, of which a capture has come to nothing. */
bool account_is_vain(const Account *account);
/* Likewise, and of 2 us or less. */
bool account_is_hopeless(const Account *account);
/* When a capture that has begun at that time has to end, and the instructions that it may follow.
   Under a test's clock, which stands still meanwhile, it takes what it takes. */
int64_t account_until(const Account *account, int instrs, int64_t began);
int64_t account_effort(const Account *account, int instrs);
/* Known from a former process: what a capture costs there, and what its plans have saved. */
void account_knows(Account *account, int64_t price_ns, int64_t saved_ns);
/* A capture has taken so long, and waited for the C compiler for `waited_ns` besides.  `fruitful`:
   it came to a plan, or to kernels that are compiled. */
void account_captured(Account *account, int instrs, int64_t ns, int64_t waited_ns, bool fruitful);
/* What plans have saved so far, by the model. */
extern int64_t account_saved_ns;
/* One of its plans has run. */
static inline void
account_saves(Account *account, int64_t ns)
{
    account->saved_ns += ns;
    account_saved_ns += ns;
}
/* A run was undone, or a plan was slower than CPython, by so much. */
void account_lost(int64_t ns);
/* So many jumps of loops were counted: may that go on? */
bool account_counts(int jumps);
/* So many calls of a whole program were looked at, and so many skipped: may that go on? */
bool account_looks(int calls, int skipped);
/* Have its plans saved what it took to look at so many calls, and to skip so many? */
bool account_has_paid(const Account *account, int64_t calls, int64_t skipped);
/* All that compiling has cost this process so far. */
int64_t account_spent(void);

/* Is the next call that CPython runs timed?  Counts the call. */
bool account_times(Account *account);
/* How many calls like this one need not be looked at, at most: the more may change in their work
   while their arguments stay of the same types, the fewer. */
int32_t account_most_skips(PyObject *const *args, Py_ssize_t nargs);
/* How many need not, where nothing is compiled for them: more and more.  Inside a timed
   call of the same function, which is what they are part of, they may take any time. */
int32_t account_skips(Account *account, int32_t most);
/* As account_skips, where nothing is compiled since such calls were refused: to find that again
   costs a microsecond where dicts are guarded. */
int32_t account_skips_refused(Account *account, int32_t most);
/* As account_skips, where nothing may be compiled yet: up to the next one that is timed. */
int32_t account_skips_untimed(Account *account, int32_t most);
/* Of a call that no plan covered; 0: there was none. */
static inline int64_t
account_mean(const Account *account)
{
    return account->plain_ns / Py_MAX(account->plain_calls, 1);
}
/* It took so long. */
void account_plain(Account *account, int64_t ns);

#endif
