// Runs one cell in quickjs-wasi and prints {"micros": [...], "check", "bytes"}: of a
// program the processor time, of what is short the wall time, which can be read
// finely enough. Arguments: the program's file or a short cell's name, how often to run it.
import { readFileSync } from "node:fs";
import { QuickJS } from "quickjs-wasi";

const [cell, times] = [process.argv[2], +process.argv[3]];
const wasm = await WebAssembly.compile(readFileSync(new URL(import.meta.resolve("quickjs-wasi/quickjs.wasm"))));
const options = { wasm, memoryLimit: 512 << 20 };

const wall = () => performance.now() * 1000;

function processor() {
  const { user, system } = process.cpuUsage();
  return user + system;
}

async function measure(clock, run) {
  const micros = [];
  let result;
  for (let i = -Math.ceil(times / 10); i < times; i++) {
    const { start, ...rest } = await run();
    result = rest;
    if (i >= 0) micros.push(clock() - start);
    rest.after?.();
  }
  console.log(JSON.stringify({ micros, check: result.check, bytes: result.bytes }));
}

async function value(vm, source) {
  const promise = vm.evalCode(source);
  vm.executePendingJobs();
  const settled = await vm.resolvePromise(promise);
  if ("error" in settled) throw new Error(settled.error.toString());
  return String(vm.dump(settled.value));
}

const suspended = `
  globalThis.call = () => new Promise((resolve) => { globalThis.settle = resolve; });
  (async () => { const r = await call("a", { q: 1 }); globalThis.result = r.v + 1; })();`;

async function suspend() {
  const vm = await QuickJS.create(options);
  vm.evalCode(suspended).dispose();
  vm.executePendingJobs();
  return vm;
}

const short = {
  create: () => measure(wall, async () => {
    const start = wall();
    const vm = await QuickJS.create(options);
    const check = await value(vm, "(async()=>1+1)()");
    vm.dispose();
    return { start, check };
  }),
  snapshot: () => measure(wall, async () => {
    const vm = await suspend();
    const start = wall();
    const bytes = QuickJS.serializeSnapshot(vm.snapshot()).length;
    return { start, bytes, check: "", after: () => vm.dispose() };
  }),
  restore: async () => {
    const vm = await suspend();
    const image = QuickJS.serializeSnapshot(vm.snapshot());
    vm.dispose();
    await measure(wall, async () => {
      const start = wall();
      const vm = await QuickJS.restore(QuickJS.deserializeSnapshot(image), options);
      const settle = vm.global.getProp("settle");
      vm.callFunction(settle, vm.undefined, vm.hostToHandle({ v: 1 })).dispose();
      vm.executePendingJobs();
      const check = String(vm.dump(vm.global.getProp("result")));
      vm.dispose();
      return { start, check };
    });
  },
};

if (cell in short) {
  await short[cell]();
} else {
  const source = "(async()=>{" + readFileSync(cell, "utf8") + "\n})()";
  await measure(processor, async () => {
    const vm = await QuickJS.create(options);
    const start = processor();
    const check = await value(vm, source);
    return { start, check, after: () => vm.dispose() };
  });
}
