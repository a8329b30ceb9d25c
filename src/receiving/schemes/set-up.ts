import type { Scheme } from './scheme.ts'

/** How a sender is set up. */
export interface SetUp {
  /** The sender's name. */
  readonly label: string
  /**
   * What to do at the sender, in order. The page shows the address of the source above them. In those of `hmac`, `{secret}` and `{signs}` stand for
   * `secretFrom` and `signs` of the source's scheme.
   */
  readonly steps: readonly string[]
  /** The sender's own documentation. */
  readonly docs: string
  /** The type of a typical event. */
  readonly exampleType: string
}

/** The set-up of each preset, by the name of its scheme. */
export const setUps: Readonly<Record<string, SetUp>> = {
  hmac: {
    label: 'Any sender with an HMAC',
    steps: [
      'Give the sender the URL above.',
      'Use the same secret on both sides: {secret} here, the signing secret there.',
      'The sender {signs}.',
    ],
    docs: 'https://www.rfc-editor.org/rfc/rfc2104',
    exampleType: 'order.paid',
  },
  'standard-webhooks': {
    label: 'Standard Webhooks',
    steps: [
      'In the sender’s webhook settings, add an endpoint with the URL above.',
      'Copy the endpoint’s signing secret (`whsec_…`, or `whpk_…` for ed25519) into the secret of the source.',
    ],
    docs: 'https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md',
    exampleType: 'invoice.paid',
  },
  bitbucket: {
    label: 'Bitbucket',
    steps: [
      'In the repository, open Repository settings › Webhooks › Add webhook.',
      'Enter the URL above and a random secret, and choose the triggers.',
      'Use the same secret as the secret of the source.',
    ],
    docs: 'https://support.atlassian.com/bitbucket-cloud/docs/manage-webhooks/',
    exampleType: 'repo:push',
  },
  calendly: {
    label: 'Calendly',
    steps: [
      'Create a webhook subscription with Calendly’s API: POST /webhook_subscriptions with the URL above, the events, and a random `signing_key`.',
      'Use the same signing key as the secret of the source.',
    ],
    docs: 'https://developer.calendly.com/api-docs/4c305798a61d3-webhook-signatures',
    exampleType: 'invitee.created',
  },
  discord: {
    label: 'Discord',
    steps: [
      'Open the application in Discord’s developer portal and copy its Public Key from General Information. It is the secret of the source.',
      'For webhook events: under Webhooks, enter the URL above as the endpoint and choose the events. For interactions: enter it as Interactions Endpoint URL.',
      'Save. Discord checks the address at once; Postern answers.',
    ],
    docs: 'https://docs.discord.com/developers/events/webhook-events',
    exampleType: 'APPLICATION_AUTHORIZED',
  },
  dropbox: {
    label: 'Dropbox',
    steps: [
      'Open the app in the Dropbox App Console and copy its app secret. It is the secret of the source.',
      'Under Webhooks, add the URL above. Dropbox checks it at once; Postern answers.',
    ],
    docs: 'https://www.dropbox.com/developers/reference/webhooks',
    exampleType: 'list_folder',
  },
  github: {
    label: 'GitHub',
    steps: [
      'In the repository or organization, open Settings › Webhooks › Add webhook.',
      'Enter the URL above as Payload URL, and choose the content type application/json.',
      'Enter a random secret, and use the same one as the secret of the source.',
      'Choose the events and save. GitHub sends a `ping`.',
    ],
    docs: 'https://docs.github.com/en/webhooks/using-webhooks/creating-webhooks',
    exampleType: 'issues.opened',
  },
  gitlab: {
    label: 'GitLab',
    steps: [
      'In the project or group, open Settings › Webhooks › Add new webhook.',
      'Enter the URL above and choose the triggers.',
      'Enter a signing token (`whsec_…`) if your GitLab has it, otherwise a secret token. Use the same one as the secret of the source.',
    ],
    docs: 'https://docs.gitlab.com/user/project/integrations/webhooks/',
    exampleType: 'merge_request.open',
  },
  hubspot: {
    label: 'HubSpot',
    steps: [
      'Open the app in HubSpot and copy its client secret. It is the secret of the source.',
      'Under Webhooks, enter the URL above as the target URL, and subscribe to events.',
    ],
    docs: 'https://developers.hubspot.com/docs/apps/developer-platform/build-apps/authentication/request-validation',
    exampleType: 'batch',
  },
  intercom: {
    label: 'Intercom',
    steps: [
      'Open the app in Intercom’s Developer Hub and copy its client secret. It is the secret of the source.',
      'Under Webhooks, enter the URL above and choose the topics.',
    ],
    docs: 'https://developers.intercom.com/docs/webhooks/setting-up-webhooks',
    exampleType: 'contact.created',
  },
  linear: {
    label: 'Linear',
    steps: [
      'In Linear, open Settings › API › Webhooks and create a webhook with the URL above.',
      'Copy its signing secret. It is the secret of the source.',
    ],
    docs: 'https://linear.app/developers/webhooks',
    exampleType: 'Issue.create',
  },
  mailgun: {
    label: 'Mailgun',
    steps: [
      'In Mailgun, open Send › Sending › Webhooks, and add a webhook with the URL above for each event.',
      'Copy the HTTP webhook signing key of the account. It is the secret of the source.',
    ],
    docs: 'https://documentation.mailgun.com/docs/mailgun/user-manual/webhooks/securing-webhooks',
    exampleType: 'delivered',
  },
  meta: {
    label: 'Meta',
    steps: [
      'Open the app in Meta’s App Dashboard and copy the app secret from App settings › Basic. It is the secret of the source.',
      'Under Webhooks, enter the URL above as Callback URL and the source’s `verifyToken` as Verify token.',
      'Subscribe to the fields.',
    ],
    docs: 'https://developers.facebook.com/docs/graph-api/webhooks/getting-started',
    exampleType: 'page.feed',
  },
  'microsoft-graph': {
    label: 'Microsoft Graph',
    steps: [
      'Create a subscription: POST /subscriptions with the URL above as `notificationUrl` and a random `clientState`.',
      'Use the same `clientState` as the secret of the source.',
      'Renew the subscription before `expirationDateTime`.',
    ],
    docs: 'https://learn.microsoft.com/graph/change-notifications-delivery-webhooks',
    exampleType: 'notifications',
  },
  paddle: {
    label: 'Paddle',
    steps: [
      'In Paddle, open Developer tools › Notifications and create a webhook destination with the URL above.',
      'Copy its secret key. It is the secret of the source.',
    ],
    docs: 'https://developer.paddle.com/webhooks/signature-verification',
    exampleType: 'transaction.completed',
  },
  sendgrid: {
    label: 'SendGrid',
    steps: [
      'In SendGrid, open Settings › Mail Settings › Event Webhooks and create a webhook with the URL above.',
      'Switch on Signed Event Webhook and copy the verification key. It is the secret of the source.',
    ],
    docs: 'https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/getting-started-event-webhook-security-features',
    exampleType: 'batch',
  },
  shopify: {
    label: 'Shopify',
    steps: [
      'Subscribe to topics in the app’s shopify.app.toml or with the Admin API, with the URL above.',
      'Copy the app’s client secret. It is the secret of the source. (Webhooks made in Settings › Notifications show their own key there.)',
    ],
    docs: 'https://shopify.dev/docs/apps/build/webhooks/subscribe/https',
    exampleType: 'orders/create',
  },
  slack: {
    label: 'Slack',
    steps: [
      'Open the app at api.slack.com/apps and copy the signing secret from Basic Information. It is the secret of the source.',
      'Enter the URL above as Request URL under Event Subscriptions, Interactivity, or of a slash command.',
      'Slack checks the address at once; Postern answers. Subscribe to the events and save.',
    ],
    docs: 'https://docs.slack.dev/apis/events-api/',
    exampleType: 'app_mention',
  },
  square: {
    label: 'Square',
    steps: [
      'In Square’s Developer Console, open the application’s Webhooks › Subscriptions and add one with exactly the URL above.',
      'Copy its signature key. It is the secret of the source.',
    ],
    docs: 'https://developer.squareup.com/docs/webhooks/step3validate',
    exampleType: 'payment.updated',
  },
  stripe: {
    label: 'Stripe',
    steps: [
      'In the Stripe Dashboard, open Developers › Webhooks and add an endpoint (destination) with the URL above.',
      'Choose the events.',
      'Reveal the endpoint’s signing secret (`whsec_…`). It is the secret of the source.',
    ],
    docs: 'https://docs.stripe.com/webhooks',
    exampleType: 'invoice.paid',
  },
  twilio: {
    label: 'Twilio',
    steps: [
      'In the Twilio Console, enter the URL above where Twilio should report: of a phone number, a messaging service, or as a status callback.',
      'Copy the account’s auth token. It is the secret of the source.',
    ],
    docs: 'https://www.twilio.com/docs/usage/security#validating-requests',
    exampleType: 'message.received',
  },
  typeform: {
    label: 'Typeform',
    steps: [
      'In the form, open Connect › Webhooks and add a webhook with the URL above.',
      'Edit it and set a random secret. Use the same one as the secret of the source.',
    ],
    docs: 'https://www.typeform.com/developers/webhooks/secure-your-webhooks/',
    exampleType: 'form_response',
  },
  woocommerce: {
    label: 'WooCommerce',
    steps: [
      'In WordPress, open WooCommerce › Settings › Advanced › Webhooks and add a webhook.',
      'Enter the URL above as Delivery URL, choose the topic, and enter a random secret.',
      'Use the same secret as the secret of the source.',
    ],
    docs: 'https://developer.woocommerce.com/docs/apis/rest-api/v3/webhooks/',
    exampleType: 'order.updated',
  },
  x: {
    label: 'X',
    steps: [
      'Register the URL above with X’s webhook API. X checks it at once; Postern answers.',
      'Copy the app’s consumer secret (API key secret). It is the secret of the source.',
    ],
    docs: 'https://docs.x.com/x-api/webhooks/quickstart',
    exampleType: 'tweet_create_events',
  },
  zendesk: {
    label: 'Zendesk',
    steps: [
      'In the Admin Center, open Apps and integrations › Actions and webhooks › Webhooks and create a webhook with the URL above.',
      'Reveal its signing secret. It is the secret of the source.',
    ],
    docs: 'https://developer.zendesk.com/documentation/webhooks/verifying/',
    exampleType: 'zen:event-type:ticket.created',
  },
  zoom: {
    label: 'Zoom',
    steps: [
      'Open the app in the Zoom App Marketplace and copy the secret token from its Features page. It is the secret of the source.',
      'Under Event Subscriptions, enter the URL above as the notification endpoint and validate it. Postern answers.',
      'Add the events and save.',
    ],
    docs: 'https://developers.zoom.us/docs/api/webhooks/',
    exampleType: 'meeting.started',
  },
}

/** The steps of a source, with its own secret and header. */
export function stepsOf(name: string, scheme: Scheme): string[] {
  const { secretFrom = `\`receiving.sources.${name}.secret\` of the configuration module`, signs } = scheme
  const own = signs ?? 'computes the HMAC and sends it in the header that the source names'
  return (setUps[scheme.name]?.steps ?? []).map((step) =>
    step.replace('{secret}', () => secretFrom).replace('{signs}', () => own),
  )
}
