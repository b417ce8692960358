/* A guest's stacks show the guest's own frames, and the errors that the prelude
   makes are made as if its caller had made them. */

enum { MAX_OWN_FRAMES = 32 }; /* in the stack of an error that the prelude makes */

static const char refused_module[] = "code mode module access is disabled.";

static int frames_left = INT_MAX; /* of the stack that is being written */

/* bytecode_of is the code of a function of the guest's or the prelude's. */
static JSFunctionBytecode *bytecode_of(JSValueConst f)
{
    if (JS_VALUE_GET_TAG(f) != JS_TAG_OBJECT || !js_class_has_bytecode(JS_VALUE_GET_OBJ(f)->class_id))
        return NULL;
    return JS_VALUE_GET_OBJ(f)->u.func.function_bytecode;
}

static bool is_hidden(JSStackFrame *sf)
{
    JSFunctionBytecode *b = bytecode_of(sf->cur_func);
    return b && b->backtrace_barrier;
}

/* guest_frame is the nearest frame at or below sf that runs code of the guest's. */
static JSStackFrame *guest_frame(JSStackFrame *sf)
{
    while (sf && (is_hidden(sf) || !bytecode_of(sf->cur_func)))
        sf = sf->prev_frame;
    return sf;
}

/* function_name is the own name of a function, or the class's name that it inherits. */
static const char *function_name(JSContext *ctx, JSValueConst f)
{
    JSProperty *pr;
    if (JS_VALUE_GET_TAG(f) != JS_TAG_OBJECT)
        return NULL;
    JSObject *p = JS_VALUE_GET_OBJ(f);
    JSShapeProperty *prs = find_own_property(&pr, p, JS_ATOM_name);
    if (!prs) {
        p = p->shape->proto;
        prs = p ? find_own_property(&pr, p, JS_ATOM_name) : NULL;
    }
    if (!prs || (prs->flags & JS_PROP_TMASK) != JS_PROP_NORMAL || JS_VALUE_GET_TAG(pr->u.value) != JS_TAG_STRING)
        return NULL;
    return JS_ToCString(ctx, pr->u.value);
}

static void write_frame(JSContext *ctx, DynBuf *out, JSStackFrame *sf)
{
    const char *name = function_name(ctx, sf->cur_func);
    dbuf_printf(out, "    at %s", name && *name ? name : "<anonymous>");
    JS_FreeCString(ctx, name);
    JSFunctionBytecode *b = bytecode_of(sf->cur_func);
    if (!b) {
        dbuf_printf(out, " (native)");
    } else if (b->filename) {
        int col = 1, line = -1;
        const char *file = JS_AtomToCString(ctx, b->filename);
        if (sf->cur_pc)
            line = find_line_num(ctx, b, sf->cur_pc - b->byte_code_buf - 1, &col);
        dbuf_printf(out, " (%s", file ? file : "<null>");
        JS_FreeCString(ctx, file);
        if (line > 0)
            dbuf_printf(out, ":%d:%d", line, col);
        dbuf_putc(out, ')');
    }
    dbuf_putc(out, '\n');
}

static void define_hidden(JSContext *ctx, JSValueConst obj, const char *name, JSValue v)
{
    if (!JS_IsException(v))
        JS_DefinePropertyValueStr(ctx, obj, name, v, JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE);
}

/* define_place says where a text does not parse. */
static void define_place(JSContext *ctx, JSValueConst error, const char *file, int line, int col)
{
    define_hidden(ctx, error, "fileName", JS_NewString(ctx, file));
    define_hidden(ctx, error, "lineNumber", js_int32(line));
    define_hidden(ctx, error, "columnNumber", js_int32(col));
}

/* thrower is the frame that runs if it is of the guest's own code. */
static JSStackFrame *thrower(JSRuntime *rt)
{
    JSStackFrame *sf = rt->current_stack_frame;
    return sf && bytecode_of(sf->cur_func) && !is_hidden(sf) ? sf : NULL;
}

/* explain lets Go add to the message of an error that the engine has made for a
   statement of the guest's. */
static void explain(JSContext *ctx, JSValue error, JSValue stack)
{
    if (!turn.running || turn.nested || turn.ended || !thrower(ctx->rt))
        return;
    turn.nested++;
    quoinExplain(&error, &stack);
    turn.nested--;
}

/* build_backtrace takes the place of the engine's: a stack ends before a function
   of the prelude's, has no other bound than that, and runs no code of the guest's. */
static void build_backtrace(JSContext *ctx, JSValueConst error, JSValueConst filter, const char *file,
                            int line, int col, int flags)
{
    JSRuntime *rt = ctx->rt;
    if (JS_IsUndefined(ctx->error_back_trace))
        ctx->error_back_trace = JS_NULL; /* it is asked for once */
    if (rt->in_build_stack_trace || !can_add_backtrace(error))
        return;
    rt->in_build_stack_trace = true;
    JSValue obj = js_dup(error), pending = rt->current_exception;
    rt->current_exception = JS_UNINITIALIZED;

    DynBuf out;
    js_dbuf_init(ctx, &out);
    if (file) {
        dbuf_printf(&out, "    at %s", file);
        if (line != -1)
            dbuf_printf(&out, ":%d:%d", line, col);
        dbuf_putc(&out, '\n');
        define_place(ctx, obj, file, line, col);
    }
    int left = frames_left;
    for (JSStackFrame *sf = rt->current_stack_frame; sf && left > 0 && !is_hidden(sf); sf = sf->prev_frame) {
        if (flags & JS_BACKTRACE_FLAG_SKIP_FIRST_LEVEL) {
            flags &= ~JS_BACKTRACE_FLAG_SKIP_FIRST_LEVEL;
            continue;
        }
        write_frame(ctx, &out, sf);
        left--;
    }
    JSValue stack = dbuf_error(&out) ? JS_NULL : JS_NewStringLen(ctx, (char *)out.buf, out.size);
    dbuf_free(&out);
    if (JS_IsException(stack))
        stack = JS_NULL;
    define_hidden(ctx, obj, "stack", js_dup(stack));
    explain(ctx, obj, stack);
    JS_FreeValue(ctx, stack);

    JS_FreeValue(ctx, rt->current_exception);
    rt->current_exception = pending;
    JS_FreeValue(ctx, obj);
    rt->in_build_stack_trace = false;
}

/* native_error is native.error(message, constructor): an error whose stack starts
   with the guest function that called the prelude. */
static JSValue native_error(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
    JSRuntime *rt = ctx->rt;
    JSStackFrame *top = rt->current_stack_frame;
    rt->current_stack_frame = guest_frame(top);
    frames_left = MAX_OWN_FRAMES;
    JSValue error = JS_CallConstructor(ctx, argv[1], 1, argv);
    frames_left = INT_MAX;
    rt->current_stack_frame = top;
    return error;
}

uintptr_t qn_thrower(void) { return (uintptr_t)thrower(RT); }

/* qn_is_local tells whether name is a variable of the program in the function of a
   frame. Then it is not one of Quoin's globals. */
int qn_is_local(uintptr_t frame, const char *name, size_t n)
{
    JSFunctionBytecode *b = bytecode_of(((JSStackFrame *)frame)->cur_func);
    if (!b)
        return 1;
    JSAtom atom = JS_NewAtomLen(CTX, name, n);
    int found = 0;
    for (int i = 0; b->vardefs && i < b->arg_count + b->var_count && !found; i++)
        found = b->vardefs[i].var_name == atom;
    for (int i = 0; i < b->closure_var_count && !found; i++) {
        JSClosureVar *v = &b->closure_var[i];
        found = v->var_name == atom && v->closure_type <= JS_CLOSURE_REF;
    }
    JS_FreeAtom(CTX, atom);
    return found;
}

void qn_throw(JSValue v) { JS_Throw(CTX, v); }
void qn_set_message(JSValue obj, JSValue text) { define_hidden(CTX, obj, "message", text); }

const char *qn_source(JSValue f, size_t *n)
{
    JSFunctionBytecode *b = bytecode_of(f);
    *n = b && b->source ? b->source_len : 0;
    return *n ? b->source : NULL;
}
