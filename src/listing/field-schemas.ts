import { Type, type TSchema } from 'typebox'
import type { FieldType } from './field-types.ts'

const text = (description: string): TSchema => Type.String({ description })
const dateTime = (description: string): TSchema => Type.String({ format: 'date-time', description })
const number = (description: string): TSchema => Type.Number({ description })

/**
 * The schema of a value of each type, for the description of a list. They are apart from the other rules of the types, because
 * commands that only check a configuration would load TypeBox's 370 modules for them.
 */
export const fieldSchemas: Record<FieldType, (description: string) => TSchema> = {
  text,
  enum: text,
  uuid: (description) => Type.String({ format: 'uuid', description }),
  integer: (description) => Type.Integer({ description }),
  bigint: (description) => Type.String({ pattern: '^-?\\d+$', description }),
  number,
  real: number,
  numeric: text,
  boolean: (description) => Type.Boolean({ description }),
  time: dateTime,
  milliseconds: dateTime,
  timestamp: text,
  timeText: text,
  date: (description) => Type.String({ format: 'date', description }),
  json: (description) => Type.Unknown({ description }),
}
