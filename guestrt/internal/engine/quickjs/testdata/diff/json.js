//// stringify
return [JSON.stringify({ a: undefined, b: () => 1, c: Symbol(), d: NaN, e: -0, f: new Date(0), g: [undefined, () => 1], h: { toJSON: k => 'J' + k }, i: Object(1), j: 'q"\\\n\u2028\ud800' }), JSON.stringify(undefined), JSON.stringify('é'), JSON.stringify(new Map([[1, 2]])), JSON.stringify(Object.create({ x: 1 }))];
//// indent and replacer
const o = { a: [1, { b: 2 }], c: {}, d: [] }; return [JSON.stringify(o, null, 2), JSON.stringify(o, ['a', 'b']), JSON.stringify(o, (k, v) => (typeof v === 'number' ? v * 2 : v)), JSON.stringify([1], null, '--'), JSON.stringify({ a: 1 }, null, 20)];
//// parse
return [JSON.parse('{"a":[1,-2.5e3,true,null,"\\u0041\\n"]}'), JSON.parse(' 1 '), JSON.parse('"\\ud83d\\ude00"'), JSON.parse('{"__proto__":1}'), Object.keys(JSON.parse('{"b":1,"a":2,"1":3,"b":4}'))];
//// reviver
return [JSON.parse('{"a":[1,2],"b":{"c":3}}', (k, v) => (typeof v === 'number' ? v + 1 : v)), JSON.parse('[1,2,3]', (k, v) => (v === 2 ? undefined : v)), JSON.parse('{"d":"1970-01-01T00:00:00.000Z"}', (k, v) => (k === 'd' ? new Date(v).getTime() : v))];
//// parse errors
return ['', '{', '[1,]', '{"a":1,}', "{'a':1}", 'undefined', '01', '1.', '.5', '"\t"', '"\\x41"', '[1 2]', 'nul', '{"a"}', '1 2', '\u00a01'].map(s => { try { return ['ok', JSON.parse(s)]; } catch (e) { return e.name + ': ' + e.message; } });
//// cycles
const a = {}; a.a = a; const b = []; b.push({ b }); return [a, b].map(x => { try { return JSON.stringify(x); } catch (e) { return [e.name, e.message.split('\n')[0]]; } });
//// round trip of big data
const o = { rows: Array.from({ length: 300 }, (_, i) => ({ id: i, name: 'n' + i, tags: ['a', 'b'], nested: { x: i / 3 } })) }; const s = JSON.stringify(o); return [s.length, JSON.stringify(JSON.parse(s)) === s];
