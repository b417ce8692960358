/* Values as package quickjs handles them. */

void qn_dup(JSValue v) { js_dup(v); }
void qn_free(JSValue v) { enter(); JS_FreeValue(CTX, v); }
JSValue qn_new_string(const char *s, size_t n) { return JS_NewStringLen(CTX, s, n); }

JSValue qn_get(JSValue obj, const char *name)
{
    enter();
    return JS_GetPropertyStr(CTX, obj, name);
}

int qn_is_function(JSValue v) { return JS_IsFunction(CTX, v); }
int qn_is_error(JSValue v) { return JS_IsError(v); }

int qn_is_proxy(JSValue v)
{
    return JS_VALUE_GET_TAG(v) == JS_TAG_OBJECT && JS_VALUE_GET_OBJ(v)->class_id == JS_CLASS_PROXY;
}

JSValue qn_to_string(JSValue v)
{
    enter();
    return JS_ToString(CTX, v);
}

JSValue qn_exception(void) { return JS_GetException(CTX); }

JSValue qn_own_data(JSValue obj, const char *name)
{
    JSPropertyDescriptor d;
    if (!JS_IsObject(obj) || qn_is_proxy(obj))
        return JS_UNDEFINED;
    enter();
    JSAtom atom = JS_NewAtom(CTX, name);
    if (atom == JS_ATOM_NULL)
        return JS_EXCEPTION;
    int found = JS_GetOwnProperty(CTX, &d, obj, atom);
    JS_FreeAtom(CTX, atom);
    if (found <= 0)
        return found < 0 ? JS_EXCEPTION : JS_UNDEFINED;
    JS_FreeValue(CTX, d.getter);
    JS_FreeValue(CTX, d.setter);
    return d.value;
}

JSValue qn_prototype(JSValue obj) { return JS_GetPrototype(CTX, obj); }

char *qn_text_of(JSValue v, size_t *n)
{
    enter();
    return (char *)JS_ToCStringLen(CTX, n, v);
}

void qn_free_text(char *s) { JS_FreeCString(CTX, s); }
