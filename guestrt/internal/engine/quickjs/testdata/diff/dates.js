//// construction in UTC
return [new Date(0).toISOString(), new Date(Date.UTC(2024, 1, 29, 12, 30, 15, 123)).toJSON(), new Date('2024-02-30T00:00:00Z').getTime(), new Date('2020-01-01').getTime(), new Date(8.64e15).toISOString(), new Date(8.64e15 + 1).getTime(), Date.UTC(99, 0), new Date(NaN).getTime()];
//// getters in UTC
const d = new Date('2023-12-31T23:59:59.999Z'); return [d.getUTCFullYear(), d.getUTCMonth(), d.getUTCDate(), d.getUTCDay(), d.getUTCHours(), d.getUTCMinutes(), d.getUTCSeconds(), d.getUTCMilliseconds(), d.valueOf()];
//// setters in UTC
const d = new Date(0); d.setUTCFullYear(2024); d.setUTCMonth(14, 31); d.setUTCHours(25, 61, 61, 1001); return [d.toISOString(), d.setUTCDate(0), d.setTime(5), +d];
//// parsing
return ['2024-01-02', '2024-01-02T03:04:05Z', '2024-01-02T03:04:05+02:00', '+012345-01-01T00:00:00Z', 'Tue, 02 Jan 2024 03:04:05 GMT', 'x', '', '2024-13-01', '2024-01-02T25:00:00Z'].map(s => Date.parse(s));
//// arithmetic and coercion
const a = new Date(1000), b = new Date(500); return [a - b, a > b, typeof (a + b), +a, JSON.stringify({ a }), a[Symbol.toPrimitive]('number'), isNaN(new Date('x'))];
//// invalid dates
try { new Date(NaN).toISOString(); } catch (e) { return [e.name, e.message, String(new Date(NaN)), JSON.stringify(new Date(NaN))]; }
//// calendar walk
const r = []; for (let d = new Date(Date.UTC(2024, 1, 27)); r.length < 5; d.setUTCDate(d.getUTCDate() + 1)) r.push(d.toISOString().slice(0, 10)); return r;
