/* The functions of the object through which the prelude reaches the engine. */

enum { MAX_PATH = 1024 }; /* bytes of the path of a virtual file */

/* ask hands texts to Go and returns its answer as a string, or undefined. */
static JSValue ask(JSContext *ctx, int kind, qn_text *in)
{
    qn_text out = {NULL, 0};
    if (!turn.running)
        return JS_UNDEFINED;
    turn.nested++;
    int found = quoinAsk(kind, in, &out);
    turn.nested--;
    if (!found)
        return JS_UNDEFINED;
    JSValue v = JS_NewStringLen(ctx, out.bytes ? out.bytes : "", out.size);
    free(out.bytes);
    return v;
}

/* take_texts reads those arguments that are strings. It is false with an exception. */
static bool take_texts(JSContext *ctx, int n, JSValueConst *argv, qn_text *in)
{
    for (int i = 0; i < n; i++) {
        in[i] = (qn_text){NULL, 0};
        if (JS_IsString(argv[i]) && !(in[i].bytes = (char *)JS_ToCStringLen(ctx, &in[i].size, argv[i])))
            return false;
    }
    return true;
}

static void give_texts(JSContext *ctx, int n, qn_text *in)
{
    for (int i = 0; i < n; i++)
        JS_FreeCString(ctx, in[i].bytes);
}

static JSValue ask_texts(JSContext *ctx, int kind, int n, JSValueConst *argv)
{
    qn_text in[QN_TEXTS] = {{NULL, 0}};
    JSValue v = JS_EXCEPTION;
    if (take_texts(ctx, n, argv, in))
        v = in[0].bytes ? ask(ctx, kind, in) : JS_UNDEFINED;
    give_texts(ctx, n, in);
    return v;
}

/* native_file is native.file(path): the text of a virtual file, or undefined. */
static JSValue native_file(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
    return ask_texts(ctx, QN_ASK_FILE, 1, argv);
}

/* native_url is native.url(href, base, part, value): a JSON array of the parts of a
   URL, or undefined. */
static JSValue native_url(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
    return ask_texts(ctx, QN_ASK_URL, 4, argv);
}

/* native_extra is native.extra(name): the value of a script that the prelude brings
   along for a guest that needs it. */
static JSValue native_extra(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
    char file[128];
    JSValue src = ask_texts(ctx, QN_ASK_EXTRA, 1, argv);
    if (!JS_IsString(src))
        return src;
    qn_text name;
    if (!take_texts(ctx, 1, argv, &name)) {
        JS_FreeValue(ctx, src);
        return JS_EXCEPTION;
    }
    snprintf(file, sizeof file, "quoin:prelude/%s", name.bytes ? name.bytes : "");
    give_texts(ctx, 1, &name);
    size_t n;
    const char *text = JS_ToCStringLen(ctx, &n, src);
    JS_FreeValue(ctx, src);
    if (!text)
        return JS_EXCEPTION;
    JSValue v = qn_prelude(text, n, file);
    JS_FreeCString(ctx, text);
    return v;
}

/* buffer_part finds the part of a buffer that arguments name: buffer, offset, length.
   Without one it is false and sets what to answer. */
static bool buffer_part(JSContext *ctx, JSValueConst *argv, qn_text *part, JSValue *answer)
{
    size_t size = 0;
    *answer = JS_UNDEFINED;
    if (!turn.running || JS_VALUE_GET_TAG(argv[1]) != JS_TAG_INT || JS_VALUE_GET_TAG(argv[2]) != JS_TAG_INT)
        return false;
    uint8_t *p = JS_GetArrayBuffer(ctx, &size, argv[0]);
    if (!p) {
        if (JS_HasException(ctx))
            *answer = JS_EXCEPTION;
        return false;
    }
    int64_t from = JS_VALUE_GET_INT(argv[1]), n = JS_VALUE_GET_INT(argv[2]);
    if (from < 0 || n <= 0 || from + n > (int64_t)size)
        return false;
    *part = (qn_text){(char *)p + from, n};
    return true;
}

/* native_random is native.random(buffer, offset, length). */
static JSValue native_random(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
    qn_text part[QN_TEXTS];
    JSValue answer;
    return buffer_part(ctx, argv, part, &answer) ? ask(ctx, QN_ASK_RANDOM, part) : answer;
}

/* native_utf8 is native.utf8(buffer, offset, length): the text, or undefined if the
   bytes are none in UTF-8. */
static JSValue native_utf8(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
    qn_text part[QN_TEXTS], out;
    JSValue answer;
    if (!buffer_part(ctx, argv, part, &answer))
        return answer;
    turn.nested++;
    int valid = quoinAsk(QN_ASK_UTF8, part, &out);
    turn.nested--;
    return valid ? JS_NewStringLen(ctx, part->bytes, part->size) : JS_UNDEFINED;
}

static const JSCFunctionListEntry natives[] = {
    JS_CFUNC_DEF("file", 1, native_file),
    JS_CFUNC_DEF("error", 2, native_error),
    JS_CFUNC_DEF("extra", 1, native_extra),
    JS_CFUNC_DEF("random", 3, native_random),
    JS_CFUNC_DEF("utf8", 3, native_utf8),
    JS_CFUNC_DEF("url", 4, native_url),
};

JSValue qn_new_natives(void)
{
    JSContext *ctx = CTX;
    JSValue obj = JS_NewObjectProto(ctx, JS_NULL), list = JS_NewArray(ctx);
    control->rejections = list;
    if (JS_IsException(obj) || JS_IsException(list) || JS_SetPrototype(ctx, list, JS_NULL) < 0 ||
        JS_DefinePropertyValueStr(ctx, obj, "rejections", js_dup(list), JS_PROP_C_W_E) < 0)
        return JS_EXCEPTION;
    for (size_t i = 0; i < countof(natives); i++) {
        const JSCFunctionListEntry *e = &natives[i];
        JSValue f = JS_NewCFunction(ctx, e->u.func.cfunc.generic, e->name, e->u.func.length);
        if (JS_DefinePropertyValueStr(ctx, obj, e->name, f, JS_PROP_C_W_E) < 0)
            return JS_EXCEPTION;
    }
    return obj;
}

/* on_rejection appends kind, promise and reason to the prelude's list. */
static void on_rejection(JSContext *ctx, JSValueConst promise, JSValueConst reason, bool handled, void *opaque)
{
    JSValue list = control->rejections;
    int64_t n;
    if (!turn.running || !JS_IsObject(list))
        return;
    if (js_get_length64(ctx, &n, list) < 0 ||
        JS_DefinePropertyValueInt64(ctx, list, n, js_int32(handled), JS_PROP_C_W_E) < 0 ||
        JS_DefinePropertyValueInt64(ctx, list, n + 1, js_dup(promise), JS_PROP_C_W_E) < 0 ||
        JS_DefinePropertyValueInt64(ctx, list, n + 2, js_dup(reason), JS_PROP_C_W_E) < 0) {
        JS_FreeValue(ctx, JS_GetException(ctx));
        control->lost = 1;
    }
}
