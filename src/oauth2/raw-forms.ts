import type { App } from '../http/app.ts'

/** Bytes of an authorization request at most. It is stored, and anybody can send one in the name of a public client. */
const longestForm = 32 * 1024

/** Gives handlers the text of a form, and takes nothing else: `resource` may be repeated, so the parameters are not an object. */
export function acceptRawForms(scope: App): void {
  scope.removeContentTypeParser('application/json')
  scope.bodies.parse(
    scope,
    ['application/x-www-form-urlencoded'],
    (_request, bytes, done) => done(null, bytes.toString()),
    longestForm,
  )
}
