/* What package quickjs calls of the engine. Values cross by value; texts are
   bytes and a length. Whoever gets a value owns it, but for parameters, which stay
   the caller's unless a comment says that they are consumed. */
#ifndef QUOIN_SHIM_H
#define QUOIN_SHIM_H

#include <stddef.h>
#include <stdint.h>

#include "heap.h"

#ifndef QUOIN_ENGINE /* outside of the engine a value is opaque */
typedef struct qn_value {
    uint64_t payload;
    int64_t tag;
} qn_value;
#endif

/* qn_limits is wire.Limits. C does not read it. */
typedef struct qn_limits {
    uint64_t memory_bytes;
    uint32_t value_bytes, nodes, depth, output_items;
} qn_limits;

/* qn_control lies at the start of the arena. It is type control of control_linux.go. */
typedef struct qn_control {
    uint64_t magic;
    qn_heap heap;
    uintptr_t rt, ctx;
    uint64_t full, kill;
    qn_limits limits;
    uint64_t loaded, settled, lost;
    qn_value start, settle, fire, drain, rejections;
    qn_value cell;
    uint64_t cell_column;
} qn_control;

enum { QN_END_NONE, QN_END_DEADLINE, QN_END_MEMORY };

/* What the guest asks of Go. */
enum { QN_ASK_FILE, QN_ASK_URL, QN_ASK_EXTRA, QN_ASK_UTF8, QN_ASK_RANDOM };

typedef struct qn_text {
    char *bytes; /* NULL: no text */
    size_t size;
} qn_text;

enum { QN_TEXTS = 4 };

/* The life of the engine. */
int qn_init(qn_control *c);            /* makes runtime and context; 0, or -1 without memory */
void qn_adopt(void);
void qn_enter(int64_t remaining, int ended); /* a turn goes on: nanoseconds until its deadline, or 0 */
int qn_leave(void);                    /* and stops: why the guest was ended, or QN_END_NONE */
void qn_collect(void);                 /* a full collection */
int qn_quiescent(void);                /* no guest code is on the stack */
uint64_t qn_collect_at(void);
void qn_set_collect_at(uint64_t n);
void qn_seed(uint64_t state);          /* of Math.random */
uint64_t qn_random_state(void);
void qn_poll(void);

/* Guest code. */
qn_value qn_compile(const char *src, size_t n, const char *name);
qn_value qn_run(qn_value code);        /* consumes code */
qn_value qn_call(qn_value f, int argc, qn_value *argv);
qn_value qn_prelude(const char *src, size_t n, const char *name);
int qn_run_jobs(int most);             /* how many ran; -1: an exception escaped one */

/* Values. */
void qn_dup(qn_value v);
void qn_free(qn_value v);
qn_value qn_new_string(const char *s, size_t n);
qn_value qn_new_natives(void);         /* the object through which the prelude reaches the engine */
qn_value qn_get(qn_value obj, const char *name);
int qn_is_function(qn_value v);
int qn_is_error(qn_value v);
int qn_is_proxy(qn_value v);
qn_value qn_to_string(qn_value v);
qn_value qn_exception(void);           /* takes the pending exception */
qn_value qn_own_data(qn_value obj, const char *name);   /* an own data property; no guest code runs */
qn_value qn_prototype(qn_value obj);
char *qn_text_of(qn_value v, size_t *n); /* UTF-8 of a string, or NULL with an exception */
void qn_free_text(char *s);

/* Errors that the engine makes of mistakes. */
uintptr_t qn_thrower(void);            /* the frame that runs if it is of the guest's own code, or 0 */
int qn_is_local(uintptr_t frame, const char *name, size_t n);
void qn_throw(qn_value v);             /* makes v the pending exception and consumes it */
void qn_set_message(qn_value obj, qn_value text); /* consumes text */
const char *qn_source(qn_value f, size_t *n); /* the text of a function of the guest's, or NULL */

#endif
