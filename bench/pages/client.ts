/** The app that people are signed in to. */
export const clientId = 'console'
export const clientSecret = 'bench-secret-of-the-console-0123456789'
