// The part of its interface that the test uses; the package has no types.
declare module 'passport-openidconnect' {
  interface Options {
    issuer: string
    authorizationURL: string
    tokenURL: string
    userInfoURL: string
    clientID: string
    clientSecret: string
    callbackURL: string
    scope?: string
    nonce?: boolean
  }
  interface Profile {
    id: string
    displayName?: string
    emails?: { value: string }[]
  }
  type Done = (error: unknown, user?: Profile) => void

  export default class Strategy {
    constructor(options: Options, verify: (issuer: string, profile: Profile, done: Done) => void)
    authenticate(request: unknown, options?: object): void
    /** What Passport gives a strategy before it calls `authenticate`. */
    success: (user: Profile) => void
    fail: (info: unknown) => void
    error: (error: unknown) => void
    redirect: (url: string) => void
  }
}
