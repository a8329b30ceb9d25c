import type { ReactNode } from 'react'
import { Time } from '../../ui/index.ts'
import type { ListField } from './lists.ts'

const times = new Set<ListField['type']>(['time', 'milliseconds', 'timestamp'])
const numbers = new Set<ListField['type']>(['integer', 'bigint', 'number', 'real', 'numeric'])
const codes = new Set<ListField['type']>(['uuid', 'json'])

export const isNumber = ({ type }: ListField): boolean => numbers.has(type)
export const isTime = (type: ListField['type']): boolean => times.has(type) || type === 'timeText'

/** A value in a table: short, with all of it on hover. Numbers are shown as they are stored, since some are exact texts. */
export function cellOf({ type }: Pick<ListField, 'type'>, value: unknown): ReactNode {
  if (value === null || value === undefined) return <span className="text-soft">—</span>
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (times.has(type) && !Number.isNaN(Date.parse(String(value)))) return <Time value={String(value)} />
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
  return (
    <span title={text} className={codes.has(type) ? 'font-mono text-sm' : undefined}>
      {text === '' ? <span className="text-soft">empty</span> : text}
    </span>
  )
}

/** A value by itself: all of it. */
export function valueOf(field: Pick<ListField, 'type'>, value: unknown): ReactNode {
  if (typeof value === 'object' && value !== null)
    return (
      <pre className="overflow-auto rounded-md bg-sunken p-2 font-mono text-sm whitespace-pre-wrap">
        {JSON.stringify(value, null, 2)}
      </pre>
    )
  if (times.has(field.type) && typeof value === 'string')
    return (
      <>
        {cellOf(field, value)} <span className="font-mono text-sm text-soft">{value}</span>
      </>
    )
  return <span className="break-words whitespace-pre-wrap">{cellOf(field, value)}</span>
}
