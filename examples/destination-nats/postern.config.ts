import { defineConfig } from 'postern'
import { nats } from './nats.ts'

export default defineConfig({
  emitting: { destinations: { nats: nats() } },
})
