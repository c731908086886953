/** Makes text from elsewhere, such as a log or a template, ready to be printed. */

/**
 * Escapes the control characters of a text from elsewhere, such as a server or a file's name, except tabs and line
 * breaks, and those that reverse text. Otherwise they could, for example, clear the terminal, change its title, or
 * overwrite what was printed before.
 * @example printable('\u001b[2J') === '\\u001b[2J'
 */
export const printable = (text: string): string =>
  text.replaceAll(
    /[^\P{Cc}\n\t]|\p{Bidi_Control}/gu,
    (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

/** Returns the message of an error, ready to be printed. */
export const messageOf = (error: unknown): string => printable(error instanceof Error ? error.message : String(error));

/** Returns a logical id without the hash that CDK appends to it. */
export const withoutHash = (logicalId: string): string => logicalId.replace(/[0-9A-F]{8}$/, '');
