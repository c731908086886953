import fc from 'fast-check';

/**
 * Any code point. fast-check's own unit `binary` first lists all of them, which takes each worker a second and 100 MB.
 */
const unit = fc
  .nat({ max: 0x10ffff })
  .map(
    (code) => String.fromCodePoint(code),
    // The way back, without which fast-check draws no names such as __proto__.
    (text) => String(text).codePointAt(0) ?? Number.NaN,
  )
  .filter((text) => text.isWellFormed());

/** Any text without unpaired surrogates, at most 20 code points long. */
export const anyText = fc.string({ unit, maxLength: 20 });
