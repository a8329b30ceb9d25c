import { defineConfig } from 'postern'
import { sqs } from './sqs.ts'

export default defineConfig({
  emitting: {
    // AWS_ENDPOINT_URL_SQS leads the client to another server, such as moto's.
    destinations: { sqs: sqs() },
  },
})
