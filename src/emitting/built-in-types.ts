import type { EventTypeDeclaration } from './config.ts'
import { testEventType } from './test-events.ts'

/** What the service sends by itself, as the catalogue tells it. */
export const builtInTypes = {
  [testEventType]: {
    description:
      'Sent on request to one subscriber, to show that it is reached and that its signatures verify.',
    samples: [{ message: 'A test event: if its signature verifies, everything is set up.' }],
  },
} as const satisfies Record<string, EventTypeDeclaration>
