/* The life of the engine, its limits, and entering guest code. */

enum {
    POLL_EVERY = 500,      /* calls and backward branches between two polls */
    STACK_BYTES = 4 << 20, /* nests no program less deep than the default engine does */
};

static size_t stack_bytes = STACK_BYTES; /* at most half of what a thread has */

/* enter sets the bounds of the stack: each call from Go may come on another
   thread. Go that C called is deeper on the same stack, which keeps its bounds. */
static void enter(void)
{
    if (turn.nested)
        return;
    FORGET_FRAMES();
    RT->stack_top = js_get_stack_pointer();
    RT->stack_limit = RT->stack_top - stack_bytes;
}

static void measure_stack(void)
{
    struct rlimit most;
    if (!getrlimit(RLIMIT_STACK, &most) && most.rlim_cur != RLIM_INFINITY && most.rlim_cur / 2 < stack_bytes)
        stack_bytes = most.rlim_cur / 2;
}

static int64_t monotonic(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* bound_collection keeps the collector's threshold below the memory limit, as
   boundCollection of control_linux.go does. */
static inline void bound_collection(void)
{
    qn_heap *h = &control->heap;
    JSRuntime *rt = RT;
    if (!rt || rt->malloc_gc_threshold <= h->limit || h->live > h->limit)
        return;
    uint64_t room = h->limit - h->live;
    uint64_t t = h->limit - (h->limit < 64 ? h->limit : 64);
    if (room > h->limit / 16)
        t = h->live + room / 2;
    rt->malloc_gc_threshold = t;
}

/* crossed notes that an allocation was refused: the first time the guest gets the
   reserve to handle it, the second time it must stop. */
static void crossed(void)
{
    if (control->heap.limit < control->full)
        control->heap.limit = control->full;
    else
        control->kill = 1;
}

static void *arena_malloc(void *opaque, size_t n)
{
    void *p = heap_malloc(&control->heap, n);
    if (unlikely(!p))
        crossed();
    else
        bound_collection();
    return p;
}

static void *arena_calloc(void *opaque, size_t count, size_t size)
{
    void *p = arena_malloc(opaque, count * size); /* the engine checked the product */
    if (p)
        memset(p, 0, count * size);
    return p;
}

static void arena_free(void *opaque, void *p) { heap_free(&control->heap, p); }

static void *arena_realloc(void *opaque, void *p, size_t n)
{
    void *q = heap_realloc(&control->heap, p, n);
    if (unlikely(!q))
        crossed();
    else
        bound_collection();
    return q;
}

static const JSMallocFunctions arena_functions = {
    arena_calloc, arena_malloc, arena_free, arena_realloc, heap_usable,
};

static int over(void)
{
    if (turn.ended == QN_END_NONE) {
        if (control->kill)
            turn.ended = QN_END_MEMORY;
        else if (turn.deadline && monotonic() >= turn.deadline)
            turn.ended = QN_END_DEADLINE;
    }
    return turn.ended;
}

static int on_interrupt(JSRuntime *rt, void *opaque)
{
    CTX->interrupt_counter = POLL_EVERY;
    return turn.running && over() != QN_END_NONE;
}

static JSModuleDef *refuse_module(JSContext *ctx, const char *name, void *opaque)
{
    JS_ThrowTypeError(ctx, "%s", refused_module);
    return NULL;
}

/* What the default engine does not have: functions that show the prelude's own in a
   stack, and what no text of Quoin's speaks of. */
static const char surplus[] =
    "delete Error.captureStackTrace;delete Error.prepareStackTrace;delete Error.stackTraceLimit;"
    "delete globalThis.DisposableStack;delete globalThis.AsyncDisposableStack;delete globalThis.SuppressedError;"
    "delete ArrayBuffer.prototype.immutable;delete ArrayBuffer.prototype.sliceToImmutable;"
    "delete ArrayBuffer.prototype.transferToImmutable;delete Iterator.zip;delete Iterator.zipKeyed";

/* new_context adds what the guest may have; the prelude brings the rest. */
static JSContext *new_context(JSRuntime *rt)
{
    JSContext *ctx = JS_NewContextRaw(rt);
    if (!ctx)
        return NULL;
    if (JS_AddIntrinsicBaseObjects(ctx) || JS_AddIntrinsicDate(ctx) || JS_AddIntrinsicEval(ctx) ||
        JS_AddIntrinsicRegExp(ctx) || JS_AddIntrinsicJSON(ctx) || JS_AddIntrinsicProxy(ctx) ||
        JS_AddIntrinsicMapSet(ctx) || JS_AddIntrinsicTypedArrays(ctx) || JS_AddIntrinsicPromise(ctx) ||
        JS_AddIntrinsicWeakRef(ctx))
        return NULL;
    JSValue deleted = JS_Eval(ctx, surplus, sizeof surplus - 1, "surplus", JS_EVAL_TYPE_GLOBAL);
    return JS_IsException(deleted) ? NULL : ctx;
}

int qn_init(qn_control *c)
{
    control = c;
    JSRuntime *rt = JS_NewRuntime2(&arena_functions, NULL);
    if (!rt)
        return -1;
    c->rt = (uintptr_t)rt;
    measure_stack();
    enter();
    JSContext *ctx = new_context(rt);
    if (!ctx)
        return -1;
    c->ctx = (uintptr_t)ctx;
    JS_SetCanBlock(rt, false);
    JS_SetInterruptHandler(rt, on_interrupt, NULL);
    JS_SetHostPromiseRejectionTracker(rt, on_rejection, NULL);
    JS_SetModuleLoaderFunc(rt, NULL, refuse_module, NULL);
    c->cell = JS_UNDEFINED;
    return 0;
}

void qn_collect(void)
{
    enter();
    JS_RunGC(RT);
}

/* qn_quiescent also forgets where the stack is, which no image needs to say. */
int qn_quiescent(void)
{
    RT->stack_top = RT->stack_limit = 0;
    return RT->current_stack_frame == NULL;
}

uint64_t qn_collect_at(void) { return RT->malloc_gc_threshold; }
void qn_set_collect_at(uint64_t n) { RT->malloc_gc_threshold = n; }
void qn_seed(uint64_t state) { CTX->random_state = state; }

uint64_t qn_random_state(void) { return CTX->random_state; }

/* qn_clock is the time that the guest sees, in milliseconds since 1970. Before a turn
   it is 0: a template has no time. */
static int64_t qn_clock(void)
{
    if (!turn.running)
        return 0;
    turn.nested++;
    int64_t now = quoinNow();
    turn.nested--;
    return now;
}
void qn_poll(void) { CTX->interrupt_counter = POLL_EVERY; }

void qn_adopt(void)
{
#ifdef __SANITIZE_ADDRESS__
    expose_blocks(&control->heap);
#endif
}

void qn_enter(int64_t remaining, int ended)
{
    turn.running = true;
    turn.ended = ended;
    turn.nested = 0; /* a panic of Go leaves these as they were */
    frames_left = INT_MAX;
    turn.deadline = 0;
    if (remaining) {
        int64_t now = monotonic();
        turn.deadline = remaining < INT64_MAX - now ? now + remaining : INT64_MAX;
    }
}

int qn_leave(void)
{
    turn.running = false;
    return turn.ended;
}

JSValue qn_compile(const char *src, size_t n, const char *name)
{
    enter();
    return JS_Eval(CTX, src, n, name, JS_EVAL_TYPE_GLOBAL | JS_EVAL_FLAG_COMPILE_ONLY);
}

JSValue qn_run(JSValue code)
{
    enter();
    return JS_EvalFunction(CTX, code);
}

JSValue qn_call(JSValue f, int argc, JSValue *argv)
{
    enter();
    return JS_Call(CTX, f, JS_UNDEFINED, argc, vc(argv));
}

int qn_run_jobs(int most)
{
    JSContext *ctx;
    int n = 0;
    enter();
    for (; n < most && over() == QN_END_NONE && !control->lost; n++) {
        int r = JS_ExecutePendingJob(RT, &ctx);
        if (r < 0)
            return r;
        if (r == 0)
            break;
    }
    return n;
}

/* hide marks every function of a compiled script as the prelude's: a stack ends
   before it, and it keeps no text. */
static void hide(JSValueConst code)
{
    if (JS_VALUE_GET_TAG(code) != JS_TAG_FUNCTION_BYTECODE)
        return;
    JSFunctionBytecode *b = JS_VALUE_GET_PTR(code);
    b->backtrace_barrier = 1;
    js_free(CTX, b->source);
    b->source = NULL;
    b->source_len = 0;
    for (int i = 0; i < b->cpool_count; i++)
        hide(b->cpool[i]);
}

JSValue qn_prelude(const char *src, size_t n, const char *name)
{
    JSValue code = qn_compile(src, n, name);
    if (JS_IsException(code))
        return code;
    hide(code);
    return qn_run(code);
}
