interface JSON {
  /** Node.js has had JSON.rawJSON since version 21; TypeScript does not declare it yet. */
  rawJSON: (text: string) => unknown;
}
