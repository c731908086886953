import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { unzipSync } from 'fflate';

// The other realpathSync takes `link/..` for the folder that the link is in.
const realPath = realpathSync.native;

type File = { name: string; content: string | Uint8Array; mode?: number | undefined };

/** Unzips assets that are zip files, each once, to a temporary folder. Code in a template gets such a folder, too. */
export class Archives {
  readonly #folders = new Map<string, string>();

  /** Returns the folder `asset`, or a folder with the files in `asset`.zip if only that file exists. */
  folderOf(asset: string): string {
    const archive = `${asset}.zip`;
    if (existsSync(asset) || !existsSync(archive)) return asset;
    return this.#folders.get(archive) ?? this.#write(archive, archive, () => filesIn(readFileSync(archive)));
  }

  /** Returns a folder with `code` in its index.js. */
  folderOfCode(code: string): string {
    const files = () => [{ name: 'index.js', content: code }];
    return this.#folders.get(code) ?? this.#write(code, 'The code in the template', files);
  }

  remove = (): void => {
    process.removeListener('exit', this.remove);
    for (const folder of this.#folders.values()) rmSync(folder, { recursive: true, force: true });
  };

  #write(source: string, name: string, readFiles: () => File[]): string {
    const folder = realPath(mkdtempSync(path.join(os.tmpdir(), 'http-api-emulator-')));
    try {
      // Links come last, so that nothing is written through one.
      const files = readFiles().toSorted((one, other) => Number(isLink(one)) - Number(isLink(other)));
      for (const file of files) mkdirSync(parentIn(folder, file), { recursive: true });
      for (const file of files) writeIn(folder, file);
      for (const file of files) checkLink(folder, file);
    } catch (error) {
      rmSync(folder, { recursive: true });
      const reason = error instanceof Error ? error.message.replaceAll(`${folder}/`, '') : error;
      throw new Error(`${name} cannot be unpacked: ${reason}`, { cause: error });
    }
    if (this.#folders.size === 0) process.on('exit', this.remove);
    this.#folders.set(source, folder);
    return folder;
  }
}

const isLink = ({ mode = 0 }: File): boolean => mode >> 12 === 0o12;

const isInside = (folder: string, file: string): boolean => `${file}/`.startsWith(`${folder}/`);

const outside = (name: string): Error => new Error(`it has a file outside of it: ${name}`);

/** The folder of a file. @throws Error if it is outside */
const parentIn = (folder: string, { name }: File): string => {
  const place = path.join(folder, name);
  const parent = name.endsWith('/') ? path.resolve(place) : path.dirname(place);
  if (isInside(folder, parent)) return parent;
  throw outside(name);
};

/** Writes a file of a zip file. The content of a link is its target. @throws Error if that is outside */
const writeIn = (folder: string, file: File): void => {
  const { name, content, mode = 0 } = file;
  const place = path.join(folder, name);
  const target = isLink(file) ? Buffer.from(content).toString() : '';
  const isOutside = target !== '' && !isInside(folder, path.resolve(path.dirname(place), target));
  if (isOutside) throw outside(name);
  if (target !== '') symlinkSync(target, place);
  else if (!name.endsWith('/')) writeFileSync(place, content, { mode: mode & 0o100 ? 0o755 : 0o644 });
};

/** @throws Error if a link leads out of the folder through other links */
const checkLink = (folder: string, file: File): void => {
  const place = path.join(folder, file.name);
  if (isLink(file) && existsSync(place) && !isInside(folder, realPath(place))) throw outside(file.name);
};

/** Reads the files in a zip file. fflate leaves out their modes, which the central directory has: APPNOTE.TXT, 4.3.12 */
const filesIn = (zip: Buffer): File[] => {
  const contents = unzipSync(zip);
  const end = zip.lastIndexOf('PK\x05\x06');
  let header = zip.readUInt32LE(end + 16);
  const modes = new Map<string, number>();
  for (let left = zip.readUInt16LE(end + 10); left > 0; left--) {
    const [name = 0, extra = 0, comment = 0] = [28, 30, 32].map((field) => zip.readUInt16LE(header + field));
    const isUtf8 = (zip.readUInt16LE(header + 8) & 0x800) > 0;
    modes.set(zip.toString(isUtf8 ? 'utf8' : 'latin1', header + 46, header + 46 + name), zip.readUInt16LE(header + 40));
    header += 46 + name + extra + comment;
  }
  return Object.entries(contents).map(([name, content]) => ({ name, content, mode: modes.get(name) }));
};
