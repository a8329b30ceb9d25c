/** A command cannot do what it was asked; the message is all that the user is told, and says what to do. */
export class CommandFailure extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'CommandFailure'
  }
}
