export type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'

/** The paths of a method among the calls. */
export type PathOf<Calls, M extends Method> = {
  [Name in keyof Calls]: Name extends `${M} ${infer Path}` ? Path : never
}[keyof Calls]

export type CallOf<Calls, M extends Method, Path extends string> = `${M} ${Path}` extends keyof Calls
  ? Calls[`${M} ${Path}`]
  : never

export interface CommonOptions {
  signal?: AbortSignal
  /**
   * Whether the call may be retried. Default true for GET, PUT and DELETE, false for POST and PATCH. Set it for events whose body has
   * an `id`: the service keeps one event of each id.
   */
  idempotent?: boolean
}

type Field<C, Name extends string> = Name extends keyof C ? C[Name] : undefined
/** An option that may be left out when all that it holds may be. */
type OptionFor<Name extends string, Value> = [Value] extends [undefined]
  ? { [N in Name]?: undefined }
  : Partial<Value> extends Value
    ? { [N in Name]?: Value }
    : { [N in Name]: Value }

export type OptionsOf<C> = OptionFor<'params', Field<C, 'params'>> &
  OptionFor<'query', Field<C, 'query'>> &
  OptionFor<'body', Field<C, 'body'>> &
  CommonOptions

/** The second argument of a call: none is needed when everything in it may be left out. */
export type Arguments<C> =
  Partial<OptionsOf<C>> extends OptionsOf<C> ? [options?: OptionsOf<C>] : [options: OptionsOf<C>]

export type AnswerOf<C> = C extends { answer: infer Answer } ? Answer : never

/** The paths of lists: their answer holds an array `data`. */
export type ListPathOf<Calls> = {
  [Name in keyof Calls]: Name extends `GET ${infer Path}`
    ? Calls[Name] extends { answer: { data: readonly unknown[] } }
      ? Path
      : never
    : never
}[keyof Calls]

export type RowOf<C> = C extends { answer: { data: readonly (infer Row)[] } } ? Row : never

/** A call that the types do not describe. */
export interface FreeOptions extends CommonOptions {
  params?: Record<string, string | number>
  query?: Record<string, unknown>
  body?: unknown
}
