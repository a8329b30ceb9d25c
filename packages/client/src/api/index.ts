export { createClient, type Client, type ClientOptions } from './client.ts'
export {
  createListClient,
  keyText,
  type ListClient,
  type ListPage,
  type ListParameters,
  type ListRow,
} from './lists.ts'
export type { Calls } from './calls.ts'
export type { AnswerOf, CallOf, CommonOptions, FreeOptions, Method, RowOf } from './types.ts'
export * from '../errors.ts'
