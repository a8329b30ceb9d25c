import type { Preset } from './preset.ts'

const teamId = 'https://slack.com/team_id'

/**
 * OpenID Connect. A user is identified by workspace id and user id: `sub` is unique only within the workspace, and Slack says
 * to store it together with `team_id` (page of the user object). In an enterprise organization a person therefore has one
 * identity for each workspace, and can link them. The request's `team` is only a hint to Slack, so the claim is checked. Errors
 * have status 200.
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
  endpoints: () => ({ issuer: 'https://slack.com' }),
  scope: 'openid profile email',
  tokenAuth: 'post',
  // It does not reauthenticate people who have a session.
  provesAuthentication: false,
  authParams: (presetSetting) => (presetSetting('TEAM') === '' ? {} : { team: presetSetting('TEAM') }),
  admits: (claims, presetSetting) => presetSetting('TEAM') === '' || claims[teamId] === presetSetting('TEAM'),
  readProfile: ({ claims, document }) => ({
    id: isId(claims[teamId]) && isId(claims['sub']) ? `${claims[teamId]}:${claims['sub']}` : undefined,
    name: document['name'],
    email: document['email'],
    emailVerified: document['email_verified'],
  }),
}

/** Without a colon, so that different pairs give different ids. */
function isId(value: unknown): value is string {
  return typeof value === 'string' && /^\w+$/.test(value)
}
