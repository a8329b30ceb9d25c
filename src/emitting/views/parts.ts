import { Type } from 'typebox'

export const Nullable = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T) =>
  Type.Union([schema, Type.Null()])

export const Time = Type.String({ format: 'date-time' })

export function iso(milliseconds: number): string {
  return new Date(milliseconds).toISOString()
}
