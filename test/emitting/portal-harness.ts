import assert from 'node:assert/strict'
import type { TestService } from '../harness/service.ts'
import { expectJson } from './harness.ts'

/** The address of a link that an admin makes for an owner. */
export async function makeLink(service: TestService, owner: string, more: object = {}): Promise<string> {
  const link = await expectJson<{ url: string }>(service, 201, '/portal-links', {
    method: 'POST',
    json: { owner, ...more },
  })
  return link.url
}

/** Opens a link as the page does. */
export function openLink(
  service: TestService,
  link: string,
  headers: Record<string, string> = {},
): Promise<Response> {
  return service.fetch('/portal/session', {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ token: link.split('#')[1] }),
  })
}

/** Somebody who has opened a link. */
export interface Owner {
  cookie: string
  call(method: string, path: string, json?: unknown, headers?: Record<string, string>): Promise<Response>
  json<T>(status: number, method: string, path: string, json?: unknown): Promise<T>
}

export async function enterPortal(service: TestService, owner: string, more: object = {}): Promise<Owner> {
  const response = await openLink(service, await makeLink(service, owner, more))
  assert.equal(response.status, 200)
  const [cookie] = response.headers.getSetCookie()[0]!.split(';')
  const call: Owner['call'] = (method, path, json, headers) =>
    service.fetch(`/portal${path}`, {
      method,
      headers: {
        cookie: cookie!,
        ...(json !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(json !== undefined && { body: JSON.stringify(json) }),
    })
  return {
    cookie: cookie!,
    call,
    async json<T>(status: number, method: string, path: string, json?: unknown) {
      const response = await call(method, path, json)
      const text = await response.text()
      assert.equal(response.status, status, `${method} ${path}: ${text}`)
      return (text === '' ? undefined : JSON.parse(text)) as T
    },
  }
}
