import { isScope, scopes } from '../../http/access/scopes.ts'

/** What the scopes about the user let an app do, for people. */
const ofUser: Readonly<Record<string, string>> = {
  openid: 'Recognize you by an id.',
  profile: 'See your name and your picture.',
  email: 'See your e-mail address.',
  groups: 'See the groups that you belong to.',
  offline_access: 'Stay signed in after you sign out here.',
}

/** What a scope lets an app do, for people; `undefined` for a scope of the product's own APIs. */
export function describeScope(scope: string): string | undefined {
  if (Object.hasOwn(ofUser, scope)) return ofUser[scope]
  return isScope(scope) ? scopes[scope] : undefined
}
