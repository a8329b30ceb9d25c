import { createClient } from 'postern-client/api'

export interface Webhooks {
  portalLink(tenant: string): Promise<string>
  parcelSent(tenant: string, parcel: string, carrier: string): Promise<void>
}

/** The product's requests to Postern. The key needs the scopes `subscribers:write` and `events:write`. */
export function createWebhooks(url: string, key: string): Webhooks {
  const postern = createClient({ url, token: key })
  return {
    /** A link to one tenant's portal. It works once, within five minutes. */
    async portalLink(tenant) {
      const link = await postern.post('/portal-links', { body: { owner: tenant } })
      return link.url
    },
    /** Sends the event to one tenant's endpoints. Repeating the call sends it only once. */
    async parcelSent(tenant, parcel, carrier) {
      await postern.post('/events', {
        body: { id: `${parcel}-sent`, type: 'parcel.sent', audience: tenant, data: { parcel, carrier } },
        idempotent: true,
      })
    },
  }
}
