import type { IncomingMessage } from 'node:http'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { toProblem } from '../http/problem-details.ts'
import { tellLimit } from '../http/rate-limits.ts'
import type { Acceptor } from './acceptor.ts'
import type { Found } from './direct.ts'
import type { Evaluate } from './evaluate.ts'
import type { NoteRejected } from './rejections/log.ts'
import type { Reason } from './rejections/reasons.ts'
import type { Reply } from './schemes/scheme.ts'

const received = { received: true } as const

export function sendReply(reply: FastifyReply, { status, body, contentType }: Reply): FastifyReply {
  if (contentType !== undefined) reply.type(contentType)
  // As bytes, so that no serializer changes it.
  return reply.code(status).send(body === '' ? undefined : Buffer.from(body))
}

export function refuseSignature(reply: FastifyReply): FastifyReply {
  return reply.code(401).type('text/plain; charset=utf-8').send('invalid signature')
}

/** What is refused before its body is there: nobody knows yet whether the sender is who they say. */
export function noteUnread(request: FastifyRequest, error: FastifyError, reject: NoteRejected): void {
  if (request.body !== undefined) return
  const { code, message } = toProblem(error)
  if (code === 'body-too-large') reject('too-large', message, request)
  else if (code === 'request-timeout') reject('too-slow', message, request)
  else if (code === 'overloaded') reject('overloaded', message, request)
  else if (code === 'too-many-requests') reject('limited', message, request)
}

export type Outcome = 'accepted' | 'answered' | Reason

export interface AnswerParts {
  evaluate: Evaluate
  /** What was found out before the framework had the request. */
  foundOf: (request: IncomingMessage) => Found | undefined
  acceptor: Acceptor
  originOf: (request: FastifyRequest) => string
  count: (outcome: Outcome) => void
  reject: NoteRejected
}

/** Answers the requests of a source, whatever is to be said of them. */
export function answerWebhooks({ evaluate, foundOf, acceptor, originOf, count, reject }: AnswerParts) {
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const { headers, url } = request.raw
    const rawBody = (request.body as Buffer | undefined) ?? Buffer.alloc(0)
    const found = foundOf(request.raw)
    const evaluation =
      found?.evaluation ??
      (await evaluate({ rawBody, headers, url: `${originOf(request)}${url}`, log: request.log }))
    if ('answer' in evaluation) {
      count('answered')
      return sendReply(reply, evaluation.answer)
    }
    if (evaluation.rate) tellLimit(reply, evaluation.rate)
    if ('refused' in evaluation) {
      reject(evaluation.refused, evaluation.detail, request, rawBody)
      if (evaluation.problem) throw evaluation.problem
      return refuseSignature(reply)
    }
    try {
      await (found?.stored ?? acceptor.add(evaluation.event))
    } catch (error) {
      const { code, message } = toProblem(error)
      const reason = code === 'overloaded' || code === 'stopping' ? 'overloaded' : 'unavailable'
      reject(reason, message, request, rawBody)
      throw error
    }
    count('accepted')
    return evaluation.reply ? sendReply(reply, evaluation.reply) : received
  }
}
