// String measuring and clipping that no patched prototype can reach.

import {
  apply, charCodeAt, encodeURIText, fromCharCode, matchText, newList, sliceText, stringify, unescapeText,
} from "./intrinsics";

const beyondASCII = /[^\x00-\x7f]/;
const sizeChunk = 16384;
const maxArguments = 4096;

/** Writes a string as a JSON string; lone surrogates come out escaped. */
export function quote(text: string): string {
  return stringify(text);
}

/** Counts the UTF-8 bytes of a string without lone surrogates, such as JSON text. */
export function utf8Size(text: string): number {
  if (matchText(beyondASCII, text) === null) return text.length;
  let size = 0;
  for (let from = 0; from < text.length; ) {
    const to = pairBoundary(text, from + sizeChunk);
    size += unescapeText(encodeURIText(sliceText(text, from, to))).length;
    from = to;
  }
  return size;
}

/** Cuts a string to at most max characters and says how many are missing. */
export function clip(text: string, max: number): string {
  if (text.length <= max) return text;
  const end = pairBoundary(text, max);
  return sliceText(text, 0, end) + "… [" + (text.length - end) + " more characters]";
}

/** Moves an index off the middle of a surrogate pair. */
function pairBoundary(text: string, index: number): number {
  if (index >= text.length) return text.length;
  const before = charCodeAt(text, index - 1);
  return before >= 0xd800 && before <= 0xdbff ? index + 1 : index;
}

/** Makes a string of the first count UTF-16 units in a list. */
export function textOfCodes(codes: number[], count: number): string {
  let text = "";
  for (let from = 0; from < count; from += maxArguments) {
    const chunk = newList();
    const size = count - from < maxArguments ? count - from : maxArguments;
    for (let i = 0; i < size; i++) chunk[i] = codes[from + i];
    text += apply(fromCharCode, undefined, chunk);
  }
  return text;
}
