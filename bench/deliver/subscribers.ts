import { adminKey } from '../load/sample.ts'

/** Calls the service's own interface, as an operator would. Throws when the answer is no success. */
async function call(
  port: number,
  method: string,
  path: string,
  body: object,
): Promise<Record<string, unknown>> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
  return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>)
}

/** With which all deliveries are signed. */
export const subscriberSecret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

/** Registers one subscriber of all types for each path of the sink; returns their ids. */
export async function subscribe(
  port: number,
  origin: string,
  paths: readonly string[],
  settings: object = {},
): Promise<string[]> {
  const ids: string[] = []
  for (const path of paths) {
    const body = { url: origin + path, secret: subscriberSecret, ...settings }
    const { id } = await call(port, 'POST', '/subscribers', body)
    ids.push(String(id))
  }
  return ids
}

/** What is emitted while subscribers are paused waits until they are active again. */
export async function setStatus(
  port: number,
  ids: readonly string[],
  status: 'active' | 'paused',
): Promise<void> {
  await Promise.all(ids.map((id) => call(port, 'PATCH', `/subscribers/${id}`, { status })))
}
