import { defineConfig } from 'postern'
import { rabbitmq } from './rabbitmq.ts'

export default defineConfig({
  emitting: { destinations: { rabbitmq: rabbitmq() } },
})
