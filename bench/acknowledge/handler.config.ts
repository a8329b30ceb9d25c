// The smallest handler there can be: what is measured is the worker, its transaction and its marker.
import { defineConfig } from '../../src/index.ts'

export default defineConfig({
  receiving: {
    handlers: { 'order.paid': async () => {} },
  },
})
