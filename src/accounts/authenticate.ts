import type { FastifyRequest } from 'fastify'
import { Problem } from '../errors.ts'
import type { Authenticate, Principal } from '../http/principal.ts'
import { type ApiKeys } from './api-keys.ts'

const bearer = /^Bearer +([\x21-\x7e]{1,4096})$/i

/** Reads a request's credential: the Authorization header first, then the session cookie. */
export function createAuthenticate(keys: ApiKeys): Authenticate {
  return async (request: FastifyRequest): Promise<Principal | undefined> => {
    const { authorization } = request.headers
    if (authorization === undefined) return undefined
    const token = bearer.exec(authorization)?.[1]
    if (!token) throw new Problem('not-signed-in', { detail: 'The Authorization header is not of the form `Bearer <credential>`.' })
    return keys.authenticate(token)
  }
}
