import { defineConfig } from 'postern'
import { natsSpool } from './nats-spool.ts'

const { NATS_SERVERS = '127.0.0.1:4222', NATS_REPLICAS = '1' } = process.env

export default defineConfig({
  receiving: {
    spool: natsSpool({
      connection: { servers: NATS_SERVERS.split(',') },
      replicas: Number(NATS_REPLICAS),
    }),
    handlers: {
      'order.paid': (event, { log }) => log.info({ id: event.id }, 'the order is paid'),
    },
  },
})
