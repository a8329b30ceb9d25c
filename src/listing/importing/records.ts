/** One record of a file, or the fault of its line. Lines are numbered from 1. */
export type FileRecord = { line: number; fields: Record<string, unknown> } | { line: number; fault: string }

/** The longest accepted record, in bytes. */
export const maxRecordLength = 1024 * 1024

/** @throws TypeError for bytes that are not UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string {
  return decoder.decode(bytes)
}

const decoder = new TextDecoder('utf-8', { fatal: true })
