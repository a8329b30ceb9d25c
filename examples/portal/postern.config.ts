import { defineConfig } from 'postern'

export default defineConfig({
  emitting: {
    eventTypes: {
      'parcel.sent': {
        description: 'A parcel left the warehouse.',
        schema: {
          type: 'object',
          required: ['parcel', 'carrier'],
          properties: { parcel: { type: 'string' }, carrier: { type: 'string' } },
        },
        samples: [{ parcel: 'p_1', carrier: 'DHL' }],
      },
      'parcel.delivered': {
        description: 'The carrier delivered the parcel.',
        schema: { type: 'object', required: ['parcel'], properties: { parcel: { type: 'string' } } },
        samples: [{ parcel: 'p_1' }],
      },
    },
    undeclaredTypes: 'refuse',
  },
})
