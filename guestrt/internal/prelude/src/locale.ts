// The engine has no Intl, and ignores what only Intl could heed: a value would be wrong
// without an error.

import * as $ from "./intrinsics";
import { typeError } from "./raise";

/** Has the methods that take options for Intl refuse them. */
export function refuseLocaleOptions(): void {
  for (let i = 0; i < $.localeMethods.length; i++) {
    const { on, name, plain } = $.localeMethods[i]!;
    const compares = name === "localeCompare";
    const instead = compares ? "compare numbers by a - b, and texts in lower case" : "use toFixed, padStart, getUTC* or toISOString";
    const { body } = {
      body(this: unknown, first: unknown, second: unknown, third: unknown) {
        if ((compares ? third : second) === undefined) {
          const found = plain(this, first);
          return compares ? +(found > 0) - +(found < 0) : found;
        }
        throw typeError(name + " takes no options here, where there is no Intl: " + instead);
      },
    };
    $.define(body, "name", name, false, false);
    $.define(body, "length", compares ? 1 : 0, false, false);
    $.define(on, name, body, false, true);
  }
}
