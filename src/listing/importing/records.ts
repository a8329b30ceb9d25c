/** One record of a file, or why there is none at this place. Lines are counted from 1. */
export type FileRecord = { line: number; fields: Record<string, unknown> } | { line: number; fault: string }

/** Longest record that is looked at, in bytes. */
export const longestRecord = 1024 * 1024

/** Decodes UTF-8. @throws TypeError when it is none. */
export function decodeUtf8(bytes: Uint8Array): string {
  return decoder.decode(bytes)
}

const decoder = new TextDecoder('utf-8', { fatal: true })
