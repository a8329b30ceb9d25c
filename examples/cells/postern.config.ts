import { defineConfig, hmac } from 'postern'

/** All cells run the same configuration: the router decides which sources and owners each of them serves. */
export default defineConfig({
  receiving: {
    sources: {
      shop: hmac({ secret: process.env['SHOP_SECRET'] ?? '', header: 'x-signature' }),
      billing: hmac({ secret: process.env['BILLING_SECRET'] ?? '', header: 'x-signature' }),
    },
  },
})
