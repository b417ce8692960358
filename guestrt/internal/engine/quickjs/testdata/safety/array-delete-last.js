// The last element of an array is deleted and another one is pushed: the place
// of the first stays empty.
// want: [3,false,true,"y",1]
const a = [{ v: 'w' }, { v: 'x' }];
delete a[1];
a.push({ v: 'y' });
const later = refill();
collect();
await tools.call('turn');
const f = function () { delete arguments[1]; collect(); return arguments.length - (1 in arguments ? 1 : 2) + 1; };
return [a.length, 1 in a, 2 in a, a[2].v, f({}, {}) + later.length - 3000];
