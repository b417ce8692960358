// A suspended generator that only its own arguments object or a closure in a
// default value reaches stays alive. Both captured its parameters before the
// generator object existed.
// want: ["kept","kept",3,3,"kept",3]
let one, two, three;
(() => {
  const make = function* (a) { one = arguments; yield 1; yield 3; };
  const word = { text: 'kept' };
  word.g = make(word);
  word.g.next();
})();
await (async () => {
  const make = async function* (a) { two = arguments; yield 1; yield 3; };
  const word = { text: 'kept' };
  word.g = make(word);
  await word.g.next();
})();
(() => {
  const make = function* (a, keep = three = () => a) { yield 1; yield 3; };
  const word = { text: 'kept' };
  word.g = make(word);
  word.g.next();
})();
collect();
const later = refill();
await tools.call('turn');
collect();
const out = [one[0].text, two[0].text];
out.push(one[0].g.next().value, (await two[0].g.next()).value);
out.push(three().text, three().g.next().value);
one = two = three = undefined;
collect();
return later.length === 3000 ? out : 'lost';
