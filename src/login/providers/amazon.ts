import type { Preset } from './preset.ts'

/** Login with Amazon: plain OAuth 2.0. It does not tell whether an e-mail address is verified. */
export const amazon: Preset = {
  label: 'Amazon',
  colour: '#b35900',
  documentation: [
    'https://developer.amazon.com/docs/login-with-amazon/authorization-code-grant.html',
    'https://developer.amazon.com/docs/login-with-amazon/obtain-customer-profile.html',
  ],
  endpoints: () => ({
    authUrl: 'https://www.amazon.com/ap/oa',
    tokenUrl: 'https://api.amazon.com/auth/o2/token',
    profileUrl: 'https://api.amazon.com/user/profile',
  }),
  scope: 'profile',
  tokenAuth: 'post',
  readProfile: ({ document }) => ({
    id: document['user_id'],
    name: document['name'],
    email: document['email'],
    emailVerified: false,
  }),
}
