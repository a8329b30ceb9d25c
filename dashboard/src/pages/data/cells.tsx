import type { ReactNode } from 'react'
import { Time } from '../../ui/index.ts'
import { isTime } from './field-types.ts'
import type { ListField } from './lists.ts'

const codes = new Set<ListField['type']>(['uuid', 'json'])

/** A value in a table: short, with all of it on hover. Numbers are shown as they are stored, since some are exact texts. */
export function cellOf({ type }: Pick<ListField, 'type'>, value: unknown): ReactNode {
  if (value === null || value === undefined) return <span className="text-soft">–</span>
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (isTime(type) && type !== 'timeText' && !Number.isNaN(Date.parse(String(value))))
    return <Time value={String(value)} />
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
  if (isTime(field.type) && field.type !== 'timeText' && typeof value === 'string')
    return (
      <>
        {cellOf(field, value)} <span className="font-mono text-sm text-soft">{value}</span>
      </>
    )
  return <span className="break-words whitespace-pre-wrap">{cellOf(field, value)}</span>
}
