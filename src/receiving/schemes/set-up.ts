import type { Scheme } from './scheme.ts'

/**
 * @param label the sender's name
 * @param exampleType a typical event type
 * @param docs the sender's own documentation
 * @param steps at the sender, in order, for the dashboard and the sender's page of the guide. Both show the source's URL above them.
 * `{secret}` stands for the place of its secret, `{signs}` for `signs` of its scheme.
 */
const setUp = (label: string, exampleType: string, docs: string, ...steps: string[]) => ({
  label,
  exampleType,
  docs,
  steps,
})

/** By the name of the scheme. */
export const setUps: Readonly<Record<string, Readonly<ReturnType<typeof setUp>>>> = {
  hmac: setUp(
    'Any sender with an HMAC',
    'order.paid',
    'https://www.rfc-editor.org/rfc/rfc2104',
    'Give the sender the URL above.',
    'Use the same secret on both sides: {secret} in Postern, the signing secret at the sender.',
    'The sender {signs}.',
  ),
  basic: setUp(
    'Any sender with a user name and password',
    'order.paid',
    'https://www.rfc-editor.org/rfc/rfc7617',
    'Give the sender the URL above.',
    'Enter the user name and the password from {secret} at the sender. The sender {signs}.',
  ),
  bearer: setUp(
    'Any sender with a bearer token',
    'order.paid',
    'https://www.rfc-editor.org/rfc/rfc6750',
    'Give the sender the URL above.',
    'Enter the token from {secret} at the sender. The sender {signs}.',
  ),
  'api-key': setUp(
    'Any sender with an API key',
    'order.paid',
    'https://www.rfc-editor.org/rfc/rfc9110#section-11.6.2',
    'Give the sender the URL above.',
    'Enter the key from {secret} at the sender. The sender {signs}.',
  ),
  'public-key': setUp(
    'Any sender with a key pair',
    'order.paid',
    'https://www.rfc-editor.org/rfc/rfc8032',
    'Give the sender the URL above.',
    'Declare the sender’s public key in {secret}, or its address as `url`. The sender {signs}.',
  ),
  jwt: setUp(
    'Any sender with a JWT',
    'order.paid',
    'https://docs.cloud.google.com/pubsub/docs/authenticate-push-subscriptions',
    'Give the sender the URL above.',
    'Declare the issuer, the audience and the claims that identify the sender, such as {secret}. The sender {signs}.',
  ),
  'standard-webhooks': setUp(
    'Standard Webhooks',
    'invoice.paid',
    'https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md',
    'In the sender’s webhook settings, add an endpoint with the URL above and choose the event types.',
    'Copy the endpoint’s signing secret (`whsec_…`, or `whpk_…` for ed25519) to {secret}, and restart Postern.',
  ),
  adyen: setUp(
    'Adyen',
    'AUTHORISATION',
    'https://docs.adyen.com/development-resources/webhooks/secure-webhooks/verify-hmac-signatures',
    'In the Customer Area, open Developers › Webhooks and create a Standard webhook with the URL above and the method JSON.',
    'Under Security, generate an HMAC key and copy it to {secret}. Start Postern, then save the webhook.',
    'Click Test configuration. Adyen sends a webhook, and Postern responds with `[accepted]`.',
  ),
  auth0: setUp(
    'Auth0',
    's',
    'https://auth0.com/docs/customize/log-streams/custom-log-streams',
    'In the Auth0 Dashboard, open Monitoring › Streams and create a stream to a Custom Webhook.',
    'Enter the URL above as Payload URL, and the random token from {secret} as Authorization Token. Choose the content type `application/json`, any format and the events.',
    'Save. The Health tab shows whether Postern accepts the logs.',
  ),
  bitbucket: setUp(
    'Bitbucket',
    'repo:push',
    'https://support.atlassian.com/bitbucket-cloud/docs/manage-webhooks/',
    'In the repository, open Repository settings › Webhooks › Add webhook.',
    'Enter the URL above and the random secret from {secret}. Choose the triggers and save.',
    'View requests shows what Bitbucket sent, and the responses.',
  ),
  calendly: setUp(
    'Calendly',
    'invitee.created',
    'https://developer.calendly.com/api-docs/4c305798a61d3-webhook-signatures',
    'Create a personal access token in Calendly. Webhooks need a paid plan.',
    'Create a webhook subscription with Calendly’s API: send POST /webhook_subscriptions to `https://api.calendly.com` with the URL above as `url`, with `events`, `scope`, `organization` (and `user` for the scope `user`), and with the random key from {secret} as `signing_key`.',
    'The response shows the subscription with the state `active`.',
  ),
  'cloud-events': setUp(
    'CloudEvents',
    'com.example.order.paid',
    'https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/http-webhook.md',
    'Give the sender the URL above.',
    'Have it send the secret from {secret} as `Authorization: Bearer SECRET`. If it cannot send a header, add `?access_token=SECRET` to the URL.',
  ),
  discord: setUp(
    'Discord',
    'APPLICATION_AUTHORIZED',
    'https://docs.discord.com/developers/events/webhook-events',
    'In Discord’s developer portal, open the application and copy Public Key from General Information to {secret}. Start Postern with it, because Discord checks the URL when you save.',
    'For webhook events, enter the URL above as the endpoint under Webhooks, turn Events on and choose the events.',
    'For interactions, enter the URL of another source, such as `commands`, as Interactions Endpoint URL under General Information.',
    'Save. Discord checks the URL, and Postern answers.',
  ),
  docusign: setUp(
    'Docusign',
    'envelope-completed',
    'https://developers.docusign.com/platform/webhooks/connect/validate',
    'In Docusign Admin, open Integrations › Connect › Connect Keys and add a secret key. Copy it to {secret} now: Docusign shows it only once.',
    'Under Configurations, add a custom configuration with the URL above. Choose the JSON format (SIM) and the events, and select Include HMAC Signature.',
  ),
  dropbox: setUp(
    'Dropbox',
    'list_folder',
    'https://www.dropbox.com/developers/reference/webhooks',
    'Open the app in the Dropbox App Console and copy the app secret to {secret}. Start Postern with it.',
    'Under Webhooks, add the URL above. Dropbox checks it, and Postern answers.',
  ),
  'event-grid': setUp(
    'Azure Event Grid',
    'Microsoft.Storage.BlobCreated',
    'https://learn.microsoft.com/azure/event-grid/security-authentication',
    'Start Postern with the source, because Event Grid checks the URL.',
    'In the Azure portal, open the topic and create an event subscription for webhooks, in either schema.',
    'Enter the URL above with `?access_token=` and the secret from {secret} as the endpoint. With Microsoft Entra ID, enter only the URL, and set the tenant and application under Additional features.',
  ),
  github: setUp(
    'GitHub',
    'issues.opened',
    'https://docs.github.com/en/webhooks/using-webhooks/creating-webhooks',
    'In the repository or organization, open Settings › Webhooks › Add webhook.',
    'Enter the URL above as Payload URL, choose the content type `application/json`, and enter the random secret from {secret}.',
    'Choose the events and save. GitHub sends a `ping`, which the dashboard shows.',
  ),
  gitlab: setUp(
    'GitLab',
    'merge_request.open',
    'https://docs.gitlab.com/user/project/integrations/webhooks/',
    'In the project or group, open Settings › Webhooks › Add new webhook.',
    'Enter the URL above and the token from {secret}: a signing token (`whsec_…`) if your GitLab supports it, otherwise a secret token.',
    'Choose the triggers and save.',
  ),
  hubspot: setUp(
    'HubSpot',
    'batch',
    'https://developers.hubspot.com/docs/apps/developer-platform/build-apps/authentication/request-validation',
    'Open the app in HubSpot and copy its client secret to {secret}.',
    'Under Webhooks, enter the URL above as the target URL.',
    'Subscribe to events, such as `contact.creation`, and activate the subscriptions.',
  ),
  intercom: setUp(
    'Intercom',
    'contact.created',
    'https://developers.intercom.com/docs/webhooks/setting-up-webhooks',
    'Open the app in Intercom’s Developer Hub and copy its client secret to {secret}.',
    'Under Webhooks (in Configure), enter the URL above, choose the topics and save.',
  ),
  linear: setUp(
    'Linear',
    'Issue.create',
    'https://linear.app/developers/webhooks',
    'In Linear, open Settings › API › Webhooks and create a webhook with the URL above.',
    'Choose the resource types, and copy the signing secret to {secret}.',
  ),
  mailgun: setUp(
    'Mailgun',
    'delivered',
    'https://documentation.mailgun.com/docs/mailgun/user-manual/webhooks/securing-webhooks',
    'In Mailgun, open Send › Sending › Webhooks, and add a webhook with the URL above for each event.',
    'Copy the account’s HTTP webhook signing key to {secret}.',
    'For incoming mail, create a route with `forward("…")` and the URL above.',
  ),
  meta: setUp(
    'Meta',
    'page.feed',
    'https://developers.facebook.com/docs/graph-api/webhooks/getting-started',
    'Open the app in Meta’s App Dashboard and copy the app secret from App settings › Basic to {secret}. Choose a random `verifyToken` for the source, and start Postern with both.',
    'Under Webhooks (for WhatsApp: Configuration), enter the URL above as Callback URL and the `verifyToken` as Verify token.',
    'Click Verify and Save. Meta checks the URL, and Postern answers.',
    'Subscribe to the fields.',
  ),
  'microsoft-graph': setUp(
    'Microsoft Graph',
    'notifications',
    'https://learn.microsoft.com/graph/change-notifications-delivery-webhooks',
    'Start Postern with a random `clientState` in {secret}. Graph checks the URL when you create a subscription.',
    'Create a subscription: send POST /subscriptions to `https://graph.microsoft.com/v1.0` with `changeType`, `resource`, `expirationDateTime` and the `clientState`, and with the URL above as `notificationUrl` and `lifecycleNotificationUrl`.',
    'Renew the subscription before `expirationDateTime` with your own timer: send PATCH /subscriptions/{id} with a new time.',
  ),
  notion: setUp(
    'Notion',
    'page.created',
    'https://developers.notion.com/reference/webhooks',
    'Start Postern with a random value in {secret}.',
    'In the integration’s settings in Notion, open Webhooks, create a subscription with the URL above and choose the events.',
    'Notion sends a verification token, which Postern logs as a warning. Enter the token in Notion. If Notion accepts it, copy it to {secret} and restart Postern.',
  ),
  pagerduty: setUp(
    'PagerDuty',
    'incident.triggered',
    'https://docs.pagerduty.com/developer/verifying-webhook-signatures',
    'In PagerDuty, open Integrations › Generic Webhooks (v3) › New Webhook.',
    'Enter the URL above, choose the scope and the events, and click Add Webhook.',
    'Copy the secret to {secret} now: PagerDuty shows it only once. Restart Postern and send a test event.',
  ),
  paddle: setUp(
    'Paddle',
    'transaction.completed',
    'https://developer.paddle.com/webhooks/signature-verification',
    'In Paddle, open Developer tools › Notifications and create a webhook destination with the URL above. Choose the events.',
    'In the destination’s menu, choose Edit destination and copy the secret key to {secret}.',
  ),
  plaid: setUp(
    'Plaid',
    'TRANSACTIONS.SYNC_UPDATES_AVAILABLE',
    'https://plaid.com/docs/api/webhooks/webhook-verification/',
    'In the Plaid Dashboard, open Developers › Keys. Copy the environment’s secret to {secret}, and the client ID to the source’s `clientId`.',
    'Set the URL above as `webhook` when you create a link token, or under Developers › Webhooks.',
    'In the sandbox, send a webhook with `/sandbox/item/fire_webhook`.',
  ),
  paypal: setUp(
    'PayPal',
    'PAYMENT.CAPTURE.COMPLETED',
    'https://developer.paypal.com/api/rest/webhooks/rest/',
    'In PayPal’s Developer Dashboard, open your app under Apps & Credentials and add a webhook with the URL above. Choose the events.',
    'Copy the webhook’s ID to {secret}, and restart Postern.',
  ),
  sendgrid: setUp(
    'SendGrid',
    'batch',
    'https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/getting-started-event-webhook-security-features',
    'In SendGrid, open Settings › Mail Settings › Event Webhooks and create a webhook with the URL above. Choose the events.',
    'Turn on Signed Event Webhook, save, and copy the verification key to {secret}.',
  ),
  sentry: setUp(
    'Sentry',
    'issue.created',
    'https://docs.sentry.io/integrations/integration-platform/webhooks/',
    'In Sentry, open Settings › Developer Settings › Custom Integrations and create an internal integration with the URL above as Webhook URL.',
    'Choose the resources under Webhooks, and turn on Alert Rule Action to send alerts.',
    'Save, and copy the integration’s client secret to {secret}.',
  ),
  shopify: setUp(
    'Shopify',
    'orders/create',
    'https://shopify.dev/docs/apps/build/webhooks/subscribe/https',
    'Subscribe to topics in the app’s `shopify.app.toml` or with the Admin API, with the URL above.',
    'Copy the app’s client secret to {secret}.',
    'For webhooks that a merchant creates under Settings › Notifications, declare another source with the key shown there.',
  ),
  slack: setUp(
    'Slack',
    'app_mention',
    'https://docs.slack.dev/apis/events-api/',
    'Open the app at api.slack.com/apps and copy the signing secret from Basic Information to {secret}. Start Postern with it, because Slack checks the URL when you enter it.',
    'Enter the URL above as Request URL under Event Subscriptions, and if you use them, under Interactivity and in each slash command.',
    'Slack checks the URL, and Postern answers. Subscribe to the events and save.',
  ),
  sns: setUp(
    'Amazon SNS',
    'Notification',
    'https://docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message.html',
    'Configure the topic to sign with SHA-256: `aws sns set-topic-attributes --topic-arn ARN --attribute-name SignatureVersion --attribute-value 2`.',
    'Copy the topic’s ARN to {secret}, and start Postern.',
    'Subscribe the URL above to the topic with the HTTPS protocol, without raw message delivery. Postern confirms it.',
  ),
  square: setUp(
    'Square',
    'payment.updated',
    'https://developer.squareup.com/docs/webhooks/step3validate',
    'In Square’s Developer Console, open the application’s Webhooks › Subscriptions and add one with exactly the URL above.',
    'Choose the events, save, and copy the signature key to {secret}.',
  ),
  stripe: setUp(
    'Stripe',
    'invoice.paid',
    'https://docs.stripe.com/webhooks',
    'In the Stripe Dashboard, open Developers › Webhooks and add an endpoint (destination) with the URL above.',
    'Choose the events that you have handlers for.',
    'Reveal the signing secret (`whsec_…`), copy it to {secret}, and restart Postern.',
  ),
  twilio: setUp(
    'Twilio',
    'message.received',
    'https://www.twilio.com/docs/usage/security#validating-requests',
    'In the Twilio Console, enter the URL above for a phone number, for a messaging service, or as the status callback of a message or call (`StatusCallback`).',
    'Choose HTTP POST.',
    'Copy the account’s auth token to {secret}.',
  ),
  typeform: setUp(
    'Typeform',
    'form_response',
    'https://www.typeform.com/developers/webhooks/secure-your-webhooks/',
    'Start Postern with the source, because a 404 disables the webhook.',
    'In the form, open Connect › Webhooks and add a webhook with the URL above.',
    'Edit it, enter the random secret from {secret}, and turn it on.',
  ),
  woocommerce: setUp(
    'WooCommerce',
    'order.updated',
    'https://developer.woocommerce.com/docs/apis/rest-api/v3/webhooks/',
    'In WordPress, open WooCommerce › Settings › Advanced › Webhooks and add a webhook.',
    'Enter the URL above as Delivery URL, and the random secret from {secret}. Choose the topic: each webhook has one.',
    'Set the status to Active and save. WooCommerce sends a ping.',
  ),
  x: setUp(
    'X',
    'tweet_create_events',
    'https://docs.x.com/x-api/webhooks/quickstart',
    'Copy the app’s consumer secret (API key secret) to {secret} and start Postern.',
    'Register the URL above with X’s webhook API: send `POST /2/webhooks` with the app’s bearer token. The URL must be https without a port. X checks it, and Postern answers.',
    'Subscribe to accounts or filters as the product requires.',
  ),
  zendesk: setUp(
    'Zendesk',
    'zen:event-type:ticket.created',
    'https://developer.zendesk.com/documentation/webhooks/verifying/',
    'In the Admin Center, open Apps and integrations › Actions and webhooks › Webhooks and create a webhook with the URL above, method POST and format JSON.',
    'Choose Zendesk events, or Trigger or automation. You cannot change this later.',
    'Save, reveal the signing secret, and copy it to {secret}.',
  ),
  zoom: setUp(
    'Zoom',
    'meeting.started',
    'https://developers.zoom.us/docs/api/webhooks/',
    'Open the app in the Zoom App Marketplace and copy the secret token from its Features page to {secret}. Start Postern with it.',
    'Under Event Subscriptions, enter the URL above as the notification endpoint and click Validate. Postern answers.',
    'Add the events and save.',
  ),
}

/** Where schemes without a `secret` have their credential. */
export const credentialOptions: Readonly<Record<string, string>> = {
  basic: 'password',
  bearer: 'token',
  'api-key': 'key',
  'public-key': 'key',
  jwt: 'claims',
  paypal: 'webhookId',
  sns: 'topicArn',
}

/** The steps of a source, with its own secret and header. */
export function stepsOf(name: string, scheme: Scheme): string[] {
  const option = `receiving.sources.${name}.${credentialOptions[scheme.name] ?? 'secret'}`
  const { secretFrom = `\`${option}\` of the configuration module`, signs } = scheme
  return stepsWith(scheme.name, secretFrom, signs)
}

export function stepsWith(
  preset: string,
  secret: string,
  signs = 'computes the HMAC and sends it in the header that the source names',
): string[] {
  return (setUps[preset]?.steps ?? []).map((step) =>
    step.replace('{secret}', () => secret).replace('{signs}', () => signs),
  )
}
