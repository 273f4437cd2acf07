/* The loops of a plan: what one turn leaves becomes what the next begins with.

   Arrays are carried as objects, so that what leaves the loop is the very array that Python would
   leave, an input's among them.  A turn makes its arrays in memory to which only the pool refers: a
   library function that was given an array may have kept it. */
#include "plan.h"

#include <alloca.h>

typedef struct {
    PyObject *object; /* NULL: a number */
    char *data;
    char number[BOX_BYTES];
} Carried;

/* What the buffers hold at the end of the turn; new references. */
static Answer
read_carried(Run *run, const PlanCarry *step, Carried *carried)
{
    for (int i = 0; i < step->nmoves; i++) {
        PlanPlace from = step->from[i];
        const Type *type = &run->plan->buffers[step->to[i]].type;
        carried[i].object = NULL;
        if (type->form != FORM_ARRAY) {
            memcpy(carried[i].number, run->data[from.buffer] + run_size(run, from.offset),
                   dtype_size((DType)type->dtype));
            continue;
        }
        PyObject *object = run_buffer_object(run, from.buffer);
        if (object == NULL) {
            while (i-- > 0) Py_XDECREF(carried[i].object);
            return ANSWER_ERROR;
        }
        carried[i].object = Py_NewRef(object);
        carried[i].data = run->data[from.buffer];
    }
    return ANSWER_YES;
}

/* An array that would be let go here for good, though its end may run code of the program: the
   plan ends like any that finds an assumption false. */
static bool
ends_aloud(const Run *run, const PlanCarry *step)
{
    for (int i = 0; i < step->nmoves; i++) {
        PyObject *old = run->object[step->to[i]];
        if (old != NULL && Py_REFCNT(old) == 1 && !array_ends_quietly(old)) return true;
    }
    return false;
}

static void
write_carried(Run *run, const PlanCarry *step, const Carried *carried)
{
    for (int i = 0; i < step->nmoves; i++) {
        int to = step->to[i];
        DType dtype = (DType)run->plan->buffers[to].type.dtype;
        if (carried[i].object == NULL) {
            memcpy(run->data[to], carried[i].number, dtype_size(dtype));
            continue;
        }
        Py_XSETREF(run->object[to], carried[i].object);
        run->data[to] = carried[i].data;
    }
}

static void
let_go(Run *run, int count, const int32_t *buffers)
{
    for (int i = 0; i < count; i++) {
        PyObject *object = run->object[buffers[i]];
        if (object != NULL && (Py_REFCNT(object) > 1 || array_ends_quietly(object)))
            Py_CLEAR(run->object[buffers[i]]);
    }
}

/* An array of the pool that nobody else has, else the first that is not made yet; where all are in
   use, a new one takes the place of one of them. */
static Answer
take_block(Run *run, const PlanCarry *step, int fresh)
{
    const Type *type = &run->plan->buffers[fresh].type;
    int last = -1;
    for (int i = 0; i < step->npool; i++) {
        int block = step->pool[i];
        if (!type_same_layout(&run->plan->buffers[block].type, type)) continue;
        if (last < 0 || run->object[last] != NULL) last = block;
        if (run->object[block] == NULL || Py_REFCNT(run->object[block]) > 1) continue;
        last = block;
        break;
    }
    if (run->object[last] == NULL || Py_REFCNT(run->object[last]) > 1) {
        Py_CLEAR(run->object[last]);
        Answer made = run_make_array(run, last);
        if (made != ANSWER_YES) return made;
    }
    run->data[fresh] = array_data(run->object[last]);
    Py_XSETREF(run->object[fresh], Py_NewRef(run->object[last]));
    return ANSWER_YES;
}

Answer
run_carry(Run *run, const PlanCarry *step)
{
    Carried *carried = alloca(sizeof(Carried) * (size_t)(step->nmoves + 1));
    Answer answer = read_carried(run, step, carried);
    if (answer == ANSWER_YES && ends_aloud(run, step)) {
        for (int i = 0; i < step->nmoves; i++) Py_XDECREF(carried[i].object);
        answer = ANSWER_NO;
    }
    if (answer != ANSWER_YES) return answer;
    write_carried(run, step, carried);
    let_go(run, step->ndropped, step->dropped);
    let_go(run, step->nfresh, step->fresh);
    for (int i = 0; i < step->nfresh && answer == ANSWER_YES; i++)
        answer = take_block(run, step, step->fresh[i]);
    return answer;
}
