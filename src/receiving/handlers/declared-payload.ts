import { describeIssues, type StandardSchema } from '../../json/standard-schema.ts'
import type { Handler } from '../config.ts'

/** Faults that the error of an event lists. */
const mostTold = 5

/** A payload does not match its declared schema. Another attempt would get the same payload, so the event fails at once. */
export class InvalidPayload extends Error {
  constructor(key: string, faults: readonly string[]) {
    super(
      `the payload is not what receiving.eventTypes[${JSON.stringify(key)}] declares: ${faults.slice(0, mostTold).join('; ')}`,
    )
    this.name = 'InvalidPayload'
    // Its origin tells nothing.
    this.stack = `${this.name}: ${this.message}`
  }
}

/** Gives the handler what the schema makes of the payload. */
export function withSchema(key: string, schema: StandardSchema, handle: Handler): Handler {
  return async (event, context) => {
    const result = await schema['~standard'].validate(event.payload)
    if (result.issues) throw new InvalidPayload(key, describeIssues(result.issues))
    await handle({ ...event, payload: result.value }, context)
  }
}
