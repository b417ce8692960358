// Functions that the engine hands to a patched Promise.prototype.then may be
// called without arguments.
// needs: AsyncDisposableStack
// want: ["function","function"]
const then = Promise.prototype.then;
const kinds = [];
let saved, seen = 0;
Promise.prototype.then = function (ok, no) {
  if (typeof no === 'function') saved = no;
  return Promise.resolve();
};
let s = new AsyncDisposableStack();
s.use(undefined);
s.defer(() => {});
s.disposeAsync();
try { saved(); } catch {}
collect();
refill();
kinds.push(typeof saved);

let last;
Promise.prototype.then = function (ok, no) {
  seen++;
  if (seen === 1) return no({ earlier: 1 });
  if (seen === 2) last = no;
  return Promise.resolve();
};
s = new AsyncDisposableStack();
s.defer(() => undefined);
s.defer(() => { throw { first: 1 }; });
s.disposeAsync();
try { last(); } catch {}
Promise.prototype.then = then;
collect();
refill();
await tools.call('turn');
kinds.push(typeof last);
saved = last = undefined;
collect();
return kinds;
