import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { unzipSync } from 'fflate';

/** Unzips assets that are zip files, each once, to a temporary folder. Code in a template gets such a folder, too. */
export class Archives {
  readonly #folders = new Map<string, string>();

  /** Returns the folder `asset`, or a folder with the files in `asset`.zip if only that file exists. */
  folderOf(asset: string): string {
    const archive = `${asset}.zip`;
    if (existsSync(asset) || !existsSync(archive)) return asset;
    return this.#folders.get(archive) ?? this.#unzip(archive);
  }

  /** Returns a folder with `code` in its index.js. */
  folderOfCode(code: string): string {
    return this.#folders.get(code) ?? this.#write(code, [['index.js', code]]);
  }

  remove = (): void => {
    process.removeListener('exit', this.remove);
    for (const folder of this.#folders.values()) rmSync(folder, { recursive: true, force: true });
  };

  #unzip(archive: string): string {
    const files = Object.entries(unzipSync(readFileSync(archive)));
    const [outside] = files.find(([name]) => path.normalize(name).startsWith('..')) ?? [];
    if (outside !== undefined) throw new Error(`${archive} has a file outside of it: ${outside}`);
    return this.#write(archive, files);
  }

  #write(source: string, files: [name: string, content: string | Uint8Array][]): string {
    if (this.#folders.size === 0) process.on('exit', this.remove);
    const folder = mkdtempSync(path.join(os.tmpdir(), 'http-api-emulator-'));
    for (const [name, content] of files) {
      const file = path.join(folder, name);
      mkdirSync(path.dirname(file), { recursive: true });
      if (!name.endsWith('/')) writeFileSync(file, content);
    }
    this.#folders.set(source, folder);
    return folder;
  }
}
