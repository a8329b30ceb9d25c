import type { Clock } from '../../runtime/clock.ts'
import type { AbortBroadcast } from '../../runtime/abort-broadcast.ts'
import { redactedValue } from '../../telemetry/redaction.ts'
import { type Attempt, type AttemptResult, notMade, targetOf } from '../attempt/attempt.ts'
import type { Sandbox } from './sandbox.ts'
import { describeError, transform, type Transformation } from './transformation.ts'

/** Of a subscriber, with what the code does not see. */
export interface EndpointTransformation extends Transformation {
  /** The value of `authorization`, by the subscriber's `auth`. */
  authorization: string | undefined
}

/** Bytes of a changed body that are stored with the attempt. */
const bodyStored = 64 * 1024

/** Attempts of subscribers with a transformation send what its code returns. Others are made as before. */
export function withTransformations(
  attempt: Attempt,
  { sandbox, clock }: { sandbox: Sandbox; clock: Clock },
): Attempt {
  return (request, cut) => {
    const transformation = request.target.special?.transformation
    return transformation ? transformed(transformation, request, cut) : attempt(request, cut)
  }

  async function transformed(
    transformation: EndpointTransformation,
    request: Parameters<Attempt>[0],
    cut: AbortBroadcast,
  ): Promise<AttemptResult> {
    const at = clock.now()
    const result = await transform(sandbox, transformation, request.event, cut)
    if ('error' in result) {
      const message = `the transformation failed: ${describeError(result.error)}`
      return { ...notMade(at, '{}', { kind: 'transformation-failed', message }), response: 'unavailable' }
    }
    // Nothing is known of the endpoint.
    if ('canceled' in result) return { ...notMade(at, '{}'), failure: 'canceled', response: 'aborted' }
    const { url, method, headers, contentType, shown, body } = result
    const { authorization } = transformation
    const target = targetOf(url, authorization === undefined ? headers : { ...headers, authorization }, {
      method,
      special: request.target.special,
      contentType,
      shown: authorization === undefined ? shown : { ...shown, authorization: redactedValue },
    })
    const event = body === undefined ? request.event : { ...request.event, payload: body }
    const made = await attempt({ ...request, target, event }, cut)
    return body === undefined ? made : { ...made, requestBody: body.subarray(0, bodyStored) }
  }
}
