import type { Faults } from '../../ui/index.ts'
import { isTime } from './cells.tsx'
import type { ListFilter } from './lists.ts'

/** Filters that take any text, or whose control allows nothing else. */
const anyText = new Set<ListFilter['operator']>(['prefix', 'search', 'flag', 'null', 'positiveWhenTrue'])
const numbers = new Set<ListFilter['type']>(['integer', 'bigint', 'number', 'real', 'numeric'])

/** What is wrong with the values of filters, by their parameter: the service ignores a filter that it cannot read. */
export function filterFaults(
  filters: readonly ListFilter[],
  values: Readonly<Record<string, string>>,
): Faults | undefined {
  const faults = filters.flatMap((filter) => {
    const value = values[filter.parameter] ?? ''
    const parts = filter.operator === 'in' ? value.split(',') : [value]
    const fault = parts.map((part) => faultOf(filter, part.trim())).find((one) => one !== undefined)
    return fault === undefined ? [] : [[filter.parameter, fault] as const]
  })
  return faults.length === 0 ? undefined : Object.fromEntries(faults)
}

function faultOf({ operator, type }: ListFilter, text: string): string | undefined {
  if (text === '' || anyText.has(operator)) return undefined
  if (numbers.has(type) && !/^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i.test(text))
    return 'Enter a number.'
  if (type === 'date' && !isDate(text)) return 'Enter a date, such as 2026-01-31.'
  if (isTime(type) && Number.isNaN(Date.parse(text))) return 'Enter a time, such as 2026-01-31T08:30:00Z.'
  if (type === 'uuid' && !/^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text)) return 'Enter a UUID.'
  return undefined
}

const isDate = (text: string): boolean =>
  /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(`${text}T00:00:00Z`))
