import { Problem } from '../../errors.ts'

/**
 * Runs a function that reads the parameters of a query string on the fields of a body.
 * @throws Problem `invalid-body` with a pointer to the field, where the function throws `invalid-parameter`.
 */
export function readBodyFilters<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    const { parameter, detail = '' } = error instanceof Problem ? error.extras : {}
    if (parameter === undefined) throw error
    throw new Problem('invalid-body', {
      pointer: `/${parameter}`,
      detail: detail.replace(`The parameter \`${parameter}\``, `/${parameter}`),
    })
  }
}
