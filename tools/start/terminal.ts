/** Makes text from elsewhere safe to print: what a server, a file or a file's name says. */

/**
 * Escapes the control characters of a text, except tabs and line breaks. Otherwise they could, for example, clear the
 * terminal, change its title, or overwrite what was printed before.
 * @example printable('\u001b[2J') === '\\u001b[2J'
 */
export const printable = (text: string): string =>
  text.replaceAll(/[^\P{Cc}\n\t]/gu, (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** Returns the message of an error that ends a command, ready to be printed. */
export const messageOf = (error: unknown): string => printable(error instanceof Error ? error.message : String(error));
