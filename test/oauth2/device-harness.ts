import assert from 'node:assert/strict'
import type { TestService } from '../harness/service.ts'
import type { AnswerTo } from '../harness/answers.ts'
import { token } from './harness.ts'

export type StartedDevice = AnswerTo<'POST /oauth2/device_authorization'>

/** A device asks for a sign-in. */
export async function startDevice(
  service: TestService,
  fields: Record<string, string>,
): Promise<StartedDevice> {
  const answer = await service.fetch('/oauth2/device_authorization', {
    method: 'POST',
    body: new URLSearchParams(fields),
  })
  assert.equal(answer.status, 200, await answer.clone().text())
  return (await answer.json()) as StartedDevice
}

/** A device asks for its tokens; the error or the tokens. */
export async function poll(
  service: TestService,
  clientId: string,
  { device_code: code }: Pick<StartedDevice, 'device_code'>,
): Promise<{ status: number; error?: string; body?: Record<string, unknown> }> {
  const grantType = 'urn:ietf:params:oauth:grant-type:device_code'
  const fields = { grant_type: grantType, client_id: clientId, device_code: code }
  const { status, body } = await token(service, fields)
  return status === 200 ? { status, body } : { status, error: String(body['error']) }
}
