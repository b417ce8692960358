// A disposer that makes the collector run does not see resources that were
// disposed of before it.
// needs: DisposableStack
// want: ["second","first","null"]
const order = [];
const s = new DisposableStack();
s.adopt({ v: 'first' }, r => { collect(); refill(); order.push(r.v); });
s.use(null);
s.use({ v: 'second', [Symbol.dispose]() { order.push(this.v); } });
await tools.call('turn');
s.dispose();
collect();
const t = new DisposableStack();
t.use({ [Symbol.dispose]() { collect(); order.push('null'); } });
t.use(undefined);
t.use(null);
t.dispose();
collect();
return order;
