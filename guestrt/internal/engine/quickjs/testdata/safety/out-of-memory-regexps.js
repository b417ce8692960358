// A regular expression that cannot be compiled for want of memory writes
// nothing behind its code, and one that was compiled has its group names.
// parts: 60
// want: "done"
const sources = [
  'a|b|c|dd|(e|f)|[g-z]', '(?<year>\\d{4})-(?<month>\\d\\d)|(?<day>x)', '(?=a(?!b|c))d|(?<=e(f|g))h',
  '(a*?){2,3}|(?:b{1,5}c+)?', '[^a-zé字]{3}|.|\\p{Lu}', '((((a)|b)|c)|d)\\1|\\2', '(?<a>.)\\k<a>|^$|\\bq', '(?<=(a|b|c)(d|e))f|x',
  '[\\u{1F600}-\\u{1F64F}]|é|(?:)', 'x'.repeat(300) + '|' + 'y|'.repeat(60),
  // The code in front of the bar all but fills its buffer, and the buffer its block.
  'x'.repeat(91) + '|y', 'x'.repeat(92) + '|y',
];
const flags = ['', 'iu', 'v', 'dgs', 'y'][part % 5];
for (let room = from; room < 3200; room += roomStep) {
  const re = within(room, () => new RegExp(sources[part / 5 | 0], flags));
  if (!(re instanceof RegExp)) continue;
  within(room, () => re.exec('2024-01'));
  const m = re.exec('2024-01 aab');
  if (m?.groups) Object.keys(m.groups);
}
collect();
await tools.call('turn');
return refill().length === 3000 ? 'done' : 'lost';
