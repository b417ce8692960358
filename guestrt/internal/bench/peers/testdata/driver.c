/* Runs one program in QuickJS in C, with the library's own allocator, and prints
   {"micros": [...], "check": "..."}: the processor time of each run, each in a
   runtime of its own. Arguments: the program's file, how often to run it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "quickjs.h"

static double micros(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

static void fail(JSContext *ctx, const char *what)
{
    const char *text = ctx ? JS_ToCString(ctx, JS_GetException(ctx)) : NULL;
    fprintf(stderr, "%s: %s\n", what, text ? text : "");
    exit(1);
}

/* The program as the body of an async function that is called. */
static char *read_program(const char *name, size_t *len)
{
    static const char head[] = "(async()=>{", tail[] = "\n})()";
    FILE *f = fopen(name, "rb");
    if (!f || fseek(f, 0, SEEK_END))
        fail(NULL, name);
    long n = ftell(f);
    rewind(f);
    char *text = malloc(sizeof(head) + n + sizeof(tail));
    if (!text)
        fail(NULL, name);
    memcpy(text, head, sizeof(head) - 1);
    if (fread(text + sizeof(head) - 1, 1, n, f) != (size_t)n)
        fail(NULL, name);
    memcpy(text + sizeof(head) - 1 + n, tail, sizeof(tail));
    fclose(f);
    *len = sizeof(head) - 1 + n + sizeof(tail) - 1;
    return text;
}

static double run(const char *text, size_t len, char *check, size_t size)
{
    JSRuntime *rt = JS_NewRuntime();
    JSContext *ctx = rt ? JS_NewContext(rt) : NULL, *job;
    if (!ctx)
        fail(NULL, "no runtime");
    double start = micros();
    JSValue promise = JS_Eval(ctx, text, len, "cell.js", JS_EVAL_TYPE_GLOBAL);
    int r = 1;
    while (!JS_IsException(promise) && (r = JS_ExecutePendingJob(rt, &job)) > 0)
        ;
    if (r < 0 || JS_IsException(promise))
        fail(ctx, "exception");
    JSValue result = JS_PromiseResult(ctx, promise);
    const char *s = JS_ToCString(ctx, result);
    double took = micros() - start;
    if (!s || JS_PromiseState(ctx, promise) != JS_PROMISE_FULFILLED) {
        fprintf(stderr, "the program did not return: %s\n", s ? s : "");
        exit(1);
    }
    snprintf(check, size, "%s", s);
    JS_FreeCString(ctx, s);
    JS_FreeValue(ctx, result);
    JS_FreeValue(ctx, promise);
    JS_FreeContext(ctx);
    JS_FreeRuntime(rt);
    return took;
}

int main(int argc, char **argv)
{
    char check[128];
    size_t len;
    if (argc != 3)
        fail(NULL, "usage: driver FILE TIMES");
    char *text = read_program(argv[1], &len);
    int times = atoi(argv[2]);
    run(text, len, check, sizeof(check)); /* does not count */
    printf("{\"micros\": [");
    for (int i = 0; i < times; i++)
        printf("%s%.1f", i ? ", " : "", run(text, len, check, sizeof(check)));
    printf("], \"check\": \"%s\"}\n", check);
    return 0;
}
