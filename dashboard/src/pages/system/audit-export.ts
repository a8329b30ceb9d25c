import { api } from '../../api/client.ts'
import type { AuditQuery } from './audit-query.ts'

/** Entries of one file. */
export const mostExported = 5_000

const columns = [
  'at',
  'action',
  'code',
  'userId',
  'userName',
  'actor',
  'actorName',
  'target',
  'targetName',
  'address',
  'supportId',
] as const

/** The entries that the filters show, as CSV (RFC 4180), newest first. @param onCount called with the number so far */
export async function auditCsv(
  query: AuditQuery,
  onCount: (count: number) => void,
  signal: AbortSignal,
): Promise<string> {
  const lines = [columns.join(',')]
  for await (const entry of api.list('/audit', { query: { ...query, limit: '100' }, signal })) {
    lines.push(columns.map((column) => cell(entry[column])).join(','))
    if (lines.length % 100 === 1) onCount(lines.length - 1)
    if (lines.length > mostExported) break
  }
  return `${lines.join('\r\n')}\r\n`
}

/** A quote before =, +, - and @ keeps spreadsheets from reading a formula. */
function cell(value: string | null): string {
  const text = value ?? ''
  const safe = /^[=+\-@\t]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** Saves a text as a file. */
export function download(text: string, name: string, type: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}
