import { isScope, scopes } from '../../http/access/scopes.ts'
import { en, type Words } from '../../http/pages/language/en.ts'

/** The scopes about the user. */
const ofUser: Words['scopes'] = en.scopes

export function isUserScope(scope: string): scope is keyof Words['scopes'] {
  return Object.hasOwn(ofUser, scope)
}

/** What a scope lets an app do, in English; `undefined` for a scope of the product's own APIs. */
export function describeScope(scope: string): string | undefined {
  if (isUserScope(scope)) return ofUser[scope]
  return isScope(scope) ? scopes[scope] : undefined
}
