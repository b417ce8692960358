//// basic methods
return ['abc'.at(-1), 'abc'.padStart(5, '12'), 'abc'.padEnd(6, 'xy'), ' a '.trim() + '|', ' a'.trimStart(), 'a '.trimEnd(), 'abc'.includes('bc'), 'abc'.startsWith('b', 1), 'abc'.endsWith('b', 2), 'abcabc'.lastIndexOf('c'), 'a-b-c'.replaceAll('-', '+'), 'abc'.substring(2, 0), 'abc'.substr(-2, 1), 'abc'.slice(-2), 'ab'.repeat(3), 'aXbX'.split('X')];
//// unicode
return ['😀'.length, [...'a😀b'], '😀'.codePointAt(0), String.fromCodePoint(128512), '😀'.charCodeAt(1), 'é'.normalize('NFD').length, 'e\u0301'.normalize('NFC').length, 'straße'.toUpperCase(), 'İ'.toLowerCase().length, 'ΑΣ'.toLowerCase(), 'a\ud800'.isWellFormed?.(), 'a\ud800'.toWellFormed?.()];
//// comparison
return ['a' < 'b', 'a' < 'B', 'a'.localeCompare('b'), ['b', 'a', 'C', 'ä'].sort(), '10' < '9', 10 < '9', 'a' === 'a', 'ab' > 'a'];
//// char access and immutability
const s = 'abc'; s[0] = 'x'; s.y = 1; return [s, s[1], s['2'], s[9], s.y, s.length, Object.keys('ab'), '0' in Object('a')];
//// ropes
let s = ''; for (let i = 0; i < 3000; i++) s = i % 2 ? s + i : i + s; return [s.length, s.slice(0, 10), s.charAt(5000), s.indexOf('1234'), s.split('9').length];
//// escapes
return ['\x41\u0042\u{43}\0\v\b\f', 'a\
b', '\'"\`', "\u{1F600}".length, String.raw`\n${1}`];
//// encode and decode
return [encodeURIComponent('a b&ü😀'), decodeURIComponent('%F0%9F%98%80'), encodeURI('http://x/ü?a=b c'), decodeURI('%20%23'), escape('ü ÿ'), unescape('%u0041%20'), (() => { try { encodeURIComponent('\ud800'); } catch (e) { return e.name; } })()];
//// conversion
return [String(null), String([1, [2, 3]]), String({}), String(() => 1), String(Symbol('x')), String(-0), `${[]}`, '' + [null], String(new Error('m')), String(123e20), [undefined, null, 1].join('-')];
//// long strings
const s = 'x'.repeat(100000) + 'é'; return [s.length, s.lastIndexOf('x'), s.slice(-2), s.replace(/x+/, m => m.length), s.toUpperCase().slice(-2), s.split('').length];
//// iteration and search
return [[...'ab'].entries().toArray?.() ?? 'none', 'abcabc'.search('ca'), 'aaa'.indexOf('a', 1), 'x'.concat(1, null), 'abc'.split('', 2), 'a,b'.split(',', -1), 'abc'.localeCompare('abd'), 'A'.codePointAt(), 'abc'.indexOf('')];
//// number to string radix
return [(3.7).toString(2).slice(0, 20), (-255).toString(36), (1e21).toString(7).length, (0.1).toString(3).slice(0, 12), Number('0x10'), (25).toString(36)];
