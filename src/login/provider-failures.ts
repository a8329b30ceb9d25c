/** The provider's API answered a request for the profile with an error. */
export class ProfileRefused extends Error {
  readonly status: number
  constructor(status: number) {
    super(`the profile was answered with status ${status}`)
    this.name = 'ProfileRefused'
    this.status = status
  }
}

/** The account exists at the provider, and is not one of those that may sign in here. */
export class AccountNotAdmitted extends Error {
  constructor() {
    super('the account is not of the organization, tenant or workspace that is configured')
    this.name = 'AccountNotAdmitted'
  }
}
