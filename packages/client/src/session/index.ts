export {
  createSessions,
  type Session,
  type SessionOptions,
  type Sessions,
  type User,
  type UserDemands,
} from './sessions.ts'
export * from '../errors.ts'
