import type { App } from '../http/app.ts'
import { anonymousBodyLimit } from '../http/body/reader.ts'

/** Gives handlers the text of a form, and takes nothing else: `resource` may be repeated, so the parameters are not an object. */
export function acceptRawForms(scope: App): void {
  scope.removeContentTypeParser('application/json')
  scope.bodies.parse(
    scope,
    ['application/x-www-form-urlencoded'],
    (_request, bytes, done) => done(null, bytes.toString()),
    anonymousBodyLimit,
  )
}
