// Runs the cells in quickjs-wasi and prints one JSON line for each:
// {"cell", "micros", "check", "bytes"}: of programs the processor time, of what is
// short the wall time, which can be read finely enough. Arguments: the folder of the programs,
// how often to run each, how often to run what is short.
import { readFileSync, readdirSync } from "node:fs";
import { QuickJS } from "quickjs-wasi";

const [folder, times, shortTimes] = [process.argv[2], +process.argv[3], +process.argv[4]];
const wasm = await WebAssembly.compile(readFileSync(new URL(import.meta.resolve("quickjs-wasi/quickjs.wasm"))));
const options = { wasm, memoryLimit: 64 << 20 };

const wall = () => performance.now() * 1000;

function processor() {
  const { user, system } = process.cpuUsage();
  return user + system;
}

async function measure(cell, n, clock, run) {
  const micros = [];
  let result;
  for (let i = -Math.ceil(n / 10); i < n; i++) {
    const { start, ...rest } = await run();
    result = rest;
    if (i >= 0) micros.push(clock() - start);
    rest.after?.();
  }
  micros.sort((a, b) => a - b);
  console.log(JSON.stringify({ cell, micros: micros[n >> 1], check: result.check, bytes: result.bytes }));
}

async function value(vm, source) {
  const promise = vm.evalCode(source);
  vm.executePendingJobs();
  const settled = await vm.resolvePromise(promise);
  if ("error" in settled) throw new Error(settled.error.toString());
  return String(vm.dump(settled.value));
}

await measure("create, first result, discard", shortTimes, wall, async () => {
  const start = wall();
  const vm = await QuickJS.create(options);
  const check = await value(vm, "(async()=>1+1)()");
  vm.dispose();
  return { start, check };
});

const suspended = `
  globalThis.call = () => new Promise((resolve) => { globalThis.settle = resolve; });
  (async () => { const r = await call("a", { q: 1 }); globalThis.result = r.v + 1; })();`;

async function suspend() {
  const vm = await QuickJS.create(options);
  vm.evalCode(suspended).dispose();
  vm.executePendingJobs();
  return vm;
}

await measure("snapshot to bytes", shortTimes, wall, async () => {
  const vm = await suspend();
  const start = wall();
  const bytes = QuickJS.serializeSnapshot(vm.snapshot()).length;
  return { start, bytes, after: () => vm.dispose() };
});

const vm = await suspend();
const image = QuickJS.serializeSnapshot(vm.snapshot());
vm.dispose();

await measure("restore from bytes, finish, discard", shortTimes, wall, async () => {
  const start = wall();
  const vm = await QuickJS.restore(QuickJS.deserializeSnapshot(image), options);
  const settle = vm.global.getProp("settle");
  vm.callFunction(settle, vm.undefined, vm.hostToHandle({ v: 1 })).dispose();
  vm.executePendingJobs();
  const check = String(vm.dump(vm.global.getProp("result")));
  vm.dispose();
  return { start, check };
});

for (const file of readdirSync(folder).sort()) {
  const source = "(async()=>{" + readFileSync(folder + "/" + file, "utf8") + "\n})()";
  await measure(file, times, processor, async () => {
    const vm = await QuickJS.create(options);
    const start = processor();
    const check = await value(vm, source);
    return { start, check, after: () => vm.dispose() };
  });
}
