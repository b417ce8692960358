// What kind of object a value is.

/** The built-in classes whose instances do not convert as plain objects. */
export const enum Kind {
  Plain,
  Error,
  Date,
  Map,
  Set,
  RegExp,
  TypedArray,
  ArrayBuffer,
  DataView,
  Boxed,
  Promise,
  /** What stands for something else than data. */
  Resource,
}
