import { defineConfig } from 'postern'
import { pubsub } from './pubsub.ts'

export default defineConfig({
  emitting: {
    // PUBSUB_EMULATOR_HOST leads the client to the emulator.
    destinations: { pubsub: pubsub() },
  },
})
