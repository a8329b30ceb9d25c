import type { Preset } from './preset.ts'

const teamId = 'https://slack.com/team_id'

/**
 * OpenID Connect. Who a user is, is the pair of workspace and user id: Slack says of the user id, which `sub` is, that it
 * is unique within the workspace, and to store it together with `team_id` (the page of the user object). Within an
 * enterprise organization the same person is so another one in each workspace, and can link them. `team` is a wish in
 * the request, so the claim is what counts. Errors come with status 200.
 */
export const slack: Preset = {
  label: 'Slack',
  colour: '#4a154b',
  documentation: [
    'https://docs.slack.dev/authentication/sign-in-with-slack/',
    'https://docs.slack.dev/reference/objects/user-object/',
    'https://docs.slack.dev/reference/methods/openid.connect.token/',
  ],
  settings: {
    TEAM: {
      description: 'Only members of the workspace with this id (`T…`) may sign in.',
      optional: true,
      form: 'word',
    },
  },
  addresses: () => ({ issuer: 'https://slack.com' }),
  scope: 'openid profile email',
  tokenAuth: 'post',
  // It lets everybody pass who has a session there.
  provesAuthentication: false,
  authParams: (own) => (own('TEAM') === '' ? {} : { team: own('TEAM') }),
  admits: (claims, own) => own('TEAM') === '' || claims[teamId] === own('TEAM'),
  readProfile: ({ claims, document }) => ({
    id: isId(claims[teamId]) && isId(claims['sub']) ? `${claims[teamId]}:${claims['sub']}` : undefined,
    name: document['name'],
    email: document['email'],
    emailVerified: document['email_verified'],
  }),
}

/** Opaque otherwise; without a colon, so that no two pairs look alike. */
function isId(value: unknown): value is string {
  return typeof value === 'string' && /^\w+$/.test(value)
}
