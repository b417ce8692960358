// RegExp.escape of a string that the engine holds in pieces is that of its
// text.
// needs: RegExp.escape
// want: [true,true]
let rope = '', flat = [];
for (let i = 0; i < 4000; i++) { rope += 'piece.' + i + '*'; flat.push('piece.' + i + '*'); }
const whole = JSON.parse(JSON.stringify(flat.join('')));
await tools.call('turn');
const left = 'x'.repeat(9000), right = 'é'.repeat(9000);
return [RegExp.escape(rope) === RegExp.escape(whole), RegExp.escape(left + right) === RegExp.escape(JSON.parse(JSON.stringify([left, right].join(""))))];
