/**
 * What all of Stripe's snapshot events have in common (https://docs.stripe.com/api/events/object). The object depends on the type and
 * on the API version of the account. Thin events have other fields: declare a schema for their types.
 */
export interface StripeEvent {
  readonly id: string
  readonly object: 'event'
  readonly type: string
  /** Seconds since 1970. */
  readonly created: number
  readonly livemode: boolean
  readonly api_version: string | null
  readonly pending_webhooks: number
  readonly request: { readonly id: string | null; readonly idempotency_key: string | null } | null
  /** The connected account, for events of Connect. */
  readonly account?: string
  readonly data: {
    readonly object: Readonly<Record<string, unknown>>
    /** The former values of changed fields. */
    readonly previous_attributes?: Readonly<Record<string, unknown>>
  }
}
