import type { KeyValue } from '../paging/cursor.ts'
import { showTime } from '../paging/time.ts'
import type { FieldType, ListDeclaration } from './list.ts'
import type { Row } from './store.ts'

type Write = (value: KeyValue) => string

const writers: Record<FieldType, Write> = {
  text: (value) => JSON.stringify(value),
  // A table that others write to can hold what JSON cannot say.
  number: (value) => (Number.isFinite(value) ? String(value) : 'null'),
  integer: (value) => String(value),
  time: (value) => JSON.stringify(typeof value === 'string' ? showTime(value) : value),
  milliseconds: (value) => (value === null ? 'null' : `"${new Date(Number(value)).toISOString()}"`),
}

/**
 * The function that writes a row of this list as JSON: the declared fields and nothing else. Text is built at once,
 * without an object in between: for a page of 20 rows that is WRITE_RATIO times as fast as the response serializer.
 */
export function itemWriter(list: ListDeclaration): (row: Row) => string {
  const parts = Object.entries(list.fields).map(([name, { column, type }], index) => ({
    label: `${index === 0 ? '{' : ','}${JSON.stringify(name)}:`,
    column,
    write: writers[type],
  }))
  return (row) => {
    let text = ''
    for (const { label, column, write } of parts) text += label + write(row[column] ?? null)
    return `${text}}`
  }
}
