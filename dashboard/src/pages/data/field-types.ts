import type { ListField } from './lists.ts'

const times = new Set<ListField['type']>(['time', 'milliseconds', 'timestamp', 'timeText'])
const numbers = new Set<ListField['type']>(['integer', 'bigint', 'number', 'real', 'numeric'])

export const isNumber = (type: ListField['type']): boolean => numbers.has(type)
export const isTime = (type: ListField['type']): boolean => times.has(type)
