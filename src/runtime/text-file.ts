import { readFileSync } from 'node:fs'

/**
 * Reads a text file that a person wrote: UTF-8 with or without a byte order mark, or UTF-16 with one, as editors and shells of Windows
 * write them. The mark is no part of the text: in front of the first name of a `.env`, it would hide that setting.
 * @throws Error if the file is neither
 */
export function readTextFile(file: string): string {
  return decodeText(readFileSync(file))
}

/** @throws Error if the bytes are no text in UTF-8 or UTF-16 */
function decodeText(bytes: Uint8Array): string {
  const [first, second] = bytes
  const encoding =
    first === 0xff && second === 0xfe ? 'utf-16le' : first === 0xfe && second === 0xff ? 'utf-16be' : 'utf-8'
  const text = decode(bytes, encoding)
  if (text === undefined || text.includes('\0'))
    throw new Error('it is not text in UTF-8 or in UTF-16 with a byte order mark. Save it as UTF-8')
  return text
}

function decode(bytes: Uint8Array, encoding: string): string | undefined {
  try {
    // The decoder removes the byte order mark.
    return new TextDecoder(encoding, { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}
