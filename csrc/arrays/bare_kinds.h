#define BARE_MEDIAN ((Bare)(BARE_TAKE + 1))
#define BARE_MAX ((Bare)(BARE_TAKE + 2))
#define BARE_MIN ((Bare)(BARE_TAKE + 3))
#define BARE_SCAN ((Bare)(BARE_TAKE + 4))
Answer bare_number_loop(Bare bare, DType dtype, UfuncLoop *out);
