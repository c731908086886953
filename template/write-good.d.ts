declare module 'write-good' {
  /** Runs write-good's checks, except those whose option is false. `index` is a finding's position in the text. */
  export default function writeGood(
    text: string,
    options: { passive?: boolean; weasel?: boolean; adverb?: boolean; so?: boolean; whitelist?: string[] },
  ): { index: number; reason: string }[];
}
