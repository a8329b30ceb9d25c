import { randomBytes } from 'node:crypto'

/**
 * The credentials of this campaign's processes. Random, so that a service of another program that took a port first refuses
 * this campaign's requests.
 */
export const adminKey = `pk_chaos_${randomBytes(16).toString('hex')}`
export const webhookSecret = randomBytes(24).toString('base64url')
