//// flags and lastIndex
const g = /o/g, r = []; let m; while ((m = g.exec('foo boo'))) r.push(m.index); const y = /o/y; y.lastIndex = 1; return [r, y.test('foo'), y.lastIndex, y.test('foo'), y.test('foo'), y.lastIndex, /a/gimsuy.flags, /a/d.hasIndices];
//// named groups
const m = /(?<y>\d{4})-(?<m>\d\d)/.exec('on 2024-05-06'); return [m.groups.y, { ...m.groups }, m.index, '2024-05'.replace(/(?<y>\d+)-(?<m>\d+)/, '$<m>/$<y>')];
//// lookaround
return ['$1 €2'.match(/(?<=€)\d/)[0], 'ab1'.match(/[a-z](?=\d)/)[0], 'price'.replace(/(?<!p)r/, 'R'), /a(?!b)/.exec('abac').index];
//// backreferences and laziness
return [/(a+?)\1/.exec('aaaa')[0], '<a><b>'.match(/<.+?>/)[0], '<a><b>'.match(/<.+>/)[0], /(?:a|ab)(?:c|bcd)(d*)/.exec('abcd'), /(z)((a+)?(b+)?(c))*/.exec('zaacbbbcac')];
//// unicode
return ['😀'.match(/./u)[0].length, '😀'.match(/./)[0].length, /\p{L}+/u.exec('abcäö1')[0], /\p{Script=Greek}/u.test('α'), /\u{1F600}/u.test('😀'), 'ſ'.match(/S/iu)?.[0], /[^\x00-\x7f]/.test('é'), /^\p{Lu}/u.test('É')];
//// replace with function
return ['a1b2'.replace(/\d/g, d => d * 2), 'abc'.replace(/(?<x>b)/, (m, p1, off, s, g) => JSON.stringify([m, p1, off, s, g])), 'x'.replace(/x/, '[$&$`$\'$$]'), 'aaa'.replaceAll('a', (m, i) => i)];
//// split
return ['a1b2c'.split(/\d/), 'a1b2c'.split(/(\d)/), ''.split(/x/), 'abc'.split(''), 'a,b,c'.split(',', 2), 'test'.split(/(?:)/)];
//// matchAll
return [[...'a1b22'.matchAll(/[a-z](\d+)/g)].map(m => [m[0], m[1], m.index]), (() => { try { 'a'.matchAll(/a/); } catch (e) { return e.name; } })()];
//// match indices
const m = /a(?<b>b)?(c)?/d.exec('xabx'); return [m.indices, m.indices.groups.b];
//// multiline and dotAll
return ['a\nb'.match(/^b$/m)?.[0], /a.b/.test('a\nb'), /a.b/s.test('a\nb'), 'a\r\nb'.split(/\r?\n/)];
//// symbols
class R extends RegExp { [Symbol.replace](s, r) { return 'custom'; } } return ['x'.replace(new R('x'), 'y'), RegExp.prototype[Symbol.split].call(/b/, 'abc'), 'abc'.search(/c/), new R('a', 'g').source];
//// escapes and classes
return [/[\d\-x]+/.exec('a-1x')[0], /\bfoo\b/.test('a foo b'), /[^]/.test('\n'), /\cJ/.test('\n'), /[\b]/.test('\b'), /\x41\u0042/.test('AB'), /a{2,3}/.exec('aaaa')[0], /a{,3}/.test('a{,3}'), String(new RegExp('/', 'g')), new RegExp('').source];
//// sticky with global replace
const r = /a/gy; return ['aab'.replace(r, 'x'), r.lastIndex, 'baa'.replace(/a/gy, 'x')];
//// invalid patterns
return ['(', '[', 'a**', '\\', '(?<a>x)(?<a>y)', '(?<1a>x)', 'a{2,1}', '(?'].map(p => { try { new RegExp(p); return 'ok'; } catch (e) { return e.name + ': ' + e.message; } });
//// v flag
try { return [new RegExp('[\\p{L}--[a-z]]', 'v').test('a'), new RegExp('[\\p{L}--[a-z]]', 'v').test('A')]; } catch (e) { return e.name; }
//// legacy exec on odd receivers
return [RegExp.prototype.toString.call({ source: 'a', flags: 'g' }), (() => { try { RegExp.prototype.exec.call({}, ''); } catch (e) { return e.name + e.message; } })()];
