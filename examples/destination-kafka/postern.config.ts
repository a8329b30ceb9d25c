import { defineConfig } from 'postern'
import { kafka } from './kafka.ts'

const { KAFKA_BROKERS = '127.0.0.1:9092' } = process.env

export default defineConfig({
  emitting: {
    destinations: { kafka: kafka({ clientId: 'postern', brokers: KAFKA_BROKERS.split(',') }) },
  },
})
