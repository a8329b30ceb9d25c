import type { ReactNode } from 'react'
import { Time } from '../../ui/index.ts'
import { isTime } from './field-types.ts'
import type { ListField } from './lists.ts'

const codes = new Set<ListField['type']>(['uuid', 'json'])

/** Whether the value is a time with a zone. SQLite's texts can lack one: they are shown as stored. */
function isInstant(type: ListField['type'], value: unknown): boolean {
  const text = String(value)
  if (type === 'timeText' && !/(?:Z|[+-]\d\d:?\d\d)$/.test(text)) return false
  return isTime(type) && !Number.isNaN(Date.parse(text))
}

/** A value in a table: short, with all of it on hover. Numbers are shown as they are stored, since some are exact texts. */
export function cellOf({ type }: Pick<ListField, 'type'>, value: unknown): ReactNode {
  if (value === null || value === undefined) return <span className="text-soft">–</span>
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (isInstant(type, value)) return <Time value={String(value)} />
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
  if (typeof value === 'string' && isInstant(field.type, value))
    return (
      <>
        {cellOf(field, value)} <span className="font-mono text-sm text-soft">{value}</span>
      </>
    )
  return <span className="break-words whitespace-pre-wrap">{cellOf(field, value)}</span>
}
