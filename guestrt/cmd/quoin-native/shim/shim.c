/* The engine and what Quoin adds, in one translation unit: the shim reads the
   engine's own structures. */
#define NDEBUG
#include "quickjs.c"

#include <sys/resource.h>

/* The engine forbids these to itself. */
#undef malloc
#undef free
#undef realloc

#define QUOIN_ENGINE
typedef JSValue qn_value;
#include "shim.h"

_Static_assert(sizeof(JSValue) == 16, "values cross as 16 bytes");

static qn_control *control; /* the arena's, at the same address in every process */

/* turn is the state of the turn that runs. It is no part of an image. */
static struct {
    bool running;     /* a guest may run */
    int ended;        /* QN_END_… */
    int nested;       /* calls of Go that are under way */
    int64_t deadline; /* nanoseconds of the monotonic clock, or 0 */
} turn;

#define RT ((JSRuntime *)control->rt)
#define CTX ((JSContext *)control->ctx)

/* Package quickjs exports these. They run no guest code. ask returns 1 and sets
   *out, which is malloc's, and 0 without an answer. */
extern int quoinAsk(int kind, qn_text *in, qn_text *out);
extern void quoinExplain(JSValue *error, JSValue *stack);
extern int64_t quoinNow(void);

/* Entered from natives.c. */
JSValue qn_prelude(const char *src, size_t n, const char *name);

#include "heap.c"
#include "errors.c"
#include "natives.c"
#include "engine.c"
#include "values.c"
